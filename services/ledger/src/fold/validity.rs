//! The fixed rule for allocations that have been overtaken.

use daybook_schemas::events::RunAllocated;
use daybook_schemas::run::RunNode;

use crate::error::LedgerError;
use crate::posting::Posting;
use crate::rows::{JobRow, NodeRow, Phase, RecordKey, RecordRow, RunRow};

/// Why an allocation is void; `None`: it holds.
///
/// It holds where the job still waits with this as its next start, nothing of an earlier run of it is left anywhere, and
/// every node is there, up and has free what is given. A hold or a change in the meantime does not void a start.
pub(super) fn void(posting: &mut Posting<'_>, data: &RunAllocated) -> Result<Option<String>, LedgerError> {
    if data.nodes.is_empty() {
        return Ok(Some("it names no node".to_string()));
    }
    let waits_alone = |job: &&JobRow| job.task.is_some() && job.task == data.array && job.starts == 0;
    let is_apart = posting.get::<JobRow>(&data.run.job)?.as_ref().is_some_and(waits_alone);
    let job = match data.array.filter(|_| !is_apart) {
        Some(task) => task_waits(posting, data, task)?,
        None => job_waits(posting, data)?,
    };
    if job.is_some() {
        return Ok(job);
    }
    for share in &data.nodes {
        if let Some(why) = node_has_room(posting.get::<NodeRow>(&share.node)?, share) {
            return Ok(Some(format!("node {} {why}", share.node)));
        }
    }
    Ok(None)
}

fn task_waits(
    posting: &mut Posting<'_>,
    data: &RunAllocated,
    task: daybook_schemas::events::ArrayTaskId,
) -> Result<Option<String>, LedgerError> {
    let Some(job) = posting.get::<JobRow>(&task.array_job)?.cloned() else {
        return Ok(Some(format!("there is no array {}", task.array_job)));
    };
    let key = RecordKey { job: task.array_job, attempt: job.attempt };
    let waits = job.phase == Phase::Pending
        && posting
            .get::<RecordRow>(&key)?
            .and_then(|record| record.tasks_waiting.as_ref())
            .is_some_and(|tasks| tasks.contains(task.task));
    if !waits || data.run.start != 0 {
        return Ok(Some(format!("task {}_{} does not wait for this start", task.array_job, task.task)));
    }
    Ok(None)
}

fn job_waits(posting: &mut Posting<'_>, data: &RunAllocated) -> Result<Option<String>, LedgerError> {
    let id = data.run.job;
    let Some(job) = posting.get::<JobRow>(&id)?.cloned() else {
        return Ok(Some(format!("there is no job {id}")));
    };
    if job.phase != Phase::Pending {
        let word = if job.phase == Phase::Running { "runs already" } else { "has ended" };
        return Ok(Some(format!("job {id} {word}")));
    }
    let key = RecordKey { job: id, attempt: job.attempt };
    if posting.get::<RecordRow>(&key)?.is_none_or(|record| record.tasks_waiting.is_some()) {
        return Ok(Some(format!("job {id} is an array and its tasks start one by one")));
    }
    if job.starts != data.run.start {
        return Ok(Some(format!("the next start of job {id} is {}, not {}", job.starts, data.run.start)));
    }
    if let Some(run) = job.run
        && posting.get::<RunRow>(&run)?.is_some_and(|run| !run.is_given_up())
    {
        return Ok(Some(format!("run {run} still holds something")));
    }
    Ok(None)
}

fn node_has_room(node: Option<&NodeRow>, share: &RunNode) -> Option<String> {
    let Some(node) = node else { return Some("is not configured".to_string()) };
    let Some(found) = &node.registered_gpus else { return Some("has never registered".to_string()) };
    if node.silent {
        return Some("does not respond".to_string());
    }
    if node.down {
        return Some("is down".to_string());
    }
    if node.leaving {
        return Some("is no longer configured".to_string());
    }
    if share.cpus.last().is_some_and(|last| last >= node.cpus) {
        return Some(format!("has no CPU {}", share.cpus.last().unwrap_or_default()));
    }
    for (run, held) in &node.shares {
        if !held.cpus.intersection(&share.cpus).is_empty() {
            return Some(format!("has given CPUs of it to run {run}"));
        }
        if let Some(gpu) = share.gpus.iter().find(|gpu| held.gpus.contains(&gpu.uuid)) {
            return Some(format!("has given GPU {} to run {run}", gpu.uuid));
        }
    }
    let missing = share.gpus.iter().find(|gpu| !found.contains_key(&gpu.uuid))?;
    Some(format!("has no GPU {}", missing.uuid))
}
