//! Who may use the cluster, on whose account, how much: accounts, users, associations, qualities of service.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Seconds;

/// Amounts of trackable resources by name: `cpu`, `mem` (MiB), `node`, `billing`, `gres/gpu`, `gres/gpu:a100`,
/// `license/matlab`. What is absent is not limited.
pub type TresAmounts = BTreeMap<String, u64>;

/// The account above all others. It is there before the first event.
pub const ROOT_ACCOUNT: &str = "root";

/// The quality of service that is there before the first event.
pub const NORMAL_QOS: &str = "normal";

/// Parts that make a whole in a factor.
pub const FACTOR_ONE: u64 = 1_000_000;

/// An account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Account {
    /// Its name, in lower case.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// To whom it belongs.
    pub organization: String,
    /// Users who may change the account, its subaccounts, and the associations in them; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coordinators: Vec<String>,
}

/// What a user may change beside what is the user's own.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AdminLevel {
    /// Nothing.
    #[default]
    None,
    /// Everybody's jobs and reservations; accounts, users, associations and QOS.
    Operator,
    /// Everything, as root: nodes and partitions too.
    Administrator,
}

/// A user as the accounts know one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountUser {
    /// The name on the cluster's machines, in lower case.
    pub name: String,
    /// The account of jobs that name none; absent: such jobs have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_account: Option<String>,
    /// The workload key of jobs that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_wckey: Option<String>,
    /// What the user may change.
    #[serde(default, skip_serializing_if = "is_no_level")]
    pub admin_level: AdminLevel,
}

/// A share of what the account above has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shares {
    /// So many, against those of its siblings.
    Number(u32),
    /// `parent`: the users beside each other as if they were one with the account above.
    Parent,
}

impl Default for Shares {
    fn default() -> Shares {
        Shares::Number(1)
    }
}

/// Who uses the cluster on whose account: a node of the tree of accounts (`user` absent), or a user in one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Association {
    /// Its number, given once and never again.
    pub id: u32,
    /// The account.
    pub account: String,
    /// The user; absent: this is the account's own place in the tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Of a user: for jobs in this partition only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// Of an account: the account above; absent at the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its share.
    #[serde(default, skip_serializing_if = "is_one_share")]
    pub shares: Shares,
    /// The QOS of jobs that name none; absent: that of the account above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_qos: Option<String>,
    /// Which QOS jobs may have, sorted; absent: those of the account above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qos: Option<Vec<String>>,
    /// Its part in the priority of jobs (`PriorityWeightAssoc`); absent: that of the account above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// What it may use; what is absent is as in the account above (`Max…`) or not limited here (`Grp…`).
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub limits: Limits,
    /// A note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// Limits of an association or of a QOS. Those of an association know no `…_per_user` and `…_per_account`; its
/// `max_jobs`, `max_submit_jobs` and `max_jobs_accrue` are the user's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Limits {
    /// `GrpTRES`: in use at once by everybody below.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub grp_tres: TresAmounts,
    /// `GrpTRESMins`: resource-minutes used and still to be used by what runs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub grp_tres_mins: TresAmounts,
    /// `GrpTRESRunMins`: resource-minutes still to be used by what runs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub grp_tres_run_mins: TresAmounts,
    /// `GrpJobs`: running at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grp_jobs: Option<u32>,
    /// `GrpJobsAccrue`: waiting jobs that gain priority by age at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grp_jobs_accrue: Option<u32>,
    /// `GrpSubmitJobs`: waiting and running at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grp_submit_jobs: Option<u32>,
    /// `GrpWall`: wall time used, decayed as usage is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grp_wall: Option<Seconds>,
    /// `MaxTRESPerJob`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub max_tres_per_job: TresAmounts,
    /// `MaxTRESPerNode`: of a job on each of its nodes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub max_tres_per_node: TresAmounts,
    /// `MaxTRESPerUser`, of a QOS.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub max_tres_per_user: TresAmounts,
    /// `MaxTRESPerAccount`, of a QOS.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub max_tres_per_account: TresAmounts,
    /// `MaxTRESMinsPerJob`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub max_tres_mins_per_job: TresAmounts,
    /// `MaxTRESRunMinsPerUser`, of a QOS.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub max_tres_run_mins_per_user: TresAmounts,
    /// `MaxTRESRunMinsPerAccount`, of a QOS.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub max_tres_run_mins_per_account: TresAmounts,
    /// `MaxWallDurationPerJob`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_wall_per_job: Option<Seconds>,
    /// `MaxJobs` of an association, `MaxJobsPerUser` of a QOS: running at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_jobs: Option<u32>,
    /// `MaxSubmitJobs`, `MaxSubmitJobsPerUser`: waiting and running at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_submit_jobs: Option<u32>,
    /// `MaxJobsAccrue`, `MaxJobsAccruePerUser`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_jobs_accrue: Option<u32>,
    /// `MaxJobsPerAccount`, of a QOS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_jobs_per_account: Option<u32>,
    /// `MaxSubmitJobsPerAccount`, of a QOS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_submit_jobs_per_account: Option<u32>,
    /// `MaxJobsAccruePerAccount`, of a QOS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_jobs_accrue_per_account: Option<u32>,
    /// `MinTRESPerJob`, of a QOS: a job must ask for as much.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub min_tres_per_job: TresAmounts,
    /// `MinPrioThreshold`: the priority from which on a job gains from being planned ahead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_priority: Option<u32>,
}

impl Limits {
    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        *self == Limits::default()
    }
}

/// What happens to a run that gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PreemptMode {
    /// It does not give way.
    Off,
    /// It ends.
    Cancel,
    /// Its job waits again (one that may not be requeued ends).
    Requeue,
    /// It stops until there is room again.
    Suspend,
}

impl PreemptMode {
    /// Slurm's word.
    pub fn word(self) -> &'static str {
        match self {
            PreemptMode::Off => "OFF",
            PreemptMode::Cancel => "CANCEL",
            PreemptMode::Requeue => "REQUEUE",
            PreemptMode::Suspend => "SUSPEND",
        }
    }
}

/// `Flags` of a QOS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QosFlag {
    /// What breaks a limit is refused when it is submitted.
    DenyOnLimit,
    /// Jobs below `UsageThreshold` do not start.
    EnforceUsageThreshold,
    /// Its usage does not decay.
    NoDecay,
    /// Its jobs get no protected start.
    NoReserve,
    /// Its limits come before those of the partition's QOS.
    OverPartQos,
    /// The partition's `MaxNodes` does not hold.
    PartitionMaxNodes,
    /// The partition's `MinNodes` does not hold.
    PartitionMinNodes,
    /// The partition's `MaxTime` does not hold.
    PartitionTimeLimit,
    /// Its jobs must name a reservation.
    RequiresReservation,
    /// `safe` counts with `UsageFactor`.
    UsageFactorSafe,
}

impl QosFlag {
    /// Every flag with Slurm's word.
    pub const ALL: [(QosFlag, &'static str); 10] = [
        (QosFlag::DenyOnLimit, "DenyOnLimit"),
        (QosFlag::EnforceUsageThreshold, "EnforceUsageThreshold"),
        (QosFlag::NoDecay, "NoDecay"),
        (QosFlag::NoReserve, "NoReserve"),
        (QosFlag::OverPartQos, "OverPartQOS"),
        (QosFlag::PartitionMaxNodes, "PartitionMaxNodes"),
        (QosFlag::PartitionMinNodes, "PartitionMinNodes"),
        (QosFlag::PartitionTimeLimit, "PartitionTimeLimit"),
        (QosFlag::RequiresReservation, "RequiresReservation"),
        (QosFlag::UsageFactorSafe, "UsageFactorSafe"),
    ];

    /// Slurm's word.
    pub fn word(self) -> &'static str {
        QosFlag::ALL.iter().find(|(flag, _)| *flag == self).map_or("", |(_, word)| word)
    }

    /// The flag of a word, in any letter case.
    pub fn parse(text: &str) -> Option<QosFlag> {
        QosFlag::ALL.iter().find(|(_, word)| word.eq_ignore_ascii_case(text)).map(|(flag, _)| *flag)
    }
}

/// A quality of service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Qos {
    /// Its number, given once and never again.
    pub id: u32,
    /// Its name, in lower case.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its part in the priority of jobs (`PriorityWeightQOS`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority: u32,
    /// The QOS whose jobs give way to its jobs, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preempt: Vec<String>,
    /// How its jobs give way; absent: as the cluster says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preempt_mode: Option<PreemptMode>,
    /// For how long they are warned before.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub grace_time: Seconds,
    /// For how long they do not give way after their start; absent: as the cluster says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preempt_exempt_time: Option<Seconds>,
    /// What its jobs' usage counts for, in millionths.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub usage_factor: u64,
    /// What limits of associations are multiplied with for its jobs, in millionths; absent: they hold as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_factor: Option<u64>,
    /// The fair-share factor below which jobs do not start (with `EnforceUsageThreshold`), in millionths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage_threshold: Option<u64>,
    /// Further rules, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<QosFlag>,
    /// What its jobs may use.
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub limits: Limits,
}

impl Qos {
    /// A QOS that limits and prefers nothing.
    pub fn new(id: u32, name: &str) -> Qos {
        Qos {
            id,
            name: name.to_string(),
            description: name.to_string(),
            priority: 0,
            preempt: Vec::new(),
            preempt_mode: None,
            grace_time: Seconds(0),
            preempt_exempt_time: None,
            usage_factor: FACTOR_ONE,
            limit_factor: None,
            usage_threshold: None,
            flags: Vec::new(),
            limits: Limits::default(),
        }
    }

    /// Whether a rule holds.
    pub fn has(&self, flag: QosFlag) -> bool {
        self.flags.contains(&flag)
    }
}

/// A workload key of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadKey {
    /// The user.
    pub user: String,
    /// The key.
    pub name: String,
}

fn is_no_level(level: &AdminLevel) -> bool {
    *level == AdminLevel::None
}

fn is_one_share(shares: &Shares) -> bool {
    *shares == Shares::default()
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_no_time(time: &Seconds) -> bool {
    time.0 == 0
}

fn one() -> u64 {
    FACTOR_ONE
}

fn is_one(factor: &u64) -> bool {
    *factor == FACTOR_ONE
}
