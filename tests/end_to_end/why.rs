//! `daybook why` and `sdiag` on a cluster that runs.

use daybook_tests::{Cluster, wait_until};
use serde_json::Value;

/// One node, so that what is short is certain.
const ONE_NODE: &str = "\
ClusterName=test
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=10
KillWait=2
MinJobAge=300
NodeName=n1 NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000
PartitionName=main Nodes=n1 Default=YES MaxTime=1-0 DefaultTime=10
PartitionName=short Nodes=n1 MaxTime=5
";

fn started() -> Cluster {
    let mut cluster = Cluster::new(ONE_NODE);
    cluster.start();
    cluster
}

fn why(cluster: &Cluster, job: &str) -> String {
    cluster.run("why", &[job]).ok()
}

fn wait_for_reason(cluster: &Cluster, job: u32, reason: &str) {
    wait_until(&format!("job {job} waits for {reason}"), || {
        cluster.run("squeue", &["-h", "-t", "PD", "-j", &job.to_string(), "-o", "%r"]).out.trim() == reason
    });
}

#[test]
fn waiting_jobs_say_what_is_short_who_is_in_front_and_when_they_start() {
    let cluster = started();
    let running = cluster.submit(&["-c", "3", "-J", "holder"], "sleep 300");
    cluster.wait_state(running, "RUNNING");
    let first = cluster.submit(&["-c", "4", "-J", "first"], "true");
    let second = cluster.submit(&["-c", "2", "-J", "second"], "true");
    wait_for_reason(&cluster, second, "Priority");

    let told = why(&cluster, &first.to_string());
    assert!(told.contains(") waits in partition main: Resources, for "), "{told}");
    let short = "It needs 4 CPUs and 40M of memory on 1 node; the one node that it may use has no more than 1 CPU free now.";
    assert!(told.contains(short), "{told}");
    let expected = cluster.run("squeue", &["-h", "-j", &first.to_string(), "-o", "%S"]).ok();
    let line = format!(
        "It is the first of 2 in the line of its partition; expected to start at {} on n1, when job {running} reaches its time limit.",
        expected.trim()
    );
    assert!(told.contains(&line), "{told}\nexpected: {line}");
    let told = why(&cluster, &second.to_string());
    assert!(
        told.contains(&format!("It is number 2 of 2 in the line of its partition, behind job {first}")),
        "{told}"
    );
    assert!(told.contains("only the first of a partition is protected."), "{told}");

    // It would fit, but not beside what is promised.
    let long = cluster.submit(&["-c", "1", "-t", "1-0", "-p", "main"], "true");
    wait_for_reason(&cluster, long, "Priority");
    let told = why(&cluster, &long.to_string());
    assert!(!told.contains("free now") && told.contains("It would fit now, but"), "{told}");

    let told = why(&cluster, &running.to_string());
    assert!(
        told.contains(&format!("Job {running} (holder, "))
            && told.contains(" does not wait: it has been running on n1"),
        "{told}"
    );
    cluster.run("scancel", &[&running.to_string()]).ok();
    cluster.wait_ended(running);
    let told = why(&cluster, &running.to_string());
    assert!(told.contains(" as CANCELLED (exit code 0:0), after "), "{told}");
}

#[test]
fn limits_arrays_holds_and_unknown_jobs() {
    let cluster = started();
    let long = cluster.submit(&["-p", "short", "-t", "10"], "true");
    wait_for_reason(&cluster, long, "PartitionTimeLimit");
    let told = why(&cluster, &long.to_string());
    assert!(told.contains("Its time limit is 00:10:00; the partition allows 00:05:00 at most."), "{told}");
    let held = cluster.submit(&["--hold"], "true");
    assert!(why(&cluster, &held.to_string()).contains("Its owner holds it"));
    let array = cluster.submit(&["--array=0-5%1"], "sleep 300");
    wait_for_reason(&cluster, array, "JobArrayTaskLimit");
    let told = why(&cluster, &format!("{array}_4"));
    assert!(told.contains(&format!("Job {array}_[1-5%1] (")), "{told}");
    assert!(told.contains("1 task of its array runs, and no more than 1 may at once (%1)."), "{told}");
    assert!(why(&cluster, &format!("{array}_0")).contains("does not wait: it has been running"));

    for unknown in ["4000", &format!("{array}_9"), &format!("{held}_0")] {
        let answer = cluster.run("why", &[unknown]);
        assert_eq!((answer.code, answer.out.as_str()), (1, ""), "{unknown}");
        assert_eq!(answer.err, "daybook: error: Invalid job id specified\n", "{unknown}");
    }
    let document: Value =
        serde_json::from_str(&cluster.run("why", &["--json", &long.to_string()]).ok()).expect("JSON");
    let told = &document["explanations"][0];
    assert_eq!(
        (told["reason"].as_str(), told["blocks"][0]["kind"].as_str()),
        (Some("partition_time_limit"), Some("time_limit"))
    );
    // The change of reason is in the log, once, with its figures.
    let events = cluster.run("events", &["--job", &long.to_string(), "--json"]).ok();
    let changes: Vec<Value> = events
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .flat_map(|record| record["event"]["data"]["reasons"].as_array().cloned().unwrap_or_default())
        .filter(|change| change["job"] == long)
        .collect();
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0]["figures"]["minutes"], serde_json::json!({ "asked": 10, "most": 5 }));
}

#[test]
fn sdiag_counts_jobs_and_cycles_and_starts_anew_with_the_daemon() {
    let mut cluster = started();
    let done = cluster.submit(&[], "true");
    cluster.wait_ended(done);
    let failed = cluster.submit(&[], "false");
    cluster.wait_ended(failed);
    let held = cluster.submit(&["--hold", "--array=0-3"], "true");
    cluster.run("scancel", &[&format!("{held}_[1-2]")]).ok();
    let read = |cluster: &Cluster| -> Value {
        serde_json::from_str::<Value>(&cluster.run("sdiag", &["--json"]).ok()).expect("JSON")["statistics"]
            .clone()
    };
    let statistics = read(&cluster);
    assert_eq!(
        statistics["jobs"],
        serde_json::json!({ "submitted": 6, "started": 2, "completed": 1, "canceled": 2, "failed": 1 })
    );
    assert_eq!((&statistics["pending"], &statistics["running"]), (&Value::from(2), &Value::from(0)));
    assert!(statistics["cycles"].as_u64() >= Some(2), "{statistics}");
    let text = cluster.run("sdiag", &[]).ok();
    assert!(text.contains("\nJobs submitted: 6\n") && text.contains("\tMet no bound:"), "{text}");

    assert!(cluster.stop());
    cluster.start();
    let again = read(&cluster);
    assert_eq!(again["jobs"]["submitted"], 0, "{again}");
    assert_eq!(again["recent"]["last"], statistics["recent"]["last"], "the last cycles are those in the log");
    assert!(cluster.stop());
    cluster.verify();
}
