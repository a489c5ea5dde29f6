//! `daybook why` and `sdiag`: what they ask, and their errors.

use daybook_schemas::api::ErrorCode;
use serde_json::{Value, json};

use crate::harness::{Daemon, Reply, Request, refuse};

/// Knows job 12, which is held, and a task of it.
fn one_job(request: &Request) -> Reply {
    match request.path.as_str() {
        "/v1/jobs/12/why" | "/v1/jobs/12/why?task=3" => Reply::Answer(held()),
        "/v1/statistics" => Reply::Answer(json!({
            "seq": 5, "now": "2026-12-02T20:00:00.000000Z", "since": "2026-12-02T19:00:00.000000Z", "since_seq": 1,
            "jobs": { "submitted": 3, "started": 2, "completed": 1, "canceled": 1, "failed": 0 },
            "pending": 1, "running": 1, "cycles": 0,
            "recent": { "count": 0, "seconds": 0, "jobs_mean": 0, "jobs_max": 0, "steps_mean": 0, "steps_max": 0,
                        "starts": 0, "reasons": 0 },
        })),
        _ => refuse(ErrorCode::InvalidJobId, "Invalid job id specified"),
    }
}

fn held() -> Value {
    json!({
        "seq": 5, "now": "2026-12-02T20:00:00.000000Z", "job": 12, "display_id": "12", "name": "wrap", "user": "alice",
        "partition": "main", "state": "PENDING", "submitted": "2026-12-02T19:50:00.000000Z", "reason": "job_held_user",
        "since": "2026-12-02T19:55:00.000000Z",
        "blocks": [{ "kind": "held", "by_administrator": false, "after_failed_launch": false }],
        "outlook": { "kind": "until_changed" },
    })
}

const SENTENCES: &str = "Job 12 (wrap, alice) waits in partition main: JobHeldUser, for 5 min.\n\
                         Its owner holds it; \"scontrol release 12\" lets it go.\n";
const UNKNOWN: &str = "daybook: error: Invalid job id specified\n";

#[test]
fn jobs_are_explained_and_unknown_ones_are_refused_in_slurms_words() {
    let daemon = Daemon::start(one_job);
    for (line, expected) in [
        ("daybook why 12", format!("stdout:\n{SENTENCES}exit: 0")),
        ("daybook why 12_3", format!("stdout:\n{SENTENCES}exit: 0")),
        ("daybook why 999", format!("stderr:\n{UNKNOWN}exit: 1")),
        ("daybook why 12_4", format!("stderr:\n{UNKNOWN}exit: 1")),
        ("daybook why 12 999", format!("stdout:\n{SENTENCES}stderr:\n{UNKNOWN}exit: 1")),
        (
            "daybook why abc",
            "stderr:\ndaybook: error: \"abc\" is no job id: expected such as 12, or 12_3 for a task of an array\nexit: 2"
                .into(),
        ),
        (
            "daybook why 12_[1-3]",
            "stderr:\ndaybook: error: \"12_[1-3]\": why takes one task at a time, such as 12_3; those that wait share a \
             reason\nexit: 2"
                .into(),
        ),
        (
            "daybook why",
            "stderr:\ndaybook: error: why needs a job: daybook why 12, or 12_3 for a task of an array\nexit: 2".into(),
        ),
        (
            "daybook why --nosuch 12",
            "stderr:\nwhy: unrecognized option '--nosuch'\nTry \"why --help\" for more information\nexit: 2".into(),
        ),
    ] {
        assert_eq!(daemon.run(line), expected, "{line}");
    }
}

#[test]
fn as_json_everything_is_under_explanations() {
    let daemon = Daemon::start(one_job);
    let answer = daemon.run("daybook why --json 12 12_3 999");
    let (out, rest) = answer.split_once("stderr:\n").expect("the unknown one is refused");
    assert_eq!(rest, format!("{UNKNOWN}exit: 1"));
    let document: Value = serde_json::from_str(out.trim_start_matches("stdout:\n")).expect("JSON");
    assert_eq!(document["explanations"], json!([held(), held()]));
}

#[test]
fn sdiag_prints_what_is_counted_and_refuses_what_it_cannot_do() {
    let daemon = Daemon::start(one_job);
    let report = daemon.run("sdiag");
    assert!(report.contains("\nJobs submitted: 3\nJobs started:   2\nJobs completed: 1\n"), "{report}");
    assert_eq!(daemon.run("sdiag --all"), report);
    let document = daemon.run("sdiag --json");
    assert!(document.contains("\"statistics\": {") && document.ends_with("exit: 0"), "{document}");
    for (line, expected) in [
        ("sdiag --reset", "stderr:\nsdiag: error: --reset is not supported by daybook yet\nexit: 1"),
        ("sdiag -r", "stderr:\nsdiag: error: -r (--reset) is not supported by daybook yet\nexit: 1"),
        ("sdiag now", "stderr:\nsdiag: error: Unrecognized option: now\nexit: 1"),
    ] {
        assert_eq!(daemon.run(line), expected, "{line}");
    }
}

#[test]
fn without_a_daemon_both_say_so() {
    let nobody = Daemon::absent();
    let reason = "Unable to contact slurm controller (connect failure)\nexit: 1";
    assert_eq!(nobody.run("daybook why 12"), format!("stderr:\ndaybook: error: {reason}"));
    assert_eq!(nobody.run("sdiag"), format!("stderr:\nsdiag: error: {reason}"));
}
