//! A small cluster for tests: four nodes, four partitions, and the clock of 2 December 2026.

use daybook_schemas::api::{AccountingAnswer, JobView, NodeView, PartitionView};
use daybook_schemas::grammar::hostlist;
use jiff::tz::TimeZone;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::table::instants::Instants;

/// 2026-12-02T01:43:32Z.
pub const NOW: i64 = 1_796_175_812;

/// UTC, at [`NOW`].
pub fn instants() -> Instants {
    Instants::new(TimeZone::UTC, NOW)
}

/// `01:43:29` of that day as the interface writes it.
pub fn at(time: &str) -> String {
    format!("2026-12-02T{time}.000000Z")
}

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a sample has the interface's form")
}

/// Lays the fields of `over` over those of `base`, objects inside objects too; another variant of an enum replaces the
/// one that was there.
fn merge(base: &mut Value, over: Value) {
    let is_variant = |value: &Value| value.as_object().is_some_and(|object| object.len() == 1);
    match (base, over) {
        (base, over) if is_variant(base) && is_variant(&over) => *base = over,
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}

/// A node with 8 CPUs and 16,000 MiB; `gpu…` nodes have four GPUs. `over` changes what differs.
pub fn node(name: &str, over: Value) -> NodeView {
    let has_gpus = name.starts_with("gpu");
    let gpus: Vec<Value> = (0..if has_gpus { 4 } else { 0 })
        .map(|index| json!({ "index": index, "uuid": format!("{name}/gpu{index}"), "gpu_type": "a100" }))
        .collect();
    let partitions: &[&str] = match name {
        "node01" => &["main", "short", "debug"],
        "node02" => &["main", "short"],
        _ => &["main", "gpu"],
    };
    let mut node = json!({
        "definition": {
            "name": name, "hostname": "vm", "address": "127.0.0.1", "cpus": 8, "boards": 1, "sockets": 1,
            "cores_per_socket": 8, "threads_per_core": 1, "memory": 16000, "tmp_disk": 1000,
            "weight": if has_gpus { 10 } else { 1 },
            "features": if has_gpus { ["intel", "a100"] } else { ["intel", "avx512"] },
            "gpus": gpus, "gres": if has_gpus { "gpu:a100:4" } else { "" },
        },
        "state": "idle", "drain": false, "not_responding": false, "reason": "",
        "allocated": { "cpus": 0, "memory": 0, "gpus": 0 }, "gpus_allocated": [], "runs": [],
        "partitions": partitions, "registered_at": at("01:05:25"), "agent_version": "0.1.0",
        "operating_system": "Linux 6.18.44", "architecture": "x86_64",
    });
    merge(&mut node, over);
    read(node)
}

/// gpu01 completing, gpu02 with work, node01 idle, node02 drained.
pub fn nodes() -> Vec<NodeView> {
    vec![
        node("gpu01", json!({ "state": "completing" })),
        node(
            "gpu02",
            json!({ "state": "mixed", "allocated": { "cpus": 2, "memory": 1000, "gpus": 2 },
            "gpus_allocated": [{ "index": 0, "uuid": "gpu02/gpu0", "gpu_type": "a100" },
                               { "index": 1, "uuid": "gpu02/gpu1", "gpu_type": "a100" }] }),
        ),
        node("node01", json!({})),
        node(
            "node02",
            json!({ "drain": true, "reason": "bad disk", "reason_set_by": "root", "reason_uid": 0,
            "reason_set_at": at("01:23:53") }),
        ),
    ]
}

/// `main` (the default), `short`, `gpu`, and `debug`, which is down and for one account.
pub fn partitions() -> Vec<PartitionView> {
    let partition = |name: &str, nodes: &str, minutes: u32, over: Value| -> PartitionView {
        let names = hostlist::expand(nodes).expect("a host list");
        let mut partition = json!({
            "definition": {
                "name": name, "nodes": names, "nodes_text": nodes, "default": false, "state": "UP",
                "max_time": { "minutes": minutes }, "default_time": { "minutes": 60 }, "min_nodes": 0,
                "priority_tier": 1, "priority_job_factor": 1,
            },
            "total_cpus": names.len() * 8, "total_nodes": names.len(), "tres": "",
        });
        merge(&mut partition, over);
        read(partition)
    };
    vec![
        partition(
            "main",
            "gpu[01-02],node[01-02]",
            2880,
            json!({
            "definition": { "default": true }, "tres": "cpu=32,mem=64000M,node=4,billing=32,gres/gpu=8" }),
        ),
        partition(
            "short",
            "node[01-02]",
            60,
            json!({
            "definition": { "default_time": { "minutes": 10 }, "priority_job_factor": 10 },
            "tres": "cpu=16,mem=32000M,node=2,billing=16" }),
        ),
        partition(
            "gpu",
            "gpu[01-02]",
            1440,
            json!({
            "definition": { "priority_job_factor": 5 }, "tres": "cpu=16,mem=32000M,node=2,billing=16,gres/gpu=8" }),
        ),
        partition(
            "debug",
            "node01",
            30,
            json!({
            "definition": { "default_time": null, "state": "DOWN", "max_nodes": 1, "allow_accounts": ["ml"] },
            "tres": "cpu=8,mem=16000M,node=1,billing=8" }),
        ),
    ]
}

/// A running job of alice's on gpu01 with two GPUs. `over` changes what differs.
pub fn job(id: u32, over: Value) -> JobView {
    let gpu = |index: u32| json!({ "index": index, "uuid": format!("gpu01/gpu{index}"), "gpu_type": "a100" });
    let mut job = json!({
        "job": id, "state": "RUNNING", "reason": "none", "priority": 2922, "submitted": at("01:43:27"),
        "eligible": at("01:43:27"), "accrues_since": at("01:43:27"), "started": at("01:43:29"), "ended": at("02:03:29"),
        "last_considered": at("01:43:29"), "time_limit": { "minutes": 20 }, "run_seconds": 2, "run": format!("{id}.0"),
        "nodes": [{ "node": "gpu01", "cpus": "0-1", "memory": 1000, "tasks": 1, "gpus": [gpu(0), gpu(1)] }],
        "node_list": "gpu01", "exit": { "code": 0, "signal": 0 }, "restarts": 0,
        "tres": "cpu=2,mem=1000M,node=1,billing=2,gres/gpu=2", "node_count": 1, "cpu_count": 2,
        "account": "ml", "qos": "normal",
        "std_out": format!("/home/alice/slurm-{id}.out"), "std_err": format!("/home/alice/slurm-{id}.out"),
        "std_in": "/dev/null",
        "spec": {
            "name": "gpurun", "user": { "uid": 1001, "gid": 1001, "name": "alice", "group": "alice" },
            "partition": "main",
            "request": { "nodes_min": 1, "tasks": 1, "cpus_per_task": 2, "memory": { "per_cpu": 500 },
                "gpus": [{ "scope": "node", "count": 2 }] },
            "requeue": true, "script": "0", "script_bytes": 9, "environment": "0", "work_dir": "/home/alice",
            "umask": 18, "comment": "hi", "submit_host": "localhost", "submit_line": "sbatch --wrap true",
            "session": 7002,
        },
    });
    merge(&mut job, over);
    read(job)
}

/// A record of the ledger: a job of alice's that ended well on node01.
pub fn record(id: u32, over: Value) -> Value {
    let mut record = json!({
        "kind": "job", "job": id, "run": format!("{id}.0"), "name": "okjob",
        "user": { "uid": 1001, "gid": 1001, "name": "alice", "group": "alice" },
        "account": "ml", "partition": "main", "qos": "normal", "state": "COMPLETED",
        "exit": { "code": 0, "signal": 0 }, "submitted": at("01:39:45"), "eligible": at("01:39:45"),
        "started": at("01:39:46"), "ended": at("01:39:48"), "elapsed_seconds": 2, "time_limit": { "minutes": 60 },
        "node_list": "node01", "node_count": 1, "requested_nodes": 1, "requested_cpus": 1, "allocated_cpus": 1,
        "tasks": 1, "requested_memory": "500M", "requested_tres": "billing=1,cpu=1,mem=500M,node=1",
        "allocated_tres": "billing=1,cpu=1,mem=500M,node=1", "gpus": [], "gpu_seconds": 0,
        "work_dir": "/home/alice", "submit_line": "sbatch -J okjob --wrap true", "reason": "none",
        "priority": 2954, "restarts": 0, "evidence": [],
    });
    merge(&mut record, over);
    record
}

/// The batch step of the same job.
pub fn batch_step(id: u32, over: Value) -> Value {
    let mut step = record(
        id,
        json!({ "kind": "batch_step", "name": "batch", "allocated_tres": "cpu=1,mem=500M,node=1" }),
    );
    merge(&mut step, over);
    step
}

/// An answer with these records.
pub fn accounting(records: Vec<Value>) -> AccountingAnswer {
    read(json!({
        "cluster": "tx", "complete_up_to": 900, "complete_up_to_time": at("01:43:30"), "now": at("01:43:32"),
        "records": records,
    }))
}
