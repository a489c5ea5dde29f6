//! Partitions that are created, changed, deleted and read again while the cluster runs.

use std::time::Instant;

use daybook_tests::{Cluster, PATIENCE, TWO_NODES};

/// `scontrol show partition NAME`, the words of one key.
fn shown(cluster: &Cluster, name: &str, key: &str) -> String {
    let text = cluster.run("scontrol", &["show", "partition", name]).ok();
    let prefix = format!("{key}=");
    let word = text.split_whitespace().find(|word| word.starts_with(&prefix));
    word.unwrap_or_else(|| panic!("no {key} in {text}"))[prefix.len()..].to_string()
}

/// Job id, partition and state or reason of every job, as squeue shows it.
fn queue(cluster: &Cluster) -> String {
    cluster.run("squeue", &["-h", "-o", "%i %P %T %r", "-S", "i"]).ok()
}

#[track_caller]
fn eventually(cluster: &Cluster, expected: &str) {
    let start = Instant::now();
    while queue(cluster) != expected {
        assert!(start.elapsed() < PATIENCE, "expected\n{expected}found\n{}", queue(cluster));
        std::thread::yield_now();
    }
}

fn silent(cluster: &Cluster, arguments: &[&str]) {
    let answer = cluster.run("scontrol", arguments);
    assert_eq!((answer.out.as_str(), answer.err.as_str(), answer.code), ("", "", 0), "{arguments:?}");
}

#[track_caller]
fn refused(cluster: &Cluster, arguments: &[&str], error: &str) {
    let answer = cluster.run("scontrol", arguments);
    assert_eq!((answer.out.as_str(), answer.err.as_str(), answer.code), ("", error, 1), "{arguments:?}");
}

#[test]
fn partitions_change_while_the_cluster_runs_and_are_as_in_the_files_again_after_reconfigure() {
    let mut cluster = Cluster::new(TWO_NODES);
    cluster.start();
    silent(&cluster, &["create", "partitionname=new", "nodes=n1", "MaxTime=30", "PriorityTier=5"]);
    assert_eq!(shown(&cluster, "new", "Nodes"), "n1");
    assert_eq!(shown(&cluster, "new", "MaxTime"), "00:30:00");
    refused(
        &cluster,
        &["create", "partition", "name=new", "nodes=ALL"],
        "Error creating the partition: Invalid partition name specified\n\
         scontrol: error: partition new is there already: update it\n",
    );
    refused(
        &cluster,
        &["update", "partitionname=nosuch", "state=up"],
        "slurm_update error: Invalid partition name specified\n",
    );
    refused(
        &cluster,
        &["update", "partitionname=new", "foo=bar"],
        "Update of this parameter is not supported: foo=bar\nRequest aborted\n",
    );
    refused(
        &cluster,
        &["update", "partitionname=new", "state=sideways", "nodes=n7"],
        "slurm_update error: Invalid argument\n\
         scontrol: error: PartitionName=new has unknown nodes: n7; add a NodeName line for it, or remove it here\n\
         scontrol: error: state=sideways is not known; expected UP, DOWN, DRAIN, INACTIVE\n",
    );

    // Of two partitions the one with room, and one that is down starts nothing.
    silent(&cluster, &["update", "partitionname=new", "state=down"]);
    cluster.run("sbatch", &["-p", "new,gpu", "-c4", "--wrap=sleep 600"]).ok();
    eventually(&cluster, "1 gpu RUNNING None\n");
    cluster.run("sbatch", &["-p", "new,gpu", "-c4", "--wrap=sleep 600"]).ok();
    eventually(&cluster, "1 gpu RUNNING None\n2 new,gpu PENDING Resources\n");
    cluster.run("sbatch", &["-p", "new", "--wrap=sleep 600"]).ok();
    eventually(&cluster, "1 gpu RUNNING None\n2 new,gpu PENDING Resources\n3 new PENDING PartitionDown\n");
    refused(
        &cluster,
        &["delete", "partitionname=new"],
        "delete_partition partitionname=new: Partition is in use\n",
    );
    silent(&cluster, &["update", "partitionname=new", "state=drain"]);
    eventually(&cluster, "1 gpu RUNNING None\n2 new RUNNING None\n3 new PENDING Resources\n");
    let answer = cluster.run("sbatch", &["-p", "new", "--wrap=true"]);
    assert_eq!(
        answer.err,
        "sbatch: error: Batch job submission failed: Required partition not available (inactive or drain)\n"
    );

    // The files again: what was changed is gone, what waited in it stays and says so.
    cluster.run("scancel", &["2"]).ok();
    eventually(&cluster, "1 gpu RUNNING None\n3 new RUNNING None\n");
    cluster.run("scancel", &["3"]).ok();
    eventually(&cluster, "1 gpu RUNNING None\n");
    silent(&cluster, &["delete", "partitionname=new"]);
    silent(&cluster, &["update", "partitionname=main", "state=down", "Hidden=yes"]);
    assert_eq!(shown(&cluster, "main", "State"), "DOWN");
    silent(&cluster, &["reconfigure"]);
    assert_eq!(shown(&cluster, "main", "State"), "UP");

    let with_more = format!("{TWO_NODES}PartitionName=night Nodes=n1 MaxTime=8:00:00\n");
    std::fs::write(cluster.root.join("config/slurm.conf"), &with_more).expect("written");
    silent(&cluster, &["reconfigure"]);
    assert_eq!(shown(&cluster, "night", "MaxTime"), "08:00:00");
    let broken = format!("{with_more}PartitionName=day Nodes=n9\n");
    std::fs::write(cluster.root.join("config/slurm.conf"), broken).expect("written");
    let answer = cluster.run("scontrol", &["reconfigure"]);
    let line = with_more.lines().count() + 1;
    assert_eq!(answer.code, 1);
    assert!(
        answer
            .err
            .starts_with("slurm_reconfigure error: The configuration has errors: nothing was changed\n")
            && answer
                .err
                .contains(&format!("slurm.conf:{line}: error: PartitionName=day has unknown nodes: n9")),
        "{}",
        answer.err
    );
    let with_node = format!("{with_more}NodeName=n2 CPUs=4 RealMemory=1000 NodeAddr=127.0.0.1\n");
    std::fs::write(cluster.root.join("config/slurm.conf"), with_node).expect("written");
    let answer = cluster.run("scontrol", &["reconfigure"]);
    assert!(answer.code == 1 && answer.err.contains("n2; nothing was changed"), "{}", answer.err);

    // A restart reads the files, too.
    std::fs::write(cluster.root.join("config/slurm.conf"), &with_more).expect("written");
    silent(&cluster, &["update", "partitionname=night", "state=inactive"]);
    cluster.stop();
    cluster.start();
    assert_eq!(shown(&cluster, "night", "State"), "UP");
    eventually(&cluster, "1 gpu RUNNING None\n");
    cluster.stop();
    cluster.verify();
}
