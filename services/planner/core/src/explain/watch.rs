//! What a cycle does with one job.

use daybook_model::fit::{Demand, place};
use daybook_model::{Job, PendingKey, ReadyKind, Window};
use daybook_schemas::events::{LimitFigures, PlannedStart};
use daybook_schemas::job::Reason;
use daybook_schemas::{JobId, NodeName, UtcMicros};
use std::borrow::Cow;
use std::sync::Arc;

use crate::plan::{Planning, choosy_until};
use crate::queue::Turn;
use crate::several::rank;

/// A watch on one job; the cycle ends when it has been looked at in every partition that it may start in. What is seen in
/// the one that says most stays.
pub(crate) struct Watch {
    job: JobId,
    /// How many turns it is to have, and how many it has had.
    turns: usize,
    turns_seen: usize,
    /// Which partition's `reason` and `met` these are, by its place in the job's order.
    place: u32,
    reason: Option<Reason>,
    met: Option<Met>,
    /// The reason that is given in the present turn.
    said: Option<Reason>,
    /// What alone keeps it from starting in the present turn.
    keeper: Option<Keeper>,
}

/// A reservation, with its time, and whether that is for maintenance.
pub(crate) type Keeper = (String, Window, bool);

/// What was so when the cycle came to the job, and what it then did.
#[derive(Default)]
pub(crate) struct Met {
    /// Runs that the cycle had started before.
    pub(crate) starts_in_front: u32,
    /// Starts that it had protected before.
    pub(crate) promises: Vec<PlannedStart>,
    /// Where the job would have been placed beside those starts, if nothing were kept for others.
    pub(crate) without_promises: Option<Vec<NodeName>>,
    /// It would have been placed there on more leaf switches than this, and waits for no more until then.
    pub(crate) few_switches: Option<(u32, UtcMicros)>,
    /// When a window from now would end; `None`: never.
    pub(crate) until: Option<UtcMicros>,
    /// Without backfill: a job in front blocked the partition.
    pub(crate) was_closed: bool,
    /// How many jobs of its partition were blocked in front of it.
    pub(crate) blocked_in_front: u32,
    /// Nodes that are not up, or not whole, and that it could use.
    pub(crate) unavailable: Vec<NodeName>,
    /// Whether it was started, or a task of it.
    pub(crate) is_started: bool,
    /// Its protected start.
    pub(crate) planned: Option<PlannedStart>,
    /// The limit of an association or a QOS that keeps it back.
    pub(crate) limit: Option<LimitFigures>,
    /// What alone kept it from starting.
    kept_by: Option<Keeper>,
}

impl Watch {
    pub(crate) fn new(job: &Job) -> Watch {
        let turns = job.partitions().len();
        Watch {
            job: job.id,
            turns,
            turns_seen: 0,
            place: 0,
            reason: None,
            met: None,
            said: None,
            keeper: None,
        }
    }

    /// The partition that is spoken of.
    pub(crate) fn partition<'j>(&self, job: &'j Job) -> &'j Arc<str> {
        job.partitions().get(self.place as usize).unwrap_or(&job.partition)
    }

    /// A turn is over; it is kept where it says more than those before.
    fn end_turn(&mut self, place: u32, met: Met) {
        self.turns_seen += 1;
        let (said, keeper) = (self.said.take(), self.keeper.take());
        // Where it starts nothing is said. Of equals that of the earliest protected start counts, else the one that it
        // names first, as for what is recorded.
        let rank_of = |met: &Met, said: Option<Reason>, place: u32| {
            let start = met.planned.as_ref().map_or(i64::MAX, |planned| planned.start.0);
            (!met.is_started, said.map_or_else(|| rank(Reason::Priority), rank), start, place)
        };
        let known = self.met.as_ref().map(|known| rank_of(known, self.reason, self.place));
        if known.is_none_or(|known| rank_of(&met, said, place) < known) {
            (self.place, self.reason, self.met) = (place, said, Some(Met { kept_by: keeper, ..met }));
        }
    }

    /// The reason that the cycle gave; `None`: none, or it did not come to the job.
    pub(crate) fn reason(&self) -> Option<Reason> {
        self.reason
    }

    /// The reservation that alone keeps it from starting.
    pub(crate) fn kept_by(&self) -> Option<&Keeper> {
        self.met.as_ref()?.kept_by.as_ref()
    }

    /// `None`: the cycle did not come to the job.
    pub(crate) fn met(&self) -> Option<&Met> {
        self.met.as_ref()
    }
}

impl<'a> Planning<'a, '_> {
    pub(crate) fn is_watched(&self, job: &Job) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.job == job.id)
    }

    /// The watched job's place in the queue, where it is of this kind.
    pub(crate) fn watched_of(&self, kind: &ReadyKind) -> Option<PendingKey> {
        let job = self.cluster.jobs().get(&self.watch.as_ref()?.job)?;
        let is_of = |key: &PendingKey| self.cluster.ready_kind(job, key.place) == *kind;
        let is_cheaply_other = kind.request != job.request || kind.time_limit != job.time_limit;
        if is_cheaply_other && job.partitions.is_none() {
            return None;
        }
        self.cluster.pending_keys(job).find(is_of)
    }

    /// Whether the job that this cycle is for has been looked at.
    pub(crate) fn has_seen_enough(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| {
            watch.turns_seen >= watch.turns || watch.met.as_ref().is_some_and(|met| met.is_started)
        })
    }

    /// What was seen of a job does not count: it is still to be looked at.
    pub(crate) fn watch_again(&mut self, job: &Job) {
        if let Some(watch) = self.watch.as_mut().filter(|watch| watch.job == job.id) {
            (watch.turns_seen, watch.place, watch.reason, watch.met) = (0, 0, None, None);
        }
    }

    /// Notes the reason that a job is given.
    pub(crate) fn note_reason(&mut self, job: &Job, reason: Reason) {
        if let Some(watch) = self.watch.as_mut().filter(|watch| watch.job == job.id) {
            watch.said = Some(reason);
        }
    }

    /// Notes the reservation that alone keeps a job from starting.
    pub(crate) fn note_keeper(&mut self, job: &Job, keeper: usize) {
        if let Some(watch) = self.watch.as_mut().filter(|watch| watch.job == job.id) {
            let reservations = &self.reservations;
            let name = reservations.name(keeper).to_string();
            watch.keeper = Some((name, reservations.window(keeper), reservations.is_maintenance(keeper)));
        }
    }

    /// Decides on the watched job, and notes what was so before and after.
    pub(crate) fn consider_watched(&mut self, turn: Turn<'a>) {
        let job = turn.job;
        let number = self.kind_of(turn, self.access_of(job));
        let until = self.end_of(self.windows(turn).shortest);
        let kind = self.kinds.get(number);
        let line = kind.line();
        let free = |site: usize| self.ground.free(site).map(Cow::Borrowed);
        let is_licensed = self.licenses.shortage(&kind.licenses).is_none();
        let demand = kind.demand.as_ref().filter(|_| is_licensed);
        let shares = demand.and_then(|demand| place(demand, self.ground.terrain(), &kind.order, &free));
        let few_switches = demand.filter(|_| shares.is_none()).and_then(|demand| {
            let most = demand.switches_max?;
            let anywhere = Demand { switches_max: None, ..demand.clone() };
            place(&anywhere, self.ground.terrain(), &kind.order, &free)?;
            Some((most, choosy_until(job, self.parameters)?))
        });
        let names = |shares: Vec<daybook_model::fit::Share>| {
            shares.iter().map(|share| self.ground.sites[share.site].node.definition.name.clone()).collect()
        };
        let mut met = Met {
            starts_in_front: u32::try_from(self.cycle.starts.len()).unwrap_or(u32::MAX),
            promises: self.cycle.reservations.clone(),
            without_promises: shares.map(names),
            few_switches,
            until,
            was_closed: self.is_closed(line),
            blocked_in_front: line.and_then(|line| self.blocked.get(&line)).copied().unwrap_or(0),
            ..Met::default()
        };
        self.limit_met = None;
        self.decide_on(turn);
        met.limit = self.limit_met.as_deref().cloned();
        if self
            .kinds
            .get(number)
            .refused
            .as_ref()
            .is_some_and(|(reason, _)| *reason == Reason::ReqNodeNotAvail)
        {
            met.unavailable = self.unavailable(turn.job, number).into_iter().cloned().collect();
        }
        met.is_started = self.cycle.starts.len() > met.starts_in_front as usize;
        met.planned = self.cycle.reservations.get(met.promises.len()).cloned();
        if let Some(watch) = &mut self.watch {
            watch.end_turn(turn.place, met);
        }
    }
}
