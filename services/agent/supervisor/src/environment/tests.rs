use serde_json::{Value, json};

use super::*;

/// An allocation of one recorded job. `nodes`: name, CPUs, memory, GPUs, tasks.
fn intent(
    job: u32,
    name: &str,
    cluster: &str,
    request: Value,
    nodes: &[(&str, u32, u64, u32, u32)],
) -> Intent {
    let nodes: Vec<Value> = nodes
        .iter()
        .map(|(node, cpus, memory, gpus, tasks)| {
            let gpus: Vec<Value> = (0..*gpus)
                .map(|index| json!({ "index": index, "uuid": format!("{node}/gpu{index}"), "gpu_type": "a100" }))
                .collect();
            let cpus = if *cpus == 1 { "0".to_string() } else { format!("0-{}", cpus - 1) };
            json!({ "node": node, "cpus": cpus, "memory": memory, "gpus": gpus, "tasks": tasks })
        })
        .collect();
    let mut asked = json!({ "nodes_min": nodes.len(), "tasks": 1, "cpus_per_task": 1 });
    for (key, value) in request.as_object().unwrap() {
        asked[key] = value.clone();
    }
    let partition = if nodes[0]["gpus"].as_array().unwrap().is_empty() { "main" } else { "gpu" };
    let node = nodes[0]["node"].clone();
    let order = json!({
        "run": format!("{job}.0"), "allocated": 7, "allocated_at": "2026-12-02T01:00:00.000000Z",
        "cluster_name": cluster, "nodes": nodes, "partition": partition, "account": "ml", "qos": "normal",
        "time_limit": { "minutes": 60 }, "kill_wait": 30, "wish": "run",
        "spec": {
            "name": name, "partition": partition, "request": asked, "requeue": true, "script": "00",
            "user": { "uid": 1001, "gid": 1001, "name": "alice", "group": "alice" }, "script_bytes": 1,
            "environment": "00", "work_dir": "/home/alice/env", "umask": 18, "submit_host": "vm", "submit_line": "sbatch"
        }
    });
    serde_json::from_value(json!({
        "order": order, "node": node, "boot_id": "", "script": "", "environment_bytes": 0
    }))
    .unwrap()
}

/// What `sbatch` sends: the submitter's own, here as it is inside another job.
const SUBMITTED: &[u8] = b"HOME=/home/alice\0SHELL=/bin/bash\0USER=alice\0SLURM_SUBMIT_DIR=/home/alice/env\0\
    SLURM_JOB_ID=1\0SLURM_NTASKS=64\0SLURM_NPROCS=64\0SLURM_CPUS_PER_TASK=9\0SLURM_ARRAY_TASK_ID=5\0\
    SLURM_RESTART_COUNT=3\0CUDA_VISIBLE_DEVICES=7\0SLURM_STEP_ID=0\0SLURM_GPUS=8\0SLURM_MEM_PER_GPU=1\0";

fn lines(intent: &Intent, submitted: &[u8]) -> String {
    // The recordings leave these two out.
    let is_recorded = |entry: &String| !entry.starts_with("PATH=") && !entry.starts_with("LOGNAME=");
    let variables = merged(intent, submitted, || None);
    let lines = variables.iter().map(|entry| String::from_utf8_lossy(entry).into_owned() + "\n");
    lines.filter(is_recorded).collect()
}

/// Recorded, less what only the client knows (`--gpus-per-node`, `--cpus-per-gpu`).
fn recorded(text: &str) -> String {
    let of_the_client = |line: &&str| !line.starts_with("SLURM_CPUS_PER_GPU=");
    text.lines().filter(of_the_client).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_batch_script_has_the_environment_that_a_real_slurm_gives() {
    let given = |tasks: u32| json!({ "tasks": tasks, "tasks_given": true });
    let with = |mut request: Value, key: &str, value: Value| {
        request[key] = value;
        request
    };
    let memory = |request: Value, each: u64| with(request, "memory", json!({ "per_node": each }));
    let gpus = |scope: &str, count: u32| json!([{ "scope": scope, "count": count }]);
    let mut array = intent(217, "env-array", "gold", memory(json!({}), 100), &[("n1", 1, 100, 0, 1)]);
    array.order.array = serde_json::from_value(json!({
        "id": { "array_job": 216, "task": 1 }, "task_count": 3, "task_min": 1, "task_max": 5, "task_step": 2
    }))
    .unwrap();
    let per_cpu = with(with(given(4), "cpus_per_task", json!(2)), "cpus_per_task_given", json!(true));
    let uneven = with(with(given(3), "cpus_per_task", json!(2)), "cpus_per_task_given", json!(true));
    let mut uneven = intent(
        167,
        "myjob",
        "tx",
        memory(uneven, 600),
        &[("node01", 4, 600, 0, 2), ("node02", 2, 600, 0, 1)],
    );
    uneven.order.qos = "high".to_string();
    let cases = [
        // The cluster's default of 500 MB per CPU is seen in what was given.
        ("plain", intent(210, "env-plain", "gold", json!({}), &[("n1", 1, 500, 0, 1)])),
        ("array-a1", array),
        ("excl", intent(219, "env-excl", "gold", memory(json!({}), 200), &[("n1", 8, 200, 0, 1)])),
        (
            "gres2",
            intent(
                223,
                "env-gres2",
                "gold",
                memory(json!({ "gpus": gpus("node", 2) }), 100),
                &[("g1", 1, 100, 2, 1)],
            ),
        ),
        (
            "gpus3",
            intent(
                226,
                "env-gpus3",
                "gold",
                json!({ "gpus": gpus("job", 3), "memory": { "per_gpu": 100 } }),
                &[("g1", 3, 300, 3, 1)],
            ),
        ),
        (
            "gput",
            intent(
                225,
                "env-gput",
                "gold",
                memory(with(given(2), "gpus", gpus("task", 1)), 100),
                &[("g1", 2, 100, 2, 2)],
            ),
        ),
        (
            "n2x2",
            intent(
                215,
                "env-n2x2",
                "gold",
                memory(with(given(4), "tasks_per_node", json!(2)), 300),
                &[("n1", 2, 300, 0, 2), ("n2", 2, 300, 0, 2)],
            ),
        ),
        (
            "n4c2",
            intent(
                214,
                "env-n4c2",
                "gold",
                with(per_cpu, "memory", json!({ "per_cpu": 100 })),
                &[("n2", 8, 800, 0, 4)],
            ),
        ),
        ("uneven", uneven),
    ];
    for (name, intent) in &cases {
        let path = format!(
            "{}/src/environment/recorded/{name}.txt",
            std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the crate")
        );
        let expected = recorded(&std::fs::read_to_string(path).unwrap());
        let submit_dir = if *name == "uneven" { "/home/alice" } else { "/home/alice/env" };
        let submitted = String::from_utf8_lossy(SUBMITTED).replace("/home/alice/env", submit_dir);
        assert_eq!(lines(intent, submitted.as_bytes()), expected, "{name}");
    }
}

#[test]
fn a_restarted_job_counts_its_restarts() {
    let mut again = intent(5, "again", "tx", json!({}), &[("n1", 1, 500, 0, 1)]);
    again.order.run.start = 2;
    assert_eq!(job_variables(&again).get("SLURM_RESTART_COUNT").map(String::as_str), Some("2"));
}

#[test]
fn all_of_a_node_s_memory_is_shown_as_what_that_is() {
    let all = intent(5, "all", "tx", json!({ "memory": { "per_node": 0 } }), &[("n1", 1, 16_000, 0, 1)]);
    assert_eq!(job_variables(&all).get("SLURM_MEM_PER_NODE").map(String::as_str), Some("16000"));
}

#[test]
fn a_job_without_the_submitter_s_environment_gets_that_of_a_login() {
    let intent = intent(114, "wrap", "tx", json!({}), &[("node01", 1, 500, 0, 1)]);
    let account = Account { home: "/home/alice".to_string(), shell: "/bin/bash".to_string() };
    let submitted = b"SLURM_EXPORT_ENV=NONE\0SLURM_GET_USER_ENV=1\0";
    let variables = merged(&intent, submitted, || Some(account));
    let own: Vec<String> = variables
        .iter()
        .map(|entry| String::from_utf8_lossy(entry).into_owned())
        .filter(|entry| !entry.starts_with("SLURM"))
        .collect();
    assert_eq!(
        own,
        [
            "ENVIRONMENT=BATCH",
            "HOME=/home/alice",
            "HOSTNAME=node01",
            "LOGNAME=alice",
            "MAIL=/var/mail/alice",
            "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games",
            "SHELL=/bin/bash",
            "TMPDIR=/tmp",
            "USER=alice",
        ]
    );
}
