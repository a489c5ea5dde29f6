//! Request and answer types of the HTTP interface, and the table of its operations.
//!
//! The interface is JSON over HTTP/1.1 on a Unix socket; who asks is known by the socket's peer
//! credentials. An answer that is no success has status 4xx or 5xx and an [`ApiError`] as its body.

mod accounting;
mod accounts;
mod cluster;
mod error;
mod events;
mod jobs;
mod operations;
mod peer;
mod priorities;
mod reservations;
mod statistics;
mod text;
mod why;

pub use accounting::{
    AccountingAnswer, AccountingQuery, AccountingRecord, CapacityAnswer, CapacityClass, CapacityQuery,
    CapacityRow, ObservedUsage, RecordKind,
};
pub use accounts::{
    AccountCondition, AccountsChange, AccountsChangeRequest, AccountsChanged, AccountsTarget, AccountsView,
    AddAccounts, AddUsers, AssociationSettings, Change, Coordinators, LimitChanges, ListChange,
    ModifyAccounts, ModifyUsers, QosChange, QosNames, QosSettings, TresChange, UserCondition,
};
pub use cluster::{
    LicenseView, NodeState, NodeUpdateRequest, NodeView, PartitionChange, PartitionDeletion,
    PartitionSetting, PartitionView, Ping, Reconfiguration, ResourceCounts,
};
pub use error::{ApiError, ErrorCode};
pub use events::{EventQuery, EventRecord};
pub use jobs::{
    CancelRequest, Changed, JobAction, JobColumn, JobFilter, JobQuery, JobSelector, JobSubmission, JobTable,
    JobUpdateRequest, JobView, JobWaitAnswer, SubmitAnswer, TargetOutcome,
};
pub use operations::{OPERATIONS, Operation, openapi};
pub use peer::Peer;
pub use priorities::{AssociationShare, JobPriority, LevelFairShare, PrioritiesAnswer, SharesAnswer};
pub use reservations::{
    FlagChange, NamedNodes, ReservationAnswer, ReservationDeletion, ReservationFlag, ReservationRequest,
    ReservationView, ReservationWish, ReservedCores,
};
pub use statistics::{BoundCount, CycleFigures, JobCounts, RecordedCycle, Statistics};
pub use text::Text;
pub use why::{
    Amount, Block, ExpectedEnd, Explanation, Figures, GpuAmount, LicenseAmount, NodeTrouble, OpenCondition,
    Outlook, Place, Promise, RunOutline, Shortage, Shortened, Trouble,
};

/// The largest request body that the gateway reads, in bytes.
pub const BODY_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The largest batch script, in bytes (Slurm's default `max_script_size`).
pub const SCRIPT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The largest environment of a job, in bytes.
pub const ENVIRONMENT_BYTES_MAX: usize = 8 * 1024 * 1024;
