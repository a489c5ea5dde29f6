//! Daemons that are not there, go away, or talk nonsense.

use std::sync::atomic::{AtomicUsize, Ordering};

use daybook_schemas::api::ErrorCode;
use serde_json::json;

use crate::harness::{Daemon, Reply, refuse};

#[test]
fn without_a_daemon_every_command_says_so_as_slurm_does() {
    let daemon = Daemon::absent();
    let nobody = "Unable to contact slurm controller (connect failure)";
    for (line, expected) in [
        (
            "sbatch --wrap true",
            format!("stderr:\nsbatch: error: Batch job submission failed: {nobody}\nexit: 1"),
        ),
        ("scancel 1", format!("stderr:\nscancel: error: Kill job error on job id 1: {nobody}\nexit: 8")),
        ("scancel -n x", format!("stderr:\nslurm_load_jobs error: {nobody}\nexit: 1")),
        ("scontrol hold 1", format!("stderr:\nslurm_suspend error: {nobody}\nexit: 1")),
        ("scontrol update jobid=1 nice=1", format!("stderr:\nslurm_update error: {nobody}\nexit: 1")),
        (
            "scontrol update nodename=n1 state=resume",
            format!("stderr:\nslurm_update error: {nobody}\nexit: 1"),
        ),
    ] {
        assert_eq!(daemon.run(line), expected, "{line}");
    }
}

#[test]
fn a_submission_whose_connection_breaks_is_sent_again_with_the_same_request_id() {
    let tries = AtomicUsize::new(0);
    let daemon = Daemon::start(move |_| match tries.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => Reply::HangUp,
        _ => Reply::Answer(json!({ "job": 7, "cluster": "tx", "seq": 3 })),
    });
    assert_eq!(daemon.run("sbatch --wrap true"), "stdout:\nSubmitted batch job 7\nexit: 0");
    let bodies: Vec<_> = daemon.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies.len(), 3);
    assert!(bodies.iter().all(|body| *body == bodies[0]), "every try is the same");
    assert!(
        bodies[0]["request_id"].as_str().is_some_and(|id| id.len() == 36),
        "{:?}",
        bodies[0]["request_id"]
    );
}

#[test]
fn two_submissions_have_two_request_ids() {
    let daemon = Daemon::start(|_| Reply::Answer(json!({ "job": 7, "cluster": "tx", "seq": 3 })));
    daemon.run("sbatch --wrap true");
    daemon.run("sbatch --wrap true");
    let ids: Vec<_> =
        daemon.requests().into_iter().map(|request| request.body["request_id"].clone()).collect();
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn a_daemon_that_cannot_write_its_log_is_quoted() {
    let daemon = Daemon::start(|_| refuse(ErrorCode::LogUnavailable, "The log cannot be written: disk full"));
    let expected =
        "stderr:\nsbatch: error: Batch job submission failed: The log cannot be written: disk full\nexit: 1";
    assert_eq!(daemon.run("sbatch --wrap true"), expected);
}

#[test]
fn an_answer_of_another_kind_is_named() {
    let daemon = Daemon::start(|_| Reply::Answer(json!({ "hello": "world" })));
    let answer = daemon.run("sbatch --wrap true");
    assert!(answer.contains("the daemon's answer cannot be understood: missing field `job`"), "{answer}");
    assert!(answer.ends_with("exit: 1"), "{answer}");
}
