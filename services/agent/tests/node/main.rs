//! An agent with real supervisors and real scripts, a log in memory, and orders from the test.

mod bench;
mod care;
mod confining;
mod ending;
mod launching;
mod restarts;
mod simulated;
mod suspending;
mod throughput;
mod troubled_log;
mod usage;
