//! Blocked jobs: what they are told, and the starts that are protected for the first of them.

use daybook_model::Job;
use daybook_model::fit::Demand;
use daybook_schemas::UtcMicros;
use daybook_schemas::events::PlannedStart;
use daybook_schemas::job::Reason;

use crate::kinds::FOR_EVER;
use crate::plan::{Planning, choosy_until};
use crate::queue::Turn;
use crate::releases::Wanted;

impl<'a> Planning<'a, '_> {
    /// A blocked job: the first K of a partition get a protected start.
    pub(crate) fn wait_its_turn(&mut self, turn: Turn<'a>, number: usize, seconds: i64) {
        let job = turn.job;
        let kind = self.kinds.get(number);
        let Some(line) = kind.line() else { return };
        if self.is_given_room(turn, number, seconds) {
            return;
        }
        let kind = self.kinds.get(number);
        if kind.demand.as_ref().is_some_and(|demand| demand.switches_max.is_some()) {
            let until = choosy_until(job, self.parameters);
            self.cycle.wake = self.cycle.wake.into_iter().chain(until).min();
        }
        let position = self.blocked.get(&line).copied().unwrap_or(0);
        let is_protectable = self.may_be_protected(turn);
        // Nobody waits behind one for which nothing is ever kept.
        if is_protectable || !self.policy.backfill {
            *self.blocked.entry(line).or_insert(0) = position.saturating_add(1);
        }
        if self.licenses.shortage(&self.kinds.get(number).licenses).is_some() {
            self.give_reason(turn, Reason::Licenses, "");
        } else if position == 0 {
            self.give_reason(turn, Reason::Resources, "");
        } else if job.reason != Reason::None || turn.has_others() {
            // A job of which nothing is recorded is understood to wait behind others.
            self.give_reason(turn, Reason::Priority, "");
        }
        if is_protectable && self.may_protect(position) {
            self.reserve(job, number, seconds);
        }
    }

    /// Whether the job at this place of its line gets a protected start.
    pub(crate) fn may_protect(&self, position: u32) -> bool {
        self.policy.backfill
            && position < self.policy.reservations
            && self.promises.count() < self.policy.reservations_max as usize
    }

    pub(crate) fn reserve(&mut self, job: &Job, number: usize, seconds: i64) {
        let kind = self.kinds.get(number);
        let (not_before, order) = (kind.not_before(seconds), kind.order.clone());
        self.reserve_on(job, number, seconds, (not_before, &order), false);
    }

    /// Keeps room that is being made for a job on these nodes.
    pub(crate) fn reserve_room(&mut self, job: &Job, number: usize, seconds: i64, order: &[usize]) {
        self.reserve_on(job, number, seconds, (None, order), true);
    }

    fn reserve_on(
        &mut self,
        job: &Job,
        number: usize,
        seconds: i64,
        (not_before, order): (Option<UtcMicros>, &[usize]),
        is_room: bool,
    ) {
        let kind = self.kinds.get(number);
        let Some(demand) = &kind.demand else { return };
        let seconds = (seconds != FOR_EVER).then_some(seconds);
        if !kind.licenses.is_empty() {
            self.ground.count_steps(self.licenses.fill(self.cluster, self.now));
        }
        let (releases, promises, licenses) = (&mut self.releases, &mut self.promises, &self.licenses);
        let mut earliest = |wanted: &Wanted<'_>| {
            releases.earliest(self.cluster, &self.ground, self.now, promises, licenses, wanted)
        };
        let wanted = Wanted {
            demand,
            licenses: &kind.licenses,
            order,
            seconds,
            from: None,
            not_before,
            reservations: &self.reservations,
            access: kind.access,
        };
        let mut found = earliest(&wanted);
        if demand.switches_max.is_some() && !demand.is_of_one_node() {
            let demand = Demand { switches_max: None, ..demand.clone() };
            let from = choosy_until(job, self.parameters);
            let wanted = Wanted { demand: &demand, from, ..wanted };
            let any = earliest(&wanted);
            found = match (found, any) {
                (Some(few), Some(any)) if any.start < few.start => Some(any),
                (few, any) => few.or(any),
            };
        }
        let Some(found) = found else { return };
        if is_room {
            self.promises.note_room(&found);
        }
        self.licenses.keep(&kind.licenses, found.start, found.end);
        let names = found.parts.iter().map(|part| &self.ground.sites[part.site].node.definition.name);
        let start = found.start;
        self.cycle.reservations.push(PlannedStart { job: job.id, start, nodes: names.cloned().collect() });
        self.promises.keep(found);
        self.kinds.get_mut(number).note_promise(seconds, start);
    }
}
