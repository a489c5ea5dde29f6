//! Protected starts: the earliest time and nodes of a blocked job, from the limits of what runs.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use daybook_model::fit::{Demand, Free, Share, place};
use daybook_model::{Cluster, Run};
use daybook_schemas::UtcMicros;
use daybook_schemas::orders::RunWish;

use crate::ground::{Ground, without_reserved};

/// Resources kept for a blocked job.
#[derive(Clone, Debug)]
pub(crate) struct Reservation {
    pub(crate) start: UtcMicros,
    /// `None`: it has no time limit.
    pub(crate) end: Option<UtcMicros>,
    pub(crate) shares: Vec<Share>,
    /// For each share: memory that is left on its node at `start`, in MiB, beside everything planned so far.
    pub(crate) memory_left: Vec<u64>,
}

/// Tells reservations that shares are in use from `from` (`None`: now) to `until`.
pub(crate) fn charge(
    reservations: &mut [Reservation],
    shares: &[Share],
    from: Option<UtcMicros>,
    until: Option<UtcMicros>,
) {
    let begins_within =
        |start: UtcMicros| from.is_none_or(|from| from < start) && until.is_none_or(|until| start < until);
    for reservation in reservations.iter_mut().filter(|reservation| begins_within(reservation.start)) {
        for (held, left) in reservation.shares.iter().zip(&mut reservation.memory_left) {
            let taken: u64 =
                shares.iter().filter(|share| share.site == held.site).map(|share| share.memory).sum();
            *left = left.saturating_sub(taken);
        }
    }
}

impl Reservation {
    /// Whether it holds something at some time from `from` (`None`: the beginning of time) to `until` (`None`: its end).
    pub(crate) fn overlaps(&self, from: Option<UtcMicros>, until: Option<UtcMicros>) -> bool {
        until.is_none_or(|until| self.start < until)
            && match (self.end, from) {
                (Some(end), Some(from)) => from < end,
                _ => true,
            }
    }
}

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
                    Some(Release { at, share: ground.sites[site].share(site, share) })
                });
                self.all.extend(shares);
            }
        }
        if !self.is_sorted {
            // Stable: equal instants stay in the order of run ids, then of this cycle's starts.
            self.all.sort_by_key(|release| release.at);
            self.is_sorted = true;
        }
    }

    /// The earliest start after `now` that limits and earlier reservations allow; `None` where no limit leads to one.
    pub(crate) fn earliest(
        &mut self,
        cluster: &Cluster,
        ground: &Ground<'_>,
        now: UtcMicros,
        reservations: &[Reservation],
        wanted: &Wanted<'_>,
    ) -> Option<Reservation> {
        self.fill(cluster, ground, now);
        let request = wanted.demand.request;
        let is_single = wanted.demand.nodes_min == 1
            && (wanted.demand.nodes_max == Some(1)
                || wanted.demand.tasks == 1 && request.nodes_max.is_none())
            && (wanted.demand.gpus_per_job.is_empty() || wanted.demand.nodes_max == Some(1));
        if is_single {
            self.earliest_on_one(ground, now, reservations, wanted)
        } else {
            self.earliest_on_several(ground, now, reservations, wanted)
        }
    }

    /// Instants at which something becomes free, ascending, with the sites where it does.
    fn instants(&self, now: UtcMicros, reservations: &[Reservation]) -> BTreeMap<UtcMicros, BTreeSet<usize>> {
        let mut instants: BTreeMap<UtcMicros, BTreeSet<usize>> = BTreeMap::new();
        for release in &self.all {
            instants.entry(release.at).or_default().insert(release.share.site);
        }
        for reservation in reservations {
            if let Some(end) = reservation.end.filter(|end| *end > now) {
                instants.entry(end).or_default().extend(reservation.shares.iter().map(|share| share.site));
            }
        }
        instants
    }

    /// For demands of one node: only nodes that have just become freer can be the first to fit.
    fn earliest_on_one(
        &self,
        ground: &Ground<'_>,
        now: UtcMicros,
        reservations: &[Reservation],
        wanted: &Wanted<'_>,
    ) -> Option<Reservation> {
        let ranks: BTreeMap<usize, usize> =
            wanted.order.iter().enumerate().map(|(rank, site)| (*site, rank)).collect();
        let mut future: BTreeMap<usize, Free> = BTreeMap::new();
        let mut next = 0;
        for (instant, touched) in self.instants(now, reservations) {
            while let Some(release) = self.all.get(next).filter(|release| release.at <= instant) {
                next += 1;
                let site = release.share.site;
                if let Some(free) = ground.free(site) {
                    future.entry(site).or_insert_with(|| free.clone()).give(&release.share);
                }
            }
            let mut order: Vec<usize> = touched.into_iter().filter(|site| ranks.contains_key(site)).collect();
            order.sort_by_key(|site| ranks[site]);
            let free = |site: usize| future.get(&site).or_else(|| ground.free(site)).map(Cow::Borrowed);
            if let Some(found) = try_at(ground, instant, reservations, wanted, &order, &free) {
                return Some(found);
            }
        }
        None
    }

    /// For demands of several nodes: more is free later, so the first instant that fits is found by halving. With
    /// reservations in between it is one that fits, and may not be the first.
    fn earliest_on_several(
        &self,
        ground: &Ground<'_>,
        now: UtcMicros,
        reservations: &[Reservation],
        wanted: &Wanted<'_>,
    ) -> Option<Reservation> {
        let instants: Vec<UtcMicros> = self.instants(now, reservations).into_keys().collect();
        let at = |instant: UtcMicros| {
            let mut future: BTreeMap<usize, Free> = BTreeMap::new();
            for release in self.all.iter().take_while(|release| release.at <= instant) {
                let site = release.share.site;
                if let Some(free) = ground.free(site) {
                    future.entry(site).or_insert_with(|| free.clone()).give(&release.share);
                }
            }
            let free = |site: usize| future.get(&site).or_else(|| ground.free(site)).map(Cow::Borrowed);
            try_at(ground, instant, reservations, wanted, wanted.order, &free)
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
    reservations: &[Reservation],
    wanted: &Wanted<'_>,
    order: &[usize],
    free: &dyn Fn(usize) -> Option<Cow<'f, Free>>,
) -> Option<Reservation> {
    let end = wanted.seconds.map(|seconds| start.plus_seconds(seconds));
    let left =
        |site: usize| free(site).map(|free| without_reserved(free, site, Some(start), end, reservations));
    let shares = place(wanted.demand, &ground.sites, order, &left)?;
    let memory_left = shares.iter().map(|share| {
        let held: u64 = reservations
            .iter()
            .filter(|other| other.start <= start && other.end.is_none_or(|end| start < end))
            .flat_map(|other| &other.shares)
            .filter(|other| other.site == share.site)
            .map(|other| other.memory)
            .sum();
        let all = free(share.site).map_or(0, |free| free.memory);
        all.saturating_sub(held).saturating_sub(share.memory)
    });
    let memory_left = memory_left.collect();
    Some(Reservation { start, end, shares, memory_left })
}

/// When a run gives back what it holds: at its limit, or soon where it has ended or was told to end.
fn expected_end(cluster: &Cluster, run: &Run, now: UtcMicros) -> Option<UtcMicros> {
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
