use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::accounts::{
    Account, AccountUser, AdminLevel, Association, PreemptMode, Qos, QosFlag, Shares, WorkloadKey,
};
use crate::limits::{CountLimitName, TresLimitName, WallLimitName};
use crate::units::{Seconds, Seq};

/// `GET /v1/accounts`: who may use the cluster, on whose account, how much.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountsView {
    /// Up to where this is shown.
    pub seq: Seq,
    /// The cluster's name.
    pub cluster: String,
    /// By name.
    pub accounts: Vec<Account>,
    /// By name.
    pub users: Vec<AccountUser>,
    /// By number.
    pub qos: Vec<Qos>,
    /// By user and name.
    pub wckeys: Vec<WorkloadKey>,
    /// By number, each as it says itself; what it does not say is as in the account above.
    pub associations: Vec<Association>,
}

/// `POST /v1/accounts/change`: all of it, or nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountsChangeRequest {
    /// Chosen by the client, unique; the same id again is the same request.
    pub request_id: String,
    /// Only decide: answer what would change, and change nothing.
    #[serde(default)]
    pub preview: bool,
    /// What to change.
    pub change: AccountsChange,
}

/// What to change. Names are taken in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccountsChange {
    /// New accounts; those that are there already stay as they are.
    AddAccounts(AddAccounts),
    /// Accounts as they are described, and their own associations.
    ModifyAccounts(ModifyAccounts),
    /// Accounts with all that is below them.
    RemoveAccounts(AccountCondition),
    /// Users, and their associations with accounts; what is there already stays as it is.
    AddUsers(AddUsers),
    /// Users as they are described, and their associations.
    ModifyUsers(ModifyUsers),
    /// Users with all their associations; or, where accounts or partitions are named, those associations; or, where
    /// workload keys are named, those keys.
    RemoveUsers(UserCondition),
    /// New QOS.
    AddQos(QosChange),
    /// QOS as they are.
    ModifyQos(QosChange),
    /// QOS, which are also taken from every list that names them.
    RemoveQos(QosNames),
    /// Users become coordinators of accounts.
    AddCoordinators(Coordinators),
    /// Users are no longer coordinators of accounts. Without accounts: of all.
    RemoveCoordinators(Coordinators),
    /// The association above all others: that of the root account.
    ModifyCluster(AssociationSettings),
}

/// New accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddAccounts {
    /// Which.
    pub names: Vec<String>,
    /// What they are for; absent: the name.
    #[serde(default)]
    pub description: Option<String>,
    /// To whom they belong; absent: the parent's name, below the root the account's own.
    #[serde(default)]
    pub organization: Option<String>,
    /// The account above; absent: root.
    #[serde(default)]
    pub parent: Option<String>,
    /// What their associations say.
    #[serde(default)]
    pub settings: AssociationSettings,
}

/// Which accounts: all that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountCondition {
    /// One of these.
    #[serde(default)]
    pub names: Vec<String>,
    /// With one of these descriptions.
    #[serde(default)]
    pub descriptions: Vec<String>,
    /// Belonging to one of these.
    #[serde(default)]
    pub organizations: Vec<String>,
    /// Right below one of these.
    #[serde(default)]
    pub parents: Vec<String>,
}

/// A change of accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModifyAccounts {
    /// Which.
    pub which: AccountCondition,
    /// What they are for.
    #[serde(default)]
    pub description: Option<String>,
    /// To whom they belong.
    #[serde(default)]
    pub organization: Option<String>,
    /// Another account above.
    #[serde(default)]
    pub parent: Option<String>,
    /// What their associations say.
    #[serde(default)]
    pub settings: AssociationSettings,
}

/// New users or associations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddUsers {
    /// Which users.
    pub names: Vec<String>,
    /// On which accounts.
    #[serde(default)]
    pub accounts: Vec<String>,
    /// In which partitions only; none: in all.
    #[serde(default)]
    pub partitions: Vec<String>,
    /// Of new users: the default account; absent: the first of `accounts`.
    #[serde(default)]
    pub default_account: Option<String>,
    /// Of new users: the default workload key.
    #[serde(default)]
    pub default_wckey: Option<String>,
    /// Of new users: what they may change.
    #[serde(default)]
    pub admin_level: Option<AdminLevel>,
    /// Workload keys that they get.
    #[serde(default)]
    pub wckeys: Vec<String>,
    /// What the associations say.
    #[serde(default)]
    pub settings: AssociationSettings,
}

/// Which users, or which of their associations: all that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserCondition {
    /// One of these.
    #[serde(default)]
    pub names: Vec<String>,
    /// Associations with one of these accounts.
    #[serde(default)]
    pub accounts: Vec<String>,
    /// Associations for one of these partitions.
    #[serde(default)]
    pub partitions: Vec<String>,
    /// With one of these default accounts.
    #[serde(default)]
    pub default_accounts: Vec<String>,
    /// Who may change so much.
    #[serde(default)]
    pub admin_level: Option<AdminLevel>,
    /// Workload keys of these names.
    #[serde(default)]
    pub wckeys: Vec<String>,
}

/// A change of users.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModifyUsers {
    /// Which.
    pub which: UserCondition,
    /// The account of jobs that name none.
    #[serde(default)]
    pub default_account: Option<String>,
    /// The workload key of jobs that name none.
    #[serde(default)]
    pub default_wckey: Option<String>,
    /// What they may change.
    #[serde(default)]
    pub admin_level: Option<AdminLevel>,
    /// What their associations say.
    #[serde(default)]
    pub settings: AssociationSettings,
}

/// New QOS, or a change of QOS.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QosChange {
    /// Which; none, of a change: all.
    pub names: Vec<String>,
    /// What they say.
    #[serde(default)]
    pub settings: QosSettings,
}

/// QOS by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QosNames {
    /// Which.
    pub names: Vec<String>,
}

/// Users and the accounts that they coordinate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Coordinators {
    /// Which accounts.
    pub accounts: Vec<String>,
    /// Which users.
    pub users: Vec<String>,
}

/// A new value, or none any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change<T> {
    /// This value.
    Set(T),
    /// As if it had never been set.
    Clear,
}

/// A change of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListChange<T> {
    /// These and no others; of accounts an empty list is as if it had never been set.
    Set(Vec<T>),
    /// These too.
    Add(Vec<T>),
    /// These no longer.
    Remove(Vec<T>),
}

/// A change of a limit on resources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TresChange {
    /// Of these resources; the others stay.
    Amounts(BTreeMap<String, Change<u64>>),
    /// No limit any more on any resource.
    Clear,
}

/// Changes of limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LimitChanges {
    /// Limits on resources.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tres: BTreeMap<TresLimitName, TresChange>,
    /// Limits that are numbers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<CountLimitName, Change<u32>>,
    /// Limits that are lengths of time.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub walls: BTreeMap<WallLimitName, Change<Seconds>>,
}

/// What an association is to say; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AssociationSettings {
    /// `Fairshare`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shares: Option<Change<Shares>>,
    /// `DefaultQOS`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_qos: Option<Change<String>>,
    /// `QOS`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qos: Option<ListChange<String>>,
    /// `Priority`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Change<u32>>,
    /// A note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<Change<String>>,
    /// Limits.
    pub limits: LimitChanges,
}

/// What a QOS is to say; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QosSettings {
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `Priority`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Change<u32>>,
    /// `Preempt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preempt: Option<ListChange<String>>,
    /// `PreemptMode`; cleared: as the cluster says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preempt_mode: Option<Change<PreemptMode>>,
    /// `GraceTime`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_time: Option<Change<Seconds>>,
    /// `PreemptExemptTime`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preempt_exempt_time: Option<Change<Seconds>>,
    /// `UsageFactor`, in millionths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage_factor: Option<Change<u64>>,
    /// `LimitFactor`, in millionths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_factor: Option<Change<u64>>,
    /// `UsageThreshold`, in millionths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage_threshold: Option<Change<u64>>,
    /// `Flags`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flags: Option<ListChange<QosFlag>>,
    /// Limits.
    pub limits: LimitChanges,
}

/// What was changed, or would be; nothing: there was nothing to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountsChanged {
    /// What the request meant and reached, in the order in which Slurm tells it.
    pub targets: Vec<AccountsTarget>,
    /// Up to where the log has it; of a preview: what it was decided on.
    pub seq: Seq,
}

/// Something that a change of accounts reaches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccountsTarget {
    /// An account.
    Account(String),
    /// A user.
    User(String),
    /// A QOS.
    Qos(String),
    /// An association, by its number.
    Association(u32),
    /// A user who coordinates an account.
    Coordinator {
        /// The account.
        account: String,
        /// The user.
        user: String,
    },
    /// A workload key.
    WorkloadKey(WorkloadKey),
}
