//! Puts wishes, script and surroundings together into what is sent.

use std::collections::BTreeMap;

use daybook_schemas::NodeName;
use daybook_schemas::api::{JobSubmission, Text};
use daybook_schemas::job::{GpuRequest, ResourceRequest};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use nix::sys::stat::{Mode, umask};

use super::environment::{self, Origin};
use super::fault::Fault;
use super::script::Script;
use super::wishes::{Surroundings, Wishes};
use crate::people;

/// The submission, and remarks for standard error.
pub fn build(
    wishes: Wishes,
    script: Script,
    arguments: &[String],
    around: &Surroundings,
    submit_line: String,
) -> Result<(JobSubmission, Vec<String>), Fault> {
    let mut remarks = Vec::new();
    let request = resources(&wishes, &mut remarks)?;
    let name = wishes.job_name.filter(|name| !name.is_empty()).unwrap_or(script.name);
    let submit_dir = utf8_path(&around.work_dir)?;
    let work_dir = wishes.chdir.as_deref().map_or(Ok(submit_dir.clone()), utf8_path)?;
    let submit_host = people::host_name();
    let origin = Origin { job_name: &name, submit_dir: &submit_dir, submit_host: &submit_host };
    let environment = environment::build(wishes.export.as_deref(), std::env::vars_os().collect(), &origin)?;
    let command = script.path.as_deref().map(utf8_path).transpose()?;
    let submission = JobSubmission {
        request_id: uuid::Uuid::new_v4().to_string(),
        user: wishes.user,
        name,
        account: wishes.account,
        partition: wishes.partition,
        qos: wishes.qos,
        wckey: wishes.wckey,
        request,
        time_limit: wishes.time_limit,
        begin: wishes.begin,
        dependencies: wishes.dependencies,
        kill_on_invalid_dependency: wishes.kill_on_invalid_dependency == Some(true),
        keep_on_invalid_dependency: wishes.kill_on_invalid_dependency == Some(false),
        time_min: wishes.time_min,
        deadline: wishes.deadline,
        hold: wishes.hold,
        nice: wishes.nice,
        requeue: wishes.requeue,
        array: wishes.array,
        reservation: wishes.reservation.filter(|names| !names.is_empty()),
        script: Text(script.bytes),
        command,
        arguments: arguments.to_vec(),
        environment,
        work_dir,
        std_in: wishes.std_in,
        std_out: wishes.std_out,
        std_err: wishes.std_err,
        open_mode: wishes.open_mode,
        umask: own_umask(),
        resource_limits: soft_limits(),
        comment: wishes.comment,
        submit_host,
        submit_line,
        session: own_session(),
    };
    Ok((submission, remarks))
}

fn utf8_path(path: &std::path::Path) -> Result<String, Fault> {
    let text = path.to_str().map(str::to_string);
    text.ok_or_else(|| Fault::refused(format!("the path {} is not UTF-8", path.display())))
}

/// Nodes and tasks as Slurm works them out where they are not given.
fn resources(wishes: &Wishes, remarks: &mut Vec<String>) -> Result<ResourceRequest, Fault> {
    let (mut nodes_min, mut nodes_max) = match wishes.nodes {
        Some((least, most)) => (least, Some(most)),
        None => (listed_nodes(&wishes.node_list), None),
    };
    if let Some(tasks) = wishes.tasks.filter(|&tasks| tasks < nodes_min) {
        remarks.push(format!(
            "sbatch: Warning: can't run {tasks} processes on {nodes_min} nodes, setting nnodes to {tasks}"
        ));
        nodes_min = tasks;
        nodes_max = nodes_max.map(|_| tasks);
    }
    let tasks_by_node = wishes.tasks_per_node.unwrap_or(1);
    Ok(ResourceRequest {
        nodes_min,
        nodes_max,
        tasks: wishes.tasks.unwrap_or(nodes_min.saturating_mul(tasks_by_node)),
        tasks_given: wishes.tasks.is_some() || wishes.tasks_per_node.is_some(),
        cpus_per_task: wishes.cpus_per_task.unwrap_or(1),
        cpus_per_task_given: wishes.cpus_per_task.is_some(),
        tasks_per_node: wishes.tasks_per_node,
        memory: wishes.memory,
        gpus: gpus(wishes)?,
        exclusive: wishes.exclusive,
        contiguous: wishes.contiguous,
        switches: wishes.switches,
        nodes_required: wishes.node_list.clone(),
        nodes_excluded: wishes.exclude.clone(),
        features: wishes.features.clone(),
        licenses: wishes.licenses.clone(),
    })
}

fn listed_nodes(nodes: &[NodeName]) -> u32 {
    u32::try_from(nodes.len()).unwrap_or(u32::MAX).max(1)
}

/// All wishes for GPUs; `--gres` and `--gpus-per-node` say the same and must agree.
fn gpus(wishes: &Wishes) -> Result<Vec<GpuRequest>, Fault> {
    let per_node = match (wishes.gres.is_empty(), wishes.gpus_per_node.is_empty()) {
        (_, true) => &wishes.gres,
        (true, false) => &wishes.gpus_per_node,
        (false, false) if wishes.gres == wishes.gpus_per_node => &wishes.gres,
        (false, false) => {
            return Err(Fault::refused(
                "--gres and --gpus-per-node ask for different GPUs: give one of them",
            ));
        }
    };
    Ok([&wishes.gpus, per_node, &wishes.gpus_per_task].into_iter().flatten().cloned().collect())
}

fn own_umask() -> u32 {
    // It can only be read by setting it; this program has one thread at this point.
    let mask = umask(Mode::from_bits_truncate(0o077));
    umask(mask);
    mask.bits()
}

fn own_session() -> u32 {
    nix::unistd::getsid(None).ok().and_then(|session| u32::try_from(session.as_raw()).ok()).unwrap_or(0)
}

/// The limits that go along with a job, as Slurm propagates them.
fn soft_limits() -> BTreeMap<String, u64> {
    let limits = [
        ("AS", Resource::RLIMIT_AS),
        ("CORE", Resource::RLIMIT_CORE),
        ("CPU", Resource::RLIMIT_CPU),
        ("DATA", Resource::RLIMIT_DATA),
        ("FSIZE", Resource::RLIMIT_FSIZE),
        ("MEMLOCK", Resource::RLIMIT_MEMLOCK),
        ("NOFILE", Resource::RLIMIT_NOFILE),
        ("NPROC", Resource::RLIMIT_NPROC),
        ("RSS", Resource::RLIMIT_RSS),
        ("STACK", Resource::RLIMIT_STACK),
    ];
    let soft = |resource| {
        getrlimit(resource).ok().map(|(soft, _)| if soft == RLIM_INFINITY { u64::MAX } else { soft })
    };
    limits.into_iter().filter_map(|(name, resource)| Some((name.to_string(), soft(resource)?))).collect()
}
