//! Which runs give way to which waiting jobs, and how.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::accounts::PreemptMode;
use crate::events::ArrayTaskId;
use crate::units::{JobId, Seconds, UtcMicros};

/// What says whose runs give way to a job (`PreemptType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PreemptType {
    /// `preempt/qos`: the job's QOS names theirs in its list `Preempt`.
    Qos,
    /// `preempt/partition_prio`: their partition's `PriorityTier` is lower than that of the job's.
    PartitionPrio,
}

impl PreemptType {
    /// Slurm's word.
    pub fn word(self) -> &'static str {
        match self {
            PreemptType::Qos => "preempt/qos",
            PreemptType::PartitionPrio => "preempt/partition_prio",
        }
    }
}

/// What the cluster says of preemption.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PreemptionParameters {
    /// `PreemptType`
    pub by: PreemptType,
    /// `PreemptMode`: how runs give way of which neither QOS nor partition says how.
    pub mode: PreemptMode,
    /// `GANG`: what was suspended goes on again by itself; only then may a QOS or a partition say `suspend`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gang: bool,
    /// `PreemptExemptTime`: for how long a run does not give way after its start, where its QOS does not say.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub exempt_time: Seconds,
    /// `youngest_first`: whoever has run for the shortest time gives way first, whatever its QOS or partition.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub youngest_first: bool,
    /// `min_exempt_priority`: runs of jobs with a higher priority do not give way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exempt_above: Option<u32>,
}

impl PreemptionParameters {
    /// What is so where only the type and the mode are given.
    pub fn new(by: PreemptType, mode: PreemptMode) -> PreemptionParameters {
        PreemptionParameters {
            by,
            mode,
            gang: mode == PreemptMode::Suspend,
            exempt_time: Seconds(0),
            youngest_first: false,
            exempt_above: None,
        }
    }
}

/// That a run gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GivingWay {
    /// The waiting job that takes its place.
    pub by: JobId,
    /// Where that is a task of an array: which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayTaskId>,
    /// What becomes of the run's job: `cancel`, `requeue` or `suspend`.
    pub mode: PreemptMode,
    /// When it was told.
    pub since: UtcMicros,
    /// Until when it may run on, warned.
    pub grace_end: UtcMicros,
}

impl GivingWay {
    /// For how long it may run on from when it was told, in whole seconds, rounded up.
    pub fn grace(&self) -> Seconds {
        let micros = u64::try_from(self.grace_end.0.saturating_sub(self.since.0)).unwrap_or(0);
        Seconds(micros.div_ceil(1_000_000))
    }
}

fn is_no_time(time: &Seconds) -> bool {
    time.0 == 0
}
