//! Whose runs give way to whom: Slurm's `PreemptType`, `PreemptMode`, `PreemptExemptTime` and `GraceTime`.

use daybook_schemas::accounts::PreemptMode;
use daybook_schemas::preemption::{PreemptType, PreemptionParameters};
use daybook_schemas::{Seconds, UtcMicros};

use crate::cluster::Cluster;
use crate::job::Job;
use crate::run::Run;

/// How a run gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WayOut {
    /// What becomes of its job: [`PreemptMode::Cancel`], [`PreemptMode::Requeue`] or [`PreemptMode::Suspend`].
    pub mode: PreemptMode,
    /// For how long it is warned before; one that is suspended is not.
    pub grace: Seconds,
}

impl Cluster {
    /// What the configuration says of preemption; `None`: no run gives way.
    pub fn preemption(&self) -> Option<&PreemptionParameters> {
        self.configured.as_ref()?.parameters.preemption.as_ref()
    }

    /// Whether a job's QOS says whose runs give way to it.
    pub(crate) fn preempts_by_qos(&self) -> bool {
        self.preemption().is_some_and(|parameters| parameters.by == PreemptType::Qos)
    }

    /// Until when a run of a job that started then does not give way: its start, where nothing protects it for longer.
    pub fn preempt_exempt_until(&self, job: &Job, started: UtcMicros) -> UtcMicros {
        let Some(parameters) = self.preemption() else { return started };
        let of_qos = self.accounts.qos(&job.qos).and_then(|qos| qos.preempt_exempt_time);
        let seconds = of_qos.unwrap_or(parameters.exempt_time).0;
        started.plus_seconds(i64::try_from(seconds).unwrap_or(i64::MAX))
    }

    /// How a job's runs in a partition give way; `None`: they never do.
    ///
    /// Of the two that may say how, that one counts which `PreemptType` goes by, and the cluster where it says nothing;
    /// but OFF holds wherever it is written. A job that may not be requeued is cancelled instead. Where the cluster has no
    /// GANG, SUSPEND is as OFF.
    pub fn way_out(&self, job: &Job, partition: &str) -> Option<WayOut> {
        let parameters = self.preemption()?;
        if parameters.exempt_above.is_some_and(|above| job.priority > above) {
            return None;
        }
        let qos = self.accounts.qos(&job.qos);
        let partition = self.partition(partition);
        let of_qos = qos.and_then(|qos| qos.preempt_mode);
        let of_partition = partition.and_then(|partition| partition.preempt_mode);
        if of_qos == Some(PreemptMode::Off) || of_partition == Some(PreemptMode::Off) {
            return None;
        }
        let (own, grace) = match parameters.by {
            PreemptType::Qos => (of_qos, qos.map(|qos| qos.grace_time)),
            PreemptType::PartitionPrio => (of_partition, partition.map(|partition| partition.grace_time)),
        };
        let mode = match own.unwrap_or(parameters.mode) {
            PreemptMode::Requeue if job.requeue => PreemptMode::Requeue,
            PreemptMode::Requeue | PreemptMode::Cancel => PreemptMode::Cancel,
            PreemptMode::Suspend if parameters.gang => {
                return Some(WayOut { mode: PreemptMode::Suspend, grace: Seconds(0) });
            }
            // Without GANG nobody would let it go on.
            PreemptMode::Off | PreemptMode::Suspend => return None,
        };
        Some(WayOut { mode, grace: grace.unwrap_or(Seconds(0)) })
    }

    /// How much a run of a job is worth among those that could give way: the least gives way first. Its QOS's priority,
    /// or its partition's tier.
    pub fn preempt_rank(&self, job: &Job, partition: &str) -> u32 {
        match self.preemption().map(|parameters| parameters.by) {
            Some(PreemptType::Qos) => self.accounts.qos(&job.qos).map_or(0, |qos| qos.priority),
            Some(PreemptType::PartitionPrio) => self.tier_of(partition),
            None => 0,
        }
    }

    /// Whether there can be runs that give way to a waiting job.
    pub fn may_preempt(&self, job: &Job) -> bool {
        self.preemption().is_some_and(|parameters| match parameters.by {
            PreemptType::PartitionPrio => true,
            PreemptType::Qos => self.accounts.qos(&job.qos).is_some_and(|qos| !qos.preempt.is_empty()),
        })
    }

    /// Whether a run of `job` is of those that a waiting job in `partition` may take the place of, time and mode aside. Of
    /// one that would be suspended for a QOS only where the other is in another partition: in the same one Slurm lets both
    /// run in turns, which is not done here.
    pub fn is_preemptable_by(&self, run: &Run, job: &Job, other: &Job, partition: &str) -> bool {
        let by_qos = self.preempts_by_qos();
        if by_qos
            && *run.partition == *partition
            && self.way_out(job, partition).is_some_and(|way| way.mode == PreemptMode::Suspend)
        {
            return false;
        }
        match self.preemption().map(|parameters| parameters.by) {
            None => false,
            Some(PreemptType::PartitionPrio) => self.tier_of(&run.partition) < self.tier_of(partition),
            Some(PreemptType::Qos) => {
                let qos = self.accounts.qos(&other.qos);
                qos.is_some_and(|qos| qos.preempt.iter().any(|name| **name == *job.qos))
            }
        }
    }

    fn tier_of(&self, partition: &str) -> u32 {
        self.partition(partition).map_or(0, |partition| partition.priority_tier)
    }
}
