//! The log on JetStream, against real servers.

mod conformance;
mod faults;
mod node;
mod opening;
mod support;
