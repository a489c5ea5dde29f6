//! When what is in use comes back, and the earliest start that this allows.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use daybook_model::fit::{Demand, Free, Share, place};
use daybook_model::{Cluster, Run};
use daybook_schemas::UtcMicros;
use daybook_schemas::orders::RunWish;

use crate::ground::Ground;
use crate::promises::Promises;

/// A share that comes back.
#[derive(Clone, Debug)]
struct Release {
    at: UtcMicros,
    share: Share,
}

/// When what is in use comes back, as far as limits say. Runs without a limit never end for this purpose.
#[derive(Default)]
pub(crate) struct Releases {
    /// Filled at the first question.
    is_filled: bool,
    is_sorted: bool,
    all: Vec<Release>,
}

/// The question for an earliest start.
pub(crate) struct Wanted<'a> {
    pub(crate) demand: &'a Demand<'a>,
    /// The nodes that may be used, the preferred first.
    pub(crate) order: &'a [usize],
    /// How long it runs; `None`: no limit.
    pub(crate) seconds: Option<i64>,
}

/// An earliest start.
pub(crate) struct Found {
    pub(crate) start: UtcMicros,
    pub(crate) end: Option<UtcMicros>,
    pub(crate) shares: Vec<Share>,
}

impl Releases {
    /// A run that this cycle starts gives its shares back at its limit.
    pub(crate) fn add(&mut self, at: Option<UtcMicros>, shares: &[Share]) {
        let Some(at) = at else { return };
        self.all.extend(shares.iter().map(|share| Release { at, share: share.clone() }));
        self.is_sorted = false;
    }

    fn fill(&mut self, cluster: &Cluster, ground: &Ground<'_>, now: UtcMicros) {
        if !self.is_filled {
            self.is_filled = true;
            self.is_sorted = false;
            for run in cluster.runs().values() {
                let Some(at) = expected_end(cluster, run, now) else { continue };
                let held = run.nodes.iter().filter(|share| run.held_on.contains(&share.node));
                let shares = held.filter_map(|share| {
                    let site = ground.number(&share.node)?;
                    ground.free(site)?;
                    Some(Release { at, share: ground.sites[site].share(site, share) })
                });
                self.all.extend(shares);
            }
            ground.count_steps(self.all.len());
        }
        if !self.is_sorted {
            // Stable: equal instants stay in the order of run ids, then of this cycle's starts.
            self.all.sort_by_key(|release| release.at);
            self.is_sorted = true;
        }
    }

    /// The earliest start after `now` that limits and earlier promises allow; `None` where no limit leads to one.
    pub(crate) fn earliest(
        &mut self,
        cluster: &Cluster,
        ground: &Ground<'_>,
        now: UtcMicros,
        promises: &Promises,
        wanted: &Wanted<'_>,
    ) -> Option<Found> {
        self.fill(cluster, ground, now);
        let request = wanted.demand.request;
        let is_single = wanted.demand.nodes_min == 1
            && (wanted.demand.nodes_max == Some(1)
                || wanted.demand.tasks == 1 && request.nodes_max.is_none())
            && (wanted.demand.gpus_per_job.is_empty() || wanted.demand.nodes_max == Some(1));
        if is_single {
            self.earliest_on_one(ground, now, promises, wanted)
        } else {
            self.earliest_on_several(ground, now, promises, wanted)
        }
    }

    /// What the nodes have at `instant`, as far as it differs from what they have now.
    pub(crate) fn future(
        &self,
        ground: &Ground<'_>,
        instant: UtcMicros,
        only: &[Share],
    ) -> BTreeMap<usize, Free> {
        let mut future: BTreeMap<usize, Free> = BTreeMap::new();
        for release in self.all.iter().take_while(|release| release.at <= instant) {
            let site = release.share.site;
            let is_asked = only.is_empty() || only.iter().any(|share| share.site == site);
            if let (true, Some(free)) = (is_asked, ground.free(site)) {
                future.entry(site).or_insert_with(|| free.clone()).give(&release.share);
            }
        }
        future
    }

    /// For demands of one node: only nodes that have just become freer can be the first to fit.
    fn earliest_on_one(
        &self,
        ground: &Ground<'_>,
        now: UtcMicros,
        promises: &Promises,
        wanted: &Wanted<'_>,
    ) -> Option<Found> {
        let mut ranks = vec![usize::MAX; ground.sites.len()];
        wanted.order.iter().enumerate().for_each(|(rank, site)| ranks[*site] = rank);
        let mut future: BTreeMap<usize, Free> = BTreeMap::new();
        let mut releases = self.all.iter().peekable();
        let mut ends = promises.ends().iter().skip_while(|(end, _)| *end <= now).peekable();
        let mut touched: Vec<usize> = Vec::new();
        loop {
            let next_release = releases.peek().map(|release| release.at);
            let next_end = ends.peek().map(|(end, _)| *end);
            let instant = match (next_release, next_end) {
                (Some(release), Some(end)) => release.min(end),
                (release, end) => release.or(end)?,
            };
            touched.clear();
            while let Some(release) = releases.next_if(|release| release.at == instant) {
                let site = release.share.site;
                if ranks[site] == usize::MAX {
                    continue;
                }
                if let Some(free) = ground.free(site) {
                    future.entry(site).or_insert_with(|| free.clone()).give(&release.share);
                    touched.push(site);
                }
            }
            while let Some((_, site)) = ends.next_if(|(end, _)| *end == instant) {
                if ranks[*site] != usize::MAX {
                    touched.push(*site);
                }
            }
            if touched.is_empty() {
                continue;
            }
            touched.sort_unstable_by_key(|site| ranks[*site]);
            touched.dedup();
            let free = |site: usize| future.get(&site).or_else(|| ground.free(site)).map(Cow::Borrowed);
            if let Some(found) = try_at(ground, instant, promises, wanted, &touched, &free) {
                return Some(found);
            }
            if ground.is_exhausted() {
                return None;
            }
        }
    }

    /// For demands of several nodes: more is free later, so the first instant that fits is found by halving. With
    /// promises in between it is one that fits, and may not be the first.
    fn earliest_on_several(
        &self,
        ground: &Ground<'_>,
        now: UtcMicros,
        promises: &Promises,
        wanted: &Wanted<'_>,
    ) -> Option<Found> {
        let mut instants: BTreeSet<UtcMicros> = self.all.iter().map(|release| release.at).collect();
        instants.extend(promises.ends().iter().map(|(end, _)| *end).filter(|end| *end > now));
        let instants: Vec<UtcMicros> = instants.into_iter().collect();
        let at = |instant: UtcMicros| {
            let future = self.future(ground, instant, &[]);
            ground.count_steps(future.len());
            let free = |site: usize| future.get(&site).or_else(|| ground.free(site)).map(Cow::Borrowed);
            try_at(ground, instant, promises, wanted, wanted.order, &free)
        };
        let mut found = at(*instants.last()?)?;
        let (mut below, mut fits) = (0, instants.len() - 1);
        while below < fits {
            let middle = below + (fits - below) / 2;
            match at(instants[middle]) {
                Some(earlier) => (found, fits) = (earlier, middle),
                None => below = middle + 1,
            }
        }
        Some(found)
    }
}

fn try_at<'f>(
    ground: &Ground<'_>,
    start: UtcMicros,
    promises: &Promises,
    wanted: &Wanted<'_>,
    order: &[usize],
    free: &dyn Fn(usize) -> Option<Cow<'f, Free>>,
) -> Option<Found> {
    let end = wanted.seconds.map(|seconds| start.plus_seconds(seconds));
    let left = |site: usize| {
        ground.count_steps(1);
        free(site).map(|free| promises.without(&ground.sites[site], site, free, Some(start), end))
    };
    let shares = place(wanted.demand, &ground.sites, order, &left)?;
    Some(Found { start, end, shares })
}

/// When a run gives back what it holds: at its limit, or soon where it has ended or was told to end.
pub(crate) fn expected_end(cluster: &Cluster, run: &Run, now: UtcMicros) -> Option<UtcMicros> {
    let parameters = cluster.configured().map(|configured| &configured.parameters);
    let soon = now.plus_seconds(1);
    if run.end.is_some() {
        return Some(soon);
    }
    let grace = parameters.map_or(0, |parameters| i64::from(parameters.over_time_limit_minutes) * 60);
    let limit = run.limit_end().map(|end| end.plus_seconds(grace));
    let told = (run.wish != RunWish::Run).then(|| {
        let wait =
            parameters.map_or(0, |parameters| i64::try_from(parameters.kill_wait.0).unwrap_or(i64::MAX));
        now.plus_seconds(wait)
    });
    let end = match (limit, told) {
        (Some(limit), Some(told)) => limit.min(told),
        (limit, told) => limit.or(told)?,
    };
    Some(end.max(soon))
}
