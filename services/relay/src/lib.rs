//! Login machines: clients' requests passed over the bus, with the identity that the login machine's kernel gave.
//!
//! [`Login`] is the login machine's side. It takes requests from a Unix socket, says in a signed [`Statement`] who asks
//! what, and passes it to one of the daemons that serve relays. [`Service`] is that daemon's side: it believes a statement
//! that a relay named in `daybook.toml` signed just now, and answers with its own routes as if the peer were local, except
//! that the [`Relayed`](daybook_gateway::Relayed) identity goes with the request.
//!
//! One request is one *exchange*. The relay publishes the opening (statement, signature, the body's beginning) to
//! `daybook.C.relay.HOST`, from where one daemon takes it; everything else goes on two subjects of the exchange's own, one
//! in each direction, in numbered pieces of which a bounded number is under way (`frame.rs`, `line.rs`). The daemon makes
//! both names from the subject that the opening came on, where only that relay's key may publish: what a message says, its
//! reply subject included, decides nothing about where an answer goes.
//!
//! Nothing here is kept, and no request is sent twice. What breaks in the middle breaks the client's connection, and the
//! client repeats its request, with the request id that makes it one.

mod answer;
pub mod bounds;
mod frame;
mod line;
mod login;
mod serve;
mod statement;
mod verify;

pub use login::{Login, LoginError, router};
pub use serve::Service;
pub use statement::{Opening, OpeningError, Statement, VERSION};
pub use verify::{KnownRelay, KnownRelayError, Refusal, Verifier};
