//! Requests through a relay, over a real nats-server.

mod breaking;
mod passing;
mod refusing;
mod support;
