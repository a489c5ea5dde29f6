//! Which nodes are silent, and which of those have been for too long. Pure.
//!
//! An agent says every few seconds that it lives. What is concluded from its silence is in the log: `node.lease_lost` takes
//! the node out of planning, `node.timed_out` ends what ran there, `node.lease_regained` brings the node back.

use std::collections::BTreeMap;
use std::time::Duration;

use daybook_model::{Cluster, Node, Silence};
use daybook_schemas::events::{Body, NodeLeaseLost, NodeLeaseRegained, NodeTimedOut};
use daybook_schemas::{Actor, Event, NodeName, Seconds, Seq, UtcMicros};

/// Conclusions in one commit; the rest follows in the next.
const CONCLUSIONS_MAX: usize = 1000;

/// An instant: by a clock that only goes forward, from which silence is measured, and by the clock that people read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Since some fixed point.
    pub elapsed: Duration,
    /// What evidence is dated with.
    pub time: UtcMicros,
}

/// What a planner has heard of the agents since it began to listen.
#[derive(Debug)]
pub struct Leases {
    length: Duration,
    /// Since when nothing could have been missed.
    listening: Duration,
    heard: BTreeMap<NodeName, Moment>,
}

impl Leases {
    /// Begins to listen. Every agent has the length of a lease from now on to be heard.
    pub fn new(length: Duration, now: Moment) -> Leases {
        Leases { length, listening: now.elapsed, heard: BTreeMap::new() }
    }

    /// An agent was heard.
    pub fn hear(&mut self, node: NodeName, now: Moment) {
        self.heard.insert(node, now);
    }

    /// Nothing could be heard until now (no connection, or this process stood still): that says nothing about the agents.
    pub fn was_deaf(&mut self, now: Moment) {
        self.listening = now.elapsed;
    }

    /// What is to be concluded, in order of the nodes; nothing again that the cluster knows.
    pub fn conclude(&mut self, cluster: &Cluster, now: Moment) -> Vec<Body> {
        self.heard.retain(|node, _| cluster.nodes().contains_key(node));
        let timeout =
            cluster.configured().map_or(Seconds(0), |configured| configured.parameters.node_timeout);
        let conclusions =
            cluster.nodes().iter().filter_map(|(name, node)| self.of_node(name, node, timeout, now));
        conclusions.take(CONCLUSIONS_MAX).collect()
    }

    fn of_node(&self, name: &NodeName, node: &Node, timeout: Seconds, now: Moment) -> Option<Body> {
        if node.registration.is_none() || node.retired {
            return None;
        }
        let heard = self.heard.get(name);
        let since = heard.map_or(self.listening, |heard| heard.elapsed.max(self.listening));
        let is_silent = now.elapsed.saturating_sub(since) >= self.length;
        match node.silence {
            None if is_silent => {
                // The planner before this one may have heard more; what the agent wrote itself is in the log.
                let last_heard = heard.map_or(node.last_reported, |heard| heard.time.max(node.last_reported));
                Some(NodeLeaseLost { node: name.clone(), last_heard }.into())
            }
            // Not by dates: the clock that last noted something may have been ahead of this one.
            Some(_) if heard.is_some_and(|heard| now.elapsed.saturating_sub(heard.elapsed) < self.length) => {
                Some(NodeLeaseRegained { node: name.clone() }.into())
            }
            Some(silence) if is_silent && !silence.timed_out && is_over(node, silence, timeout, now) => {
                let last_evidence = silence.last_heard;
                Some(NodeTimedOut { node: name.clone(), last_evidence, waited: timeout }.into())
            }
            _ => None,
        }
    }

    /// The events of a commit that records conclusions drawn at `position`.
    pub fn to_events(conclusions: Vec<Body>, position: Seq, now: UtcMicros) -> Vec<Event> {
        let event = |(number, body)| Event {
            id: format!("leases/{position}/{number}").into(),
            source: "planner".to_string(),
            time: now,
            actor: Actor::service("planner"),
            cause: Some(position),
            body,
        };
        conclusions.into_iter().enumerate().map(event).collect()
    }
}

/// Nobody waits any more: the timeout has passed, or an administrator has set the silent node down.
fn is_over(node: &Node, silence: Silence, timeout: Seconds, now: Moment) -> bool {
    let waited = now.time.0.saturating_sub(silence.last_heard.0);
    let longest = i64::try_from(timeout.0).unwrap_or(i64::MAX).saturating_mul(1_000_000);
    node.down || timeout > Seconds(0) && waited >= longest
}
