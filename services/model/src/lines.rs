//! Who waits behind whom: the reason that is understood where none is recorded.

use daybook_schemas::UtcMicros;
use daybook_schemas::job::{JobState, Reason};

use crate::cluster::{Cluster, PendingKey};
use crate::job::Job;

impl Cluster {
    /// The first job of a partition, in the order of the queue, of which it is recorded that it waits for resources or
    /// licences.
    pub fn first_blocked(&self, partition: &str) -> Option<PendingKey> {
        self.blocked.get(partition)?.get_min().copied()
    }

    /// Why a job waits, as squeue shows it at `now`. The planner records `Priority` only where it replaces another
    /// reason: a ready job without one waits behind those of its partition that wait for resources.
    pub fn shown_reason(&self, job: &Job, now: UtcMicros) -> Reason {
        let reason = job.shown_reason(now);
        // As in Slurm, what is over shows no reason that was about waiting.
        if job.state == JobState::Cancelled {
            return Reason::None;
        }
        let waits_in_line = reason == Reason::None && job.state == JobState::Pending && job.is_ready();
        if waits_in_line
            && self.first_blocked(&job.partition).is_some_and(|first| first < self.pending_key(job))
        {
            return Reason::Priority;
        }
        reason
    }

    /// Since when [`Cluster::shown_reason`] is what it is at `now`: the log's time of the commit that made it so. What
    /// waits for its priority without a record has done so since it could have started.
    pub fn shown_reason_since(&self, job: &Job, now: UtcMicros) -> UtcMicros {
        if job.state == JobState::Pending && job.shown_reason(now) == Reason::None {
            // The begin time may have passed since the last commit.
            let eligible = job.eligible.or(job.begin.filter(|begin| job.is_ready() && *begin <= now));
            return eligible.unwrap_or(job.reason_since);
        }
        job.reason_since
    }
}
