//! Which of several planners plans.
//!
//! This is about liveness alone: the one that plans says so several times a second, and another takes over when it hears
//! nothing. That two never decide the same thing is the log's doing: a cycle expects the last one that its planner has
//! folded. So neither clocks nor messages that come late can do more harm than a cycle that is refused.

use std::sync::Arc;
use std::time::Duration;

use daybook_log::EventLog;
use daybook_log::clock::Clock;
use daybook_log::follow::Live;
use daybook_log::jetstream::JetStreamLog;
use daybook_model::Cluster;
use daybook_planner::Planner;
use daybook_schemas::Stream;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::leases;

/// How often the one that plans says so.
const BEAT_EVERY: Duration = Duration::from_millis(250);
/// After so long without a beat another takes over.
const LEASE: Duration = Duration::from_millis(1500);
/// How long the one that takes over may need to fold the log to its end.
const FOLD_PATIENCE: Duration = Duration::from_secs(60);

/// What the planning planner says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Beat {
    /// Grows with every take-over; of two that plan, the one with the lower term stops.
    term: u64,
    /// Who it is; decides between equal terms.
    id: String,
}

/// A planner that plans when no other does.
pub struct StandBy {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl StandBy {
    /// Starts listening, and plans when it is time.
    ///
    /// While it plans it also listens to the agents; one that is silent for `lease` has lost its lease.
    pub fn start(
        log: Arc<JetStreamLog>,
        live: Live<Cluster>,
        clock: Arc<dyn Clock>,
        lease: Duration,
    ) -> StandBy {
        let (stop, stopped) = watch::channel(false);
        let id = log.client().new_inbox().to_string();
        let candidate = Candidate { log, live, clock, lease, id, term: 0 };
        StandBy { stop, task: tokio::spawn(candidate.run(stopped)) }
    }

    /// Stops after the append that is under way, if any.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the planner did not end by itself");
        }
    }
}

struct Candidate {
    log: Arc<JetStreamLog>,
    live: Live<Cluster>,
    clock: Arc<dyn Clock>,
    /// Of the agents.
    lease: Duration,
    id: String,
    /// The highest term heard of.
    term: u64,
}

impl Candidate {
    async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        let name = self.log.names().planner();
        loop {
            let mut beats = match self.log.client().subscribe(name.clone()).await {
                Ok(beats) => beats,
                Err(error) => {
                    tracing::warn!(%error, "planners cannot hear each other; trying again");
                    tokio::select! {
                        () = tokio::time::sleep(LEASE) => continue,
                        () = told(&mut stopped) => return,
                    }
                }
            };
            tokio::select! {
                () = self.stand_by(&mut beats) => {}
                () = told(&mut stopped) => return,
            }
            if self.lead(&mut beats, &mut stopped).await {
                return;
            }
        }
    }

    /// Until nothing has been heard for the length of a lease.
    async fn stand_by(&mut self, beats: &mut async_nats::Subscriber) {
        let mut heard = Instant::now();
        loop {
            match tokio::time::timeout_at(heard + LEASE, beats.next()).await {
                Ok(Some(message)) => {
                    if let Ok(beat) = serde_json::from_slice::<Beat>(&message.payload) {
                        self.term = self.term.max(beat.term);
                        heard = Instant::now();
                    }
                }
                // Nothing can be heard while there is no connection; that says nothing about the others.
                Ok(None) | Err(_) if !self.log.is_connected() => {
                    tokio::time::sleep(BEAT_EVERY).await;
                    heard = Instant::now();
                }
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// Plans until told to stop (true) or overtaken (false).
    async fn lead(
        &mut self,
        beats: &mut async_nats::Subscriber,
        stopped: &mut watch::Receiver<bool>,
    ) -> bool {
        self.term += 1;
        let own = Beat { term: self.term, id: self.id.clone() };
        let mut planner: Option<Planner> = None;
        let mut listener: Option<JoinHandle<()>> = None;
        let mut ticks = tokio::time::interval(BEAT_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // Nothing is decided before everything is folded that was in the log at the election.
        let caught_up = catch_up(self.log.clone(), self.live.clone());
        tokio::pin!(caught_up);
        let is_stopped = loop {
            tokio::select! {
                biased;
                () = told(stopped) => break true,
                message = beats.next() => {
                    let Some(message) = message else { break false };
                    let Ok(beat) = serde_json::from_slice::<Beat>(&message.payload) else { continue };
                    self.term = self.term.max(beat.term);
                    if beat > own {
                        tracing::warn!(term = beat.term, "another planner has taken over");
                        break false;
                    }
                }
                _ = ticks.tick() => self.beat(&own).await,
                ready = &mut caught_up, if planner.is_none() => match ready {
                    Ok(()) => {
                        tracing::info!(term = own.term, "this planner plans now");
                        planner = Some(Planner::start(self.log.clone(), self.live.clone(), self.clock.clone()));
                        let leases =
                            leases::watch(self.log.clone(), self.live.clone(), self.clock.clone(), self.lease);
                        listener = Some(tokio::spawn(leases));
                    }
                    Err(why) => {
                        tracing::warn!(%why, "this planner cannot take over");
                        break false;
                    }
                },
            }
        };
        if let Some(listener) = listener {
            listener.abort();
        }
        if let Some(planner) = planner {
            planner.stop().await;
        }
        is_stopped
    }

    async fn beat(&self, own: &Beat) {
        let sent = match serde_json::to_vec(own) {
            Ok(bytes) => self.log.client().publish(self.log.names().planner(), bytes.into()).await.is_ok(),
            Err(_) => false,
        };
        if !sent {
            tracing::debug!("a planner's beat was not sent");
        }
    }
}

async fn told(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stop| *stop).await;
}

async fn catch_up(log: Arc<JetStreamLog>, live: Live<Cluster>) -> Result<(), String> {
    log.reach_server_end(Stream::State, FOLD_PATIENCE).await?;
    live.at_least(log.end(Stream::State), FOLD_PATIENCE).await.map(|_| ()).map_err(|error| error.to_string())
}
