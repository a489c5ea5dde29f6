//! The write side and the API's server: who you are, is it valid, append.
//!
//! Requests that change something go through one [`Intake`]: it takes what waits, decides it against a snapshot that
//! has everything appended before, and appends the outcome as one commit of the subject `jobs`, with the expectation
//! that nobody else wrote there in between. What is not appended is not accepted.

mod asker;
mod authority;
mod events_route;
mod intake;
mod requests;
mod routes;
mod server;

pub use asker::Relayed;
pub use authority::Authority;
pub use intake::{Intake, IntakeClosed};
pub use routes::{Gateway, ReadConfiguration, router};
pub use server::{ServeError, bind, serve};
