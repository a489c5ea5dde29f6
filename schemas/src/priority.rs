//! What the order of waiting jobs is made of (`PriorityType=priority/multifactor`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::billing::BillingRule;
use crate::units::Seconds;

/// The parts that make a whole in a [`PriorityFactors`]: every factor goes from 0 to this (more only where a flag says
/// that it is not normalised).
pub const PRIORITY_FACTOR_ONE: u64 = 1 << 32;

/// Weights of the factors, and by what they are measured. In effect a job's priority is the sum of weight times factor,
/// plus the site's part, minus `nice`; at least 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PriorityParameters {
    /// `PriorityWeightAge`: the time since it could have started.
    #[serde(skip_serializing_if = "is_zero")]
    pub weight_age: u32,
    /// `PriorityWeightAssoc`: the priority of its association.
    #[serde(skip_serializing_if = "is_zero")]
    pub weight_association: u32,
    /// `PriorityWeightFairshare`: the rank of its association in the Fair Tree.
    #[serde(skip_serializing_if = "is_zero")]
    pub weight_fair_share: u32,
    /// `PriorityWeightJobSize`: the part of the cluster that it asks for.
    #[serde(skip_serializing_if = "is_zero")]
    pub weight_job_size: u32,
    /// `PriorityWeightPartition`: `PriorityJobFactor` of its partition.
    #[serde(skip_serializing_if = "is_zero")]
    pub weight_partition: u32,
    /// `PriorityWeightQOS`: the priority of its QOS.
    #[serde(skip_serializing_if = "is_zero")]
    pub weight_qos: u32,
    /// `PriorityWeightShort` (Daybook's own): a short time limit.
    #[serde(skip_serializing_if = "is_zero")]
    pub weight_short: u32,
    /// `PriorityWeightTRES`: of what its partition has, the part that it asks for; by `cpu`, `mem`, `gres/gpu`,
    /// `gres/gpu:TYPE`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weight_tres: BTreeMap<String, u32>,
    /// `PriorityMaxAge`: from this age on the factor is 1.
    pub age_max: Seconds,
    /// `PriorityShortTime` (Daybook's own): the time limit whose factor is a half.
    pub short_time: Seconds,
    /// `PriorityFavorSmall`: the size factor is 1 for the smallest jobs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub favor_small: bool,
    /// `PriorityDecayHalfLife`: after this time usage counts half; 0: it never fades.
    pub decay_half_life: Seconds,
    /// `PriorityUsageResetPeriod`: when all usage is forgotten.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage_reset: Option<UsageResetPeriod>,
    /// `PriorityCalcPeriod`: how often usage, ranks and priorities are calculated anew.
    pub period: Seconds,
    /// `PriorityFlags`, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<PriorityFlag>,
}

impl Default for PriorityParameters {
    /// What holds where `slurm.conf` names nothing but the type: Slurm's defaults, without any weight.
    fn default() -> PriorityParameters {
        const DAY: u64 = 86_400;
        PriorityParameters {
            weight_age: 0,
            weight_association: 0,
            weight_fair_share: 0,
            weight_job_size: 0,
            weight_partition: 0,
            weight_qos: 0,
            weight_short: 0,
            weight_tres: BTreeMap::new(),
            age_max: Seconds(7 * DAY),
            short_time: Seconds(3_600),
            favor_small: false,
            decay_half_life: Seconds(7 * DAY),
            usage_reset: None,
            period: Seconds(300),
            flags: Vec::new(),
        }
    }
}

impl PriorityParameters {
    /// Whether a rule holds.
    pub fn has(&self, flag: PriorityFlag) -> bool {
        self.flags.contains(&flag)
    }

    /// How `TRESBillingWeights` become one number; with both flags `MAX_TRES` counts.
    pub fn billing_rule(&self) -> BillingRule {
        if self.has(PriorityFlag::MaxTres) {
            BillingRule::Largest
        } else if self.has(PriorityFlag::MaxTresGres) {
            BillingRule::LargestAndGres
        } else {
            BillingRule::Sum
        }
    }
}

/// When all usage is forgotten, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UsageResetPeriod {
    /// At midnight.
    Daily,
    /// At midnight before Sunday.
    Weekly,
    /// At midnight before the first of a month.
    Monthly,
    /// At midnight before the first of January, April, July and October.
    Quarterly,
    /// At midnight before the first of January.
    Yearly,
}

impl UsageResetPeriod {
    /// Every period with Slurm's word.
    pub const ALL: [(&'static str, UsageResetPeriod); 5] = [
        ("DAILY", UsageResetPeriod::Daily),
        ("WEEKLY", UsageResetPeriod::Weekly),
        ("MONTHLY", UsageResetPeriod::Monthly),
        ("QUARTERLY", UsageResetPeriod::Quarterly),
        ("YEARLY", UsageResetPeriod::Yearly),
    ];

    /// Slurm's word.
    pub fn word(self) -> &'static str {
        UsageResetPeriod::ALL.iter().find(|(_, period)| *period == self).map_or("", |(word, _)| word)
    }
}

/// `PriorityFlags`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PriorityFlag {
    /// Age counts from the submission, also while the job could not have started.
    AccrueAlways,
    /// Of what is billed for a node's CPUs, memory and GPUs only the largest counts.
    MaxTres,
    /// Of what is billed for a node's CPUs and memory only the largest counts; GPUs are added.
    MaxTresGres,
    /// An association's priority is multiplied with the weight as it is, not divided by the highest.
    NoNormalAssoc,
    /// A partition's `PriorityJobFactor` is multiplied with the weight as it is.
    NoNormalPart,
    /// A QOS's priority is multiplied with the weight as it is.
    NoNormalQos,
    /// Amounts of resources are multiplied with their weights as they are.
    NoNormalTres,
    /// The size is divided by the time limit in minutes.
    SmallRelativeToTime,
}

impl PriorityFlag {
    /// Every flag with Slurm's word.
    pub const ALL: [(&'static str, PriorityFlag); 8] = [
        ("ACCRUE_ALWAYS", PriorityFlag::AccrueAlways),
        ("MAX_TRES", PriorityFlag::MaxTres),
        ("MAX_TRES_GRES", PriorityFlag::MaxTresGres),
        ("NO_NORMAL_ASSOC", PriorityFlag::NoNormalAssoc),
        ("NO_NORMAL_PART", PriorityFlag::NoNormalPart),
        ("NO_NORMAL_QOS", PriorityFlag::NoNormalQos),
        ("NO_NORMAL_TRES", PriorityFlag::NoNormalTres),
        ("SMALL_RELATIVE_TO_TIME", PriorityFlag::SmallRelativeToTime),
    ];

    /// Slurm's word.
    pub fn word(self) -> &'static str {
        PriorityFlag::ALL.iter().find(|(_, flag)| *flag == self).map_or("", |(word, _)| word)
    }
}

/// A waiting job's factors as they were when its priority was calculated, in parts of [`PRIORITY_FACTOR_ONE`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PriorityFactors {
    /// The time since it could have started.
    pub age: u64,
    /// The priority of its association.
    pub association: u64,
    /// The rank of its association in the Fair Tree.
    pub fair_share: u64,
    /// The part of the cluster that it asks for.
    pub job_size: u64,
    /// `PriorityJobFactor` of its partition.
    pub partition: u64,
    /// The priority of its QOS.
    pub qos: u64,
    /// A short time limit.
    pub short: u64,
    /// What it asks for of its partition, for each resource that has a weight.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tres: BTreeMap<String, u64>,
}

/// What each factor adds to a priority: weight times factor, rounded down. The priority is their sum plus `site` minus
/// `nice`, and at least 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PriorityAddends {
    /// The age's.
    pub age: u64,
    /// The association's.
    pub association: u64,
    /// The fair share's.
    pub fair_share: u64,
    /// The size's.
    pub job_size: u64,
    /// The partition's.
    pub partition: u64,
    /// The QOS's.
    pub qos: u64,
    /// The short time limit's.
    pub short: u64,
    /// Each weighted resource's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tres: BTreeMap<String, u64>,
    /// The site's own.
    pub site: i64,
    /// Subtracted.
    pub nice: i64,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
