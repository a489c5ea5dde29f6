//! Which records are shown, as far as the question to the ledger does not say it.

use std::collections::BTreeSet;

use daybook_schemas::UtcMicros;
use daybook_schemas::api::{AccountingRecord, RecordKind};
use daybook_schemas::grammar::job_id::{JobStepSelector, StepName};
use daybook_schemas::job::JobState;

/// A window of time; an absent side is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    pub start: Option<UtcMicros>,
    pub end: Option<UtcMicros>,
}

impl Window {
    fn has(&self, at: UtcMicros) -> bool {
        self.start.is_none_or(|start| at >= start) && self.end.is_none_or(|end| at <= end)
    }

    /// Whether a span that is open where it has no end lies partly in it.
    fn meets(&self, from: Option<UtcMicros>, to: Option<UtcMicros>) -> bool {
        from.is_some_and(|from| self.end.is_none_or(|end| from <= end))
            && to.is_none_or(|to| self.start.is_none_or(|start| to >= start))
    }
}

/// What a record must be to be shown.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// `--jobs`; empty: all.
    pub named: Vec<JobStepSelector>,
    pub states: Vec<JobState>,
    pub window: Window,
    /// `-E` was given: states that a job ended in count, and those that it was in.
    pub past: bool,
    pub qos: Vec<String>,
    pub groups: Vec<u32>,
    /// Inclusive; of nodes and of CPUs.
    pub nodes: Option<(u32, u32)>,
    pub cpus: Option<(u32, u32)>,
    /// Earlier runs of requeued jobs too.
    pub duplicates: bool,
    pub truncate: bool,
}

impl Selection {
    /// The records that are shown, in their order; steps go with their job.
    pub fn apply(&self, records: Vec<AccountingRecord>) -> Vec<AccountingRecord> {
        let mut chosen: Vec<AccountingRecord> = Vec::new();
        let mut is_wanted = false;
        for record in records {
            if record.kind == RecordKind::Job {
                is_wanted = self.wants_job(&record);
            }
            if is_wanted {
                chosen.push(record);
            }
        }
        if !self.duplicates {
            keep_last_runs(&mut chosen);
        }
        chosen.retain(|record| self.names_record(record));
        if self.truncate {
            chosen.iter_mut().for_each(|record| truncate(record, self.window));
        }
        chosen
    }

    fn wants_job(&self, record: &AccountingRecord) -> bool {
        let within = |range: Option<(u32, u32)>, value: u32| {
            range.is_none_or(|(least, most)| (least..=most).contains(&value))
        };
        (self.states.is_empty() || self.states.iter().any(|state| self.was_in(record, *state)))
            && (self.qos.is_empty() || self.qos.contains(&record.qos))
            && (self.groups.is_empty() || self.groups.contains(&record.user.gid))
            && within(self.nodes, record.node_count)
            && within(self.cpus, record.allocated_cpus)
    }

    /// With an end of the window: whether it was in this state in the window; without, whether it is now.
    fn was_in(&self, record: &AccountingRecord, state: JobState) -> bool {
        let unbounded = self.window == Window::default();
        match state {
            _ if unbounded => record.state == state,
            JobState::Running if self.past => self.window.meets(record.started, record.ended),
            JobState::Pending if self.past => {
                let waits_since = Some(record.eligible.unwrap_or(record.submitted));
                self.window.meets(waits_since, record.started.or(record.ended))
            }
            state if state.is_ended() => {
                self.past && record.state == state && record.ended.is_some_and(|ended| self.window.has(ended))
            }
            state => record.state == state,
        }
    }

    /// Whether `--jobs` names the record itself (and not only another step of its job).
    fn names_record(&self, record: &AccountingRecord) -> bool {
        let fits = |named: &JobStepSelector| {
            let job = match (&named.job.tasks, &record.array) {
                (Some(tasks), Some(array)) => array.array_job == named.job.job && tasks.contains(array.task),
                (Some(tasks), None) => {
                    let waiting = record.tasks_waiting.as_ref();
                    record.job == named.job.job
                        && waiting.is_some_and(|waiting| !waiting.intersection(tasks).is_empty())
                }
                (None, Some(array)) => record.job == named.job.job || array.array_job == named.job.job,
                (None, None) => record.job == named.job.job,
            };
            let step = match record.kind {
                RecordKind::Job => named.step.is_none(),
                RecordKind::BatchStep => named.step.is_none_or(|step| step == StepName::Batch),
            };
            job && step
        };
        self.named.is_empty() || self.named.iter().any(fits)
    }
}

/// Of each job only the last run among those chosen, with its steps.
fn keep_last_runs(records: &mut Vec<AccountingRecord>) {
    let mut seen = BTreeSet::new();
    let mut keep: Vec<bool> = Vec::with_capacity(records.len());
    let mut job_is_kept = true;
    let mut groups: Vec<(usize, usize)> = Vec::new();
    for (at, record) in records.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if record.kind != RecordKind::Job => group.1 = at + 1,
            _ => groups.push((at, at + 1)),
        }
    }
    keep.resize(records.len(), false);
    for &(start, end) in groups.iter().rev() {
        if let Some(record) = records.get(start) {
            job_is_kept = seen.insert((record.job, record.tasks_waiting.is_some()));
        }
        keep[start..end].fill(job_is_kept);
    }
    let mut kept = keep.into_iter();
    records.retain(|_| kept.next().unwrap_or(true));
}

/// Cuts a record's times to the window.
fn truncate(record: &mut AccountingRecord, window: Window) {
    let Some(started) = record.started else { return };
    let from = window.start.map_or(started, |start| started.max(start));
    record.started = Some(from);
    if let Some(end) = window.end
        && record.ended.is_none_or(|ended| ended > end)
    {
        record.ended = Some(end);
    }
    if let Some(ended) = record.ended {
        record.elapsed_seconds = u64::try_from(ended.seconds() - from.seconds()).unwrap_or(0);
    }
}
