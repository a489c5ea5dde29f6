//! When what is in use comes back, and the earliest start that this allows.

mod drawn;

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;

use daybook_model::fit::{Amounts, Bits, Demand, Free, Share, place};
use daybook_model::{Cluster, Run};
use daybook_schemas::orders::RunWish;
use daybook_schemas::{RunId, UtcMicros};

use crate::ground::Ground;
use crate::licenses::{Enough, Licenses, Need};
use crate::promises::{Promises, Timelines};
use crate::reservations::{Access, Reservations};
use crate::resuming::cpus_of;
use crate::timeline::Timeline;

/// What a run gives back, all at once.
#[derive(Debug)]
struct Release<'a> {
    at: UtcMicros,
    /// `None`: this cycle starts it.
    run: Option<&'a Run>,
    /// Made from the run when it is asked for: most cycles look at the soonest ones only.
    shares: OnceCell<Vec<Share>>,
    /// Whether the look at it has been counted.
    is_counted: Cell<bool>,
}

impl Release<'_> {
    fn shares(&self, ground: &Ground<'_>) -> &[Share] {
        self.shares.get_or_init(|| {
            let Some(run) = self.run else { return Vec::new() };
            let shares = run.holdings().filter_map(|share| {
                let site = ground.number(&share.node)?;
                ground.free(site)?;
                Some(ground.sites[site].share(site, &share))
            });
            shares.collect()
        })
    }

    /// How many steps a first look at it is: the shares of a run.
    fn steps(&self, ground: &Ground<'_>) -> usize {
        if self.run.is_none() || self.is_counted.get() { 0 } else { self.shares(ground).len() }
    }

    /// Looks at it.
    fn look(&self, ground: &Ground<'_>) -> &[Share] {
        ground.count_steps(self.steps(ground));
        self.is_counted.set(true);
        self.shares(ground)
    }
}

/// When what is in use comes back, as far as limits say. Runs without a limit never end for this purpose.
#[derive(Default)]
pub(crate) struct Releases<'a> {
    /// Filled at the first question.
    is_filled: bool,
    is_sorted: bool,
    all: Vec<Release<'a>>,
    /// How many of the first have been looked at, at least.
    looked: Cell<usize>,
    /// When those end that this cycle tells to give way; `None`: it is not known, they are suspended.
    giving_way: BTreeMap<RunId, Option<UtcMicros>>,
}

/// The question for an earliest start.
pub(crate) struct Wanted<'a> {
    pub(crate) demand: &'a Demand<'a>,
    /// Licences that it takes.
    pub(crate) licenses: &'a [Need],
    /// The nodes that may be used, the preferred first.
    pub(crate) order: &'a [usize],
    /// How long it runs; `None`: no limit.
    pub(crate) seconds: Option<i64>,
    /// Of a demand of several nodes: the first instant that counts, which is after now. `None`: any after now.
    pub(crate) from: Option<UtcMicros>,
    /// Of a demand of one node: before when no start is possible, as is known.
    pub(crate) not_before: Option<UtcMicros>,
    /// What keeps nodes from it, and in which of them it is tried.
    pub(crate) reservations: &'a Reservations<'a>,
    pub(crate) access: Access,
}

impl Wanted<'_> {
    /// How long it holds what it gets, in microseconds: at least one, so that it holds it at all. `None`: for ever.
    fn micros(&self) -> Option<i64> {
        self.seconds.map(|seconds| seconds.saturating_mul(1_000_000).max(1))
    }

    /// When it gives back what it gets at `start`: with the reservation that it is tried in at the latest.
    fn end(&self, start: UtcMicros) -> Option<UtcMicros> {
        let end = self.micros().map(|micros| UtcMicros(start.0.saturating_add(micros)));
        self.reservations.until(self.access, end)
    }
}

/// An earliest start.
pub(crate) struct Found {
    pub(crate) start: UtcMicros,
    pub(crate) end: Option<UtcMicros>,
    pub(crate) parts: Vec<Part>,
}

/// What a start to come takes of one node.
pub(crate) struct Part {
    pub(crate) site: usize,
    pub(crate) taken: Amounts,
    /// Which CPUs, where a reservation keeps some of the node's: only numbers of them would not say whose they are.
    pub(crate) cpus: Option<Bits>,
    /// What the node has at the start beside all promises; empty where it is known over time.
    pub(crate) free: Amounts,
}

impl<'a> Releases<'a> {
    /// A run that this cycle starts gives its shares back at its limit.
    pub(crate) fn add(&mut self, at: Option<UtcMicros>, shares: &[Share]) {
        let Some(at) = at else { return };
        self.all.push(Release {
            at,
            run: None,
            shares: OnceCell::from(shares.to_vec()),
            is_counted: Cell::new(true),
        });
        self.is_sorted = false;
    }

    /// A run ends at `at` now, whatever was known before.
    pub(crate) fn give_way(&mut self, run: &'a Run, at: UtcMicros) {
        self.giving_way.insert(run.id, Some(at));
        if !self.is_filled {
            return;
        }
        let is_it = |release: &&mut Release<'_>| release.run.is_some_and(|known| known.id == run.id);
        match self.all.iter_mut().find(is_it) {
            Some(release) => release.at = at,
            None => self.all.push(Release {
                at,
                run: Some(run),
                shares: OnceCell::new(),
                is_counted: Cell::new(false),
            }),
        }
        self.is_sorted = false;
    }

    /// A run gives its CPUs back at `at`, and the rest nobody knows when.
    pub(crate) fn suspend(&mut self, run: &Run, at: UtcMicros, cpus: &[Share]) {
        self.giving_way.insert(run.id, None);
        self.all.retain(|release| release.run.is_none_or(|known| known.id != run.id));
        self.add(Some(at), cpus);
    }

    fn fill(&mut self, cluster: &'a Cluster, ground: &Ground<'_>, now: UtcMicros) {
        if !self.is_filled {
            self.is_filled = true;
            self.is_sorted = false;
            let runs = cluster.runs().values().map(AsRef::as_ref);
            let giving_way = &self.giving_way;
            let end_of = |run: &Run| {
                giving_way.get(&run.id).copied().unwrap_or_else(|| expected_end(cluster, run, now))
            };
            let stopping = cluster.runs().values().filter(|run| is_stopping(run));
            let stopping: Vec<(UtcMicros, Vec<Share>)> =
                stopping.map(|run| (stop_end(cluster, now), cpu_shares(ground, run))).collect();
            let ends = runs.filter_map(|run| Some((end_of(run)?, run)));
            let started = std::mem::take(&mut self.all);
            self.all = ends
                .map(|(at, run)| Release {
                    at,
                    run: Some(run),
                    shares: OnceCell::new(),
                    is_counted: Cell::new(false),
                })
                .collect();
            ground.count_steps(self.all.len());
            self.all.extend(started);
            stopping.iter().for_each(|(at, shares)| self.add(Some(*at), shares));
        }
        if !self.is_sorted {
            // Stable: equal instants stay in the order of run ids, then of this cycle's starts.
            self.all.sort_by_key(|release| release.at);
            self.is_sorted = true;
            self.looked.set(0);
        }
    }

    /// The earliest start after `now` that limits and earlier promises allow; `None` where no limit leads to one.
    ///
    /// More becomes free as time goes, so only where something comes back (or a promise or a reservation ends) can a start
    /// become possible: a demand of one node is tried on just those nodes, one of several as soon as enough nodes could give
    /// their part. Where licences can be had that could not be before, all nodes are tried.
    pub(crate) fn earliest(
        &mut self,
        cluster: &'a Cluster,
        ground: &Ground<'_>,
        now: UtcMicros,
        promises: &mut Promises,
        licenses: &Licenses<'_>,
        wanted: &Wanted<'_>,
    ) -> Option<Found> {
        self.fill(cluster, ground, now);
        if promises.should_be_drawn() {
            promises.draw(now, self.timelines(ground, now));
        }
        if let Some(timelines) = promises.timelines()
            && wanted.demand.is_of_one_node()
            && wanted.demand.nodes_max != Some(0)
            && wanted.licenses.is_empty()
            && wanted.reservations.is_empty()
            && let Some(outcome) = self.earliest_drawn(ground, promises, timelines, wanted)
        {
            return outcome;
        }
        let mut future = Future::new(ground, wanted.order);
        let mut able = (!wanted.demand.is_of_one_node()).then(|| Able::new(&future, wanted));
        let promises = &*promises;
        let mut releases = self.all.iter().peekable();
        let mut ends = promises.ends().iter().skip_while(|(end, _)| *end <= now).peekable();
        let mut opens = wanted.reservations.opens().iter().peekable();
        let mut touched: Vec<usize> = Vec::new();
        let mut from = wanted.from;
        let mut wait = licenses.wait(wanted.licenses, now, wanted.seconds);
        loop {
            let next_release = releases.peek().map(|release| release.at);
            let next_end = ends.peek().map(|(end, _)| *end);
            let next_license = wait.as_ref().and_then(|wait| wait.next_instant());
            let next_open = opens.peek().map(|(end, _)| *end);
            let instants = [next_release, next_end, next_license, next_open, from];
            let instant = instants.into_iter().flatten().min()?;
            let begins = from == Some(instant);
            from = from.filter(|_| !begins);
            touched.clear();
            while let Some(release) = releases.next_if(|release| release.at == instant) {
                touched.extend(release.look(ground).iter().filter_map(|share| future.give(share)));
            }
            while let Some((_, site)) = ends.next_if(|(end, _)| *end == instant) {
                touched.extend(future.is_wanted(*site).then_some(*site));
            }
            while let Some((_, site)) = opens.next_if(|(end, _)| *end == instant) {
                touched.extend(future.is_wanted(*site).then_some(*site));
            }
            let enough = wait.as_mut().map_or(Enough::Still, |wait| wait.reach(instant));
            if touched.is_empty() && !begins && enough != Enough::Newly {
                continue;
            }
            touched.sort_unstable_by_key(|site| future.ranks[*site]);
            touched.dedup();
            let found = match &mut able {
                None => match enough {
                    Enough::No => None,
                    Enough::Still => future.try_at(instant, promises, wanted, &touched),
                    Enough::Newly => future.try_at(instant, promises, wanted, wanted.order),
                },
                Some(able) => {
                    touched.iter().for_each(|site| able.count(&future, wanted, *site));
                    let could = from.is_none() && enough != Enough::No && able.is_enough(wanted);
                    could.then(|| future.try_at(instant, promises, wanted, &able.in_order())).flatten()
                }
            };
            if found.is_some() || ground.is_exhausted() {
                return found;
            }
        }
    }

    /// What each node has over time, promises aside.
    fn timelines(&self, ground: &Ground<'_>, now: UtcMicros) -> Timelines {
        let sites = ground.sites.iter().enumerate();
        let free = sites.map(|(at, site)| Some(Timeline::new(&site.amounts_free(ground.free(at)?))));
        let mut timelines: Timelines = free.collect();
        for release in &self.all {
            for share in release.shares(ground) {
                let Some(timeline) = &mut timelines[share.site] else { continue };
                timeline.change(
                    &ground.sites[share.site].amounts_taken(share),
                    false,
                    release.at.max(now),
                    None,
                );
                timeline.note_return(release.at);
            }
        }
        timelines
    }
}

/// What the nodes have at an instant to come.
struct Future<'g, 'a> {
    ground: &'g Ground<'a>,
    /// Each site's place in the wanted order; [`usize::MAX`]: not wanted.
    ranks: Vec<usize>,
    /// What has got more than it has now.
    freer: BTreeMap<usize, Free>,
}

impl<'g, 'a> Future<'g, 'a> {
    fn new(ground: &'g Ground<'a>, order: &[usize]) -> Future<'g, 'a> {
        let mut ranks = vec![usize::MAX; ground.sites.len()];
        order.iter().enumerate().for_each(|(rank, site)| ranks[*site] = rank);
        Future { ground, ranks, freer: BTreeMap::new() }
    }

    fn is_wanted(&self, site: usize) -> bool {
        self.ranks[site] != usize::MAX
    }

    /// A share comes back; gives its site where that is one of those wanted.
    fn give(&mut self, share: &Share) -> Option<usize> {
        let site = share.site;
        let now = self.ground.free(site).filter(|_| self.is_wanted(site))?;
        self.freer.entry(site).or_insert_with(|| now.clone()).give(share);
        Some(site)
    }

    fn free(&self, site: usize) -> Option<&Free> {
        self.freer.get(&site).or_else(|| self.ground.free(site))
    }

    fn try_at(
        &self,
        start: UtcMicros,
        promises: &Promises,
        wanted: &Wanted<'_>,
        order: &[usize],
    ) -> Option<Found> {
        let Wanted { reservations, access, .. } = *wanted;
        if !reservations.may_begin(access, start) {
            return None;
        }
        let end = wanted.end(start);
        let left = |site: usize| {
            self.ground.count_steps(1);
            reservations.open(access, site, (start, end), || {
                let free = Cow::Borrowed(self.free(site)?);
                Some(promises.without(&self.ground.sites[site], site, free, Some(start), end))
            })
        };
        let shares = place(wanted.demand, self.ground.terrain(), order, &left)?;
        let parts = shares.iter().filter_map(|share| {
            let site = &self.ground.sites[share.site];
            let free = site.amounts_free(self.free(share.site)?);
            let cpus = reservations.is_parted(share.site).then(|| share.cpus.clone());
            Some(Part { site: share.site, taken: site.amounts_taken(share), cpus, free })
        });
        Some(Found { start, end, parts: parts.collect() })
    }
}

/// Nodes that could give their part to a demand of several, promises aside: it fits at the earliest when they are
/// enough.
struct Able {
    /// By rank.
    rooms: BTreeMap<usize, Room>,
    tasks: u64,
    gpus: u64,
}

/// What one node could take.
struct Room {
    site: usize,
    tasks: u64,
    gpus: u64,
}

impl Able {
    fn new(future: &Future<'_, '_>, wanted: &Wanted<'_>) -> Able {
        let mut able = Able { rooms: BTreeMap::new(), tasks: 0, gpus: 0 };
        wanted.order.iter().for_each(|site| able.count(future, wanted, *site));
        able
    }

    fn count(&mut self, future: &Future<'_, '_>, wanted: &Wanted<'_>, site: usize) {
        future.ground.count_steps(1);
        let Some(free) = future.free(site) else { return };
        let Some(tasks) = future.ground.sites[site].tasks_max(free, wanted.demand) else { return };
        let room = Room { site, tasks: tasks.into(), gpus: free.gpus.count().into() };
        self.tasks += room.tasks;
        self.gpus += room.gpus;
        if let Some(before) = self.rooms.insert(future.ranks[site], room) {
            self.tasks -= before.tasks;
            self.gpus -= before.gpus;
        }
    }

    fn is_enough(&self, wanted: &Wanted<'_>) -> bool {
        self.rooms.len() as u64 >= u64::from(wanted.demand.nodes_min)
            && self.tasks >= u64::from(wanted.demand.tasks)
            && self.gpus >= u64::from(wanted.demand.gpus_per_job.total())
    }

    fn in_order(&self) -> Vec<usize> {
        self.rooms.values().map(|room| room.site).collect()
    }
}

/// Whether a run is told to stop, and still has its CPUs.
pub(crate) fn is_stopping(run: &Run) -> bool {
    run.end.is_none() && run.wish == RunWish::Suspend && !run.are_cpus_given_back
}

/// When one that is told to stop now has given its CPUs back.
pub(crate) fn stop_end(cluster: &Cluster, now: UtcMicros) -> UtcMicros {
    let grace = cluster.configured().map_or(0, |configured| configured.parameters.suspend_grace.0);
    now.plus_seconds(i64::try_from(grace).unwrap_or(i64::MAX).max(1))
}

/// The CPUs that a run has of nodes that are to be used.
pub(crate) fn cpu_shares(ground: &Ground<'_>, run: &Run) -> Vec<Share> {
    let shares = run.holdings().filter_map(|share| {
        let at = ground.number(&share.node)?;
        ground.free(at)?;
        Some(cpus_of(ground.sites[at].share(at, &share)))
    });
    shares.collect()
}

/// When a run gives back what it holds: at its limit, or soon where it has ended or was told to end. Of one that is
/// suspended nobody knows.
pub(crate) fn expected_end(cluster: &Cluster, run: &Run, now: UtcMicros) -> Option<UtcMicros> {
    let parameters = cluster.configured().map(|configured| &configured.parameters);
    let soon = now.plus_seconds(1);
    if run.end.is_some() {
        return Some(soon);
    }
    if run.wish == RunWish::Suspend {
        return None;
    }
    let grace = parameters.map_or(0, |parameters| i64::from(parameters.over_time_limit_minutes) * 60);
    // One that has been told to go on does so now.
    let going_on = run.is_stopped().then(|| run.time_left(now)).flatten();
    let going_on = going_on.map(|left| UtcMicros(now.0.saturating_add(left)));
    let limit = run.limit_end().or(going_on).map(|end| end.plus_seconds(grace));
    let wait = parameters.map_or(0, |parameters| i64::try_from(parameters.kill_wait.0).unwrap_or(i64::MAX));
    let told = match (run.wish, &run.giving_way) {
        (RunWish::Run, _) => None,
        (RunWish::GiveWay, Some(giving)) => Some(giving.grace_end.plus_seconds(wait)),
        _ => Some(now.plus_seconds(wait)),
    };
    let end = match (limit, told) {
        (Some(limit), Some(told)) => limit.min(told),
        (limit, told) => limit.or(told)?,
    };
    Some(end.max(soon))
}
