//! A job's factors, and its priority from them. The one place where they are calculated: for the queue's order, for
//! `sprio`, and for simulations with other weights.

use daybook_schemas::UtcMicros;
use daybook_schemas::priority::{
    PRIORITY_FACTOR_ONE as ONE, PriorityAddends, PriorityFactors, PriorityFlag, PriorityParameters,
};

use crate::cluster::Cluster;
use crate::counts::Counts;
use crate::job::Job;

/// 0 means held, and the largest number is no priority in Slurm.
const PRIORITY_MAX: u32 = u32::MAX - 1;

impl Cluster {
    /// The factors of a waiting job at `now`, with the usage, ranks and highest numbers of the last calculation.
    pub fn priority_factors(
        &self,
        parameters: &PriorityParameters,
        job: &Job,
        now: UtcMicros,
    ) -> PriorityFactors {
        let asked = Counts::of_request(self, job);
        PriorityFactors {
            age: self.age(parameters, job, now),
            association: self.association_factor(parameters, job),
            fair_share: self
                .association_of(job)
                .and_then(|association| self.priorities.fair_shares.get(&association.id).copied())
                .unwrap_or(0),
            job_size: self.size_factor(parameters, job, &asked),
            partition: self.partition_factor(parameters, job),
            qos: self.qos_factor(parameters, job),
            short: short(parameters, job),
            tres: self.tres_factors(parameters, job, &asked),
        }
    }

    /// A waiting job's priority at `now` with these parameters; higher starts first.
    pub fn priority_with(&self, parameters: &PriorityParameters, job: &Job, now: UtcMicros) -> u32 {
        let factors = self.priority_factors(parameters, job, now);
        priority_of(&addends(parameters, &factors, job.site_factor, job.nice))
    }

    /// The time for which it has gained priority.
    fn age(&self, parameters: &PriorityParameters, job: &Job, now: UtcMicros) -> u64 {
        let is_always = parameters.has(PriorityFlag::AccrueAlways);
        let since = if is_always { Some(job.submitted) } else { self.accrues_since(job, now) };
        let Some(since) = since else { return 0 };
        let micros = u64::try_from(now.0.saturating_sub(since.0)).unwrap_or(0);
        part(micros, parameters.age_max.0.max(1).saturating_mul(1_000_000))
    }

    fn association_factor(&self, parameters: &PriorityParameters, job: &Job) -> u64 {
        let own = self.association_of(job).and_then(|association| {
            self.accounts.line_of(association).find_map(|association| association.priority)
        });
        let raw = parameters.has(PriorityFlag::NoNormalAssoc);
        of_highest(own.unwrap_or(0), self.priorities.association_priority_max, raw)
    }

    fn qos_factor(&self, parameters: &PriorityParameters, job: &Job) -> u64 {
        let own = self.accounts.qos(&job.qos).map_or(0, |qos| qos.priority);
        let raw = parameters.has(PriorityFlag::NoNormalQos);
        of_highest(own, self.priorities.qos_priority_max, raw)
    }

    fn partition_factor(&self, parameters: &PriorityParameters, job: &Job) -> u64 {
        // Of several that it may start in, the highest.
        let names = job.partitions().iter().filter_map(|name| self.partitions.get(name));
        let own = names.map(|partition| partition.priority_job_factor).max().unwrap_or(0);
        let raw = parameters.has(PriorityFlag::NoNormalPart);
        of_highest(own, self.scale.partition_factor_max, raw)
    }

    /// The mean of its parts of the cluster's nodes and CPUs, as in Slurm.
    fn size_factor(&self, parameters: &PriorityParameters, job: &Job, asked: &Counts) -> u64 {
        let (nodes, cpus) = (u64::from(asked.nodes), u64::from(asked.cpus));
        let size = if parameters.has(PriorityFlag::SmallRelativeToTime) {
            let minutes = job.time_limit.seconds().map_or(u64::MAX, |seconds| (seconds / 60).max(1));
            let of_nodes = nodes.saturating_mul(self.scale.cpus) / self.scale.nodes.max(1);
            part(of_nodes.max(cpus), self.scale.cpus.saturating_mul(minutes))
        } else {
            (part(nodes, self.scale.nodes) + part(cpus, self.scale.cpus)) / 2
        };
        if parameters.favor_small { ONE - size } else { size }
    }

    fn tres_factors(
        &self,
        parameters: &PriorityParameters,
        job: &Job,
        asked: &Counts,
    ) -> std::collections::BTreeMap<String, u64> {
        // Of several that it may start in, the first.
        let of_partition = job.partitions().first().and_then(|name| self.scale.partitions.get(name));
        let factor = |name: &String| {
            let amount = asked.amount(name);
            let factor = if parameters.has(PriorityFlag::NoNormalTres) {
                amount.saturating_mul(ONE)
            } else {
                part(amount, of_partition.map_or(0, |all| all.amount(name)))
            };
            (name.clone(), factor)
        };
        parameters.weight_tres.keys().map(factor).collect()
    }
}

/// `amount` of `whole`, at most all of it; of nothing: nothing. Rounded up, so that a weight times it, which is rounded
/// down, loses nothing where it is whole: a tenth of 1000 is 100.
fn part(amount: u64, whole: u64) -> u64 {
    if whole == 0 {
        return 0;
    }
    let parts = (u128::from(amount.min(whole)) * u128::from(ONE)).div_ceil(u128::from(whole));
    u64::try_from(parts).unwrap_or(ONE)
}

/// A number as a part of the highest there is, or as it is.
fn of_highest(number: u32, highest: u32, raw: bool) -> u64 {
    if raw { u64::from(number).saturating_mul(ONE) } else { part(number.into(), highest.into()) }
}

/// Daybook's own factor: 1 for no time at all, a half at `PriorityShortTime`, 0 for an unlimited time.
fn short(parameters: &PriorityParameters, job: &Job) -> u64 {
    let half = parameters.short_time.0.max(1);
    job.time_limit.seconds().map_or(0, |seconds| part(half, half.saturating_add(seconds)))
}

/// What each factor adds: weight times factor, rounded down.
pub fn addends(
    parameters: &PriorityParameters,
    factors: &PriorityFactors,
    site: i32,
    nice: i32,
) -> PriorityAddends {
    let weighted = |weight: u32, factor: u64| {
        u64::try_from(u128::from(weight) * u128::from(factor) / u128::from(ONE)).unwrap_or(u64::MAX)
    };
    let tres = factors.tres.iter().map(|(name, factor)| {
        let weight = parameters.weight_tres.get(name).copied().unwrap_or(0);
        (name.clone(), weighted(weight, *factor))
    });
    PriorityAddends {
        age: weighted(parameters.weight_age, factors.age),
        association: weighted(parameters.weight_association, factors.association),
        fair_share: weighted(parameters.weight_fair_share, factors.fair_share),
        job_size: weighted(parameters.weight_job_size, factors.job_size),
        partition: weighted(parameters.weight_partition, factors.partition),
        qos: weighted(parameters.weight_qos, factors.qos),
        short: weighted(parameters.weight_short, factors.short),
        tres: tres.collect(),
        site: site.into(),
        nice: nice.into(),
    }
}

/// Their sum, at least 1.
pub fn priority_of(addends: &PriorityAddends) -> u32 {
    let PriorityAddends { age, association, fair_share, job_size, partition, qos, short, tres, site, nice } =
        addends;
    let added = [age, association, fair_share, job_size, partition, qos, short];
    let sum: i128 = added.into_iter().chain(tres.values()).map(|addend| i128::from(*addend)).sum();
    let sum = sum + i128::from(*site) - i128::from(*nice);
    u32::try_from(sum.clamp(1, PRIORITY_MAX.into())).unwrap_or(1)
}
