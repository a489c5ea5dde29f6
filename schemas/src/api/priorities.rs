//! What the queue's order is made of: what `sprio` and `sshare` show.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::accounts::{Shares, TresAmounts};
use crate::priority::{PriorityAddends, PriorityFactors, PriorityParameters};
use crate::units::{JobId, UtcMicros};

/// `GET /v1/priorities`: the waiting jobs' priorities with what they are made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrioritiesAnswer {
    /// Weights and measures; absent: priorities are not made of factors (`PriorityType=priority/basic`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<PriorityParameters>,
    /// Up to when usage had been counted when they were last calculated; absent: never yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calculated: Option<UtcMicros>,
    /// Waiting jobs, by id.
    pub jobs: Vec<JobPriority>,
}

/// The priority of a waiting job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobPriority {
    /// The job; an array's record has the array's id.
    pub job: JobId,
    /// The id as people see it: `12`, `12_[0-9]`, `12_3`.
    pub display_id: String,
    /// The partition.
    pub partition: String,
    /// The user's name.
    pub user: String,
    /// The user's id.
    pub uid: u32,
    /// The account; empty: none.
    pub account: String,
    /// The QOS.
    pub qos: String,
    /// The priority used: the sum of the addends, at least 1, or what an administrator set.
    pub priority: u32,
    /// An administrator has set it: the addends are what it would be made of.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fixed: bool,
    /// The factors.
    pub factors: PriorityFactors,
    /// What each of them adds.
    pub addends: PriorityAddends,
}

/// `GET /v1/shares`: usage and fair share of every association.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SharesAnswer {
    /// The cluster.
    pub cluster: String,
    /// Whether priorities are made of factors; otherwise no usage is counted.
    pub multifactor: bool,
    /// Up to when usage has been counted; absent: never yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calculated: Option<UtcMicros>,
    /// Every association, an account's users before its subaccounts, each with what is below it.
    pub associations: Vec<AssociationShare>,
}

/// How far below its share an association is: shares divided by usage, both as parts of what its siblings have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LevelFairShare {
    /// In millionths.
    Millionths(u64),
    /// It has used nothing.
    Infinite,
}

/// Usage and fair share of one association. Parts of a whole are in millionths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssociationShare {
    /// Its number.
    pub id: u32,
    /// The account.
    pub account: String,
    /// The user; absent: the account's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// For jobs in this partition only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// How many accounts are above it; the root account has 0, its user root 1.
    pub depth: u32,
    /// The account above; absent at the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its shares.
    pub shares: Shares,
    /// Its shares as a part of its siblings'.
    pub norm_shares: u64,
    /// What it has used, faded: CPU-seconds, in thousandths.
    pub usage: u64,
    /// Its usage as a part of the cluster's.
    pub norm_usage: u64,
    /// Its usage as a part of that of the account above.
    pub effective_usage: u64,
    /// Its rank in the Fair Tree; absent: an account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fair_share: Option<u64>,
    /// Absent: the root, or an account whose shares are its parent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level_fair_share: Option<LevelFairShare>,
    /// `GrpTRESMins`.
    #[serde(default, skip_serializing_if = "TresAmounts::is_empty")]
    pub grp_tres_mins: TresAmounts,
    /// What runs below it may still use by its time limits: resource-minutes.
    pub tres_run_mins: TresAmounts,
}
