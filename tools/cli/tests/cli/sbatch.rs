use daybook_schemas::api::{ApiError, ErrorCode};
use serde_json::{Value, json};

use crate::harness::{Daemon, Reply, Request};

fn accepting(_: &Request) -> Reply {
    Reply::Answer(json!({ "job": 47, "cluster": "tx", "seq": 9 }))
}

/// Runs a line against a daemon that accepts everything, and gives what was sent.
fn sent(line: &str) -> Value {
    let daemon = Daemon::start(accepting);
    let call = daemon.call(line).argument("--wrap").argument("true");
    assert_eq!(call.run(), "stdout:\nSubmitted batch job 47\nexit: 0", "{line}");
    daemon.only_body()
}

#[test]
fn the_job_id_is_printed_as_asked() {
    let daemon = Daemon::start(accepting);
    for (line, expected) in [
        ("sbatch --wrap hostname", "stdout:\nSubmitted batch job 47\nexit: 0"),
        ("sbatch --parsable --wrap hostname", "stdout:\n47\nexit: 0"),
        ("sbatch -Q --wrap hostname", "exit: 0"),
    ] {
        assert_eq!(daemon.run(line), expected, "{line}");
    }
}

#[test]
fn scripts_come_from_a_file_with_arguments_from_standard_input_or_from_wrap() {
    let daemon = Daemon::start(accepting);
    let text = "#!/bin/bash\n#SBATCH -n 2\nhostname\n";
    let path = daemon.file("plain.sh", text);
    daemon.call("sbatch plain.sh a").argument("b c").argument("-n").run();
    daemon.call("sbatch").stdin("#!/bin/bash\n#SBATCH -J fromstdin\necho from stdin\n").run();
    daemon.call("sbatch").stdin(text).run();
    daemon.call("sbatch --wrap").argument("hostname; echo hi").run();
    let bodies: Vec<Value> = daemon.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies[0]["name"], "plain.sh");
    assert_eq!(bodies[0]["script"], text);
    assert_eq!(bodies[0]["command"], path.to_str().expect("UTF-8"));
    assert_eq!(bodies[0]["arguments"], json!(["a", "b c", "-n"]));
    assert_eq!(bodies[0]["request"]["tasks"], 2);
    assert_eq!(bodies[0]["submit_line"], "sbatch plain.sh a b c -n");
    assert_eq!((&bodies[1]["name"], &bodies[1]["command"]), (&json!("fromstdin"), &Value::Null));
    assert_eq!(bodies[2]["name"], "sbatch");
    assert_eq!(bodies[3]["name"], "wrap");
    let wrapped = "#!/bin/sh\n# This script was created by sbatch --wrap.\n\nhostname; echo hi\n";
    assert_eq!(bodies[3]["script"], wrapped);
}

#[test]
fn what_is_no_script_is_refused_and_nothing_is_sent() {
    let daemon = Daemon::start(accepting);
    daemon.file("noshebang.sh", "hostname\n");
    daemon.file("empty.sh", "");
    daemon.file("crlf.sh", "#!/bin/bash\r\nhostname\r\n");
    daemon.file("nul.sh", b"#!/bin/bash\n\0\n");
    daemon.file("baddir.sh", "#!/bin/bash\n#SBATCH --nosuch=1\nhostname\n");
    daemon.file("word.sh", "#!/bin/bash\n#SBATCH -n 2 b\nhostname\n");
    daemon.file("pbs.sh", "#!/bin/bash\n#PBS -N x\nhostname\n");
    daemon.file("refused.sh", "#!/bin/bash\n#SBATCH --container=x\nhostname\n");
    daemon.file("large.sh", format!("#!/bin/bash\n{}", "#\n".repeat(5 << 20)));
    let not_a_script = "stderr:\n\
        sbatch: error: This does not look like a batch script.  The first\n\
        sbatch: error: line must start with #! followed by the path to an interpreter.\n\
        sbatch: error: For instance: #!/bin/sh\n\
        exit: 1";
    for (line, expected) in [
        ("sbatch noshebang.sh", not_a_script),
        ("sbatch -J --wrap true", not_a_script),
        ("sbatch empty.sh", "stderr:\nsbatch: error: Batch script is empty!\nexit: 1"),
        ("sbatch", "stderr:\nsbatch: error: Batch script is empty!\nexit: 1"),
        ("sbatch .", "stderr:\nsbatch: error: Batch script is empty!\nexit: 1"),
        (
            "sbatch crlf.sh",
            "stderr:\nsbatch: error: Batch script contains DOS line breaks (\\r\\n)\n\
             sbatch: error: instead of expected UNIX line breaks (\\n).\nexit: 1",
        ),
        (
            "sbatch nul.sh",
            "stderr:\nsbatch: error: The SLURM controller does not allow scripts that\n\
             sbatch: error: contain a NULL character '\\0'.\nexit: 1",
        ),
        ("sbatch nosuchfile.sh", "stderr:\nsbatch: error: Unable to open file nosuchfile.sh\nexit: 1"),
        ("sbatch -n1 -", "stderr:\nsbatch: error: Unable to open file -\nexit: 1"),
        (
            "sbatch --wrap=hostname plain.sh",
            "stderr:\nsbatch: error: Script arguments not permitted with --wrap option\nexit: 1",
        ),
        (
            "sbatch baddir.sh",
            "stderr:\nsbatch: unrecognized option '--nosuch=1'\nTry \"sbatch --help\" for more information\nexit: 255",
        ),
        ("sbatch word.sh", "stderr:\nsbatch: error: Invalid directive found in batch script: b\nexit: 255"),
        (
            "sbatch pbs.sh",
            "stderr:\nsbatch: error: #PBS lines are not supported by daybook yet: --ignore-pbs submits the script \
             without them\nexit: 1",
        ),
        ("sbatch refused.sh", "stderr:\nsbatch: error: --container is not supported by daybook yet\nexit: 1"),
        (
            "sbatch large.sh",
            "stderr:\nsbatch: error: the batch script has 10485772 bytes, at most 4194304 are accepted\n\
             sbatch: error: Batch job submission failed: \
             Pathname of a file, directory or other parameter too long\nexit: 1",
        ),
        (
            "sbatch -n1 a : -n2 b",
            "stderr:\nsbatch: error: heterogeneous jobs (:) are not supported by daybook yet\nexit: 1",
        ),
    ] {
        assert_eq!(daemon.run(line), expected, "{line}");
    }
    assert!(daemon.requests().is_empty());
    assert_eq!(daemon.run("sbatch --ignore-pbs pbs.sh"), "stdout:\nSubmitted batch job 47\nexit: 0");
}

#[test]
fn values_that_cannot_be_read_are_refused_with_slurms_words() {
    let daemon = Daemon::start(accepting);
    let failed = "Batch job submission failed:";
    for (options, lines, exit) in [
        ("-t abc", "sbatch: error: Invalid --time specification".to_string(), 255),
        ("-t 1:2:3:4", "sbatch: error: Invalid --time specification".to_string(), 255),
        ("--mem=abc", "sbatch: error: Invalid --mem specification".to_string(), 255),
        ("--mem=1.5G", "sbatch: error: Invalid --mem specification".to_string(), 255),
        ("--gres=foo:1", "sbatch: error: Invalid generic resource (gres) specification".to_string(), 1),
        ("-N 0", format!("sbatch: error: {failed} Node count specification invalid"), 1),
        ("-n 0", "sbatch: error: Invalid numeric value \"0\" for --ntasks.".to_string(), 1),
        ("-c 0", "sbatch: error: Invalid numeric value \"0\" for --cpus-per-task.".to_string(), 1),
        ("-n abc", "sbatch: error: Invalid numeric value \"abc\" for --ntasks.".to_string(), 1),
        ("-N 2-1", "sbatch: error: Maximum node count 1 is less than minimum node count 2".to_string(), 255),
        (
            "--begin=garbage",
            "Invalid time specification (pos=0): garbage\nsbatch: error: Invalid --begin specification"
                .to_string(),
            255,
        ),
        (
            "--nosuch",
            "sbatch: unrecognized option '--nosuch'\nTry \"sbatch --help\" for more information".to_string(),
            255,
        ),
        ("-z", "sbatch: invalid option -- 'z'\nTry \"sbatch --help\" for more information".to_string(), 255),
        ("--dependency=bad", format!("sbatch: error: {failed} Job dependency problem"), 1),
        (
            "-d expand:24",
            format!("sbatch: error: {failed} Requested operation not supported on this system"),
            1,
        ),
        ("--open-mode=x", "sbatch: error: Invalid --open-mode specification".to_string(), 255),
        ("--exclusive=foo", "sbatch: error: Invalid --exclusive specification".to_string(), 255),
        ("--array=5-1", format!("sbatch: error: {failed} Invalid job array specification"), 1),
        ("--array=a", format!("sbatch: error: {failed} Invalid job array specification"), 1),
        (
            "--partition=",
            format!(
                "sbatch: error: invalid partition specified: (null)\nsbatch: error: {failed} Invalid partition name specified"
            ),
            1,
        ),
        (
            "--mem=1 --mem-per-cpu=1",
            "sbatch: fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.".to_string(),
            1,
        ),
        ("--signal=USR2@90", "sbatch: error: --signal is not supported by daybook yet".to_string(), 1),
        ("-L x:0", format!("sbatch: error: {failed} Invalid license specification"), 1),
        (
            "-L a|b",
            "sbatch: error: --licenses=\"a|b\": licences of which one is enough (joined by |) are not supported by daybook yet"
                .to_string(),
            1,
        ),
        ("--test-only", "sbatch: error: --test-only is not supported by daybook yet".to_string(), 1),
    ] {
        let answer = daemon.call(&format!("sbatch {options} --wrap true")).run();
        assert_eq!(answer, format!("stderr:\n{lines}\nexit: {exit}"), "{options}");
    }
    assert!(daemon.requests().is_empty());
}

#[test]
fn the_daemons_refusal_is_printed_as_slurms_client_prints_it() {
    let daemon = Daemon::start(|request| {
        let error = match request.body["partition"].as_str() {
            Some(name) => ApiError::new(ErrorCode::InvalidPartition, "Invalid partition name specified")
                .detail(format!("invalid partition specified: {name}")),
            None => ApiError::new(
                ErrorCode::InvalidAccount,
                "Invalid account or account/partition combination specified",
            ),
        };
        Reply::Refuse(error)
    });
    for (line, expected) in [
        (
            "sbatch -p nosuch --wrap true",
            "stderr:\nsbatch: error: invalid partition specified: nosuch\n\
             sbatch: error: Batch job submission failed: Invalid partition name specified\nexit: 1",
        ),
        (
            "sbatch -A nosuch --wrap true",
            "stderr:\nsbatch: error: Batch job submission failed: \
             Invalid account or account/partition combination specified\nexit: 1",
        ),
    ] {
        assert_eq!(daemon.run(line), expected, "{line}");
    }
}

#[test]
fn resources_are_sent_as_asked() {
    let plain = json!({ "nodes_min": 1, "tasks": 1, "cpus_per_task": 1 });
    let with = |changes: Value| {
        let mut request = plain.clone();
        for (key, value) in changes.as_object().expect("an object") {
            request[key] = value.clone();
        }
        request
    };
    for (line, request) in [
        ("sbatch", plain.clone()),
        (
            "sbatch -n3 -c2",
            with(json!({ "tasks": 3, "tasks_given": true, "cpus_per_task": 2, "cpus_per_task_given": true })),
        ),
        ("sbatch -N2-4", with(json!({ "nodes_min": 2, "nodes_max": 4, "tasks": 2 }))),
        (
            "sbatch -N2 --ntasks-per-node=3",
            with(
                json!({ "nodes_min": 2, "nodes_max": 2, "tasks": 6, "tasks_given": true, "tasks_per_node": 3 }),
            ),
        ),
        ("sbatch --mem=1G", with(json!({ "memory": { "per_node": 1024 } }))),
        ("sbatch --mem-per-cpu=300", with(json!({ "memory": { "per_cpu": 300 } }))),
        (
            "sbatch --mem-per-gpu=1G --gpus=1",
            with(json!({ "memory": { "per_gpu": 1024 }, "gpus": [{ "scope": "job", "count": 1 }] })),
        ),
        (
            "sbatch --gres=gpu:a100:2",
            with(json!({ "gpus": [{ "scope": "node", "gpu_type": "a100", "count": 2 }] })),
        ),
        (
            "sbatch --gpus-per-task=1 -n2",
            with(json!({ "tasks": 2, "tasks_given": true, "gpus": [{ "scope": "task", "count": 1 }] })),
        ),
        ("sbatch -G a100:2", with(json!({ "gpus": [{ "scope": "job", "gpu_type": "a100", "count": 2 }] }))),
        ("sbatch --exclusive", with(json!({ "exclusive": true }))),
        (
            "sbatch -w n[1-2] -x n3 -C intel&avx512",
            with(json!({
                "nodes_min": 2, "tasks": 2, "nodes_required": ["n1", "n2"], "nodes_excluded": ["n3"],
                "features": ["avx512", "intel"]
            })),
        ),
    ] {
        assert_eq!(sent(line)["request"], request, "{line}");
    }
}

#[test]
fn fewer_tasks_than_nodes_make_fewer_nodes() {
    let daemon = Daemon::start(accepting);
    let answer = daemon.run("sbatch -N4 -n2 --wrap true");
    let warning = "sbatch: Warning: can't run 2 processes on 4 nodes, setting nnodes to 2";
    assert_eq!(answer, format!("stdout:\nSubmitted batch job 47\nstderr:\n{warning}\nexit: 0"));
    assert_eq!(daemon.only_body()["request"]["nodes_max"], 2);
}

#[test]
fn everything_else_is_sent_as_asked() {
    for (line, key, value) in [
        ("sbatch -t 10:30", "time_limit", json!({ "minutes": 11 })),
        ("sbatch -t UNLIMITED", "time_limit", json!("unlimited")),
        ("sbatch -p short,gpu", "partition", json!("short,gpu")),
        ("sbatch -A ml", "account", json!("ml")),
        ("sbatch -q high", "qos", json!("high")),
        ("sbatch -H", "hold", json!(true)),
        ("sbatch --nice=50", "nice", json!(50)),
        ("sbatch --nice", "nice", json!(100)),
        ("sbatch --nice=abc", "nice", json!(0)),
        ("sbatch --requeue", "requeue", json!(true)),
        ("sbatch --requeue --no-requeue", "requeue", json!(false)),
        ("sbatch", "requeue", Value::Null),
        ("sbatch --array=0-9%2", "array", json!({ "tasks": "0-9", "running_max": 2 })),
        ("sbatch --array=", "array", Value::Null),
        ("sbatch --begin=2030-01-01T12:34:56", "begin", json!("2030-01-01T12:34:56.000000Z")),
        ("sbatch -d afterok:24", "dependencies", json!({ "conditions": [{ "kind": "afterok", "job": 24 }] })),
        ("sbatch --kill-on-invalid-dep=yes", "kill_on_invalid_dependency", json!(true)),
        ("sbatch -D /tmp", "work_dir", json!("/tmp")),
        ("sbatch -D /nonexistent", "work_dir", json!("/nonexistent")),
        ("sbatch -o /tmp/x_%j.out", "std_out", json!("/tmp/x_%j.out")),
        ("sbatch -e err_%A.txt", "std_err", json!("err_%A.txt")),
        ("sbatch -i /dev/null", "std_in", json!("/dev/null")),
        ("sbatch --open-mode=append", "open_mode", json!("append")),
        ("sbatch --comment=hello", "comment", json!("hello")),
        ("sbatch -J myjob", "name", json!("myjob")),
    ] {
        assert_eq!(sent(line)[key], value, "{line}");
    }
}

#[test]
fn the_command_line_goes_before_the_environment_before_the_script() {
    let daemon = Daemon::start(accepting);
    daemon.file("job.sh", "#!/bin/sh\n#SBATCH -p script -A script -q script\ntrue\n");
    let call = daemon.call("sbatch -p line job.sh");
    call.variable("SBATCH_PARTITION", "variable").variable("SBATCH_ACCOUNT", "variable").run();
    let body = daemon.only_body();
    let chosen = (&body["partition"], &body["account"], &body["qos"]);
    assert_eq!(chosen, (&json!("line"), &json!("variable"), &json!("script")));
}

#[test]
fn a_variable_of_an_option_that_is_not_there_yet_is_refused() {
    let daemon = Daemon::start(accepting);
    let answer = daemon.call("sbatch --wrap true").variable("SBATCH_CONTAINER", "x").run();
    let expected =
        "stderr:\nsbatch: error: SBATCH_CONTAINER (--container) is not supported by daybook yet\nexit: 1";
    assert_eq!(answer, expected);
    assert!(daemon.requests().is_empty());
}

#[test]
fn the_surroundings_go_along() {
    let daemon = Daemon::start(accepting);
    daemon.call("sbatch --wrap true").variable("FOO", "a b").run();
    let body = daemon.only_body();
    let directory = daemon.path().canonicalize().expect("it is there");
    let environment: Vec<&str> =
        body["environment"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let submit_dir = format!("SLURM_SUBMIT_DIR={}", directory.display());
    for variable in ["FOO=a b", "SLURM_JOB_NAME=wrap", submit_dir.as_str()] {
        assert!(environment.contains(&variable), "{variable} in {environment:?}");
    }
    assert_eq!(body["work_dir"], directory.to_str().expect("UTF-8"));
    assert!(body["umask"].as_u64().is_some_and(|mask| mask <= 0o777));
    assert!(body["resource_limits"]["NOFILE"].as_u64().is_some_and(|limit| limit > 0));
    // A command shares its caller's session. It is 0 where that began outside the process id namespace, as in a container.
    let own_session = nix::unistd::getsid(None).expect("a process has one").as_raw();
    assert_eq!(body["session"].as_i64(), Some(i64::from(own_session)));
    assert!(body["submit_host"].as_str().is_some_and(|host| !host.is_empty()));
}

#[test]
fn wait_asks_until_the_end_and_exits_with_the_jobs_code() {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let daemon = Daemon::start(move |request| match request.path.as_str() {
        "/v1/jobs" => accepting(request),
        _ => match asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 => Reply::Answer(json!({ "ended": false, "exit_code": 0 })),
            1 => Reply::HangUp,
            _ => Reply::Answer(json!({ "ended": true, "exit_code": 3 })),
        },
    });
    assert_eq!(daemon.run("sbatch --wait --wrap true"), "stdout:\nSubmitted batch job 47\nexit: 3");
    let paths: Vec<String> = daemon.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths[1], "/v1/jobs/47/wait?timeout_seconds=300");
    assert_eq!(paths.len(), 4);
}

#[test]
fn verbose_shows_the_options_in_force() {
    let daemon = Daemon::start(accepting);
    let expected = "stdout:\nSubmitted batch job 47\nstderr:\nsbatch: defined options\n\
        sbatch: -------------------- --------------------\n\
        sbatch: verbose             : 1\n\
        sbatch: wrap                : hostname\n\
        sbatch: -------------------- --------------------\n\
        sbatch: end of defined options\nexit: 0";
    assert_eq!(daemon.run("sbatch -v --wrap hostname"), expected);
}
