//! The agents' leases on a bus: they say that they live, and the planner that plans listens.

use std::sync::Arc;
use std::time::Duration;

use async_nats::Client;
use async_nats::client::PublishError;
use daybook_log::clock::Clock;
use daybook_log::follow::Live;
use daybook_log::jetstream::{JetStreamLog, Names};
use daybook_log::{Append, AppendError, EventLog};
use daybook_model::Cluster;
use daybook_planner::leases::{Leases, Moment};
use daybook_schemas::{Body, Draft, NodeName, Stream, Subject};
use futures_util::StreamExt;
use tokio::time::Instant;

/// How often an agent says that it lives.
pub const BEAT_EVERY: Duration = Duration::from_secs(2);
/// How often the planner looks who is silent.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// A look that comes so late was kept from happening: the process stood still, and heard nothing meanwhile.
const LOOK_LATE: Duration = Duration::from_secs(2);
/// How long the own commit may take to be folded before the next look.
const FOLD_PATIENCE: Duration = Duration::from_secs(30);

/// Says once that a node's agent lives.
///
/// It has a subject of its own, apart from the questions: where nodes have accounts of their own, the server lets nobody
/// answer a question that also somebody else of the same connection listens to.
async fn say(client: &Client, names: &Names, node: &NodeName) -> Result<(), PublishError> {
    client.publish(names.beat(node), "".into()).await
}

/// Says for a node's agent that it lives, as long as it is polled.
pub async fn beat_of(client: Client, names: Names, node: NodeName) {
    beat_each(&client, &names, &[node]).await;
}

/// The same for the agents of a process that has the log.
pub async fn beat(log: Arc<JetStreamLog>, nodes: Vec<NodeName>) {
    beat_each(log.client(), log.names(), &nodes).await;
}

async fn beat_each(client: &Client, names: &Names, nodes: &[NodeName]) {
    let mut ticks = tokio::time::interval(BEAT_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        for node in nodes {
            if let Err(error) = say(client, names, node).await {
                tracing::debug!(%node, %error, "a beat was not sent");
            }
        }
    }
}

/// Listens to the agents of all nodes and puts into the log what follows from their silence, until it is dropped. At most
/// one planner should do so; of several the log lets one conclude at a time.
pub async fn watch(log: Arc<JetStreamLog>, live: Live<Cluster>, clock: Arc<dyn Clock>, length: Duration) {
    let began = Instant::now();
    let now = || Moment { elapsed: began.elapsed(), time: clock.now() };
    let mut leases = Leases::new(length, now());
    loop {
        let mut beats = match log.client().subscribe(log.names().beats()).await {
            Ok(beats) => beats,
            Err(error) => {
                tracing::warn!(%error, "the agents cannot be heard; trying again");
                tokio::time::sleep(LOOK_EVERY).await;
                continue;
            }
        };
        leases.was_deaf(now());
        let mut ticks = tokio::time::interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut looked = Instant::now();
        loop {
            tokio::select! {
                beat = beats.next() => match beat {
                    Some(beat) => {
                        if let Some(node) = log.names().node_of_beat(&beat.subject) {
                            leases.hear(node, now());
                        }
                    }
                    None => break,
                },
                _ = ticks.tick() => {
                    if looked.elapsed() > LOOK_LATE || !log.is_connected() {
                        leases.was_deaf(now());
                    }
                    // Before concluding: that may take long where the log is in trouble, and what agents say meanwhile waits
                    // unheard. The next look then comes late, and knows that nothing was heard.
                    looked = Instant::now();
                    conclude(&log, &live, &mut leases, now()).await;
                }
            }
        }
    }
}

fn tell(conclusion: &Body) {
    match conclusion {
        Body::NodeLeaseLost(data) => {
            tracing::warn!(node = %data.node, last_heard = %data.last_heard, "the agent is not heard: no new work");
        }
        Body::NodeTimedOut(data) => {
            tracing::warn!(node = %data.node, last_evidence = %data.last_evidence, "the node's runs are given up");
        }
        Body::NodeLeaseRegained(data) => tracing::info!(node = %data.node, "the agent is heard again"),
        _ => {}
    }
}

async fn conclude(log: &JetStreamLog, live: &Live<Cluster>, leases: &mut Leases, now: Moment) {
    let cluster = live.now();
    let conclusions = leases.conclude(&cluster, now);
    if conclusions.is_empty() {
        return;
    }
    for conclusion in &conclusions {
        tell(conclusion);
    }
    let events = Leases::to_events(conclusions, cluster.position(), now.time);
    let draft = Draft { subject: Subject::Plan, expect: Some(cluster.plan_seq()), events };
    let seq = match log.append(Append { stream: Stream::State, draft, blobs: Vec::new() }).await {
        Ok(appended) => appended.seq,
        // Decided by somebody else, or by an append of unknown outcome: what it says is looked at first.
        Err(AppendError::Duplicate { seq, .. } | AppendError::Expectation { actual: seq, .. }) => seq,
        Err(error) => {
            tracing::warn!(%error, "what follows from agents' silence cannot be recorded; trying again");
            return;
        }
    };
    if let Err(error) = live.at_least(seq, FOLD_PATIENCE).await {
        tracing::warn!(%error, "the planner lags behind its own conclusions");
    }
}
