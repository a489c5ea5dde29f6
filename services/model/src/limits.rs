//! The time limits that a waiting record may be started with: its own or its partition's, a shorter one down to its
//! `--time-min`, and what its deadline leaves.

use daybook_schemas::UtcMicros;
use daybook_schemas::job::TimeLimit;

use crate::cluster::Cluster;
use crate::job::Job;

impl Cluster {
    /// The limit that a waiting record has in one of the partitions that it may start in. One that nobody gave is not
    /// below the shortest that will do.
    pub fn time_limit_in(&self, job: &Job, partition: &str) -> TimeLimit {
        if !job.has_default_limit || job.partitions.is_none() {
            return job.time_limit;
        }
        let limit = self.resolve_time_limit(None, partition);
        job.time_min.map_or(limit, |least| least.max(limit))
    }

    /// A limit where the job gave none: the partition's default, else its maximum.
    pub fn resolve_time_limit(&self, asked: Option<TimeLimit>, partition: &str) -> TimeLimit {
        asked.unwrap_or_else(|| match self.partitions.get(partition) {
            Some(partition) => partition.default_time.unwrap_or(partition.max_time),
            None => TimeLimit::Unlimited,
        })
    }

    /// The shortest limit that it may be started with there. An unlimited job with a deadline gets what is left until
    /// then.
    pub fn shortest_limit_in(&self, job: &Job, partition: &str) -> TimeLimit {
        match (job.time_min, self.time_limit_in(job, partition)) {
            (Some(least), limit) if least < limit => least,
            (_, TimeLimit::Unlimited) if job.deadline.is_some() => TimeLimit::minutes(1),
            (_, limit) => limit,
        }
    }

    /// The longest limit that it may be started with there at `now`: whole minutes where its deadline cuts it.
    pub fn longest_limit_in(&self, job: &Job, partition: &str, now: UtcMicros) -> TimeLimit {
        let limit = self.time_limit_in(job, partition);
        let left = job.deadline.map(|deadline| {
            let minutes = u64::try_from(deadline.0.saturating_sub(now.0) / 60_000_000).unwrap_or(0);
            TimeLimit::Seconds(minutes.saturating_mul(60))
        });
        left.map_or(limit, |left| left.min(limit)).max(self.shortest_limit_in(job, partition))
    }

    /// The last instant at which it can start there and still end before its deadline; `None`: it has none.
    pub fn latest_start_in(&self, job: &Job, partition: &str) -> Option<UtcMicros> {
        let deadline = job.deadline?;
        let seconds = self.shortest_limit_in(job, partition).seconds();
        let seconds = seconds.and_then(|seconds| i64::try_from(seconds).ok()).unwrap_or(i64::MAX);
        Some(deadline.plus_seconds(seconds.saturating_neg()))
    }

    /// The same, wherever it may start.
    pub fn latest_start(&self, job: &Job) -> Option<UtcMicros> {
        job.deadline?;
        job.partitions().iter().filter_map(|partition| self.latest_start_in(job, partition)).max()
    }
}
