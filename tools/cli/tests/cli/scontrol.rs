use daybook_schemas::api::ErrorCode;
use serde_json::{Value, json};

use crate::harness::{Daemon, Reply, Request, refuse};

fn done(_: &Request) -> Reply {
    Reply::Answer(json!({ "outcomes": [{ "target": { "job": 312 } }] }))
}

/// A daemon that refuses every target with this sentence.
fn refusing(code: ErrorCode, message: &'static str) -> Daemon {
    Daemon::start(move |request| {
        let jobs = request.body["jobs"].as_array().cloned();
        let target = jobs.and_then(|jobs| jobs.first().cloned()).unwrap_or_else(|| json!({ "job": 312 }));
        Reply::Answer(
            json!({ "outcomes": [{ "target": target, "error": { "code": code, "message": message } }] }),
        )
    })
}

#[test]
fn jobs_are_held_released_and_requeued() {
    for (line, path, jobs, hold) in [
        ("scontrol hold 312", "/v1/jobs/hold", json!([{ "job": 312 }]), false),
        ("scontrol uhold 312", "/v1/jobs/hold", json!([{ "job": 312 }]), true),
        (
            "scontrol HOL 312,313 314",
            "/v1/jobs/hold",
            json!([{ "job": 312 }, { "job": 313 }, { "job": 314 }]),
            false,
        ),
        ("scontrol release 13_7", "/v1/jobs/release", json!([{ "job": 13, "tasks": "7" }]), false),
        ("scontrol requeue 312", "/v1/jobs/requeue", json!([{ "job": 312 }]), false),
        ("scontrol requeuehold 312", "/v1/jobs/requeue", json!([{ "job": 312 }]), true),
        ("scontrol top 313,312", "/v1/jobs/top", json!([{ "job": 313 }, { "job": 312 }]), false),
    ] {
        let daemon = Daemon::start(done);
        assert_eq!(daemon.run(line), "exit: 0", "{line}");
        assert_eq!(daemon.requests()[0].path, path, "{line}");
        let body = daemon.only_body();
        assert_eq!((&body["jobs"], &body["hold"]), (&jobs, &json!(hold)), "{line}");
    }
}

#[test]
fn refusals_have_slurms_words() {
    let invalid_id = (ErrorCode::InvalidJobId, "Invalid job id specified");
    for (line, (code, message), expected) in [
        (
            "scontrol release 312",
            (ErrorCode::PermissionDenied, "Invalid user id"),
            "stderr:\nInvalid user id for job 312\nslurm_suspend error: Invalid user id\nexit: 1",
        ),
        (
            "scontrol hold 999999",
            invalid_id,
            "stderr:\nInvalid job id specified for job 999999\nslurm_suspend error: Invalid job id specified\nexit: 1",
        ),
        ("scontrol requeue 999999", invalid_id, "stderr:\nInvalid job id specified for job 999999\nexit: 1"),
        (
            "scontrol update jobid=312 partition=nosuch",
            (ErrorCode::InvalidPartition, "Invalid partition name specified"),
            "stderr:\nInvalid partition name specified for job 312\nexit: 1",
        ),
        (
            "scontrol update nodename=nosuch state=drain reason=x",
            (ErrorCode::InvalidNodeName, "Invalid node name specified"),
            "stderr:\nslurm_update error: Invalid node name specified\nexit: 1",
        ),
    ] {
        assert_eq!(refusing(code, message).run(line), expected, "{line}");
    }
    let daemon = Daemon::start(|_| refuse(ErrorCode::PermissionDenied, "Invalid user id"));
    for (line, expected) in [
        ("scontrol update jobid=312 nice=5", "stderr:\nInvalid user id for job 312\nexit: 1"),
        (
            "scontrol update nodename=n1 state=drain reason=x",
            "stderr:\nslurm_update error: Invalid user id\nexit: 1",
        ),
    ] {
        assert_eq!(daemon.run(line), expected, "{line}");
    }
}

#[test]
fn mistakes_are_answered_without_the_daemon() {
    let daemon = Daemon::absent();
    for (line, expected) in [
        ("scontrol nosuch", "stderr:\ninvalid keyword: nosuch\nexit: 1"),
        ("scontrol hold", "stderr:\ntoo few arguments for keyword:hold\nexit: 1"),
        ("scontrol update jobid=312", "stderr:\nNo changes specified\nexit: 1"),
        ("scontrol update", "stderr:\ntoo few arguments for update keyword\nexit: 1"),
        (
            "scontrol update jobid=312 foo=bar",
            "stderr:\nUpdate of this parameter is not supported: foo=bar\nRequest aborted\nexit: 1",
        ),
        (
            "scontrol update nodename=node01 state=drain",
            "stderr:\nYou must specify a reason when DOWNING or DRAINING a node. Request denied\nexit: 1",
        ),
        (
            "scontrol update nodename=node01 state=foo",
            "stderr:\nInvalid input: state=foo\nRequest aborted\n\
             Valid states are: NoResp DRAIN FAIL FUTURE RESUME POWER_DOWN POWER_UP UNDRAIN\n\
             Not all states are valid given a node's prior state\nexit: 1",
        ),
        ("scontrol suspend", "stderr:\ntoo few arguments for keyword:suspend\nexit: 1"),
        (
            "scontrol create nodename=n9",
            "stderr:\nscontrol: error: create nodename=n9 is not supported by daybook yet\nexit: 1",
        ),
        ("scontrol create partitionname=a", "stderr:\nscontrol: error: No parameters specified\nexit: 1"),
        ("scontrol update partitionname=a", "stderr:\nNo changes specified\nexit: 1"),
        (
            "scontrol update jobid=312 endtime=now",
            "stderr:\nscontrol: error: updating a job's endtime is not supported by daybook yet\nexit: 1",
        ),
        ("scontrol top", "stderr:\ntoo few arguments for keyword:top\nexit: 1"),
        (
            "scontrol update nodename=n1 nodeaddr=here",
            "stderr:\nscontrol: error: updating a node's nodeaddr is not supported by daybook yet\nexit: 1",
        ),
        (
            "scontrol update nodename=n1 state=power_down",
            "stderr:\nscontrol: error: state=power_down is not supported by daybook yet\nexit: 1",
        ),
        (
            "scontrol update nodename=n1 state=cancel_reboot",
            "stderr:\nslurm_update error: Invalid node state specified\nexit: 1",
        ),
        (
            "scontrol update nodename=n1 weight=heavy",
            "stderr:\nInvalid input: weight=heavy\nRequest aborted\nexit: 1",
        ),
        (
            "scontrol update nodename=n1 state=fail",
            "stderr:\nYou must specify a reason when DOWNING or DRAINING a node. Request denied\nexit: 1",
        ),
        ("scontrol --json hold 1", "stderr:\nscontrol: error: --json goes with show, not with hold\nexit: 1"),
        (
            "scontrol --nosuch show job",
            "stderr:\nscontrol: unrecognized option '--nosuch'\nTry \"scontrol --help\" for more information\nexit: 1",
        ),
    ] {
        assert_eq!(daemon.run(line), expected, "{line}");
    }
}

#[test]
fn unreadable_values_change_nothing() {
    for (setting, said) in [
        ("priority=high", "Invalid Priority value: high"),
        ("timemin=x", "Invalid TimeMin value"),
        ("timelimit=x", "Invalid TimeLimit value"),
        ("nice=x", "Invalid nice value for job 312"),
    ] {
        let daemon = Daemon::start(done);
        let answer = daemon.run(&format!("scontrol update jobid=312 {setting}"));
        assert_eq!(
            (answer.as_str(), daemon.requests().len()),
            (format!("stderr:\n{said}\nexit: 1").as_str(), 0)
        );
    }
}

#[test]
fn a_job_is_changed_in_one_request() {
    for (line, change) in [
        ("scontrol update jobid=312 timelimit=10", json!({ "job": 312, "time_limit": { "minutes": 10 } })),
        (
            "scontrol update job 312 nice=-100 requeue=0",
            json!({ "job": 312, "nice": -100, "requeue": false }),
        ),
        (
            "scontrol update JobId=312 JobName=new Comment=x",
            json!({ "job": 312, "name": "new", "comment": "x" }),
        ),
        (
            "scontrol update jobid=312 account=bio partition=short",
            json!({ "job": 312, "account": "bio", "partition": "short" }),
        ),
        ("scontrol update jobid=28 dependency=", json!({ "job": 28, "dependencies": { "conditions": [] } })),
        (
            "scontrol update jobid=312 qos=high priority=99999",
            json!({ "job": 312, "qos": "high", "priority": 99999 }),
        ),
        ("scontrol update jobid=312 priority=INFINITE", json!({ "job": 312, "priority": 4_294_967_295_u32 })),
        (
            "scontrol update jobid=312 timemin=5 deadline=2030-01-01",
            json!({ "job": 312, "time_min": { "minutes": 5 }, "deadline": "2030-01-01T00:00:00.000000Z" }),
        ),
        ("scontrol update jobid=13 arraytaskthrottle=2", json!({ "job": 13, "array_running_max": 2 })),
        (
            "scontrol update jobid=312 starttime=2030-01-01",
            json!({ "job": 312, "begin": "2030-01-01T00:00:00.000000Z" }),
        ),
    ] {
        let daemon = Daemon::start(done);
        assert_eq!(daemon.run(line), "exit: 0", "{line}");
        assert_eq!(daemon.only_body()["change"], change, "{line}");
    }
}

/// Job 312 as the queue shows it, with a limit of 10 minutes.
fn job_view() -> Value {
    let request = json!({ "nodes_min": 1, "tasks": 1, "cpus_per_task": 2 });
    json!([{
        "job": 312, "state": "PENDING", "reason": "none", "priority": 1, "submitted": "2026-12-02T01:00:00.000000Z",
        "time_limit": { "minutes": 10 }, "run_seconds": 0, "node_list": "", "exit": { "code": 0, "signal": 0 },
        "restarts": 0, "tres": "", "node_count": 1, "cpu_count": 2, "account": "", "qos": "normal",
        "std_out": "", "std_err": "", "std_in": "",
        "spec": {
            "name": "x", "user": { "uid": 0, "gid": 0, "name": "root", "group": "root" }, "partition": "main",
            "request": request, "requeue": true, "script": "", "script_bytes": 0, "environment": "",
            "work_dir": "/", "umask": 18, "submit_host": "vm", "submit_line": "sbatch x"
        }
    }])
}

#[test]
fn changes_that_depend_on_the_job_ask_for_it_first() {
    for (line, change) in [
        ("scontrol update jobid=312 timelimit=+5", json!({ "job": 312, "time_limit": { "minutes": 15 } })),
        ("scontrol update jobid=312 timelimit-=5", json!({ "job": 312, "time_limit": { "minutes": 5 } })),
        (
            "scontrol update jobid=312 numnodes=2 features=avx512",
            json!({ "job": 312, "request": {
                "nodes_min": 2, "nodes_max": 2, "tasks": 1, "cpus_per_task": 2, "features": ["avx512"]
            } }),
        ),
    ] {
        let daemon = Daemon::start(|request| match request.method.as_str() {
            "GET" => Reply::Answer(job_view()),
            _ => done(request),
        });
        assert_eq!(daemon.run(line), "exit: 0", "{line}");
        let requests = daemon.requests();
        assert_eq!((requests.len(), requests[0].path.as_str()), (2, "/v1/jobs/312"), "{line}");
        assert_eq!(requests[1].body["change"], change, "{line}");
    }
    let daemon = Daemon::start(|_| Reply::Answer(job_view()));
    assert_eq!(
        daemon.run("scontrol update jobid=312 timelimit=-10"),
        "stderr:\nInvalid TimeLimit value\nexit: 1"
    );
}

#[test]
fn nodes_are_drained_and_resumed() {
    for (call, body) in [
        (
            ("node[01-02]", "state=DRAIN reason=maint"),
            json!({ "nodes": ["node01", "node02"], "state": "drain", "reason": "maint" }),
        ),
        (("n1", "state=resume"), json!({ "nodes": ["n1"], "state": "resume" })),
        (("n1", "state=undrain"), json!({ "nodes": ["n1"], "state": "undrain" })),
        (("n1", "State=DOWN Reason=x"), json!({ "nodes": ["n1"], "state": "down", "reason": "x" })),
        (
            ("n[1-2]", "state=fail reason=fans"),
            json!({ "nodes": ["n1", "n2"], "state": "fail", "reason": "fans" }),
        ),
        (("n1", "state=idle"), json!({ "nodes": ["n1"], "state": "resume", "unless_idle": true })),
        (
            ("n1", "weight=7 availablefeatures=a,b activefeatures=b comment=x extra=y gres=gpu:1"),
            json!({
                "nodes": ["n1"], "weight": 7, "features": ["a", "b"], "active_features": ["b"], "comment": "x",
                "extra": "y", "gres": "gpu:1"
            }),
        ),
        (("n1", "reason=other"), json!({ "nodes": ["n1"], "reason": "other" })),
    ] {
        let daemon = Daemon::start(|_| Reply::Answer(json!({ "outcomes": [] })));
        let line = format!("scontrol update NodeName={} {}", call.0, call.1);
        assert_eq!(daemon.run(&line), "exit: 0", "{line}");
        let mut sent = daemon.only_body();
        sent.as_object_mut().expect("an object").remove("request_id");
        assert_eq!(sent, body, "{line}");
    }
}

#[test]
fn jobs_are_found_by_name() {
    let daemon = Daemon::start(|request| match request.path.as_str() {
        "/v1/jobs/query" => Reply::Answer(json!({ "seq": 1, "now": 0, "rows": [[312], [313]] })),
        _ => done(request),
    });
    assert_eq!(daemon.run("scontrol hold name=ctl"), "exit: 0");
    assert_eq!(daemon.requests()[0].body["filter"]["names"], json!(["ctl"]));
    assert_eq!(daemon.requests()[1].body["jobs"], json!([{ "job": 312 }, { "job": 313 }]));
}

#[test]
fn jobs_are_changed_by_name_and_arrays_by_part() {
    let daemon = Daemon::start(|request| match request.path.as_str() {
        "/v1/jobs/query" => Reply::Answer(json!({ "seq": 1, "now": 0, "rows": [[312], [313]] })),
        _ => done(request),
    });
    assert_eq!(daemon.run("scontrol update jobname=ctl timelimit=5"), "exit: 0");
    let changed: Vec<_> =
        daemon.requests()[1..].iter().map(|request| request.body["change"]["job"].clone()).collect();
    assert_eq!(changed, [json!(312), json!(313)]);

    let daemon = Daemon::start(done);
    assert_eq!(daemon.run("scontrol update jobid=13_[1,3] nice=5"), "exit: 0");
    let body = daemon.only_body();
    assert_eq!((&body["change"]["job"], &body["tasks"]), (&json!(13), &json!("1,3")));

    let error = json!({ "code": "wrong_state", "message": "Job is no longer pending execution" });
    let outcomes = json!([{ "target": { "job": 13, "tasks": "1" }, "error": error }, { "target": { "job": 13, "tasks": "2-9" } }]);
    let daemon = Daemon::start(move |_| Reply::Answer(json!({ "outcomes": outcomes })));
    assert_eq!(
        daemon.run("scontrol update jobid=13 partition=short"),
        "stderr:\n13_1: Job is no longer pending execution\nexit: 1"
    );
}
