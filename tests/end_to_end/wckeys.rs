//! Workload keys on a cluster that runs: named, refused, by default, changed, and in the books; and books without steps.

use daybook_tests::{Cluster, wait_until};

const TRACKING: &str = "\
ClusterName=test
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=10
KillWait=2
MinJobAge=300
AccountingStorageEnforce=wckeys,nosteps
NodeName=n1 NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000
PartitionName=main Nodes=n1 Default=YES MaxTime=1-0 DefaultTime=10
";

/// A user whom every Debian has.
const ALICE: (u32, &str) = (1, "daemon");

fn shown(cluster: &Cluster, job: u32) -> String {
    cluster.run("squeue", &["-h", "-j", &job.to_string(), "-o", "%w"]).ok().trim().to_string()
}

#[test]
fn a_workload_key_goes_from_the_submission_into_the_books() {
    let mut cluster = Cluster::new(TRACKING);
    cluster.start();
    for line in [
        "add account ml organization=science".to_string(),
        format!("add user {} account=ml wckey=thesis,grant", ALICE.1),
        format!("modify user {} set defaultwckey=thesis", ALICE.1),
    ] {
        let words: Vec<&str> = std::iter::once("-i").chain(line.split(' ')).collect();
        cluster.run("sacctmgr", &words).ok();
    }
    let submit = |options: &[&str]| {
        let fixed = ["--parsable", "-o", "/dev/null", "-D", "/"];
        cluster.run_as(ALICE.0, "sbatch", &[&fixed, options, &["--wrap=true"]].concat())
    };
    let id = |done: daybook_tests::Answer| -> u32 { done.ok().trim().parse().expect("a job id") };
    let refused = submit(&["--wckey=nosuch"]);
    let words = "sbatch: error: Batch job submission failed: Invalid wckey specification\n";
    assert_eq!((refused.code, refused.err.as_str()), (1, words));
    let named = id(submit(&["--wckey=Grant", "-H"]));
    let default = id(submit(&["-H"]));
    assert_eq!((shown(&cluster, named), shown(&cluster, default)), ("grant".into(), "*thesis".into()));
    let record = cluster.run("scontrol", &["show", "job", &default.to_string()]).ok();
    assert!(record.contains("QOS=normal WCKey=*thesis\n"), "{record}");

    // It is changed while it waits; a key of somebody else is refused.
    let (target, other) = (format!("jobid={named}"), "wckey=nosuch");
    let refused = cluster.run_as(ALICE.0, "scontrol", &["update", &target, other]);
    assert!(refused.err.contains("Invalid wckey specification"), "{}", refused.err);
    cluster.run_as(ALICE.0, "scontrol", &["update", &target, "wckey=thesis"]).ok();
    assert_eq!(shown(&cluster, named), "thesis");
    cluster.kill();
    cluster.start();
    assert_eq!(shown(&cluster, named), "thesis");
    for job in [named, default] {
        cluster.run("scontrol", &["release", &job.to_string()]).ok();
        cluster.wait_ended(job);
    }
    // Both are found by the key; steps are left out.
    wait_until("the books have both", || {
        let options = ["-a", "-n", "-P", "-W", "thesis", "-o", "jobid,wckey,state"];
        let listed = cluster.run("sacct", &options).ok();
        listed == format!("{named}|thesis|COMPLETED\n{default}|*thesis|COMPLETED\n")
    });
    assert_eq!(cluster.run("sacct", &["-a", "-n", "-P", "-W", "grant", "-o", "jobid"]).ok(), "");
}
