//! The planner's ear: agents that live and are connected are heard, and what follows from silence goes into the log.

use std::time::Duration;

use daybook_log::clock::Clock;
use daybook_log::{Append, EventLog};
use daybook_planner::leases::{Leases, Moment};
use daybook_schemas::{Draft, Stream, Subject};

use crate::clock::DAWN;
use crate::simulation::Simulation;

/// An agent's lease.
pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// One who begins to listen when the simulated time begins.
pub(crate) fn leases() -> Leases {
    Leases::new(LEASE, Moment { elapsed: Duration::ZERO, time: DAWN })
}

impl Simulation {
    /// Hears everybody who can be heard now, and concludes. Whether something was concluded.
    pub(crate) async fn listen(&mut self) -> bool {
        let elapsed = Duration::from_micros((self.time.now().0 - DAWN.0).unsigned_abs());
        let now = Moment { elapsed, time: self.clock.now() };
        for node in self.nodes.iter().filter(|node| node.connected && node.agent.is_some()) {
            self.leases.hear(node.name().clone(), now);
        }
        let cluster = &self.witness.cluster;
        let conclusions = self.leases.conclude(cluster, now);
        if conclusions.is_empty() {
            return false;
        }
        let words: Vec<String> = conclusions.iter().map(|body| format!("{body:?}")).collect();
        let events = Leases::to_events(conclusions, cluster.position(), now.time);
        let draft = Draft { subject: Subject::Plan, expect: Some(cluster.plan_seq()), events };
        let append = Append { stream: Stream::State, draft, blobs: Vec::new() };
        // A full disk, say: the next time.
        let done = self.network.log().append(append).await;
        self.say(|| format!("the planner hears: {} ({})", words.join("; "), done.is_ok()));
        done.is_ok()
    }
}
