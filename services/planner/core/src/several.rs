//! Jobs that may start in several partitions: each has a turn in every one of them, and starts in the first where it
//! fits. While it would start in a later one, nothing is kept for it in those before. What it is told is said once, when
//! all turns are known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use daybook_model::{Job, PendingKey, ReadyKind};
use daybook_schemas::JobId;
use daybook_schemas::job::Reason;

use crate::plan::Planning;
use crate::queue::Turn;

/// What one partition says to a job.
type Verdict = (Reason, Arc<str>);

/// What has become of them in this cycle.
#[derive(Default)]
pub(crate) struct Several<'a> {
    met: BTreeMap<JobId, Met<'a>>,
    /// Kinds of which no further record is looked at: the last one that was, and what was said to it. It is said to
    /// all behind it.
    left: BTreeMap<&'a Arc<ReadyKind>, (PendingKey, Option<Verdict>)>,
}

/// One job.
#[derive(Default)]
struct Met<'a> {
    /// Runs that were started.
    started: u64,
    /// Of an array: the last task that was.
    last_task: Option<u32>,
    /// By the place of the partition.
    verdicts: BTreeMap<u32, Verdict>,
    /// Places in which its turn has come.
    had: BTreeSet<u32>,
    /// Turns in which it did not fit, while it would start in a later one.
    postponed: Vec<Turn<'a>>,
}

impl<'a> Several<'a> {
    /// How many runs of the job this cycle has started.
    pub(crate) fn started(&self, job: &Job) -> u64 {
        self.met(job).map_or(0, |met| met.started)
    }

    /// Whether it has started any.
    pub(crate) fn has_started(&self, job: &Job) -> bool {
        self.started(job) > 0
    }

    /// Whether nothing of it is left to start.
    pub(crate) fn is_over(&self, job: &Job) -> bool {
        let Some(met) = self.met(job).filter(|met| met.started > 0) else { return false };
        let last = job.tasks_startable().and_then(|tasks| tasks.last());
        job.tasks_waiting.is_none() || last <= met.last_task
    }

    /// The last task of an array that this cycle has started.
    pub(crate) fn last_task(&self, job: &Job) -> Option<u32> {
        self.met(job)?.last_task
    }

    fn met(&self, job: &Job) -> Option<&Met<'a>> {
        job.partitions.as_ref()?;
        self.met.get(&job.id)
    }

    pub(crate) fn note_turn(&mut self, turn: Turn<'a>) {
        self.met.entry(turn.job.id).or_default().had.insert(turn.place);
    }

    /// Whether the job's turn in the partition at this place has come.
    pub(crate) fn has_had(&self, job: &Job, place: u32) -> bool {
        self.met(job).is_some_and(|met| met.had.contains(&place))
    }

    /// It does not fit here and starts elsewhere.
    pub(crate) fn postpone(&mut self, turn: Turn<'a>) {
        self.met.entry(turn.job.id).or_default().postponed.push(turn);
    }

    /// Whether the job's turn in a partition has not been decided.
    pub(crate) fn is_postponed(&self, job: &Job) -> bool {
        self.met(job).is_some_and(|met| !met.postponed.is_empty())
    }

    pub(crate) fn take_postponed(&mut self, job: &Job) -> Vec<Turn<'a>> {
        self.met.get_mut(&job.id).map(|met| std::mem::take(&mut met.postponed)).unwrap_or_default()
    }

    pub(crate) fn note_start(&mut self, job: &Job, task: Option<u32>) {
        let met = self.met.entry(job.id).or_default();
        met.started += 1;
        met.last_task = task.or(met.last_task);
    }

    pub(crate) fn note_verdict(&mut self, turn: Turn<'a>, reason: Reason, detail: &str) {
        let met = self.met.entry(turn.job.id).or_default();
        met.verdicts.insert(turn.place, (reason, Arc::from(detail)));
    }

    /// Of this kind no record behind the one at `key` is looked at.
    pub(crate) fn leave(&mut self, kind: &'a Arc<ReadyKind>, key: PendingKey, turn: Turn<'a>) {
        let verdict = self.met(turn.job).and_then(|met| met.verdicts.get(&turn.place)).cloned();
        self.left.insert(kind, (key, verdict));
    }
}

/// Which of two reasons says more: in one partition it is the next, in others it waits behind others or is refused. What
/// licences are free is the same in all of them. An array's own limit holds in all of them, also where it was reached
/// only after one had been looked at.
pub(crate) fn rank(reason: Reason) -> u8 {
    match reason {
        Reason::JobArrayTaskLimit => 0,
        Reason::Resources | Reason::Licenses => 1,
        Reason::Priority => 2,
        _ => 3,
    }
}

impl<'a> Planning<'a, '_> {
    /// Says to each of these jobs what is the best of what its partitions say, and keeps one protected start of each.
    pub(crate) fn settle_several(&mut self) {
        if self.several.met.is_empty() {
            return;
        }
        let several = std::mem::take(&mut self.several);
        let met: Vec<JobId> = several.met.keys().copied().collect();
        for id in met {
            self.settle(&several, id);
        }
        let cluster = self.cluster;
        for (kind, (key, verdict)) in &several.left {
            let mut key = *key;
            if verdict.is_none() {
                continue;
            }
            // One place is enough to come by all of them.
            while let Some(next) = cluster.ready_behind(kind, Some(key)).filter(|next| next.place == 0) {
                let is_news = self.settle(&several, next.job);
                if !is_news && !several.met.contains_key(&next.job) {
                    break;
                }
                key = next;
            }
        }
        self.keep_one_reservation(&several);
    }

    /// Whether the job was told anything new.
    fn settle(&mut self, several: &Several<'a>, id: JobId) -> bool {
        let Some(job) = self.cluster.jobs().get(&id).map(|job| &**job) else { return false };
        let met = several.met.get(&id);
        if several.is_over(job) {
            return false;
        }
        let mut best: Option<(u8, Turn<'a>, Verdict)> = None;
        for (place, partition) in (0u32..).zip(job.partitions()) {
            let own = met.and_then(|met| met.verdicts.get(&place));
            let of_kind = || several.left.get(&Arc::new(self.cluster.ready_kind(job, place)))?.1.as_ref();
            // Where a bound was met before its turn came, nothing is said.
            let Some(verdict) = own.or_else(of_kind) else { return false };
            let turn = Turn { job, place, partition };
            let rank = rank(verdict.0);
            if best.as_ref().is_none_or(|(lowest, ..)| rank < *lowest) {
                best = Some((rank, turn, verdict.clone()));
            }
        }
        let Some((_, turn, (reason, detail))) = best else { return false };
        if reason == Reason::Priority && job.reason == Reason::None {
            // A job of which nothing is recorded is understood to wait behind others.
            return false;
        }
        let before = self.cycle.reasons.len();
        self.record_reason(turn, reason, &detail);
        self.cycle.reasons.len() > before
    }

    /// A job that has started is promised nothing, nor an array that has reached its own limit; and one that waits in several partitions its earliest start.
    fn keep_one_reservation(&mut self, several: &Several<'a>) {
        let reservations = &mut self.cycle.reservations;
        let mut earliest = BTreeMap::new();
        for (at, planned) in reservations.iter().enumerate() {
            let met = several.met.get(&planned.job);
            let is_plain =
                self.cluster.jobs().get(&planned.job).is_some_and(|job| job.tasks_waiting.is_none());
            let is_limited =
                |met: &Met<'_>| met.verdicts.values().any(|(reason, _)| *reason == Reason::JobArrayTaskLimit);
            if met.is_some_and(|met| met.started > 0 && is_plain || is_limited(met)) {
                continue;
            }
            let best = earliest.entry(planned.job).or_insert((planned.start, at));
            *best = (*best).min((planned.start, at));
        }
        let kept: BTreeSet<usize> = earliest.values().map(|(_, at)| *at).collect();
        let mut at = 0;
        reservations.retain(|_| {
            at += 1;
            kept.contains(&(at - 1))
        });
    }
}
