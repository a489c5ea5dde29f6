//! Licences as one cycle sees them: what may be taken now, when what is in use comes back, and what is kept of each for
//! protected starts. A kind without licences never comes here.

use std::collections::BTreeMap;

use daybook_model::Cluster;
use daybook_schemas::UtcMicros;
use daybook_schemas::events::LicenseFigures;
use daybook_schemas::job::ResourceRequest;

use crate::releases::expected_end;

/// So many of a licence, by its number in this cycle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    pool: usize,
    count: i64,
}

/// The licences that requests of this cycle name.
#[derive(Default)]
pub(crate) struct Licenses<'a> {
    numbers: BTreeMap<&'a str, usize>,
    pools: Vec<Pool<'a>>,
    /// How many pools know when what runs hold comes back.
    filled: usize,
}

struct Pool<'a> {
    name: &'a str,
    in_all: u32,
    /// Below 0 where fewer have been configured than runs hold.
    free: i64,
    /// What comes back, and when; in order once it is asked for.
    returns: Vec<(UtcMicros, i64)>,
    kept: Vec<Kept>,
}

/// What is kept for one blocked job; see [`crate::promises`], where the same is done for each node.
struct Kept {
    start: UtcMicros,
    /// `None`: it has no time limit.
    end: Option<UtcMicros>,
    count: i64,
    /// What is left at `start`, beside everything planned so far.
    left: i64,
}

impl Kept {
    /// Whether it is held at `at`, and began by then.
    fn is_held_at(&self, at: UtcMicros) -> bool {
        self.start <= at && self.end.is_none_or(|end| at < end)
    }

    /// Whether it begins between `from` (`None`: now) and `until` (`None`: ever).
    fn begins_within(&self, from: Option<UtcMicros>, until: Option<UtcMicros>) -> bool {
        from.is_none_or(|from| from < self.start) && until.is_none_or(|until| self.start < until)
    }
}

impl Pool<'_> {
    /// The fewest that are left at any time from `from` (`None`: now) to `until`, where `level` are free at the
    /// beginning, promises aside.
    fn least(&self, level: i64, from: Option<UtcMicros>, until: Option<UtcMicros>) -> i64 {
        // What is kept begins after now.
        let held = |kept: &&Kept| from.is_some_and(|from| kept.is_held_at(from));
        let held: i64 = self.kept.iter().filter(held).map(|kept| kept.count).sum();
        let later = self.kept.iter().filter(|kept| kept.begins_within(from, until));
        later.map(|kept| kept.left).fold(level.saturating_sub(held), i64::min)
    }

    /// So many are in use from `from` (`None`: now) to `until`.
    fn charge(&mut self, count: i64, from: Option<UtcMicros>, until: Option<UtcMicros>) {
        let later = self.kept.iter_mut().filter(|kept| kept.begins_within(from, until));
        later.for_each(|kept| kept.left = kept.left.saturating_sub(count));
    }

    fn keep(&mut self, count: i64, start: UtcMicros, end: Option<UtcMicros>) {
        self.charge(count, Some(start), end);
        let back = self.returns.iter().filter(|(at, _)| *at <= start).map(|(_, count)| *count);
        let level = back.fold(self.free, i64::saturating_add);
        let held: i64 = self.kept.iter().filter(|kept| kept.is_held_at(start)).map(|kept| kept.count).sum();
        let left = level.saturating_sub(held).saturating_sub(count);
        self.kept.push(Kept { start, end, count, left });
    }
}

impl<'a> Licenses<'a> {
    /// What a request needs.
    pub(crate) fn needs(&mut self, cluster: &Cluster, request: &'a ResourceRequest) -> Vec<Need> {
        let need = |license: &'a daybook_schemas::license::License| {
            let name = license.name.as_str();
            let next = self.pools.len();
            let pool = *self.numbers.entry(name).or_insert(next);
            if pool == next {
                let in_all = cluster.licenses_in_all(name);
                let used = i64::try_from(cluster.licenses_used(name)).unwrap_or(i64::MAX);
                let free = i64::from(in_all).saturating_sub(used);
                self.pools.push(Pool { name, in_all, free, returns: Vec::new(), kept: Vec::new() });
            }
            Need { pool, count: license.count.into() }
        };
        request.licenses.iter().map(need).collect()
    }

    /// Whether they may be taken from now until `until` (`None`: for ever) without touching what is kept in between.
    pub(crate) fn may_take(&self, needs: &[Need], until: Option<UtcMicros>) -> bool {
        needs.iter().all(|need| {
            let pool = &self.pools[need.pool];
            pool.least(pool.free, None, until) >= need.count
        })
    }

    /// The first of which too few are free now, promises aside.
    pub(crate) fn shortage(&self, needs: &[Need]) -> Option<LicenseFigures> {
        let short = |need: &&Need| self.pools[need.pool].free < need.count;
        let need = needs.iter().find(short)?;
        let pool = &self.pools[need.pool];
        Some(LicenseFigures {
            license: pool.name.to_string(),
            needs: u32::try_from(need.count).unwrap_or(u32::MAX),
            free: u32::try_from(pool.free).unwrap_or(0),
            in_all: pool.in_all,
        })
    }

    /// A run of this cycle takes them until `until`.
    pub(crate) fn take(&mut self, needs: &[Need], until: Option<UtcMicros>) {
        for need in needs {
            let pool = &mut self.pools[need.pool];
            pool.free = pool.free.saturating_sub(need.count);
            pool.charge(need.count, None, until);
            pool.returns.extend(until.map(|until| (until, need.count)));
        }
    }

    /// Keeps them for a start to come.
    pub(crate) fn keep(&mut self, needs: &[Need], start: UtcMicros, end: Option<UtcMicros>) {
        needs.iter().for_each(|need| self.pools[need.pool].keep(need.count, start, end));
    }

    /// Learns when what runs hold comes back. Gives how many returns there are.
    pub(crate) fn fill(&mut self, cluster: &Cluster, now: UtcMicros) -> usize {
        if self.filled < self.pools.len() {
            for (id, licenses) in cluster.licensed_runs() {
                let Some(run) = cluster.runs().get(&id) else { continue };
                let wanted = licenses.iter().filter_map(|license| {
                    let pool = *self.numbers.get(license.name.as_str())?;
                    (pool >= self.filled).then_some((pool, license.count))
                });
                let wanted: Vec<(usize, u32)> = wanted.collect();
                let at = if wanted.is_empty() { None } else { expected_end(cluster, run, now) };
                let Some(at) = at else { continue };
                wanted
                    .into_iter()
                    .for_each(|(pool, count)| self.pools[pool].returns.push((at, count.into())));
            }
            self.filled = self.pools.len();
        }
        self.pools.iter_mut().for_each(|pool| pool.returns.sort_unstable());
        self.pools.iter().map(|pool| pool.returns.len()).sum()
    }

    /// A wait for them from `now` on, for a window of so many seconds (`None`: for ever); `None`: nothing is needed.
    /// After [`Licenses::fill`].
    pub(crate) fn wait<'l>(
        &'l self,
        needs: &'l [Need],
        now: UtcMicros,
        seconds: Option<i64>,
    ) -> Option<Wait<'l>> {
        if needs.is_empty() {
            return None;
        }
        let pools = || needs.iter().map(|need| &self.pools[need.pool]);
        let ends = pools().flat_map(|pool| pool.kept.iter().filter_map(|kept| kept.end));
        let mut instants: Vec<UtcMicros> =
            pools().flat_map(|pool| pool.returns.iter().map(|(at, _)| *at)).chain(ends).collect();
        instants.retain(|at| *at > now);
        instants.sort_unstable();
        instants.dedup();
        let levels = pools().map(|pool| (0, pool.free)).collect();
        // That they can be had at the first of these instants is news: whoever waits has not been tried with them.
        Some(Wait { licenses: self, needs, seconds, instants, reached: 0, levels, is_enough: false })
    }
}

/// Looks for instants at which licences can be had.
///
/// As time goes, more can be had only where some come back or a promise of some ends. In between less may be had: a later
/// window reaches into what is kept.
pub(crate) struct Wait<'l> {
    licenses: &'l Licenses<'l>,
    needs: &'l [Need],
    seconds: Option<i64>,
    /// When some come back or a promise ends, ascending, each once.
    instants: Vec<UtcMicros>,
    /// How many of those have been reached.
    reached: usize,
    /// Of each need: how many returns have come, and what that makes free, promises aside.
    levels: Vec<(usize, i64)>,
    is_enough: bool,
}

/// What is so at an instant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Enough {
    /// They cannot be had for the window from here on.
    No,
    /// They could be had at the instant before, too.
    Still,
    /// They could not be had at the instant before.
    Newly,
}

impl Wait<'_> {
    /// When the answer may change to the better next.
    pub(crate) fn next_instant(&self) -> Option<UtcMicros> {
        self.instants.get(self.reached).copied()
    }

    /// Goes on to an instant; instants come in ascending order, and none of the own ones is left out.
    pub(crate) fn reach(&mut self, at: UtcMicros) -> Enough {
        while self.next_instant().is_some_and(|next| next <= at) {
            self.reached += 1;
        }
        let was_enough = std::mem::replace(&mut self.is_enough, false);
        self.is_enough = self.is_enough_at(at);
        match (self.is_enough, was_enough) {
            (false, _) => Enough::No,
            (true, true) => Enough::Still,
            (true, false) => Enough::Newly,
        }
    }

    fn is_enough_at(&mut self, at: UtcMicros) -> bool {
        let until = self.seconds.map(|seconds| at.plus_seconds(seconds));
        let mut is_enough = true;
        for (need, (come, level)) in self.needs.iter().zip(&mut self.levels) {
            let pool = &self.licenses.pools[need.pool];
            let back = pool.returns[*come..].iter().take_while(|(back, _)| *back <= at);
            for (_, count) in back {
                *level = level.saturating_add(*count);
                *come += 1;
            }
            is_enough &= pool.least(*level, Some(at), until) >= need.count;
        }
        is_enough
    }
}
