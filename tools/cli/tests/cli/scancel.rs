use daybook_schemas::api::ErrorCode;
use serde_json::{Value, json};

use crate::harness::{Daemon, Reply, Request};

/// Answers each named job by its id: 318 is somebody else's, 999999 unknown, 5 has ended.
fn by_id(request: &Request) -> Reply {
    let outcomes: Vec<Value> = request.body["filter"]["jobs"]
        .as_array()
        .cloned()
        .unwrap_or_default()
        .into_iter()
        .map(|target| {
            let error = match target["job"].as_u64() {
                Some(318) => Some((ErrorCode::PermissionDenied, "Access/permission denied")),
                Some(999_999) => Some((ErrorCode::InvalidJobId, "Invalid job id specified")),
                Some(5) => Some((ErrorCode::AlreadyDone, "Job/step already completing or completed")),
                _ => None,
            };
            match error {
                None => json!({ "target": target }),
                Some((code, message)) => {
                    json!({ "target": target, "error": { "code": code, "message": message } })
                }
            }
        })
        .collect();
    Reply::Answer(json!({ "outcomes": outcomes }))
}

#[test]
fn outcomes_have_slurms_words_and_exit_codes() {
    let daemon = Daemon::start(by_id);
    for (line, expected) in [
        ("scancel 317", "exit: 0"),
        ("scancel 999999", "exit: 0"),
        ("scancel 5", "exit: 0"),
        ("scancel -Q 999999", "exit: 0"),
        ("scancel --ctld 999999", "exit: 0"),
        ("scancel 317 319 999999", "exit: 0"),
        ("scancel -v 317", "stderr:\nscancel: Terminating job 317\nexit: 0"),
        (
            "scancel -v 999999",
            "stderr:\nscancel: Terminating job 999999\n\
             scancel: error: Kill job error on job id 999999: Invalid job id specified\nexit: 0",
        ),
        (
            "scancel 318",
            "stderr:\nscancel: error: Kill job error on job id 318: Access/permission denied\nexit: 210",
        ),
        ("scancel abc", "stderr:\nscancel: error: Invalid job id abc\nexit: 1"),
        ("scancel", "stderr:\nscancel: error: No job identification provided\nexit: 1"),
        ("scancel -u no-such-user", "stderr:\nscancel: error: Invalid user name: no-such-user\nexit: 1"),
        ("scancel -s FOO 323", "stderr:\nUnknown job signal: FOO\nexit: 1"),
        (
            "scancel --state=FOO",
            "stderr:\nInvalid job state specified: FOO\nValid job states are PENDING, RUNNING, and SUSPENDED\nexit: 1",
        ),
        (
            "scancel 325.0",
            "stderr:\nscancel: error: 325.0: cancelling steps is not supported by daybook yet\nexit: 1",
        ),
        (
            "scancel --nosuch 1",
            "stderr:\nscancel: unrecognized option '--nosuch'\nTry \"scancel --help\" for more information\nexit: 1",
        ),
        (
            "scancel -M other 1",
            "stderr:\nscancel: error: -M (--clusters) is not supported by daybook yet\nexit: 1",
        ),
    ] {
        assert_eq!(daemon.run(line), expected, "{line}");
    }
}

#[test]
fn what_is_asked_is_sent() {
    for (line, filter, signal, batch) in [
        ("scancel 12", json!({ "jobs": [{ "job": 12 }] }), Value::Null, false),
        (
            "scancel 12_3 13",
            json!({ "jobs": [{ "job": 12, "tasks": "3" }, { "job": 13 }] }),
            Value::Null,
            false,
        ),
        (
            "scancel 12_[1-5],13",
            json!({ "jobs": [{ "job": 12, "tasks": "1-5" }, { "job": 13 }] }),
            Value::Null,
            false,
        ),
        ("scancel -s USR1 323", json!({ "jobs": [{ "job": 323 }] }), json!(10), false),
        ("scancel 323 --signal SIGTERM", json!({ "jobs": [{ "job": 323 }] }), json!(15), false),
        ("scancel -b -s USR1 323", json!({ "jobs": [{ "job": 323 }] }), json!(10), true),
        ("scancel --full -s 15 323", json!({ "jobs": [{ "job": 323 }] }), json!(15), true),
        ("scancel -s KILL 323", json!({ "jobs": [{ "job": 323 }] }), Value::Null, false),
        ("scancel -t PENDING -u root", json!({ "uids": [0], "states": ["PENDING"] }), Value::Null, false),
        (
            "scancel -t pd,R -n c0",
            json!({ "names": ["c0"], "states": ["PENDING", "RUNNING"] }),
            Value::Null,
            false,
        ),
        (
            "scancel -p main -A ml -q high -w n[1-2]",
            json!({ "partitions": ["main"], "accounts": ["ml"], "qos": ["high"], "nodes": ["n1", "n2"] }),
            Value::Null,
            false,
        ),
    ] {
        let daemon = Daemon::start(by_id);
        assert_eq!(daemon.run(line), "exit: 0", "{line}");
        let body = daemon.only_body();
        assert_eq!(body["filter"], filter, "{line}");
        assert_eq!((&body["signal"], &body["batch"]), (&signal, &json!(batch)), "{line}");
    }
}

#[test]
fn variables_stand_for_options_and_the_command_line_goes_first() {
    let daemon = Daemon::start(by_id);
    let call =
        daemon.call("scancel -p gpu").variable("SCANCEL_PARTITION", "main").variable("SCANCEL_NAME", "x");
    assert_eq!(call.run(), "exit: 0");
    assert_eq!(daemon.only_body()["filter"], json!({ "partitions": ["gpu"], "names": ["x"] }));
}

#[test]
fn interactive_asks_and_cancels_what_is_agreed_to() {
    let daemon = Daemon::start(|request| match request.path.as_str() {
        "/v1/jobs/query" => Reply::Answer(json!({
            "seq": 1, "now": 0,
            "rows": [["7", "c0", "main", 7, null], ["8_[1-3]", "c1", "main", 8, "1-3"]]
        })),
        _ => by_id(request),
    });
    let answer = daemon.call("scancel -i -n c").stdin("n\ny\n").run();
    let asked = "stdout:\nCancel job_id=7 name=c0 partition=main [y/n]? \
                 Cancel job_id=8_[1-3] name=c1 partition=main [y/n]? exit: 0";
    assert_eq!(answer, asked);
    let requests = daemon.requests();
    assert_eq!(requests[1].body["filter"], json!({ "jobs": [{ "job": 8, "tasks": "1-3" }] }));
}

#[test]
fn interactive_names_a_job_that_is_not_there() {
    let daemon = Daemon::start(|_| Reply::Answer(json!({ "seq": 1, "now": 0, "rows": [] })));
    let expected = "stderr:\nscancel: error: Kill job error on job id 1: Invalid job id specified\nexit: 1";
    assert_eq!(daemon.call("scancel -i 1").stdin("n\n").run(), expected);
}
