//! One run's supervisor, and what it shares with the agent: the run's files.
//!
//! The supervisor outlives the agent and the daemon. It claims the run, starts the batch script as the user, ends it
//! at its time limit or when told to, clears what is left of it, and leaves the exit status on disk for the agent.
//!
//! A run's files lie beside those of the node's other runs, under the run's id:
//!
//! | file | written by | what |
//! |---|---|---|
//! | `RUN.order` | agent | the [`Intent`](records::Intent) and the script's environment, on stable storage before anything starts; the supervisor's lock is on it |
//! | `RUN.wish` | agent | what the run is to do beside running, once that is something; SIGUSR1 tells the supervisor to look |
//! | `RUN.record` | supervisor | [`Entry`](records::Entry)s, one a line; made exclusively, so its existence is the claim |
//!
//! **At most once.** Only who makes the record starts the script. That needs no sync of its own: a process that dies loses
//! nothing that it has written, and a machine that dies comes back with another boot id than the intent's, which alone
//! says that the run must not start again. So: no record and no lock, nothing was started; a record and a lock, it runs;
//! a record with an end, it is over; a record without an end and without a lock, nobody saw its end (or, where it says
//! that the script has ended, nobody has cleared up behind it). The end is synced
//! before the supervisor leaves. Removing a run starts with its order; what is there without one holds nothing.

pub mod environment;
pub mod health;
pub mod journal;
pub mod launch;
pub mod notice;
pub mod processes;
pub mod programs;
pub mod records;
pub mod run_files;
pub mod standard_files;
pub mod supervise;
pub mod usage;
