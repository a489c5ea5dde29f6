//! `daybook keys` with real nats-servers, on loopback addresses.
//!
//! - [`servers`]: keys and the servers that run with them.
//! - [`client`]: connections, and what is refused to them.
//! - the other files: what is true, by subject.

mod client;
mod coming_and_going;
mod connecting;
mod deploy;
mod directory;
mod nodes;
mod servers;
mod started_by_daybook;
mod three;
mod users;
