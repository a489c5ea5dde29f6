//! Multifactor priority: usage that fades, the Fair Tree, and each waiting job's priority as recorded state.
//!
//! The planner records `priorities.calculated` every `PriorityCalcPeriod`; what follows from it is here. Between two of
//! them a job that comes or is changed gets its priority from the ranks of the last one, and a run that ends is counted at
//! its end. All of it is integers, so that every reader of the log has the same queue.

mod decay;
mod factors;
mod fair_tree;
mod scale;
mod usage;

use std::collections::BTreeMap;

use daybook_schemas::events::PrioritiesCalculated;
use daybook_schemas::job::JobState;
use daybook_schemas::priority::PriorityParameters;
use daybook_schemas::{JobId, RunId, UtcMicros};
use imbl::OrdMap;

pub(crate) use decay::fade;
pub use factors::{addends, priority_of};
pub use fair_tree::{Level, Standing};
pub(crate) use scale::Scale;

use crate::allowance::Spender;
use crate::charges::Tres;
use crate::cluster::Cluster;
use crate::job::Job;

/// What is known since the last calculation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Priorities {
    /// What each association has used itself, in thousandths of a billed second (a CPU for a second, where
    /// nothing is weighed).
    pub(crate) usage: OrdMap<u32, u64>,
    /// Each user association's rank, as a part of 2^32.
    pub(crate) fair_shares: OrdMap<u32, u64>,
    /// What has been used of each resource, in thousandths of resource-seconds: where limits are enforced.
    pub(crate) spent: OrdMap<(Spender, Tres), u64>,
    /// Up to when running runs have been counted.
    pub(crate) calculated: Option<UtcMicros>,
    /// For when it was asked for last, by the planner's clock.
    pub(crate) asked: Option<UtcMicros>,
    pub(crate) qos_priority_max: u32,
    pub(crate) association_priority_max: u32,
}

impl Cluster {
    /// Weights and measures; `None`: jobs stand in the order of their submission.
    pub fn priority_parameters(&self) -> Option<&PriorityParameters> {
        self.configured.as_ref()?.parameters.priority.as_ref()
    }

    /// Up to when usage has been counted; `None`: never yet.
    pub fn priorities_calculated(&self) -> Option<UtcMicros> {
        self.priorities.calculated
    }

    /// From when on usage and priorities are to be calculated, by a clock that shows `now`; `None`: never.
    pub fn priorities_due(&self, now: UtcMicros) -> Option<UtcMicros> {
        let period = i64::try_from(self.priority_parameters()?.period.0.max(1)).unwrap_or(i64::MAX);
        let Some(asked) = self.priorities.asked else { return Some(now) };
        // A clock that has been set back is not waited for.
        let is_ahead = asked > now.plus_seconds(period);
        Some(if is_ahead { now } else { asked.plus_seconds(period) })
    }

    /// Where every association stands now, by its number. Ranks are of the last calculation. Linear in the associations.
    pub fn standings(&self) -> BTreeMap<u32, Standing> {
        let mut standings = fair_tree::standings(&self.accounts, &self.priorities.usage);
        for (id, standing) in &mut standings {
            standing.fair_share = standing.fair_share.and(self.priorities.fair_shares.get(id).copied());
        }
        standings
    }

    /// Gives a waiting job the priority that it has at `now`.
    pub(crate) fn prioritise(&mut self, id: JobId, now: UtcMicros) {
        let Some(job) = self.jobs.get(&id).filter(|job| job.state == JobState::Pending) else { return };
        let (priority, factors) = match self.priority_parameters() {
            Some(parameters) => {
                let factors = self.priority_factors(parameters, job, now);
                let made = addends(parameters, &factors, job.site_factor, job.nice);
                (priority_of(&made), Some(Box::new(factors)))
            }
            // What was made of factors falls back; what never was stays as it is.
            None if job.priority_factors.is_some() => (basic_priority(job), None),
            None => return,
        };
        self.change_job(id, |job| {
            if !job.priority_fixed {
                job.priority = priority;
            }
            job.priority_factors = factors;
        });
    }

    /// The same for all waiting jobs.
    pub(crate) fn prioritise_all(&mut self, now: UtcMicros) {
        (self.priorities.qos_priority_max, self.priorities.association_priority_max) =
            scale::highest(&self.accounts);
        let active: Vec<JobId> = self.active_names.values().flatten().copied().collect();
        active.into_iter().for_each(|id| self.prioritise(id, now));
    }

    /// The configuration has changed. Where priorities are not made of factors, no usage is kept.
    pub(crate) fn reconfigure_priorities(&mut self, was_multifactor: bool) {
        self.measure();
        match self.priority_parameters() {
            Some(_) => self.prioritise_all(self.time),
            None if was_multifactor => {
                self.prioritise_all(self.time);
                self.priorities = Priorities::default();
            }
            None => {}
        }
    }
}

/// The time has come: usage fades and is counted, and ranks and priorities follow. Without effect where priorities are
/// not made of factors any more.
pub(crate) fn calculated(cluster: &mut Cluster, data: &PrioritiesCalculated) {
    let Some(parameters) = cluster.priority_parameters().cloned() else { return };
    let last = cluster.priorities.calculated;
    // Neither backwards nor ahead of the log.
    let at = data.at.min(cluster.time).max(last.unwrap_or(UtcMicros(0)));
    if let Some(last) = last {
        let elapsed = u64::try_from(at.0 - last.0).unwrap_or(0);
        let left = decay::remaining(elapsed, parameters.decay_half_life.0.saturating_mul(1_000_000));
        let faded = |(id, amount): (&u32, &u64)| Some((*id, decay::fade(*amount, left)));
        let faded = cluster.priorities.usage.iter().filter_map(faded).filter(|(_, amount)| *amount > 0);
        cluster.priorities.usage = faded.collect();
        cluster.fade_spent(left);
    }
    if let Some(period) = parameters.usage_reset {
        let start = decay::period_start(period, at);
        if last.is_some_and(|last| last < start) {
            cluster.priorities.usage.clear();
            cluster.forget_spent();
            // Runs count from the period's beginning.
            cluster.priorities.calculated = Some(start);
        }
    }
    let running: Vec<RunId> =
        cluster.runs.values().filter(|run| run.end.is_none()).map(|run| run.id).collect();
    running.into_iter().for_each(|run| cluster.charge_run(run, at));
    let standings = fair_tree::standings(&cluster.accounts, &cluster.priorities.usage);
    let ranked = standings.into_iter().filter_map(|(id, standing)| Some((id, standing.fair_share?)));
    cluster.priorities.fair_shares = ranked.collect();
    cluster.priorities.calculated = Some(at);
    cluster.charge_all_runs();
    cluster.priorities.asked = Some(data.at);
    cluster.prioritise_all(at);
}

/// The priority of the first job; each later one has less, so that equal jobs start in order of submission.
const BASIC_PRIORITY_FIRST: u32 = 4_294_901_760;

/// The priority of a job where it is not made of factors.
pub(crate) fn basic_priority(job: &Job) -> u32 {
    let id = job.task.map_or(job.id, |task| task.array_job);
    basic_priority_of(id, job.nice)
}

/// The same of a job that is not there yet.
pub(crate) fn basic_priority_of(id: JobId, nice: i32) -> u32 {
    let priority = i64::from(BASIC_PRIORITY_FIRST) - i64::from(id.0) - i64::from(nice);
    // 0 means held, and the largest value is not a priority in Slurm.
    u32::try_from(priority.clamp(1, i64::from(u32::MAX) - 1)).unwrap_or(1)
}

/// Usage and rank of an association, as a snapshot has them.
#[derive(serde::Serialize, serde::Deserialize)]
pub(crate) struct KnownUsage {
    association: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fair_share: Option<u64>,
}

impl Priorities {
    pub(crate) fn known(&self) -> impl Iterator<Item = KnownUsage> + '_ {
        let mut all: BTreeMap<u32, KnownUsage> = BTreeMap::new();
        let fresh = |association: u32| KnownUsage { association, usage: None, fair_share: None };
        for (id, usage) in &self.usage {
            all.entry(*id).or_insert_with(|| fresh(*id)).usage = Some(*usage);
        }
        for (id, fair_share) in &self.fair_shares {
            all.entry(*id).or_insert_with(|| fresh(*id)).fair_share = Some(*fair_share);
        }
        all.into_values()
    }

    pub(crate) fn restore(&mut self, known: KnownUsage) {
        if let Some(usage) = known.usage {
            self.usage.insert(known.association, usage);
        }
        if let Some(fair_share) = known.fair_share {
            self.fair_shares.insert(known.association, fair_share);
        }
    }
}
