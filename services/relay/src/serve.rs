//! A daemon's side: openings taken from the bus, verified, and answered with its own routes.

use std::sync::Arc;

use async_nats::{Client, Message, Subscriber};
use axum::Router;
use daybook_log::clock::Clock;
use daybook_log::jetstream::Names;
use futures_util::StreamExt as _;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::answer::{self, answer};
use crate::bounds::{BODIES_KIB_MAX, RETRY_PAUSE, SERVED_EXCHANGES_MAX, STOP_PATIENCE};
use crate::frame::Frame;
use crate::line::Line;
use crate::statement::{Opening, exchange_of};
use crate::verify::{KnownRelay, KnownRelayError, Refusal, Verifier};

/// All daemons take openings together: each opening once.
const GROUP: &str = "gateways";

/// Serves relays until it is stopped.
pub struct Service {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Service {
    /// Starts to take the openings of a cluster's relays and to answer them with `router`. `client` should be a connection
    /// of its own: bodies would be in the way of the log's appends. When this is done, openings come here (unless the
    /// servers cannot be reached; then it goes on trying).
    pub async fn start(
        client: Client,
        cluster: &str,
        relays: &[KnownRelay],
        router: Router,
        clock: Arc<dyn Clock>,
    ) -> Result<Service, KnownRelayError> {
        let (stop, told) = watch::channel(false);
        let worker = Worker {
            client,
            names: Names::of(cluster),
            verifier: Verifier::new(cluster, relays)?,
            router,
            clock,
            bodies: Arc::new(Semaphore::new(BODIES_KIB_MAX as usize)),
            exchanges: JoinSet::new(),
            cut: watch::Sender::new(false),
        };
        let openings = worker.client.queue_subscribe(worker.names.relays(), GROUP.to_string()).await.ok();
        // So that the server knows of it before anybody asks.
        let _ = tokio::time::timeout(STOP_PATIENCE, worker.client.flush()).await;
        Ok(Service { stop, task: tokio::spawn(worker.run(openings, told)) })
    }

    /// Takes no more openings, and lets open exchanges end for [`STOP_PATIENCE`]; then they are cut, and their clients
    /// repeat them elsewhere.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        // It ends by itself, and only a panic makes this an error.
        let _ = self.task.await;
    }
}

struct Worker {
    client: Client,
    names: Names,
    verifier: Verifier,
    router: Router,
    clock: Arc<dyn Clock>,
    bodies: Arc<Semaphore>,
    exchanges: JoinSet<()>,
    cut: watch::Sender<bool>,
}

impl Worker {
    async fn run(mut self, mut first: Option<Subscriber>, mut told: watch::Receiver<bool>) {
        let openings = 'serve: loop {
            let subscribed = match first.take() {
                Some(openings) => Some(openings),
                None => self.subscribe(&mut told).await,
            };
            let Some(mut openings) = subscribed else { return };
            loop {
                tokio::select! {
                    opening = openings.next() => match opening {
                        Some(message) => self.take(message),
                        None => break,
                    },
                    Some(_) = self.exchanges.join_next() => {}
                    () = until(&mut told) => break 'serve openings,
                }
            }
        };
        self.finish(openings).await;
    }

    /// `None`: stopped meanwhile.
    async fn subscribe(&self, told: &mut watch::Receiver<bool>) -> Option<Subscriber> {
        loop {
            match self.client.queue_subscribe(self.names.relays(), GROUP.to_string()).await {
                Ok(openings) => return Some(openings),
                Err(error) => {
                    tracing::warn!(%error, "login machines' requests cannot be taken; trying again")
                }
            }
            tokio::select! {
                () = tokio::time::sleep(RETRY_PAUSE) => {}
                () = until(told) => return None,
            }
        }
    }

    async fn finish(mut self, openings: Subscriber) {
        drop(openings);
        let all = async { while self.exchanges.join_next().await.is_some() {} };
        if tokio::time::timeout(STOP_PATIENCE, all).await.is_err() {
            self.cut.send_replace(true);
            while self.exchanges.join_next().await.is_some() {}
        }
        // So that what was said last is heard; who does not hear it hears the silence.
        let _ = tokio::time::timeout(STOP_PATIENCE, self.client.flush()).await;
    }

    /// Verifies an opening and has it answered. Whatever it is, this waits for nothing.
    fn take(&mut self, message: Message) {
        let Some(relay) = self.names.relay_of(&message.subject) else { return };
        if self.exchanges.len() >= SERVED_EXCHANGES_MAX {
            tracing::warn!(%relay, "too many relayed requests are open; this one breaks, and its client repeats it");
            return;
        }
        let opened = Opening::decode(&message.payload).map_err(Refusal::from);
        let admitted = opened.and_then(|opening| {
            self.verifier.admit(&relay, &opening, self.clock.now())?;
            Ok(opening)
        });
        let (client, names) = (self.client.clone(), self.names.clone());
        match admitted {
            Ok(opening) => {
                let (router, bodies, cut) = (self.router.clone(), self.bodies.clone(), self.cut.subscribe());
                self.exchanges.spawn(async move {
                    let exchange = opening.statement.exchange.clone();
                    let Some(line) = open(client, &names, &relay, &exchange).await else { return };
                    answer(line, opening, router, &bodies, cut).await;
                });
            }
            Err(why) => {
                tracing::warn!(%relay, %why, "a login machine's request is refused; nothing was changed");
                // The relay waits at the name that it has chosen; below its own subject, whatever that is.
                let Some(exchange) = exchange_of(&message.payload) else { return };
                self.exchanges.spawn(async move {
                    let Some(mut line) = open(client, &names, &relay, &exchange).await else { return };
                    if let Err(why) = answer::refuse(&mut line, why.to_api()).await {
                        tracing::debug!(%relay, %why, "a refusal is not heard");
                    }
                });
            }
        }
    }
}

/// Waits until it is to stop.
async fn until(told: &mut watch::Receiver<bool>) {
    // Who could say so and is gone has stopped it, too.
    let _ = told.wait_for(|stop| *stop).await;
}

/// The daemon's end of an exchange, which greets. Both of its subjects come from the subject of the opening, never from
/// what it says.
async fn open(client: Client, names: &Names, relay: &str, exchange: &str) -> Option<Line> {
    let unheard = |why: String| tracing::warn!(%relay, %why, "a login machine's request cannot be answered");
    let from = match client.subscribe(names.relay_requests(relay, exchange)).await {
        Ok(from) => from,
        Err(error) => {
            unheard(error.to_string());
            return None;
        }
    };
    let line = Line::open(client, from, names.relay_answers(relay, exchange));
    match line.send(Frame::Received(0)).await {
        Ok(()) => Some(line),
        Err(error) => {
            unheard(error.to_string());
            None
        }
    }
}
