//! Stopping and starting: jobs go on, nothing is forgotten.

use daybook_tests::Cluster;

#[test]
fn jobs_go_on_while_the_daemon_is_stopped_and_their_end_is_told_afterwards() {
    let mut cluster = Cluster::started();
    let job = cluster.submit(&["--gres=gpu:1"], "sleep 1; echo survived; exit 4");
    cluster.wait_state(job, "RUNNING");
    assert!(cluster.stop(), "a clean stop");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert_eq!(cluster.output(job), "survived\n");
    cluster.start();
    assert_eq!(cluster.wait_ended(job), "FAILED");
    assert_eq!(cluster.sacct(job, "ExitCode"), "4:0");
    cluster.check_conservation();
    assert!(cluster.stop());
    cluster.verify();
}

#[test]
fn waiting_jobs_and_ids_survive_kill_9() {
    let mut cluster = Cluster::started();
    let held = cluster.submit(&["--hold", "-J", "waits"], "true");
    cluster.kill();
    cluster.start();
    assert_eq!(cluster.run("squeue", &["-h", "-o", "%i %j %r"]).ok(), format!("{held} waits JobHeldUser\n"));
    assert_eq!(cluster.submit(&["--hold"], "true"), held + 1);
}

#[test]
fn a_second_daemon_on_the_same_state_is_refused() {
    let cluster = Cluster::started();
    let mut second = Cluster::in_directory(&cluster.root, daybook_tests::TWO_NODES);
    let why = second.try_start().expect_err("refused");
    assert!(why.contains("in use") || why.contains("served by another"), "{why}");
    assert_eq!(cluster.run("sinfo", &["-h"]).code, 0, "the first one goes on");
    std::mem::forget(second);
}

#[test]
fn a_log_that_is_shorter_than_the_ledger_is_refused() {
    let mut cluster = Cluster::started();
    let job = cluster.submit(&[], "true");
    cluster.wait_ended(job);
    assert!(cluster.stop());
    std::fs::remove_dir_all(cluster.state().join("log")).expect("the log is taken away");
    let why = cluster.try_start().expect_err("refused");
    assert!(why.contains("commits are missing") && why.contains("backup"), "{why}");
    let why = cluster.try_verify().expect_err("verification finds it, too");
    assert!(why.contains("the log ends at 0: it belongs to another log"), "{why}");
}
