//! Orders on the bus: dispatch publishes them, agents elsewhere take them and ask for them.
//!
//! Orders are derived, so they are not stored: a set that gets lost is asked for again. Both sides compare generations,
//! so it does no harm that several dispatchers answer, or an old one late.

use std::sync::Arc;
use std::time::Duration;

use async_nats::Client;
use bytes::Bytes;
use daybook_dispatch::Dispatch;
use daybook_log::jetstream::{JetStreamLog, Names, NodeQuestion};
use daybook_schemas::orders::DesiredSet;
use daybook_schemas::{NodeName, Seq};
use futures_util::StreamExt;
use tokio::sync::watch;

/// How often an agent asks what it should be doing.
const ASK_EVERY: Duration = Duration::from_secs(2);
/// How long one question may take.
const ANSWER_PATIENCE: Duration = Duration::from_secs(2);
/// All dispatchers answer questions together: each question once.
const DISPATCHERS: &str = "dispatch";

/// Publishes the orders of these nodes as they change, and answers their questions, until the connection is closed for
/// good.
pub async fn publish(log: Arc<JetStreamLog>, dispatch: Arc<Dispatch>, nodes: Vec<NodeName>) {
    let (client, names) = (log.client().clone(), log.names().clone());
    for node in nodes {
        let Some(orders) = dispatch.orders(&node) else { continue };
        tokio::spawn(publish_of(client.clone(), names.orders(&node), orders));
    }
    loop {
        let mut questions = match client.queue_subscribe(names.leases(), DISPATCHERS.to_string()).await {
            Ok(questions) => questions,
            Err(error) => {
                tracing::warn!(%error, "agents cannot ask for their orders; trying again");
                tokio::time::sleep(ASK_EVERY).await;
                continue;
            }
        };
        while let Some(question) = questions.next().await {
            let node = names.node_of_lease(&question.subject);
            let (Some(node), Some(reply)) = (node, question.reply) else { continue };
            let Some(orders) = dispatch.orders(&node) else {
                tracing::warn!(%node, "an agent of a node that is not configured asks for orders");
                continue;
            };
            if question.payload.is_empty() {
                let set = orders.borrow().clone();
                send(&client, reply.to_string(), &set).await;
            } else {
                tokio::spawn(answer(log.clone(), node, question.payload, reply.to_string()));
            }
        }
    }
}

/// Says which of a node's events are in the log. No answer: it asks again.
async fn answer(log: Arc<JetStreamLog>, node: NodeName, question: Bytes, reply: String) {
    let Ok(question) = serde_json::from_slice::<NodeQuestion>(&question) else {
        tracing::warn!(%node, "an agent asks what nobody understands: are daybookd's versions the same everywhere?");
        return;
    };
    let Some(answer) = log.answer(&question).await else { return };
    let sent = match serde_json::to_vec(&answer) {
        Ok(bytes) => log.client().publish(reply, bytes.into()).await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = sent {
        tracing::warn!(%node, %error, "an agent's question is not answered");
    }
}

async fn publish_of(client: Client, subject: String, mut orders: watch::Receiver<Arc<DesiredSet>>) {
    loop {
        let set = orders.borrow_and_update().clone();
        if set.generation > Seq::ZERO {
            send(&client, subject.clone(), &set).await;
        }
        if orders.changed().await.is_err() {
            return;
        }
    }
}

async fn send(client: &Client, subject: String, set: &DesiredSet) {
    let sent = match serde_json::to_vec(set) {
        Ok(bytes) => client.publish(subject, bytes.into()).await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = sent {
        tracing::error!(node = %set.node, %error, "a node's orders cannot be sent");
    }
}

/// A node's orders as they come over the bus; the receiver's first value is an empty set of generation 0.
pub fn follow(client: Client, names: Names, node: NodeName) -> watch::Receiver<Arc<DesiredSet>> {
    let empty = DesiredSet { node: node.clone(), generation: Seq::ZERO, runs: Vec::new() };
    let (publish, orders) = watch::channel(Arc::new(empty));
    tokio::spawn(take(client, names, node, publish));
    orders
}

async fn take(client: Client, names: Names, node: NodeName, publish: watch::Sender<Arc<DesiredSet>>) {
    while !publish.is_closed() {
        let mut sets = match client.subscribe(names.orders(&node)).await {
            Ok(sets) => sets,
            Err(error) => {
                tracing::warn!(%node, %error, "no orders can be taken; trying again");
                tokio::time::sleep(ASK_EVERY).await;
                continue;
            }
        };
        tokio::select! {
            () = take_from(&mut sets, &node, &publish) => {}
            () = ask(&client, &names, &node, &publish) => {}
            () = publish.closed() => return,
        }
    }
}

/// Takes sets as they are published, until the subscription ends.
async fn take_from(
    sets: &mut async_nats::Subscriber,
    node: &NodeName,
    publish: &watch::Sender<Arc<DesiredSet>>,
) {
    while let Some(message) = sets.next().await {
        accept(&message.payload, node, publish);
    }
}

/// Asks for what may have been lost on the way, again and again.
async fn ask(client: &Client, names: &Names, node: &NodeName, publish: &watch::Sender<Arc<DesiredSet>>) {
    let mut ticks = tokio::time::interval(ASK_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut is_heard = true;
    loop {
        ticks.tick().await;
        let question = client.request(names.lease(node), "".into());
        match tokio::time::timeout(ANSWER_PATIENCE, question).await {
            Ok(Ok(message)) => {
                is_heard = true;
                accept(&message.payload, node, publish);
            }
            _ if is_heard => {
                is_heard = false;
                tracing::warn!(%node, "nobody answers with orders; what runs here goes on");
            }
            _ => {}
        }
    }
}

fn accept(payload: &[u8], node: &NodeName, publish: &watch::Sender<Arc<DesiredSet>>) {
    let set: DesiredSet = match serde_json::from_slice(payload) {
        Ok(set) => set,
        Err(error) => {
            tracing::error!(%node, %error, "orders are unreadable: are daybookd's versions the same everywhere?");
            return;
        }
    };
    if set.node != *node {
        tracing::error!(%node, of = %set.node, "orders of another node came here; they are not followed");
        return;
    }
    publish.send_if_modified(|current| {
        let is_newer = set.generation > current.generation;
        if is_newer {
            *current = Arc::new(set);
        }
        is_newer
    });
}
