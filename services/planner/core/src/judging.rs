//! Whether a request that does not fit now would fit if nothing ran.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use daybook_model::fit::{Demand, Site, place};
use daybook_model::{Job, Judgement};
use daybook_schemas::NodeName;
use daybook_schemas::grammar::hostlist;
use daybook_schemas::job::Reason;

use crate::plan::Planning;
use crate::queue::Turn;
use crate::reservations::Access;

impl<'a> Planning<'a, '_> {
    /// Why a kind does not fit: what is in use, nodes that are not up, or the request itself.
    pub(crate) fn judge(&mut self, turn: Turn<'a>, number: usize, seconds: i64) {
        self.kinds.get_mut(number).block(seconds);
        if self.kinds.get(number).fits_when_empty.is_some() {
            return;
        }
        let kind = self.kinds.get(number);
        // Whether the answer is kept or not, it counts as a look at each node: the steps are those of a cycle that has
        // to find out.
        self.ground.count_steps(kind.order.len());
        let judge = || self.judge_when_empty(turn, number);
        // What is kept is an answer about all of a partition's nodes, for jobs that keep its limits.
        let judgement = match kind.access {
            Access::OUTSIDE if !kind.lifted.any() => {
                self.cluster.judgement(turn.partition, &turn.job.request, judge)
            }
            _ => judge(),
        };
        let kind = self.kinds.get_mut(number);
        kind.fits_when_empty = Some(judgement.fits);
        kind.refused = judgement.refused;
    }

    /// Whether a kind fits if nothing runs, and why not. It looks at configuration and nodes alone.
    fn judge_when_empty(&self, turn: Turn<'_>, number: usize) -> Judgement {
        let kind = self.kinds.get(number);
        let whole = |site: usize| self.ground.whole(site).map(Cow::Borrowed);
        let up = |site: usize| Some(self.reservations.within(kind.access, site, whole(site)?));
        let steps = Cell::new(0);
        let place_on = |demand: &Demand<'_>, nodes: &[usize]| {
            place(demand, self.ground.bare_terrain(&steps), nodes, &up)
        };
        // A wish for few switches passes: it is no reason to be refused.
        let demand = kind.demand.clone().map(|demand| Demand { switches_max: None, ..demand });
        let fits = demand.is_some_and(|demand| match demand.is_of_one_node() {
            true => kind.order.iter().any(|site| place_on(&demand, &[*site]).is_some()),
            false => place_on(&demand, &kind.order).is_some(),
        });
        let refused = if fits {
            None
        } else if self.cluster.is_possible(turn.partition, &turn.job.request) {
            let names = self.unavailable(turn.job, number);
            let is_of_reservation = names.is_empty() && kind.access != Access::OUTSIDE;
            let names = hostlist::compress(names.iter().map(|name| name.as_str()));
            // Its reservation's nodes are all there, and too few or too small.
            Some(match is_of_reservation {
                true => (Reason::Reservation, Arc::from("")),
                false => (Reason::ReqNodeNotAvail, Arc::from(format!("UnavailableNodes:{names}"))),
            })
        } else {
            Some((Reason::BadConstraints, Arc::from("")))
        };
        Judgement { fits, refused }
    }

    /// The nodes that are not up (or whose GPUs are not all there) and that the job could use.
    pub(crate) fn unavailable(&self, job: &Job, number: usize) -> Vec<&'a NodeName> {
        let kind = self.kinds.get(number);
        let required = &job.request.nodes_required;
        let names = kind.order.iter().map(|site| &self.ground.sites[*site]).filter_map(|site| {
            let name = &site.node.definition.name;
            let is_named = required.is_empty() || required.binary_search(name).is_ok();
            let unbroken = Site::unbroken(site.node);
            let is_less = !site.node.is_schedulable() || unbroken.gpus.len() > site.gpus.len();
            let could_help = kind
                .demand
                .as_ref()
                .is_some_and(|demand| unbroken.tasks_max(&unbroken.whole(), demand).is_some());
            (is_named && is_less && could_help).then_some(name)
        });
        names.collect()
    }
}
