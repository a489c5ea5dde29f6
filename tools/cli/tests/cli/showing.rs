//! `squeue`, `sinfo`, `sacct`, `scontrol show` and `daybook events`: what they ask, and their errors.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use daybook_schemas::api::ErrorCode;
use daybook_schemas::events::ClusterConfigured;
use serde_json::{Value, json};

use crate::harness::{Daemon, Reply, Request, refuse};

const HEADER: &str = "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n";

/// An empty cluster that knows one node, and no job.
fn empty(request: &Request) -> Reply {
    match request.path.as_str() {
        "/v1/jobs/query" if request.body["filter"]["jobs"].as_array().is_some_and(|jobs| jobs.len() == 1) => {
            refuse(ErrorCode::InvalidJobId, "Invalid job id specified")
        }
        "/v1/jobs/query" => Reply::Answer(json!({ "seq": 1, "now": 0, "rows": [] })),
        "/v1/nodes" => Reply::Answer(json!([node("node01")])),
        "/v1/jobs" | "/v1/partitions" => Reply::Answer(json!([])),
        "/v1/cluster" => {
            Reply::Answer(serde_json::to_value(ClusterConfigured::default()).expect("a configuration"))
        }
        "/v1/accounting/query" => Reply::Answer(json!({
            "cluster": "tx", "complete_up_to": 1, "complete_up_to_time": "2026-12-02T01:00:00.000000Z",
            "now": "2026-12-02T01:00:00.000000Z", "records": [],
        })),
        _ => refuse(ErrorCode::InvalidJobId, "Invalid job id specified"),
    }
}

fn node(name: &str) -> Value {
    json!({
        "definition": {
            "name": name, "hostname": "vm", "address": "vm", "cpus": 8, "boards": 1, "sockets": 1, "cores_per_socket": 8,
            "threads_per_core": 1, "memory": 16000, "tmp_disk": 0, "weight": 1, "features": [], "gpus": [], "gres": "",
        },
        "state": "idle", "drain": false, "not_responding": false, "reason": "",
        "allocated": { "cpus": 0, "memory": 0, "gpus": 0 }, "gpus_allocated": [], "runs": [], "partitions": [],
    })
}

#[test]
fn mistakes_and_unknown_things_have_slurms_words() {
    let daemon = Daemon::start(empty);
    for (line, expected) in [
        ("squeue", format!("stdout:\n{HEADER}exit: 0")),
        ("squeue -h", "exit: 0".into()),
        ("squeue -j 999999", "stderr:\nslurm_load_jobs error: Invalid job id specified\nexit: 1".into()),
        ("squeue -j 999999,289", format!("stdout:\n{HEADER}exit: 0")),
        ("squeue abc", "stderr:\nsqueue: error: Unrecognized option: abc\nexit: 1".into()),
        ("squeue -j abc", "stderr:\nsqueue: error: Invalid job id: abc\nexit: 1".into()),
        ("squeue -u nosuch", format!("stdout:\n{HEADER}stderr:\nsqueue: error: Invalid user: nosuch\n\nexit: 0")),
        ("squeue -w nosuch", "stderr:\nsqueue: error: Invalid node name nosuch\nexit: 1".into()),
        ("squeue -w node01", format!("stdout:\n{HEADER}exit: 0")),
        (
            "squeue --nosuch",
            "stderr:\nsqueue: unrecognized option '--nosuch'\nTry \"squeue --help\" for more information\nexit: 1".into(),
        ),
        (
            "squeue --federation",
            "stderr:\nsqueue: error: --federation is not supported by daybook yet\nexit: 1".into(),
        ),
        ("squeue -s", "stderr:\nsqueue: error: -s (--steps) is not supported by daybook yet\nexit: 1".into()),
        ("sinfo -p nosuch", "stdout:\nPARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\nexit: 0".into()),
        ("sinfo -h -o %i", "stderr:\nInvalid node format specification: i\nexit: 0".into()),
        ("sinfo -F", "stderr:\nsinfo: error: -F (--future) is not supported by daybook yet\nexit: 1".into()),
        (
            "sinfo -t foo",
            "stderr:\nsinfo: error: Bad state string: \"foo\"\nsinfo: error: valid states: unknown,down,idle,allocated,?,\
             mixed,future,drain,drained,draining,no_respond,reserved,perfctrs,cloud,completing,powering_down,\
             powered_down,power_down,powering_up,fail,maint,reboot,reboot^,unknown\nexit: 1"
                .into(),
        ),
        ("sacct -n", "exit: 0".into()),
        ("sacct --nosuch", "stderr:\nsacct: unrecognized option '--nosuch'\nexit: 1".into()),
        ("sacct -j abc", "stderr:\nsacct: fatal: Bad job/step specified: abc\nexit: 1".into()),
        ("sacct -s foo", "stderr:\nsacct: fatal: unrecognized job state value 'foo'\nexit: 1".into()),
        ("sacct -u nosuch", "stderr:\nsacct: error: Invalid user id: nosuch\nexit: 1".into()),
        ("sacct -S garbage", "stderr:\nInvalid time specification (pos=0): garbage\nexit: 1".into()),
        (
            "sacct -o jobid,nosuchfield",
            "stderr:\nsacct: error: Invalid field requested: \"nosuchfield\"\nexit: 1".into(),
        ),
        ("sacct -B -j 326", "stderr:\nsacct: error: -B (--batch-script) is not supported by daybook yet\nexit: 1".into()),
        (
            "scontrol show job 999999",
            "stderr:\nslurm_load_jobs error: Invalid job id specified\nexit: 1".into(),
        ),
        ("scontrol show job abc", "stderr:\nscontrol_print_job error: Invalid job id specified\nexit: 1".into()),
        ("scontrol show jobs", "stdout:\nNo jobs in the system\nexit: 0".into()),
        ("scontrol show node nosuch", "stdout:\nNode nosuch not found\nexit: 1".into()),
        ("scontrol show partition nosuch", "stdout:\nPartition nosuch not found\nexit: 1".into()),
        ("scontrol show nosuch", "stderr:\ninvalid entity:nosuch for keyword:show \nexit: 1".into()),
        ("scontrol show topology", "stdout:\nNo topology information available\nexit: 0".into()),
        (
            "scontrol show assoc_mgr",
            "stderr:\nscontrol: error: show assoc_mgr is not supported by daybook yet\nexit: 1".into(),
        ),
    ] {
        assert_eq!(daemon.run(line), expected, "{line}");
    }
}

#[test]
fn without_a_daemon_each_says_so_in_its_own_words() {
    let nobody = Daemon::absent();
    let reason = "Unable to contact slurm controller (connect failure)\nexit: 1";
    for (line, prefix) in [
        ("squeue", "slurm_load_jobs error: "),
        ("sinfo", "slurm_load_partitions: "),
        ("sacct", "sacct: error: "),
        ("scontrol show job 1", "slurm_load_jobs error: "),
        ("scontrol show node", "slurm_load_node error: "),
        ("daybook events", "daybook: error: "),
    ] {
        assert_eq!(nobody.run(line), format!("stderr:\n{prefix}{reason}"), "{line}");
    }
}

#[test]
fn host_lists_need_no_daemon() {
    let nobody = Daemon::absent();
    for (line, text) in [
        ("scontrol show hostnames n[1-3,07-09],g1", "n1\nn2\nn3\nn07\nn08\nn09\ng1\n"),
        ("scontrol show hostlist n1,n2,n3,n07,n08,g1", "n[1-3,07-08],g1\n"),
        ("scontrol show hostlistsorted n3,n1,n2", "n[1-3]\n"),
        ("scontrol show hostnames rack[1-2]n[01-02]", "rack1n01\nrack1n02\nrack2n01\nrack2n02\n"),
    ] {
        assert_eq!(nobody.run(line), format!("stdout:\n{text}exit: 0"), "{line}");
    }
    assert_eq!(
        nobody.run("scontrol show hostnames"),
        "stderr:\nscontrol: error: host list is empty\nexit: 0"
    );
    let in_a_job = nobody.call("scontrol show hostnames").variable("SLURM_JOB_NODELIST", "a[1-2]");
    assert_eq!(in_a_job.run(), "stdout:\na1\na2\nexit: 0");
    assert_eq!(
        nobody.run("scontrol show hostlist /nosuch/file"),
        "stderr:\nCan not open /nosuch/file\nexit: 1"
    );
    let file = nobody.file("hosts", "n1\nn2\n");
    let line = format!("scontrol show hostlist {}", file.display());
    assert_eq!(nobody.run(&line), "stdout:\nn[1-2]\nexit: 0");
}

/// The filter of the last question about jobs.
fn filter_of(line: &str, variables: &[(&str, &str)]) -> Value {
    let daemon = Daemon::start(empty);
    let call = variables.iter().fold(daemon.call(line), |call, (name, value)| call.variable(name, value));
    call.run();
    let requests = daemon.requests();
    let asked = requests.iter().rev().find(|request| request.path == "/v1/jobs/query");
    asked.map_or(Value::Null, |request| request.body["filter"].clone())
}

#[test]
fn squeue_restricts_the_question_and_not_the_answer() {
    for (line, variables, filter) in [
        ("squeue", &[][..], json!({})),
        (
            "squeue -u root -A ml,bio -p main",
            &[],
            json!({ "uids": [0], "accounts": ["ml", "bio"], "partitions": ["main"] }),
        ),
        ("squeue -t PD,running -q high", &[], json!({ "states": ["PENDING", "RUNNING"], "qos": ["high"] })),
        (
            "squeue -j1,2_[1-3] --name=a,b",
            &[],
            json!({
            "jobs": [{ "job": 1 }, { "job": 2, "tasks": "1-3" }], "names": ["a", "b"] }),
        ),
        ("squeue -j 7 -h", &[], json!({ "jobs": [{ "job": 7 }] })),
        ("squeue -h -j", &[], json!({})),
        ("squeue -w node01", &[], json!({ "nodes": ["node01"] })),
        (
            "squeue",
            &[("SQUEUE_STATES", "R"), ("SQUEUE_PARTITION", "gpu")],
            json!({
            "states": ["RUNNING"], "partitions": ["gpu"] }),
        ),
        ("squeue -t PD", &[("SQUEUE_STATES", "R")], json!({ "states": ["PENDING"] })),
        ("squeue -u nosuch", &[], Value::Null),
    ] {
        assert_eq!(filter_of(line, variables), filter, "{line} {variables:?}");
    }
}

#[test]
fn sacct_asks_the_ledger_for_jobs_and_a_window() {
    let daemon = Daemon::start(empty);
    daemon.run("sacct -a -j 12,13_[1-2],14.batch -X -D -N node[01-02] -r main --name=a");
    daemon.run("sacct -a -S 2026-12-01 -E 2026-12-02T12:00 -s F");
    let bodies: Vec<Value> = daemon.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(
        bodies[0],
        json!({
            "jobs": [{ "job": 12 }, { "job": 13, "tasks": "1-2" }, { "job": 14 }], "nodes": ["node01", "node02"],
            "partitions": ["main"], "names": ["a"], "allocations_only": true, "duplicates": true,
        })
    );
    assert_eq!(
        bodies[1],
        json!({
            "start": "2026-12-01T00:00:00.000000Z", "end": "2026-12-02T12:00:00.000000Z",
            "allocations_only": false, "duplicates": true,
        })
    );
}

#[test]
fn json_has_the_objects_under_slurms_keys() {
    let daemon = Daemon::start(empty);
    for (line, keys) in [
        ("squeue --json", &["errors", "jobs", "meta"][..]),
        ("sinfo --json", &["errors", "meta", "nodes", "partitions"]),
        ("sacct --json", &["errors", "jobs", "meta"]),
        ("scontrol show nodes --json", &["errors", "meta", "nodes"]),
    ] {
        let text = daemon.run(line);
        let text =
            text.strip_prefix("stdout:\n").and_then(|text| text.strip_suffix("exit: 0")).unwrap_or_default();
        let document: Value =
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{line}: {error}: {text}"));
        let mut found: Vec<&str> =
            document.as_object().map(|map| map.keys().map(String::as_str).collect()).unwrap_or_default();
        found.sort_unstable();
        assert_eq!(found, keys, "{line}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let rows: Vec<Value> = (0..50_000).map(|id| json!([id])).collect();
    let daemon = Daemon::start(move |request| match request.path.as_str() {
        "/v1/jobs/query" => Reply::Answer(json!({ "seq": 1, "now": 0, "rows": rows })),
        _ => Reply::Answer(json!([])),
    });
    let mut child = Command::new(env!("CARGO_BIN_EXE_daybook"))
        .arg0("squeue")
        .args(["-h", "-o", "%100A"])
        .env("DAYBOOK_SOCKET", daemon.socket())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut start = [0; 100];
    let mut output = child.stdout.take().expect("a pipe");
    output.read_exact(&mut start).expect("the first line");
    drop(output);
    let ended = child.wait_with_output().expect("the program ends");
    assert_eq!(ended.status.code(), Some(141));
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
}

#[test]
fn events_are_shown_as_they_stand_or_in_words() {
    let record = json!({
        "seq": 12, "logged_at": "2026-12-02T01:43:29.500000Z", "writer": "node.gpu01",
        "event": { "id": "x", "type": "run.started.v1", "source": "agent/gpu01", "time": "2026-12-02T01:43:29.000000Z",
            "actor": { "name": "agent/gpu01", "authentication": "service" },
            "data": { "run": "391.0", "node": "gpu01", "pid": 77 } },
    });
    let answer = record.clone();
    let daemon = Daemon::start(move |_| Reply::Answer(answer.clone()));
    assert_eq!(
        daemon.run("daybook events --job 391 --from 3"),
        "stdout:\n     12  2026-12-02T01:43:29.500  run.started           agent/gpu01     run 391.0 on gpu01, pid 77\nexit: 0"
    );
    assert_eq!(daemon.requests()[0].path, "/v1/events?stream=state&follow=false&from=3&job=391");
    assert_eq!(daemon.run("daybook events --json"), format!("stdout:\n{record}\nexit: 0"));
    assert_eq!(
        daemon.run("daybook events --from x"),
        "stderr:\ndaybook: error: --from=x: expected a whole number\nexit: 2"
    );
}
