//! Room that has been made in earlier cycles: it is filled before the queue is walked.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use daybook_model::{Cluster, Job, PendingKey};
use daybook_schemas::JobId;
use daybook_schemas::events::ArrayTaskId;
use daybook_schemas::job::Reason;

use super::Preempting;
use crate::ground::Ground;
use crate::plan::Planning;
use crate::queue::Turn;

/// The record whose room is being filled.
pub(super) struct Serving {
    job: JobId,
    /// Which of its planned starts it is.
    place: usize,
    /// Whether nothing is there yet.
    is_empty: bool,
}

/// A record whose room has been looked at.
#[derive(Default)]
pub(super) struct Served {
    /// Runs started there.
    started: u32,
    /// Of an array: the last task that was.
    last_task: Option<u32>,
    /// Runs for which the room is kept.
    kept: u32,
    /// What was said to it there.
    said: Option<(u32, Reason, Arc<str>)>,
    /// Whether that is recorded.
    is_told: bool,
}

/// Of the nodes in this order those of a record's room (`None`: all): where the last cycle planned its start. There it takes
/// nothing that was promised to others when that was planned.
pub(crate) fn room_order(
    cluster: &Cluster,
    ground: &Ground<'_>,
    room: Option<(JobId, usize)>,
    order: Rc<[usize]>,
) -> Rc<[usize]> {
    let Some((record, place)) = room else { return order };
    let nodes = cluster.nodes_planned_for(record).get(place).into_iter().flat_map(|nodes| nodes.iter());
    let sites: BTreeSet<usize> = nodes.filter_map(|name| ground.number(name)).collect();
    order.iter().copied().filter(|site| sites.contains(site)).collect()
}

impl Preempting<'_> {
    /// The record whose room is being filled, and which of its planned starts.
    pub(crate) fn serving(&self) -> Option<(JobId, usize)> {
        self.serving.as_ref().map(|serving| (serving.job, serving.place))
    }

    /// Whether another run of the record that is looked at may start: of one whose room is being filled no more than there
    /// is room for.
    pub(crate) fn wants_more(&self) -> bool {
        self.serving.as_ref().is_none_or(|serving| serving.is_empty)
    }

    /// Notes that a run was started.
    pub(crate) fn note_start(&mut self, job: &Job, task: Option<u32>) {
        let Some(serving) = &mut self.serving else { return };
        serving.is_empty = false;
        let served = self.served.entry(job.id).or_default();
        served.started += 1;
        served.last_task = task.or(served.last_task);
    }

    /// Whether its room has a run of the record already.
    pub(crate) fn has_started(&self, job: &Job) -> bool {
        self.served(job).is_some_and(|served| served.started > 0)
    }

    /// Of an array: the last task that was started there.
    pub(crate) fn last_task(&self, job: &Job) -> Option<u32> {
        self.served(job)?.last_task
    }

    /// Whether nothing is left to decide on a record: its run is started, or its room is kept; of an array's tasks, for
    /// all of them.
    pub(crate) fn is_served(&self, job: &Job) -> bool {
        let Some(served) = self.served(job) else { return false };
        match &job.tasks_waiting {
            None => served.started + served.kept > 0,
            Some(tasks) => u64::from(served.started + served.kept) >= tasks.len(),
        }
    }

    /// Notes that the room of a run of the record is kept.
    pub(super) fn note_kept(&mut self, record: JobId) {
        self.served.entry(record).or_default().kept += 1;
    }

    /// Notes what is said to a record whose room is being filled.
    pub(crate) fn note_said(&mut self, turn: Turn<'_>, reason: Reason, detail: &str) {
        self.served.entry(turn.job.id).or_default().said = Some((turn.place, reason, Arc::from(detail)));
    }

    /// Whether a record has been told why it waits for its room: of an array the tasks for which there is no room are not
    /// told anything else.
    pub(crate) fn is_told(&self, job: &Job) -> bool {
        self.served(job).is_some_and(|served| served.is_told)
    }

    fn served(&self, job: &Job) -> Option<&Served> {
        if self.served.is_empty() { None } else { self.served.get(&job.id) }
    }
}

impl<'a> Planning<'a, '_> {
    /// Fills the room that was made for waiting records, in the order in which these stand in the queue.
    pub(crate) fn fill_rooms(&mut self) {
        let cluster = self.cluster;
        let jobs = cluster.rooms().keys().filter_map(|id| cluster.jobs().get(id));
        let keys = jobs.flat_map(|job| cluster.pending_keys(job));
        let mut keys: Vec<PendingKey> = keys.filter(|key| cluster.ready().contains(key)).collect();
        keys.sort_unstable();
        if keys.is_empty() {
            return;
        }
        self.find_candidates();
        for key in keys {
            if self.has_seen_enough() || self.cycle.starts.len() >= self.policy.starts_max as usize {
                break;
            }
            let Some(turn) = Turn::of(cluster, key) else { continue };
            let takers = cluster.rooms().get(&key.job).map_or(0, |room| room.takers.len());
            let planned = cluster.nodes_planned_for(key.job).len();
            for place in 0..takers.min(planned) {
                self.fill_room(turn, place);
            }
            self.tell_who_waits_for_room(turn.job);
            if !self.preempting.is_served(turn.job) {
                self.watch_again(turn.job);
            }
        }
    }

    /// Who is kept room is told why it waits for it. Who is not has its turn yet, and is told then.
    fn tell_who_waits_for_room(&mut self, job: &'a Job) {
        let Some(served) = self.preempting.served.get_mut(&job.id) else { return };
        if served.kept == 0 || served.is_told {
            return;
        }
        let Some((place, reason, detail)) = served.said.clone() else { return };
        served.is_told = true;
        if let Some(partition) = job.partitions().get(place as usize) {
            self.record_reason(Turn { job, place, partition }, reason, &detail);
        }
    }

    fn fill_room(&mut self, turn: Turn<'a>, place: usize) {
        let job = turn.job.id;
        let done = self.preempting.served(turn.job).map_or(0, |served| served.started + served.kept) as usize;
        if done > place {
            return;
        }
        self.preempting.serving = Some(Serving { job, place, is_empty: true });
        let before = self.cycle.reservations.len();
        self.consider(turn);
        self.preempting.serving = None;
        let now = self.preempting.served(turn.job).map_or(0, |served| served.started + served.kept) as usize;
        // A reservation keeps its nodes from it: it has its protected start by that.
        if self.cycle.reservations.len() > before && now == done {
            self.preempting.note_kept(job);
        }
    }

    /// Where not all have given way yet the room is kept.
    pub(super) fn keep_room(&mut self, turn: Turn<'a>, number: usize, seconds: i64) {
        let Some(Serving { place, is_empty: true, .. }) = self.preempting.serving else { return };
        let Some(shares) = self.fits_without(number, seconds, &[]) else { return };
        let order = self.kinds.get(number).order.clone();
        self.reserve_room(turn.job, number, seconds, &order);
        self.preempting.note_kept(turn.job.id);
        let takers = self.cluster.rooms().get(&turn.job.id).and_then(|room| room.takers.iter().nth(place));
        if let Some(taker) = takers.copied() {
            self.charge_room(turn, taker, number, seconds, &shares);
        }
        self.wait_for_room(turn, self.kinds.get(number).line());
    }

    /// Whether the room that is kept for tasks of an array is for as many as its own limit lets start.
    pub(super) fn has_room_for_all(&self, job: &Job) -> bool {
        let kept = self.preempting.served(job).map_or(0, |served| u64::from(served.kept));
        kept > 0 && self.array_room(job) <= kept
    }

    /// The runs of a record for which room may be made: a job's only one, an array's next tasks that have none yet.
    pub(super) fn takers(&self, turn: Turn<'a>) -> Vec<(JobId, Option<ArrayTaskId>)> {
        let job = turn.job;
        let Some(tasks) = job.tasks_startable() else {
            return match self.preempting.is_served(job) {
                true => Vec::new(),
                false => vec![(job.id, None)],
            };
        };
        let served = self.preempting.served(job);
        let kept = served.map_or(0, |served| u64::from(served.kept));
        let room = self.array_room(job).saturating_sub(kept);
        let started = self.cycle.starts.iter().rev().map(|start| start.array);
        let last = started.flatten().filter(|task| task.array_job == job.id).map(|task| task.task).max();
        let has_room =
            |id: &JobId| self.cluster.rooms().get(&job.id).is_some_and(|room| room.takers.contains(id));
        let array = self.cluster.arrays().get(&job.id);
        let most = usize::try_from(room.min(self.policy.preemptions_max.into())).unwrap_or(usize::MAX);
        let waiting = tasks.iter().filter(|task| last.is_none_or(|last| *task > last));
        let waiting = waiting.filter_map(|task| {
            let id = array?.task_job_id(task)?;
            Some((id, Some(ArrayTaskId { array_job: job.id, task })))
        });
        let has_none = |id: &JobId| !self.preempting.made_for.contains(id) && (kept == 0 || !has_room(id));
        waiting.filter(|(id, _)| has_none(id)).take(most).collect()
    }
}
