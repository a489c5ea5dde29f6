//! A row as the interface shows it.

use daybook_schemas::api::{AccountingRecord, RecordKind};
use daybook_schemas::grammar::{hostlist, memory};
use daybook_schemas::job::Reason;
use daybook_schemas::{GpuUuid, UtcMicros};

use super::measured::Measured;
use super::tres;
use crate::amount::Quanta;
use crate::error::LedgerError;
use crate::rows::{RecordKey, RecordRow, RunShare, SubmissionRow};

/// The record of a job that has not run, or of one run.
pub(super) fn job(
    key: RecordKey,
    row: &RecordRow,
    submission: &SubmissionRow,
    measured: Measured,
    now: UtcMicros,
) -> Result<AccountingRecord, LedgerError> {
    let request = row.changes.request.as_ref().unwrap_or(&submission.request);
    let requested = tres::requested(row, submission);
    let allocated = tres::allocated(row, submission);
    let changes = &row.changes;
    Ok(AccountingRecord {
        kind: RecordKind::Job,
        job: key.job,
        array: row.task,
        tasks_waiting: row.tasks_waiting.clone(),
        tasks_running_max: row.tasks_waiting.as_ref().and(row.running_max),
        run: row.run,
        name: changes.name.clone().unwrap_or_else(|| submission.name.clone()),
        user: submission.user.clone(),
        account: changes.account.clone().or_else(|| submission.account.clone()).unwrap_or_default(),
        partition: changes.partition.clone().unwrap_or_else(|| submission.partition.clone()),
        qos: changes.qos.clone().or_else(|| submission.qos.clone()).unwrap_or_else(|| "normal".to_string()),
        wckey: changes.wckey.clone().or_else(|| submission.wckey.clone()).unwrap_or_default(),
        state: row.state,
        cancelled_by: row.cancelled_by.filter(|_| row.state == daybook_schemas::job::JobState::Cancelled),
        exit: row.exit,
        submitted: row.opened_at,
        eligible: row.eligible,
        started: row.started,
        ended: row.ended,
        end_is_bound: row.end_is_bound,
        end_is_corrected: row.end_is_corrected,
        elapsed_seconds: elapsed(row, row.started, now),
        suspended_seconds: row.suspended_seconds(now),
        time_limit: changes.time_limit.unwrap_or(submission.time_limit),
        node_list: node_list(&row.shares),
        node_count: small(row.shares.len() as u64),
        requested_nodes: small(requested.nodes),
        requested_cpus: small(requested.cpus),
        allocated_cpus: small(allocated.cpus),
        tasks: request.tasks,
        requested_memory: memory::format_mebibytes(requested.memory),
        requested_tres: requested.sacct_notation(),
        allocated_tres: allocated.sacct_notation(),
        gpus: uuids(&row.shares),
        gpu_seconds: gpu_seconds(&row.shares, now)?,
        gpu_seconds_unseen: row.gpu_seconds_unseen,
        usage: measured.used,
        observed: measured.observed,
        work_dir: submission.work_dir.clone(),
        submit_line: submission.submit_line.clone(),
        comment: changes.comment.clone().or_else(|| submission.comment.clone()),
        reason: row.reason,
        // No event says it: the planner's priorities are not in the ledger.
        priority: 0,
        restarts: row.restarts,
        evidence: row.evidence.clone(),
    })
}

/// The batch script's line below its job's. GPU time is the job's; a step has none of its own.
pub(super) fn batch(job: &AccountingRecord, row: &RecordRow, now: UtcMicros) -> Option<AccountingRecord> {
    let step = row.batch.as_ref()?;
    let share = row.shares.first()?;
    let types = job.allocated_tres.contains("gres/gpu:");
    let cpus = share.cpus;
    Some(AccountingRecord {
        kind: RecordKind::BatchStep,
        tasks_waiting: None,
        tasks_running_max: None,
        name: "batch".to_string(),
        partition: String::new(),
        qos: String::new(),
        wckey: String::new(),
        state: step.state,
        cancelled_by: None,
        exit: step.exit,
        submitted: step.started,
        eligible: Some(step.started),
        started: Some(step.started),
        elapsed_seconds: elapsed(row, Some(step.started), now),
        node_list: share.node.to_string(),
        node_count: 1,
        requested_nodes: 1,
        requested_cpus: cpus,
        allocated_cpus: cpus,
        tasks: 1,
        requested_memory: String::new(),
        requested_tres: String::new(),
        allocated_tres: tres::of_batch(share, types).sacct_notation(),
        gpus: uuids(std::slice::from_ref(share)),
        gpu_seconds: 0,
        gpu_seconds_unseen: 0,
        work_dir: String::new(),
        submit_line: String::new(),
        comment: None,
        reason: Reason::None,
        ..job.clone()
    })
}

/// Whole seconds as shown: from second to second, without those in which it was stopped; never negative.
fn elapsed(row: &RecordRow, started: Option<UtcMicros>, now: UtcMicros) -> u64 {
    let Some(started) = started else { return 0 };
    let end = row.ended.unwrap_or(now).seconds();
    let seconds = u64::try_from(end.saturating_sub(started.seconds())).unwrap_or(0);
    seconds.saturating_sub(row.suspended_seconds(now))
}

/// GPU seconds from the allocation until each node's release (or `now`), as in the physical book.
pub(crate) fn gpu_seconds(shares: &[RunShare], now: UtcMicros) -> Result<u64, LedgerError> {
    let mut sum = Quanta::ZERO;
    for share in shares {
        let to = share.to.unwrap_or_else(|| now.seconds().max(share.from));
        let seconds = u64::try_from(to.saturating_sub(share.from)).unwrap_or(0);
        let gpus = share.gpus.len() as u64;
        let held = seconds.checked_mul(gpus).ok_or(LedgerError::TooLarge("an amount of GPU time"))?;
        sum = sum.plus(Quanta::of_gpu_seconds(held)?)?;
    }
    // Whole GPUs for whole seconds: nothing is cut off.
    sum.whole_gpu_seconds().ok_or(LedgerError::TooLarge("a fraction of a GPU-second"))
}

fn node_list(shares: &[RunShare]) -> String {
    if shares.is_empty() {
        return "None assigned".to_string();
    }
    hostlist::compress(shares.iter().map(|share| share.node.as_str()))
}

fn uuids(shares: &[RunShare]) -> Vec<GpuUuid> {
    shares.iter().flat_map(|share| &share.gpus).map(|gpu| gpu.uuid.clone()).collect()
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
