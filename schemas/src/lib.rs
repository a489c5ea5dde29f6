//! The common language of Daybook's services.
//!
//! - [`units`]: the small types that everything is measured and named in.
//! - [`envelope`]: the event envelope, commits, drafts, actors.
//! - [`events`]: one file per event type; [`events::Body`] is their closed list.
//! - [`job`], [`node`], [`license`], [`run`], [`reservation`]: the vocabulary that events and answers share.
//! - [`accounts`]: accounts, users, associations and qualities of service; [`limits`]: their limits by name; [`limit_reason`]: what keeps a job
//!   from starting by one of them; [`priority`]: what
//!   the queue's order is made of; [`billing`]: what a run is billed.
//! - [`api`]: request and answer types of the HTTP interface.
//! - [`orders`]: what dispatch tells an agent.
//! - [`grammar`]: Slurm's notations (host lists, durations, memory, TRES, job ids, array tasks).
//! - [`codec`]: commits as bytes, and old types through upcasters.
//! - [`json_schema`]: the JSON Schemas of event types and of the commit around them.
//! - [`canonical`]: the one byte form of every JSON document that is hashed or stored.
//!
//! The crate knows nothing of the other crates, does no I/O and reads no clock.

pub mod accounts;
pub mod api;
pub mod billing;
pub mod canonical;
pub mod codec;
pub mod envelope;
pub mod events;
pub mod fold;
pub mod grammar;
pub mod job;
pub mod json_schema;
pub mod license;
pub mod limit_reason;
pub mod limits;
pub mod node;
pub mod orders;
pub mod preemption;
pub mod priority;
pub mod reservation;
pub mod run;
pub mod topology;
pub mod units;

pub use envelope::{Actor, Authentication, Commit, Draft, Event, EventId, Stream, Subject};
pub use events::Body;
pub use fold::Fold;
pub use units::{BlobHash, GpuUuid, JobId, Mebibytes, NodeName, RunId, Seconds, Seq, UtcMicros};
