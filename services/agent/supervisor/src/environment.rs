//! The environment of a batch script, as a real Slurm gives it.

use std::collections::BTreeMap;

use daybook_schemas::grammar::hostlist;
use daybook_schemas::job::{GpuScope, MemoryRequest};
use daybook_schemas::run::RunNode;

use crate::records::Intent;

/// What the job's shape decides: of a submission from inside another job these speak of that one, so what this job does not
/// have is taken away.
const OF_THE_JOB: [&str; 22] = [
    "CUDA_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "ROCR_VISIBLE_DEVICES",
    "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_COUNT",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_ARRAY_TASK_MAX",
    "SLURM_ARRAY_TASK_MIN",
    "SLURM_ARRAY_TASK_STEP",
    "SLURM_CPUS_PER_TASK",
    "SLURM_GPUS",
    "SLURM_GPUS_ON_NODE",
    "SLURM_GPUS_PER_TASK",
    "SLURM_JOB_ACCOUNT",
    "SLURM_JOB_GPUS",
    "SLURM_MEM_PER_CPU",
    "SLURM_MEM_PER_GPU",
    "SLURM_MEM_PER_NODE",
    "SLURM_NPROCS",
    "SLURM_NTASKS",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_RESTART_COUNT",
];
/// What a step has and a batch script has not.
const OF_A_STEP: [&str; 5] =
    ["SLURM_STEP", "SLURM_SRUN_COMM_", "SLURM_LAUNCH_NODE_", "SLURM_CPU_BIND", "PMI"];
/// The search path of a login.
const LOGIN_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games";

/// What the machine knows of the job's user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Home directory.
    pub home: String,
    /// Login shell.
    pub shell: String,
}

/// The user's environment with the job's variables over it, as `NAME=value` bytes. `SLURM_TASK_PID` is added by the
/// process that has the number.
pub fn batch_environment(intent: &Intent, submitted: &[u8]) -> Vec<Vec<u8>> {
    merged(intent, submitted, || account(intent.order.spec.user.uid))
}

fn account(uid: u32) -> Option<Account> {
    let user = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid)).ok().flatten()?;
    Some(Account { home: user.dir.display().to_string(), shell: user.shell.display().to_string() })
}

fn merged(intent: &Intent, submitted: &[u8], account: impl FnOnce() -> Option<Account>) -> Vec<Vec<u8>> {
    let mut variables: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    for entry in submitted.split(|byte| *byte == 0) {
        if let Some(at) = entry.iter().position(|byte| *byte == b'=').filter(|at| *at > 0) {
            variables.insert(entry[..at].to_vec(), entry[at + 1..].to_vec());
        }
    }
    variables.retain(|name, _| {
        !OF_THE_JOB.iter().any(|known| known.as_bytes() == name)
            && !OF_A_STEP.iter().any(|prefix| name.starts_with(prefix.as_bytes()))
    });
    let asks_for_login = variables.contains_key(b"SLURM_GET_USER_ENV".as_slice());
    for (name, value) in job_variables(intent) {
        variables.insert(name.into_bytes(), value.into_bytes());
    }
    let mut complete = |name: &str, value: &str| {
        variables.entry(name.as_bytes().to_vec()).or_insert_with(|| value.as_bytes().to_vec());
    };
    // The submitter's own view of these is kept: `-D` changes where the script runs, not where it was submitted.
    complete("SLURM_SUBMIT_DIR", &intent.order.spec.work_dir);
    complete("SLURM_SUBMIT_HOST", &intent.order.spec.submit_host);
    // A client without an environment, or `--export=NONE`, leaves these out; a login would have them.
    let name = &intent.order.spec.user.name;
    for (variable, value) in
        [("USER", name.as_str()), ("LOGNAME", name), ("PATH", LOGIN_PATH), ("TMPDIR", "/tmp")]
    {
        complete(variable, value);
    }
    if asks_for_login {
        complete("MAIL", &format!("/var/mail/{name}"));
    }
    let account =
        account().unwrap_or_else(|| Account { home: "/".to_string(), shell: "/bin/sh".to_string() });
    complete("HOME", &account.home);
    complete("SHELL", &account.shell);
    variables.into_iter().map(|(name, value)| [name, b"=".to_vec(), value].concat()).collect()
}

/// Where a site's programs find commands.
pub const PROGRAM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What `Prolog` and `Epilog` are given: the job's variables and their own, nothing of the user's. `context`:
/// `prolog_slurmd`, `epilog_slurmd`.
pub fn program_environment(intent: &Intent, context: &str) -> Vec<(String, String)> {
    let mut set = Variables(job_variables(intent));
    set.0.remove("ENVIRONMENT");
    set.put("PATH", PROGRAM_PATH);
    set.put("SLURM_SCRIPT_CONTEXT", context);
    set.put("SLURM_JOB_WORK_DIR", &intent.order.spec.work_dir);
    if !intent.care.slurm_conf.is_empty() {
        set.put("SLURM_CONF", &intent.care.slurm_conf);
    }
    set.0.into_iter().collect()
}

/// The job's own variables.
pub fn job_variables(intent: &Intent) -> BTreeMap<String, String> {
    let mut set = Variables(BTreeMap::new());
    identity(&mut set, intent);
    shape(&mut set, intent);
    memory(&mut set, intent);
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
    set.put("SLURM_CPUS_ON_NODE", intent.here().map_or(0, |share| share.cpus.len()));
    set.put("SLURM_JOB_CPUS_PER_NODE", repeated(&order.nodes, |share| share.cpus.len()));
    let is_given = request.tasks_given || request.tasks_per_node.is_some();
    let each = u64::from(request.cpus_per_task.max(1));
    // Without a number of tasks Slurm shows as many as the CPUs would take (an exclusive node of 8: 8).
    let tasks =
        |share: &RunNode| if is_given { u64::from(share.tasks) } else { (share.cpus.len() / each).max(1) };
    set.put("SLURM_TASKS_PER_NODE", repeated(&order.nodes, tasks));
    if is_given {
        set.put("SLURM_NTASKS", request.tasks);
        set.put("SLURM_NPROCS", request.tasks);
    }
    if let Some(each) = request.tasks_per_node {
        set.put("SLURM_NTASKS_PER_NODE", each);
    }
    if request.cpus_per_task_given {
        set.put("SLURM_CPUS_PER_TASK", request.cpus_per_task);
    }
}

fn memory(set: &mut Variables, intent: &Intent) {
    let cpus = intent.here().map_or(0, |share| share.cpus.len());
    let given = intent.here().map_or(0, |share| share.memory.0);
    match intent.order.spec.request.memory {
        // 0 asks for all of the node's; what that is stands in the allocation.
        Some(MemoryRequest::PerNode(each) | MemoryRequest::PerCpu(each)) if each.0 == 0 => {
            set.put("SLURM_MEM_PER_NODE", given);
        }
        Some(MemoryRequest::PerNode(each)) => set.put("SLURM_MEM_PER_NODE", each),
        Some(MemoryRequest::PerCpu(each)) => set.put("SLURM_MEM_PER_CPU", each),
        Some(MemoryRequest::PerGpu(each)) => set.put("SLURM_MEM_PER_GPU", each),
        // The cluster's default is not in the order; what was given is, and a default per CPU divides it.
        None if cpus > 0 && given > 0 && given.is_multiple_of(cpus) => {
            set.put("SLURM_MEM_PER_CPU", given / cpus)
        }
        None if given > 0 => set.put("SLURM_MEM_PER_NODE", given),
        None => {}
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
    let Some(share) = intent.here().filter(|share| !share.gpus.is_empty()) else { return };
    let indices: Vec<String> = share.gpus.iter().map(|gpu| gpu.index.to_string()).collect();
    set.put("SLURM_JOB_GPUS", indices.join(","));
    let visible = match &intent.confined {
        Some(confined) if confined.sees_own_gpus_only => {
            (0..indices.len()).map(|place| place.to_string()).collect()
        }
        _ => indices,
    };
    let visible = visible.join(",");
    for name in ["CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES"] {
        set.put(name, &visible);
    }
    set.put("SLURM_GPUS_ON_NODE", share.gpus.len());
    for wish in &intent.order.spec.request.gpus {
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

#[cfg(test)]
mod tests;
