//! Runs that give way, on a cluster that runs.

use daybook_tests::{Cluster, wait_until};

const PREEMPTING: &str = "\
ClusterName=test
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=10
KillWait=2
MinJobAge=300
PreemptType=preempt/qos
PreemptMode=REQUEUE
NodeName=n1 NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000
PartitionName=main Nodes=n1 Default=YES MaxTime=1-0 DefaultTime=10
";

fn started() -> Cluster {
    let mut cluster = Cluster::new(PREEMPTING);
    cluster.start();
    for line in
        ["-i add qos low", "-i add qos cheap", "-i modify qos cheap set preemptmode=cancel gracetime=1"]
    {
        cluster.run("sacctmgr", &line.split(' ').collect::<Vec<_>>()).ok();
    }
    cluster.run("sacctmgr", &["-i", "add", "qos", "high", "priority=100", "preempt=low,cheap"]).ok();
    cluster
}

#[test]
fn a_job_takes_the_place_of_another_which_runs_again_later() {
    let cluster = started();
    let low = cluster.submit(&["-c", "4", "-q", "low", "-J", "low"], "sleep 600");
    cluster.wait_state(low, "RUNNING");
    let high = cluster.submit(&["-c", "4", "-q", "high", "-J", "high"], "sleep 1");
    cluster.wait_ended(high);
    let queue = cluster.run("squeue", &["-h", "-j", &low.to_string(), "-o", "%i %j %T %r"]).ok();
    assert_eq!(queue, format!("{low} low PENDING BeginTime\n"));
    let why = cluster.run("why", &[&low.to_string()]).ok();
    assert!(why.contains(&format!("to give way to job {high}.")), "{why}");
    let shown = cluster.run("scontrol", &["show", "job", &high.to_string()]).ok();
    assert!(shown.contains("JobState=COMPLETED"), "{shown}");

    // It need not wait for its two minutes here.
    cluster.run("scontrol", &["update", &format!("jobid={low}"), "starttime=now"]).ok();
    cluster.wait_state(low, "RUNNING");
    cluster.run("scancel", &[&low.to_string()]).ok();
    cluster.wait_ended(low);
    let ids = format!("{low},{high}");
    wait_until("the books have every end", || {
        let listed = cluster
            .run("sacct", &["-D", "-X", "-n", "-P", "-j", &ids, "-o", "jobid,jobname,state,exitcode"])
            .ok();
        listed
            == format!(
                "{low}|low|PREEMPTED|0:0\n{high}|high|COMPLETED|0:0\n{low}|low|CANCELLED by {}|0:0\n",
                nix::unistd::geteuid()
            )
            || listed
                == format!(
                    "{low}|low|PREEMPTED|0:0\n{low}|low|CANCELLED by {}|0:0\n{high}|high|COMPLETED|0:0\n",
                    nix::unistd::geteuid()
                )
    });
}

#[test]
fn a_run_is_warned_and_cancelled_where_its_qos_says_so() {
    let cluster = started();
    let trap = "trap 'echo warned' TERM; echo > ready; while :; do sleep 0.1; done";
    let cheap = cluster.submit(&["-c", "4", "-q", "cheap"], trap);
    cluster.wait_state(cheap, "RUNNING");
    let high = cluster.submit(&["-c", "4", "-q", "high"], "true");
    cluster.wait_ended(cheap);
    cluster.wait_ended(high);
    let shown = cluster.run("scontrol", &["show", "job", &cheap.to_string()]).ok();
    assert!(shown.contains("JobState=PREEMPTED Reason=None"), "{shown}");
    assert!(shown.contains(" PreemptTime=20"), "{shown}");
    let why = cluster.run("why", &[&cheap.to_string()]).ok();
    assert!(why.contains("as PREEMPTED") && why.contains(&format!("job {high}.")), "{why}");
    let config = cluster.run("scontrol", &["show", "config"]).ok();
    assert!(config.contains("PreemptType             = preempt/qos"), "{config}");
    assert!(config.contains("PreemptMode             = REQUEUE"), "{config}");
    let partition = cluster.run("scontrol", &["show", "partition"]).ok();
    assert!(partition.contains("PreemptMode=REQUEUE"), "{partition}");
}
