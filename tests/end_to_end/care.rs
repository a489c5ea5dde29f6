//! What a site does around each run, on a cluster that runs: prologs, epilogs, and nodes that they find unfit.

use std::os::unix::fs::PermissionsExt as _;

use daybook_tests::{Cluster, TWO_NODES, wait_until};
use tempfile::TempDir;

/// A cluster whose prolog fails while there is a file `broken`, and whose epilog waits while there is a file `wait`.
fn started() -> (TempDir, Cluster) {
    let keep = tempfile::Builder::new().prefix("daybook-test-").tempdir().expect("a temporary directory");
    std::fs::set_permissions(keep.path(), std::fs::Permissions::from_mode(0o755)).expect("its mode");
    let program = |name: &str, script: &str| {
        let path = keep.path().join(name);
        let script = format!("#!/bin/sh\ncd {}/work\n{script}\n", keep.path().display());
        std::fs::write(&path, script).expect("a program");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("its mode");
        path.display().to_string()
    };
    let prolog = program("prolog", "[ ! -e broken ] || { echo no scratch; exit 3; }");
    let epilog = program("epilog", "while [ -e wait ]; do echo $SLURM_JOB_ID > waits; sleep 0.02; done");
    let mut cluster =
        Cluster::in_directory(keep.path(), &format!("{TWO_NODES}Prolog={prolog}\nEpilog={epilog}\n"));
    cluster.start();
    (keep, cluster)
}

fn touch(cluster: &Cluster, file: &str) {
    std::fs::write(cluster.work().join(file), "").expect("a file");
}

fn remove(cluster: &Cluster, file: &str) {
    std::fs::remove_file(cluster.work().join(file)).expect("a file");
}

#[test]
fn a_failing_prolog_drains_its_node_and_its_job_waits_held() {
    let (_keep, cluster) = started();
    touch(&cluster, "broken");
    let job = cluster.submit(&["-w", "n1"], "echo never");
    wait_until("the job is back", || {
        cluster.run("squeue", &["-h", "-j", &job.to_string(), "-o", "%T %r"]).out.trim()
            == "PENDING launch_failed_requeued_held"
    });
    let state = || cluster.run("sinfo", &["-h", "-n", "n1", "-p", "main", "-o", "%T"]).ok();
    assert_eq!(state().trim(), "drained");
    let reasons = cluster.run("sinfo", &["-R", "-h", "-o", "%E|%u|%N"]).ok();
    let prolog = cluster.root.join("prolog").display().to_string();
    assert_eq!(
        reasons.trim(),
        format!("Prolog error: job {job}: {prolog}: exit code 3: no scratch|agent/n1|n1")
    );
    let attempts =
        ["-D", "-n", "-P", "-X", "-j", &job.to_string(), "-o", "State,ExitCode,Reason,Start,NodeList"]
            .map(str::to_string);
    let attempts: Vec<&str> = attempts.iter().map(String::as_str).collect();
    let attempts = cluster.run("sacct", &attempts).ok();
    let [first, second] = attempts.lines().collect::<Vec<_>>().try_into().expect("two attempts");
    assert!(first.starts_with("REQUEUED|0:0|None|20") && first.ends_with("|n1"), "{first}");
    assert_eq!(second, "PENDING|0:0|launch_failed_requeued_held|Unknown|None assigned");
    // Nobody is sent there until somebody says that it is mended.
    remove(&cluster, "broken");
    let next = cluster.submit(&["-w", "n1"], "true");
    cluster.wait_state(next, "PENDING");
    cluster.run("scontrol", &["update", "NodeName=n1", "State=RESUME"]).ok();
    assert_eq!(cluster.wait_ended(next), "COMPLETED");
    assert!(!cluster.work().join(format!("slurm-{job}.out")).exists());
    cluster.check_conservation();
}

#[test]
fn a_node_is_completing_until_its_epilog_is_over_whoever_is_killed_meanwhile() {
    let (_keep, mut cluster) = started();
    touch(&cluster, "wait");
    let job = cluster.submit(&["-w", "n1", "-c", "4"], "exit 5");
    let ended = || cluster.sacct(job, "State,ExitCode");
    wait_until("its end is known", || ended() == "FAILED|5:0");
    let squeue = cluster.run("squeue", &["-h", "-j", &job.to_string(), "-o", "%T"]).ok();
    assert_eq!(squeue.trim(), "COMPLETING");
    let next = cluster.submit(&["-w", "n1", "-c", "4"], "true");
    cluster.kill();
    cluster.start();
    let state = cluster.run("sinfo", &["-h", "-n", "n1", "-p", "main", "-o", "%T"]).ok();
    assert_eq!(state.trim(), "completing");
    cluster.wait_state(next, "PENDING");
    remove(&cluster, "wait");
    assert_eq!(cluster.wait_ended(next), "COMPLETED");
    assert_eq!(cluster.sacct(job, "State,ExitCode"), "FAILED|5:0");
    cluster.check_conservation();
}
