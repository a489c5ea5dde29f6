//! One run's supervisor, and what it shares with the agent: the files of a run's directory.
//!
//! The supervisor outlives the agent and the daemon. It claims the run, starts the batch script as the user, ends it
//! at its time limit or when told to, clears what is left of it, and leaves the exit status on disk for the agent.
//!
//! A run's directory holds, in the order in which they appear:
//! `order.json` (the intent: written and synced before anything starts), `control` (a FIFO that wakes the supervisor),
//! `wish.json` (what the run is to do beside running), `lock` (held by the supervisor as long as it lives), `claim`
//! (made exclusively before the script starts), `started.json`, `exit.json`.
//!
//! **At most once.** Only who makes `claim` starts the script. It needs no sync of its own: a process that dies loses
//! nothing that it has written, and a machine that dies comes back with another boot id than the intent's, which alone
//! says that the run must not start again. So: no claim and no lock, nothing was started; a claim and a lock, it runs;
//! a claim and `exit.json`, it is over; a claim without either, nobody saw its end. Removing a directory starts with
//! `order.json`; one without it holds nothing.

pub mod environment;
pub mod files;
pub mod launch;
pub mod notice;
pub mod processes;
pub mod records;
pub mod standard_files;
pub mod supervise;
