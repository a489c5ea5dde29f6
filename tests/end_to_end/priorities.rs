//! Multifactor priority on a cluster that runs.

use daybook_tests::{Cluster, wait_until};
use serde_json::Value;

const MULTIFACTOR: &str = "\
ClusterName=test
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=10
KillWait=2
MinJobAge=300
PriorityType=priority/multifactor
PriorityCalcPeriod=1
PriorityWeightAge=1000
PriorityMaxAge=00:01:00
PriorityWeightFairshare=10000
PriorityWeightJobSize=1000
PriorityWeightShort=2000
NodeName=n1 NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000
PartitionName=main Nodes=n1 Default=YES MaxTime=1-0 DefaultTime=10
";

fn priorities(cluster: &Cluster) -> Vec<Value> {
    let document: Value = serde_json::from_str(&cluster.run("sprio", &["--json"]).ok()).expect("JSON");
    document["priorities"]["jobs"].as_array().cloned().expect("jobs")
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The sum of everything that is added, without what is subtracted.
fn sum(addends: &Value) -> i64 {
    let names = ["age", "association", "fair_share", "job_size", "partition", "qos", "short", "site"];
    names.iter().map(|name| number(&addends[*name])).sum::<i64>() - number(&addends["nice"])
}

#[test]
fn the_queue_is_ordered_by_what_sprio_shows_and_usage_counts() {
    let mut cluster = Cluster::new(MULTIFACTOR);
    cluster.start();
    let runs = cluster.submit(&["-c", "4"], "sleep 600");
    cluster.wait_state(runs, "RUNNING");
    let long = cluster.submit(&["-c", "4", "-t", "600"], "true");
    let short = cluster.submit(&["-c", "4", "-t", "1"], "true");
    let held = cluster.submit(&["-c", "4", "-H"], "true");

    let shown = priorities(&cluster);
    let ids: Vec<i64> = shown.iter().map(|job| number(&job["job"])).collect();
    assert_eq!(ids, [i64::from(long), i64::from(short)], "a held job ({held}) has no place");
    for job in &shown {
        assert_eq!(number(&job["priority"]), sum(&job["addends"]), "{job}");
    }
    // The honest short one is in front of the one that came first, and squeue shows it so.
    let queue = cluster.run("squeue", &["-h", "-t", "PD", "-S", "-p", "-o", "%i"]).ok();
    assert_eq!(queue, format!("{short}\n{long}\n{held}\n"));

    // Ages grow with each calculation (at least a minute lies between two), and what runs is counted.
    wait_until("a priority grows with age", || {
        let age = |jobs: &[Value]| number(&jobs[0]["addends"]["age"]);
        age(&priorities(&cluster)) > age(&shown)
    });
    wait_until("what runs is counted", || {
        let shares = cluster.run("sshare", &["-a", "-n", "-P", "-o", "user,rawusage"]).ok();
        shares.lines().any(|line| {
            line.strip_prefix('|').is_some_and(|used| used.parse::<u64>().is_ok_and(|used| used > 3))
        })
    });

    // By hand, and back again.
    cluster.run("scontrol", &["update", &format!("jobid={long}"), "priority=50000"]).ok();
    assert_eq!(cluster.run("squeue", &["-h", "-j", &long.to_string(), "-o", "%Q"]).ok(), "50000\n");
    cluster.run("scontrol", &["release", &long.to_string()]).ok();
    cluster.run("scontrol", &["update", &format!("jobid={long}"), "sitefactor=9000"]).ok();
    let told = priorities(&cluster);
    assert_eq!(number(&told[0]["addends"]["site"]), 9000);
    assert_eq!(number(&told[0]["priority"]), sum(&told[0]["addends"]));

    // After a restart the order is the same, from the log.
    cluster.kill();
    cluster.start();
    let again = priorities(&cluster);
    assert_eq!(number(&again[0]["addends"]["site"]), 9000);
    assert!(number(&again[0]["addends"]["age"]) >= number(&told[0]["addends"]["age"]));
    cluster.run("scancel", &[&runs.to_string()]).ok();
    cluster.wait_ended(long);
    cluster.wait_ended(short);
}
