use daybook_schemas::events::{ArrayTaskId, JobUpdated};
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::{JobState, Reason, ResourceRequest, TimeLimit};
use daybook_schemas::run::{AllocatedGpu, ExitStatus, ProcessUsage};
use daybook_schemas::{JobId, Mebibytes, NodeName, RunId, Seq, UtcMicros};
use serde::{Deserialize, Serialize};

use super::{RECORDS, Row, Table};
use crate::bounds::EVIDENCE_MAX;
use crate::keys;

/// One line of accounting: an attempt of a job to run, from its way into the queue until its end. A requeue begins the
/// next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RecordKey {
    pub(crate) job: JobId,
    /// From 0.
    pub(crate) attempt: u32,
}

/// What was changed since the submission.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Changes {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) comment: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) partition: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) account: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) qos: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wckey: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) time_limit: Option<TimeLimit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<ResourceRequest>,
}

impl Changes {
    fn is_none(&self) -> bool {
        *self == Changes::default()
    }

    /// What may change at any time, and what only while the job waits.
    pub(crate) fn note(&mut self, data: &JobUpdated, waits: bool) {
        let keep = |new: &Option<String>, old: &mut Option<String>| {
            if new.is_some() {
                old.clone_from(new);
            }
        };
        keep(&data.name, &mut self.name);
        keep(&data.comment, &mut self.comment);
        self.time_limit = data.time_limit.or(self.time_limit);
        if waits {
            keep(&data.partition, &mut self.partition);
            keep(&data.account, &mut self.account);
            keep(&data.qos, &mut self.qos);
            keep(&data.wckey, &mut self.wckey);
            if data.request.is_some() {
                self.request.clone_from(&data.request);
            }
        }
    }
}

/// What a run had of one node, and from when to when: whole seconds, as in the physical book.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunShare {
    pub(crate) node: NodeName,
    pub(crate) cpus: u32,
    pub(crate) memory: Mebibytes,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) gpus: Vec<AllocatedGpu>,
    pub(crate) from: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<i64>,
}

/// The batch script's own line (`123.batch`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct BatchStep {
    pub(crate) started: UtcMicros,
    pub(crate) state: JobState,
    pub(crate) exit: ExitStatus,
}

/// A record. Description and request are the submission's, as changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecordRow {
    /// The commit, and the event in it, that began the record: the order of records.
    pub(crate) opened: (Seq, u32),
    pub(crate) opened_at: UtcMicros,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<ArrayTaskId>,
    /// Of an array's record: tasks that have not started; after its end those that never will.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tasks_waiting: Option<IndexSet>,
    /// Tasks cancelled before their start while others of the array went on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tasks_cancelled: Option<IndexSet>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) running_max: Option<u32>,
    #[serde(default, skip_serializing_if = "Changes::is_none")]
    pub(crate) changes: Changes,
    pub(crate) state: JobState,
    /// Absent: not known (held, or waiting for other jobs).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) eligible: Option<UtcMicros>,
    /// Why it waits now.
    pub(crate) reason: Reason,
    /// What it waited for last, other than its turn and free resources.
    pub(crate) obstacle: Reason,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) held: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<RunId>,
    /// When its resources were allocated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) started: Option<UtcMicros>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<UtcMicros>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) end_is_bound: bool,
    /// The end was a bound until the node told the true one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) end_is_corrected: bool,
    /// GPU seconds from where the books went on without the run to its true end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) gpu_seconds_unseen: u64,
    /// Microseconds for which it was stopped, without a stop that lasts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) paused: u64,
    /// Since when it is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stopped: Option<UtcMicros>,
    pub(crate) exit: ExitStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) batch: Option<BatchStep>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cancelled_by: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) shares: Vec<RunShare>,
    /// What the run is billed; absent: its CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) billing: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<ProcessUsage>,
    pub(crate) restarts: u32,
    pub(crate) evidence: Vec<Seq>,
}

impl RecordRow {
    /// A record of a job that waits from `at` on.
    pub(crate) fn waiting(opened: (Seq, u32), at: UtcMicros) -> RecordRow {
        RecordRow {
            opened,
            opened_at: at,
            task: None,
            tasks_waiting: None,
            tasks_cancelled: None,
            running_max: None,
            changes: Changes::default(),
            state: JobState::Pending,
            eligible: None,
            reason: Reason::None,
            obstacle: Reason::None,
            held: false,
            run: None,
            started: None,
            ended: None,
            end_is_bound: false,
            end_is_corrected: false,
            gpu_seconds_unseen: 0,
            paused: 0,
            stopped: None,
            exit: ExitStatus::default(),
            batch: None,
            cancelled_by: None,
            shares: Vec::new(),
            billing: None,
            usage: None,
            restarts: 0,
            evidence: vec![opened.0],
        }
    }

    /// The record rests on this commit too.
    pub(crate) fn rests_on(&mut self, seq: Seq) {
        let is_full = self.evidence.len() >= EVIDENCE_MAX;
        match self.evidence.last_mut() {
            Some(last) if *last == seq || is_full => *last = seq,
            _ => self.evidence.push(seq),
        }
    }

    /// Whole seconds for which it has been stopped up to `now`.
    pub(crate) fn suspended_seconds(&self, now: UtcMicros) -> u64 {
        let lasting = self.stopped.map_or(0, |since| u64::try_from(now.0 - since.0).unwrap_or(0));
        self.paused.saturating_add(lasting) / 1_000_000
    }

    /// Waits for another reason.
    pub(crate) fn waits_for(&mut self, reason: Reason) {
        self.reason = reason;
        if !matches!(reason, Reason::None | Reason::Priority | Reason::Resources) {
            self.obstacle = reason;
        }
    }

    /// From when to when it counts in a window, whole seconds: from when it could have started. A record that was never
    /// known to be able to is in no window while it waits, and afterwards in that of its end.
    pub(crate) fn span(&self) -> Option<(i64, Option<i64>)> {
        let end = self.ended.map(UtcMicros::seconds);
        let from = self.eligible.map(UtcMicros::seconds);
        match (from, end) {
            (Some(from), Some(end)) => Some((from.min(end), Some(end))),
            (Some(from), None) => Some((from, None)),
            (None, Some(end)) => Some((end, Some(end))),
            (None, None) => None,
        }
    }
}

impl Row for RecordRow {
    type Key = RecordKey;
    const TABLE: Table = RECORDS;
    fn key(key: &RecordKey) -> Vec<u8> {
        keys::record(*key).to_vec()
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
