//! One run's supervisor, and what it shares with the agent: the files of a run's directory.
//!
//! The supervisor outlives the agent and the daemon. It claims the run, starts the batch script as the user, ends it
//! at its time limit or when told to, clears what is left of it, and leaves the exit status on disk for the agent.
//!
//! A run's directory holds, in the order in which they appear:
//! `order.json` (the intent: written and synced before anything starts), `control` (a FIFO that wakes the supervisor),
//! `wish.json` (what the run is to do beside running), `lock` (held by the supervisor as long as it lives), `claim`
//! (made exclusively before the script starts), `started.json`, `exit.json`.

pub mod environment;
pub mod files;
pub mod launch;
pub mod processes;
pub mod records;
pub mod supervise;
