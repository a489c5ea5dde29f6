//! The log on JetStream, against real servers.

mod conformance;
mod copy;
mod faults;
mod node;
mod opening;
mod support;
