//! The node: reconciles what is with what should be, and reports facts.
//!
//! An [`Agent`] serves one node. It takes the node's desired set of runs from dispatch, starts a supervisor for each run
//! whose script belongs here, tells supervisors what has changed, and appends what happened to the log. It decides
//! nothing. Stopping it leaves jobs running; when it starts again it finds them by their directories.
//!
//! At most once: the intent is on stable storage before a supervisor is started, and a supervisor claims its run
//! exclusively before it starts the script. Whatever dies in between, the script is started once or, where that cannot
//! be known, not again.

mod agent;
mod directory;
mod registration;
mod report;
mod simulated;
mod watch;

pub use agent::{Agent, AgentConfig, AgentHandle, StartError};
