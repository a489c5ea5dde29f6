//! The environment of a batch script, as a real Slurm gives it.

use std::collections::BTreeMap;

use daybook_schemas::grammar::hostlist;
use daybook_schemas::job::{GpuScope, MemoryRequest};
use daybook_schemas::run::RunNode;

use crate::records::Intent;

/// The user's environment with the job's variables over it, as `NAME=value` bytes.
pub fn batch_environment(intent: &Intent, submitted: &[u8]) -> Vec<Vec<u8>> {
    let mut variables: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    for entry in submitted.split(|byte| *byte == 0) {
        if let Some(at) = entry.iter().position(|byte| *byte == b'=').filter(|at| *at > 0) {
            variables.insert(entry[..at].to_vec(), entry[at + 1..].to_vec());
        }
    }
    for (name, value) in job_variables(intent) {
        // The submitter's own view of these is kept: `-D` changes where the script runs, not where it was submitted.
        let is_submitters = matches!(name.as_str(), "SLURM_SUBMIT_DIR" | "SLURM_SUBMIT_HOST");
        if !(is_submitters && variables.contains_key(name.as_bytes())) {
            variables.insert(name.into_bytes(), value.into_bytes());
        }
    }
    // `--export=NONE` leaves these out; a login would have them.
    for (name, value) in login_variables(intent) {
        variables.entry(name.as_bytes().to_vec()).or_insert(value.into_bytes());
    }
    let joined = variables.into_iter().map(|(name, value)| [name, b"=".to_vec(), value].concat());
    joined.collect()
}

/// What a login of the job's user would have at least.
fn login_variables(intent: &Intent) -> Vec<(&'static str, String)> {
    let user = &intent.order.spec.user;
    let known = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(user.uid)).ok().flatten();
    let home = known.as_ref().map_or_else(|| "/".to_string(), |known| known.dir.display().to_string());
    let shell =
        known.as_ref().map_or_else(|| "/bin/sh".to_string(), |known| known.shell.display().to_string());
    let path = "/usr/local/bin:/usr/bin:/bin".to_string();
    vec![
        ("HOME", home),
        ("LOGNAME", user.name.clone()),
        ("PATH", path),
        ("SHELL", shell),
        ("TMPDIR", "/tmp".to_string()),
        ("USER", user.name.clone()),
    ]
}

/// The job's own variables.
pub fn job_variables(intent: &Intent) -> BTreeMap<String, String> {
    let mut set = Variables(BTreeMap::new());
    identity(&mut set, intent);
    shape(&mut set, intent);
    gpus(&mut set, intent);
    array(&mut set, intent);
    set.0
}

struct Variables(BTreeMap<String, String>);

impl Variables {
    fn put(&mut self, name: &str, value: impl ToString) {
        self.0.insert(name.to_string(), value.to_string());
    }
}

fn identity(set: &mut Variables, intent: &Intent) {
    let order = &intent.order;
    let spec = &order.spec;
    set.put("ENVIRONMENT", "BATCH");
    set.put("HOSTNAME", &intent.node);
    set.put("SLURMD_NODENAME", &intent.node);
    set.put("SLURM_CLUSTER_NAME", &order.cluster_name);
    set.put("SLURM_JOB_ID", order.job());
    set.put("SLURM_JOBID", order.job());
    set.put("SLURM_JOB_NAME", &spec.name);
    set.put("SLURM_JOB_PARTITION", &order.partition);
    set.put("SLURM_JOB_QOS", &order.qos);
    if !order.account.is_empty() {
        set.put("SLURM_JOB_ACCOUNT", &order.account);
    }
    set.put("SLURM_JOB_UID", spec.user.uid);
    set.put("SLURM_JOB_GID", spec.user.gid);
    set.put("SLURM_JOB_USER", &spec.user.name);
    set.put("SLURM_SUBMIT_DIR", &spec.work_dir);
    set.put("SLURM_SUBMIT_HOST", &spec.submit_host);
    if order.run.start > 0 {
        set.put("SLURM_RESTART_COUNT", order.run.start);
    }
    for (name, value) in [
        ("SLURM_GTIDS", "0"),
        ("SLURM_LOCALID", "0"),
        ("SLURM_NODEID", "0"),
        ("SLURM_PROCID", "0"),
        ("SLURM_PRIO_PROCESS", "0"),
        ("SLURM_NODE_ALIASES", "(null)"),
        ("SLURM_TOPOLOGY_ADDR_PATTERN", "node"),
    ] {
        set.put(name, value);
    }
    set.put("SLURM_TOPOLOGY_ADDR", &intent.node);
}

fn shape(set: &mut Variables, intent: &Intent) {
    let order = &intent.order;
    let request = &order.spec.request;
    let names = hostlist::compress(order.nodes.iter().map(|share| share.node.as_str()));
    set.put("SLURM_JOB_NODELIST", &names);
    set.put("SLURM_NODELIST", &names);
    set.put("SLURM_JOB_NUM_NODES", order.nodes.len());
    set.put("SLURM_NNODES", order.nodes.len());
    let here = order.nodes.iter().find(|share| share.node.as_str() == intent.node);
    set.put("SLURM_CPUS_ON_NODE", here.map_or(0, |share| share.cpus.len()));
    set.put("SLURM_JOB_CPUS_PER_NODE", repeated(&order.nodes, |share| share.cpus.len()));
    set.put("SLURM_TASKS_PER_NODE", repeated(&order.nodes, |share| u64::from(share.tasks)));
    if request.tasks_given || request.tasks_per_node.is_some() {
        set.put("SLURM_NTASKS", request.tasks);
        set.put("SLURM_NPROCS", request.tasks);
    }
    if let Some(each) = request.tasks_per_node {
        set.put("SLURM_NTASKS_PER_NODE", each);
    }
    if request.cpus_per_task_given {
        set.put("SLURM_CPUS_PER_TASK", request.cpus_per_task);
    }
    match request.memory {
        Some(MemoryRequest::PerNode(each)) => set.put("SLURM_MEM_PER_NODE", each),
        Some(MemoryRequest::PerCpu(each)) => set.put("SLURM_MEM_PER_CPU", each),
        Some(MemoryRequest::PerGpu(each)) => set.put("SLURM_MEM_PER_GPU", each),
        None => {
            // The cluster's default is per CPU where it divides what was given so.
            let cpus = here.map_or(0, |share| share.cpus.len());
            let memory = here.map_or(0, |share| share.memory.0);
            if cpus > 0 && memory > 0 && memory % cpus == 0 {
                set.put("SLURM_MEM_PER_CPU", memory / cpus);
            }
        }
    }
}

/// `4,2`, `2(x3)`: a figure of each node in order, equal neighbours joined.
fn repeated(nodes: &[RunNode], figure: impl Fn(&RunNode) -> u64) -> String {
    let mut parts: Vec<(u64, usize)> = Vec::new();
    for value in nodes.iter().map(figure) {
        match parts.last_mut() {
            Some((last, times)) if *last == value => *times += 1,
            _ => parts.push((value, 1)),
        }
    }
    let shown = parts.into_iter().map(|(value, times)| match times {
        1 => value.to_string(),
        _ => format!("{value}(x{times})"),
    });
    shown.collect::<Vec<_>>().join(",")
}

fn gpus(set: &mut Variables, intent: &Intent) {
    let order = &intent.order;
    let here = order.nodes.iter().find(|share| share.node.as_str() == intent.node);
    let Some(share) = here.filter(|share| !share.gpus.is_empty()) else { return };
    let indices: Vec<String> = share.gpus.iter().map(|gpu| gpu.index.to_string()).collect();
    let indices = indices.join(",");
    for name in ["CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES", "SLURM_JOB_GPUS"] {
        set.put(name, &indices);
    }
    set.put("SLURM_GPUS_ON_NODE", share.gpus.len());
    for wish in &order.spec.request.gpus {
        let amount = match &wish.gpu_type {
            Some(gpu_type) => format!("{gpu_type}:{}", wish.count),
            None => wish.count.to_string(),
        };
        match wish.scope {
            GpuScope::Job => set.put("SLURM_GPUS", amount),
            GpuScope::Task => set.put("SLURM_GPUS_PER_TASK", amount),
            // `--gres` sets no variable of its own, and cannot be told from `--gpus-per-node` here.
            GpuScope::Node => {}
        }
    }
}

fn array(set: &mut Variables, intent: &Intent) {
    let Some(task) = &intent.order.array else { return };
    set.put("SLURM_ARRAY_JOB_ID", task.id.array_job);
    set.put("SLURM_ARRAY_TASK_ID", task.id.task);
    set.put("SLURM_ARRAY_TASK_COUNT", task.task_count);
    set.put("SLURM_ARRAY_TASK_MIN", task.task_min);
    set.put("SLURM_ARRAY_TASK_MAX", task.task_max);
    set.put("SLURM_ARRAY_TASK_STEP", task.task_step);
}
