use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ListChange;
use crate::grammar::index_set::IndexSet;
use crate::reservation::{Repeat, ReservationDefinition};
use crate::units::{NodeName, Seconds, UtcMicros};

/// `GET /v1/reservations`: each reservation that is not over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReservationView {
    /// The reservation, with start and end of the present or next time.
    pub definition: ReservationDefinition,
    /// Whether it is in force.
    pub active: bool,
    /// CPUs that it keeps.
    pub cpus: u32,
    /// Cores that it keeps.
    pub cores: u32,
    /// Of one that keeps CPUs: their cores, node by node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub core_ids: Vec<ReservedCores>,
    /// Unfinished jobs that name it or run in it.
    pub jobs: u32,
}

/// Cores that a reservation keeps of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReservedCores {
    /// The node.
    pub node: NodeName,
    /// By index, from 0 on each node.
    pub cores: IndexSet,
}

/// Which nodes are named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NamedNodes {
    /// `ALL`: of the partition that is named, or of the cluster.
    All,
    /// These.
    These(Vec<NodeName>),
}

/// A flag of a reservation that is set (or, of an update, taken away).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReservationFlag {
    /// `MAINT`
    Maintenance,
    /// `FLEX`
    Flex,
    /// `OVERLAP`
    Overlap,
    /// `IGNORE_JOBS`
    IgnoreJobs,
    /// `HOURLY`, `DAILY`, `WEEKDAY`, `WEEKEND`, `WEEKLY`
    Repeat(Repeat),
    /// `TIME_FLOAT`
    TimeFloat,
    /// `PURGE_COMP`, after so long
    Purge(Seconds),
    /// `MAGNETIC`
    Magnetic,
    /// `PART_NODES`
    PartitionNodes,
}

/// A change of one flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlagChange {
    /// Which.
    pub flag: ReservationFlag,
    /// False: it is taken away.
    pub set: bool,
}

/// What a reservation is to be like; what is absent is not asked for, or of an update stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReservationWish {
    /// Absent, of a new one: the first user's or account's name and a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// When it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<UtcMicros>,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<UtcMicros>,
    /// How long it is; where an end is given too, they must agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Seconds>,
    /// Nodes by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NamedNodes>,
    /// So many nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_count: Option<u32>,
    /// Cores instead of whole nodes (`CoreCnt`, `TRES=cpu=N`): of each named node, in the order of the configuration; or,
    /// where none is named, of all nodes together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_counts: Option<Vec<u32>>,
    /// Features that each node must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// The partition that nodes are chosen from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// Names of users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<ListChange<String>>,
    /// Names of accounts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accounts: Option<ListChange<String>>,
    /// Flags, in the order given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<FlagChange>,
}

/// `POST /v1/reservations/create`, `update`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReservationRequest {
    /// Chosen by the client, unique; the same id again changes nothing more.
    pub request_id: String,
    /// What is asked for.
    pub wish: ReservationWish,
}

/// `POST /v1/reservations/delete`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReservationDeletion {
    /// Chosen by the client, unique; the same id again changes nothing more.
    pub request_id: String,
    /// Which.
    pub name: String,
}

/// The reservation that was made, changed or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReservationAnswer {
    /// Its name.
    pub name: String,
}
