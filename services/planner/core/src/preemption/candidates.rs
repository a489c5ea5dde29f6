//! The runs that may give way, cheapest first, and those that do already.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use daybook_model::fit::Share;
use daybook_model::{Job, Run, WayOut};
use daybook_schemas::accounts::PreemptMode;
use daybook_schemas::orders::RunWish;
use daybook_schemas::{RunId, UtcMicros};

use super::Gain;
use crate::ground::Ground;
use crate::plan::Planning;
use crate::queue::Turn;
use crate::releases::{cpu_shares, expected_end, is_stopping, stop_end};

/// A run that may give way to somebody.
pub(super) struct Candidate<'a> {
    pub(super) run: &'a Run,
    pub(super) job: &'a Job,
    pub(super) way: WayOut,
    /// Before when it does not.
    exempt_until: UtcMicros,
    pub(super) gains: Vec<Gain>,
    /// When what it holds is free again, if it is told now.
    end: UtcMicros,
    is_told: bool,
}

/// What runs hold, by who holds it.
pub(super) struct Candidates<'a> {
    /// Cheapest first.
    pub(super) all: Vec<Candidate<'a>>,
    /// What runs hold that are ending anyway, those that were told in this cycle too, by node.
    pub(super) ending: BTreeMap<usize, Vec<Gain>>,
    /// The longest time that anybody of them takes to be gone, in seconds.
    pub(super) wait_max: i64,
}

impl<'a> Planning<'a, '_> {
    /// Looks at all runs, once in a cycle.
    pub(super) fn find_candidates(&mut self) {
        if self.preempting.candidates.is_some() {
            return;
        }
        let (cluster, now) = (self.cluster, self.now);
        let kill_wait = i64::try_from(self.parameters.kill_wait.0).unwrap_or(i64::MAX);
        let mut found = Candidates { all: Vec::new(), ending: BTreeMap::new(), wait_max: kill_wait };
        let mut ranked = Vec::new();
        self.ground.count_steps(cluster.runs().len());
        for run in cluster.runs().values().map(AsRef::as_ref) {
            let is_used_up = self.cycle.used_up.binary_search_by_key(&run.id, |found| found.run).is_ok();
            let soon = is_used_up.then(|| now.plus_seconds(kill_wait.max(1)));
            let otherwise = expected_end(cluster, run, now).into_iter().chain(soon).min();
            let gains = match is_stopping(run) {
                true => cpu_gains(&self.ground, run, otherwise),
                false => gains(&self.ground, run, otherwise),
            };
            if run.end.is_none() && run.wish == RunWish::Suspend && !is_stopping(run) {
                // It has given back what it gives.
                continue;
            }
            if run.end.is_some() || run.wish != RunWish::Run || is_used_up {
                for gain in gains {
                    self.promises.note_ending(&gain);
                    found.ending.entry(gain.share.site).or_default().push(gain);
                }
                continue;
            }
            let Some(job) = cluster.jobs().get(&run.id.job) else { continue };
            let Some(way) = cluster.way_out(job, &run.partition) else { continue };
            let is_suspended = way.mode == PreemptMode::Suspend;
            let gains = if is_suspended { cpu_gains(&self.ground, run, otherwise) } else { gains };
            let grace = i64::try_from(way.grace.0).unwrap_or(i64::MAX);
            let wait = match is_suspended {
                true => (stop_end(cluster, now).0 - now.0) / 1_000_000,
                false => grace.saturating_add(kill_wait),
            };
            found.wait_max = found.wait_max.max(wait);
            let end = now.plus_seconds(wait.max(1));
            let end = otherwise.map_or(end, |otherwise| otherwise.min(end));
            let exempt_until = cluster.preempt_exempt_until(job, run.allocated);
            ranked.push((
                self.cost(run, job),
                Candidate { run, job, way, exempt_until, gains, end, is_told: false },
            ));
        }
        ranked.sort_by_key(|(cost, _)| *cost);
        found.all = ranked.into_iter().map(|(_, candidate)| candidate).collect();
        self.preempting.candidates = Some(found);
    }

    /// What is lost with a run, in Slurm's order: the priority of its QOS or the tier of its partition, then its size, then
    /// for how long it has run. `youngest_first`: only that.
    fn cost(&self, run: &Run, job: &Job) -> (u32, usize, Reverse<UtcMicros>, Reverse<RunId>) {
        let is_by_age = self.cluster.preemption().is_some_and(|parameters| parameters.youngest_first);
        let age = (Reverse(run.allocated), Reverse(run.id));
        match is_by_age {
            true => (0, 0, age.0, age.1),
            false => (self.cluster.preempt_rank(job, &run.partition), run.nodes.len(), age.0, age.1),
        }
    }

    /// Those that may give way to a job now, cheapest first. Where only time protects others, another cycle is to look when
    /// that is over.
    pub(super) fn candidates_for(&mut self, turn: Turn<'a>, number: usize) -> Vec<usize> {
        self.find_candidates();
        let Some(known) = &self.preempting.candidates else { return Vec::new() };
        let mut is_wanted = vec![false; self.ground.sites.len()];
        self.kinds.get(number).order.iter().for_each(|site| is_wanted[*site] = true);
        self.ground.count_steps(known.all.len());
        let (mut found, mut wake) = (Vec::new(), None);
        for (at, candidate) in known.all.iter().enumerate() {
            let (run, job) = (candidate.run, candidate.job);
            if candidate.is_told
                || !candidate.gains.iter().any(|gain| is_wanted[gain.share.site])
                || !self.cluster.is_preemptable_by(run, job, turn.job, turn.partition)
            {
                continue;
            }
            if candidate.exempt_until > self.now {
                wake = wake.into_iter().chain([candidate.exempt_until]).min();
            } else {
                found.push(at);
            }
        }
        self.cycle.wake = self.cycle.wake.into_iter().chain(wake).min();
        found
    }

    /// Tells a run to give way: from now on it counts as ending. Gives it, how it goes, and when it is gone.
    pub(super) fn give_way(&mut self, at: usize) -> Option<(RunId, WayOut, UtcMicros)> {
        let known = self.preempting.candidates.as_mut()?;
        let candidate = known.all.get_mut(at)?;
        candidate.is_told = true;
        let (run, way, end) = (candidate.run, candidate.way, candidate.end);
        match way.mode {
            PreemptMode::Suspend => self.releases.suspend(run, end, &cpu_shares(&self.ground, run)),
            _ => self.releases.give_way(run, end),
        }
        for gain in std::mem::take(&mut candidate.gains) {
            self.promises.give_way(&gain, end);
            self.promises.note_ending(&gain);
            let gain = Gain { otherwise: Some(end), ..gain };
            known.ending.entry(gain.share.site).or_default().push(gain);
        }
        Some((run.id, way, end))
    }
}

/// What a run that is suspended gives back: memory and GPUs stay with it.
fn cpu_gains(ground: &Ground<'_>, run: &Run, otherwise: Option<UtcMicros>) -> Vec<Gain> {
    let gain = |share: Share| {
        let amounts = ground.sites[share.site].amounts_taken(&share);
        Gain { share, amounts, otherwise }
    };
    cpu_shares(ground, run).into_iter().map(gain).collect()
}

/// What a run holds on nodes that are to be used.
fn gains(ground: &Ground<'_>, run: &Run, otherwise: Option<UtcMicros>) -> Vec<Gain> {
    let gains = run.holdings().filter_map(|share| {
        let at = ground.number(&share.node)?;
        ground.free(at)?;
        let site = &ground.sites[at];
        let share = site.share(at, &share);
        let amounts = site.amounts_taken(&share);
        Some(Gain { share, amounts, otherwise })
    });
    gains.collect()
}
