//! The node: reconciles what is with what should be, and reports facts.
//!
//! An [`Agent`] serves one node. It takes the node's desired set of runs from dispatch, starts a supervisor for each run
//! whose script belongs here, tells supervisors what has changed, and appends what happened to the log. It decides
//! nothing. Stopping it leaves jobs running; when it starts again it finds them by their directories.
//!
//! At most once: the intent is on stable storage before a supervisor is started, and a supervisor claims its run
//! exclusively before it starts the script. Whatever dies in between, the script is started once or, where that cannot
//! be known, not again. A run whose end is in the log is remembered until the orders show that dispatch knows; and no
//! orders from before this agent's own registration are taken, because they may still name runs that an earlier agent
//! has brought to their end. So the generation needs no place on disk.
//!
//! - [`reconcile`](mod@reconcile): what to do, from orders and what is here; pure.
//! - `agent`: the loop around it. `script`, `simulated`, `held`: one task for each run, to its end in the log.
//! - `directory`: the runs' directories. `report`: facts on their way to the log. `registration`: what the node is.

mod agent;
mod confine;
mod directory;
mod health;
mod held;
pub mod reconcile;
mod registration;
pub mod report;
mod script;
mod simulated;
mod usage;
mod watch;

pub use agent::{Agent, AgentConfig, AgentHandle, StartError};
pub use confine::ConfinementConfig;
pub use directory::{Loss, reports_in_doubt};
