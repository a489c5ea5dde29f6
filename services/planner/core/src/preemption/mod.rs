//! Runs that give way to waiting jobs.
//!
//! A job that cannot be placed, and that would be if runs gave way that it may preempt, gets their place: the cheapest of
//! them that are enough are told to end ([`victims`]), and their end is when its protected start begins. In the cycles
//! that follow it comes before everybody else until it has started ([`rooms`]): what was freed for it is not given to
//! others, a run that went back into the queue among them.
//!
//! Runs that are ending anyway count as if they were gone, so nobody gives way twice for one need.

mod candidates;
mod rooms;
mod victims;

use std::collections::{BTreeMap, BTreeSet};

use daybook_model::fit::{Amounts, Share};
use daybook_schemas::events::CycleBound;
use daybook_schemas::job::Reason;
use daybook_schemas::{JobId, RunId, UtcMicros};

use crate::cycle::Preemption;
use crate::plan::Planning;
use crate::queue::Turn;
use candidates::Candidates;
use rooms::Serving;
use victims::Choice;

pub(crate) use rooms::room_order;

/// What would be free on a node if a run were gone.
pub(crate) struct Gain {
    pub(crate) share: Share,
    pub(crate) amounts: Amounts,
    /// When it comes back otherwise; `None`: never, as far as limits say.
    pub(crate) otherwise: Option<UtcMicros>,
}

/// What this cycle knows of preemption.
#[derive(Default)]
pub(crate) struct Preempting<'a> {
    /// `None`: nobody has asked yet.
    candidates: Option<Candidates<'a>>,
    /// Kinds, with the QOS, for which no runs are enough, and from which window on: in a cycle both what is free and
    /// who may give way only become fewer.
    hopeless: BTreeMap<(usize, &'a str), i64>,
    /// Jobs for which runs were looked for.
    tried: u32,
    /// The record whose room is being filled; `None`: the queue is walked.
    serving: Option<Serving>,
    /// Records whose room has been looked at.
    served: BTreeMap<JobId, rooms::Served>,
    /// For whom this cycle has had runs give way.
    made_for: BTreeSet<JobId>,
}

impl<'a> Planning<'a, '_> {
    /// Whether a blocked job is dealt with: because room is made for it, or because it is its room that is being filled.
    /// Such a job stands in no line: what is behind it does not wait for it, unless everybody does.
    pub(crate) fn is_given_room(&mut self, turn: Turn<'a>, number: usize, seconds: i64) -> bool {
        if self.cluster.preemption().is_none() {
            return false;
        }
        if self.preempting.serving.is_some() {
            self.keep_room(turn, number, seconds);
            return true;
        }
        if self.has_room_for_all(turn.job) {
            return true;
        }
        let line = self.kinds.get(number).line();
        if !self.cluster.may_preempt(turn.job)
            || self.is_closed(line)
            || !self.make_room(turn, number, seconds)
        {
            return false;
        }
        self.wait_for_room(turn, line);
        true
    }

    /// Limits count a run for which room is made or kept as if it were started: others are not to take what it needs of
    /// them.
    fn charge_room(&mut self, turn: Turn<'a>, taker: JobId, number: usize, seconds: i64, shares: &[Share]) {
        let run =
            if taker == turn.job.id { RunId::new(taker, turn.job.starts) } else { RunId::new(taker, 0) };
        let ends = self.limit_end(self.kinds.get(number).access, self.windows(turn).limit(seconds));
        let nodes = self.run_nodes(shares);
        let counts = self.counts_of(turn, &nodes);
        let charged = (run, turn.job, turn.partition);
        self.cluster.charge_start(&mut self.charges, charged, &counts, (self.now, ends));
    }

    /// What a job is told that waits for its room; without backfill everybody behind it waits too.
    fn wait_for_room(&mut self, turn: Turn<'a>, line: Option<usize>) {
        if !self.policy.backfill
            && let Some(line) = line
        {
            *self.blocked.entry(line).or_insert(0) += 1;
        }
        self.give_reason(turn, Reason::Resources, "");
    }

    /// Has runs give way to a job, to each of its tasks as far as it may start; whether any does.
    fn make_room(&mut self, turn: Turn<'a>, number: usize, seconds: i64) -> bool {
        let mut is_made = false;
        for (by, array) in self.takers(turn) {
            let Choice::Runs(chosen, shares) = self.choose(turn, number, seconds) else { break };
            let room = self.policy.preemptions_max as usize - self.cycle.preemptions.len();
            if chosen.len() > room {
                self.meet(CycleBound::Preemptions);
                break;
            }
            for at in chosen {
                let Some((run, way, end)) = self.give_way(at) else { continue };
                let grace = i64::try_from(way.grace.0).unwrap_or(i64::MAX);
                let grace_end = self.now.plus_seconds(grace).min(end);
                self.cycle.preemptions.push(Preemption { run, by, array, mode: way.mode, grace_end });
            }
            // A protected start where they go, whatever the job's place in its line: there is its room.
            let sites: Vec<usize> = shares.iter().map(|share| share.site).collect();
            self.reserve_room(turn.job, number, seconds, &sites);
            self.charge_room(turn, by, number, seconds, &shares);
            self.preempting.made_for.insert(by);
            self.preempting.note_kept(turn.job.id);
            is_made = true;
        }
        is_made
    }
}
