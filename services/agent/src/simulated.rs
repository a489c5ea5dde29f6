//! Runs on simulated nodes: they take their declared time, and no process.

use std::collections::BTreeMap;
use std::time::Duration;

use daybook_log::LogHandle;
use daybook_schemas::job::TimeLimit;
use daybook_schemas::orders::{RunOrder, RunWish};
use daybook_schemas::run::EndCause;
use daybook_schemas::{NodeName, RunId, UtcMicros};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::agent::News;
use crate::report::Report;

/// The variable of a job's environment that declares its time: seconds, with a fraction where wanted.
const DECLARED_SECONDS: &[u8] = b"DAYBOOK_SIMULATED_SECONDS=";

/// The simulated runs of a node.
pub(crate) struct Simulated {
    node: NodeName,
    log: LogHandle,
    news: mpsc::Sender<News>,
    timers: BTreeMap<RunId, JoinHandle<()>>,
}

impl Simulated {
    pub(crate) fn new(node: NodeName, log: LogHandle, news: mpsc::Sender<News>) -> Simulated {
        Simulated { node, log, news, timers: BTreeMap::new() }
    }

    /// Lets a run take its time, from its allocation on: so it survives a restart without a note of its own.
    pub(crate) fn begin(&mut self, order: std::sync::Arc<RunOrder>, now: UtcMicros) {
        let (log, news, node, run) = (self.log.clone(), self.news.clone(), self.node.clone(), order.run);
        self.timers.retain(|_, timer| !timer.is_finished());
        let timer = tokio::spawn(async move {
            let takes = match declared(&log, &order).await {
                Some(takes) => Some(takes),
                None => limit(&order),
            };
            // Without a limit and a declared time it goes on until it is told to end.
            let Some(takes) = takes else { return std::future::pending().await };
            let micros = i64::try_from(takes.as_micros()).unwrap_or(i64::MAX);
            let end = UtcMicros(order.allocated_at.0.saturating_add(micros));
            let left = u64::try_from(end.0.saturating_sub(now.0)).unwrap_or(0);
            tokio::time::sleep(Duration::from_micros(left)).await;
            let report = Report::simulated(&node, &order, end, EndCause::Exited);
            let _ = news.send(News::SimulatedEnd(run, report)).await;
        });
        self.timers.insert(run, timer);
    }

    /// Ends a run that was told to end.
    pub(crate) fn end_early(&mut self, order: &RunOrder, now: UtcMicros) {
        let cause = match order.wish {
            RunWish::Cancel => EndCause::Cancelled,
            RunWish::Requeue => EndCause::Requeued,
            RunWish::NodeDown => EndCause::NodeFailed,
            RunWish::Run | RunWish::Release => return,
        };
        let Some(timer) = self.timers.remove(&order.run) else { return };
        if timer.is_finished() {
            return;
        }
        timer.abort();
        let (news, run) = (self.news.clone(), order.run);
        let report = Report::simulated(&self.node, order, now, cause);
        tokio::spawn(async move {
            let _ = news.send(News::SimulatedEnd(run, report)).await;
        });
    }
}

async fn declared(log: &LogHandle, order: &RunOrder) -> Option<Duration> {
    let environment = log.blob(&order.spec.environment).await.ok().flatten()?;
    let entry =
        environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(DECLARED_SECONDS))?;
    let seconds: f64 = std::str::from_utf8(entry).ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn limit(order: &RunOrder) -> Option<Duration> {
    match order.time_limit {
        TimeLimit::Minutes(minutes) => Some(Duration::from_secs(u64::from(minutes) * 60)),
        TimeLimit::Unlimited => None,
    }
}
