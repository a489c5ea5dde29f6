//! Multifactor priority, in integers.

use daybook_model::Job;
use daybook_schemas::UtcMicros;
use daybook_schemas::job::TimeLimit;
use serde::Serialize;

/// Every factor goes from 0 to this.
pub const FACTOR_MAX: u64 = 1_000_000;

/// What a job's priority is made of: weights of factors from 0 to 1, as in `slurm.conf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Weights {
    /// `PriorityWeightAge`: the time since it could have started.
    pub age: u32,
    /// `PriorityMaxAge` in seconds: an age from which on the factor is 1.
    pub age_max_seconds: u64,
    /// `PriorityWeightJobSize`: its share of the partition's CPUs.
    pub size: u32,
    /// A short time limit: 1 for none at all, a half at [`Weights::short_seconds`].
    pub short: u32,
    /// The limit whose factor is a half, in seconds.
    pub short_seconds: u64,
}

impl Weights {
    /// Size and age as in Slurm's usual configurations, and shortness as much as both.
    pub const USUAL: Weights =
        Weights { age: 1_000, age_max_seconds: 7 * 86_400, size: 1_000, short: 2_000, short_seconds: 3_600 };

    /// The priority of a waiting job with this limit at `now`; higher starts first. 0 is a held job's.
    pub fn priority(&self, job: &Job, limit: TimeLimit, cpus_of_partition: u64, now: UtcMicros) -> u32 {
        let since = job.eligible.unwrap_or(job.submitted);
        let age = u64::try_from(now.0.saturating_sub(since.0) / 1_000_000).unwrap_or(0);
        let age_max = self.age_max_seconds.max(1);
        let age_factor = age.min(age_max).saturating_mul(FACTOR_MAX) / age_max;
        let request = &job.request;
        let cpus = u64::from(request.tasks.max(request.nodes_min)) * u64::from(request.cpus_per_task.max(1));
        let size_factor = cpus.saturating_mul(FACTOR_MAX) / cpus_of_partition.max(cpus).max(1);
        let half = self.short_seconds.max(1);
        let short_factor = match limit.seconds() {
            Some(seconds) => half.saturating_mul(FACTOR_MAX) / half.saturating_add(seconds),
            None => 0,
        };
        let weighted = |weight: u32, factor: u64| u64::from(weight) * factor / FACTOR_MAX;
        let sum = weighted(self.age, age_factor)
            + weighted(self.size, size_factor)
            + weighted(self.short, short_factor);
        let with_nice = i64::try_from(sum).unwrap_or(i64::MAX).saturating_sub(i64::from(job.nice));
        u32::try_from(with_nice.clamp(1, i64::from(u32::MAX) - 1)).unwrap_or(1)
    }
}
