//! The earliest start of a demand of one node, from what each node has over time: the instants at which it cannot start
//! are passed over, and counted as the walk over them would count them.

use daybook_model::fit::Needed;
use daybook_schemas::UtcMicros;

use super::{Found, Future, Part, Releases, Wanted};
use crate::ground::Ground;
use crate::promises::{Promises, Timelines};
use crate::timeline::{Need, Timeline};

/// A node that the demand may use.
struct Candidate<'t> {
    site: usize,
    timeline: &'t Timeline,
    /// `None`: it never can.
    needed: Option<Needed>,
}

impl Releases<'_> {
    /// As the walk finds it; `None` where the work would reach its bound on the way, so that the walk has to say where.
    pub(super) fn earliest_drawn(
        &self,
        ground: &Ground<'_>,
        promises: &Promises,
        timelines: &Timelines,
        wanted: &Wanted<'_>,
    ) -> Option<Option<Found>> {
        let candidates = candidates(ground, timelines, wanted);
        let mut from = wanted.not_before.unwrap_or(UtcMicros(i64::MIN));
        let mut counted = 0;
        loop {
            let start = earliest(&candidates, from, wanted);
            let looks: usize = candidates.iter().map(|one| one.timeline.returns_before(start)).sum();
            if ground.would_exhaust(looks - counted + self.steps_before(ground, start)) {
                return None;
            }
            ground.count_steps(looks - counted);
            self.look_until(ground, start);
            let Some(start) = start else { return Some(None) };
            if let [only] = candidates.as_slice()
                && let Some(taken) = only.needed.as_ref().and_then(|needed| needed.takes.clone())
            {
                ground.count_steps(1);
                let parts = vec![Part { site: only.site, taken, cpus: None, free: Default::default() }];
                return Some(Some(Found { start, end: wanted.end(start), parts }));
            }
            let touched: Vec<usize> =
                candidates.iter().filter(|one| one.timeline.returns_at(start)).map(|one| one.site).collect();
            let found = self.future_at(ground, start, &touched).try_at(start, promises, wanted, &touched);
            if found.is_some() {
                return Some(found);
            }
            counted = looks + touched.len();
            from = UtcMicros(start.0.saturating_add(1));
        }
    }

    /// What these nodes have at an instant.
    fn future_at<'g, 'a>(
        &self,
        ground: &'g Ground<'a>,
        instant: UtcMicros,
        nodes: &[usize],
    ) -> Future<'g, 'a> {
        let mut future = Future::new(ground, nodes);
        for release in self.all.iter().take_while(|release| release.at <= instant) {
            for share in release.shares(ground) {
                future.give(share);
            }
        }
        future
    }

    /// The steps of first looks at what comes back before an instant (`None`: at all).
    fn steps_before(&self, ground: &Ground<'_>, instant: Option<UtcMicros>) -> usize {
        let rest = self.all[self.looked.get()..].iter();
        let before = rest.take_while(|release| instant.is_none_or(|instant| release.at < instant));
        before.map(|release| release.steps(ground)).sum()
    }

    /// Looks at everything that comes back until an instant.
    fn look_until(&self, ground: &Ground<'_>, instant: Option<UtcMicros>) {
        let mut looked = self.looked.get();
        while let Some(release) = self.all.get(looked)
            && instant.is_none_or(|instant| release.at <= instant)
        {
            release.look(ground);
            looked += 1;
        }
        self.looked.set(looked);
    }
}

fn candidates<'t>(ground: &Ground<'_>, timelines: &'t Timelines, wanted: &Wanted<'_>) -> Vec<Candidate<'t>> {
    let required = wanted.demand.request.nodes_required.first();
    let may_be =
        |site: &&usize| required.is_none_or(|name| *name == ground.sites[**site].node.definition.name);
    let candidate = |site: &usize| {
        let timeline = timelines[*site].as_ref()?;
        Some(Candidate { site: *site, timeline, needed: ground.sites[*site].needed(wanted.demand) })
    };
    wanted.order.iter().filter(may_be).filter_map(candidate).collect()
}

/// The first instant from `from` at which one of them has enough, by count.
fn earliest(candidates: &[Candidate<'_>], from: UtcMicros, wanted: &Wanted<'_>) -> Option<UtcMicros> {
    let mut earliest = None;
    for candidate in candidates {
        let Some(needed) = &candidate.needed else { continue };
        let found = candidate.timeline.earliest(&Need::new(needed), from, earliest, wanted.micros());
        earliest = found.or(earliest);
    }
    earliest
}
