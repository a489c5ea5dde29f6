//! Runs on simulated nodes: they take their declared time, and no process.

use std::sync::Arc;
use std::time::Duration;

use daybook_schemas::orders::{RunOrder, RunWish};
use daybook_schemas::run::EndCause;
use daybook_schemas::{Seq, UtcMicros};
use daybook_supervisor::records::{Turn, Wish};

use crate::agent::Node;
use crate::held::release;
use crate::report::Report;
use crate::watch::Wishes;

/// The variable of a job's environment that declares its time: seconds, with a fraction where wanted.
const DECLARED_SECONDS: &[u8] = b"DAYBOOK_SIMULATED_SECONDS=";

/// Lets a run take its time, from its allocation on: so it survives a restart without a note of its own. `None`: the
/// agent has stopped.
pub(crate) async fn simulate(node: Arc<Node>, order: Arc<RunOrder>, mut wishes: Wishes) -> Option<Seq> {
    if wishes.newest().wish == RunWish::Release {
        return release(&node, order.run, &mut wishes).await;
    }
    let planned = planned_end(&order, wishes.unless_stopped(declared(&node, &order)).await?);
    let mut start = Some(Report::simulated_start(node.name(), order.run, order.allocated_at));
    let mut halts = Halts::of(&order);
    let (end, cause) = loop {
        let end = planned.0.map(|end| halts.later(end));
        let left = end.map(|end| left(end, node.clock.now()));
        let is_over = left.is_some_and(|left| left.is_zero()) && halts.stopped.is_none();
        // One that is over already (after a restart) tells start and end together.
        if !is_over && let Some(start) = start.take() {
            node.reporter.send(start).await;
        }
        // A run whose time was up before it heard of a wish has ended by itself.
        if is_over {
            break (end, planned.1);
        }
        let wish = wishes.newest();
        match wish.wish {
            RunWish::Run | RunWish::Suspend => {
                if let Some(turn) = halts.follow(&wish, node.clock.now()) {
                    node.reporter.send(Report::turned(node.name(), order.run, turn)).await;
                }
                let left = match wish.wish {
                    RunWish::Run => planned.0.map(|end| left_of(&halts, end, node.clock.now())),
                    _ => None,
                };
                tokio::select! {
                    biased;
                    () = sleep(left) => {}
                    changed = wishes.until(|newer| *newer != wish) => drop(changed?),
                }
            }
            // Warned that it is to give way, it goes on while it may.
            RunWish::GiveWay => {
                let ending =
                    |wish: &Wish| !matches!(wish.wish, RunWish::Run | RunWish::Suspend | RunWish::GiveWay);
                tokio::select! {
                    biased;
                    () = sleep(left) => break (end, planned.1),
                    told = wishes.until(ending) => break (None, told_cause(told?.wish)),
                    () = tokio::time::sleep(Duration::from_secs(wish.grace.0)) => break (None, EndCause::Preempted),
                }
            }
            told => break (None, told_cause(told)),
        }
    };
    let end = end.unwrap_or_else(|| node.clock.now());
    let report = Report::simulated_end(node.name(), order.run, end, cause).after(start);
    wishes.unless_stopped(node.reporter.append(report)).await?
}

/// When it was stopped. What the log knows of it comes with the order, so it needs no note of its own.
struct Halts {
    paused: Duration,
    stopped: Option<UtcMicros>,
    /// The last order that was answered.
    answered: Seq,
}

impl Halts {
    fn of(order: &RunOrder) -> Halts {
        let paused = Duration::from_micros(order.paused);
        Halts { paused, stopped: order.stopped, answered: Seq::ZERO }
    }

    /// An instant later by all pauses that are over.
    fn later(&self, instant: UtcMicros) -> UtcMicros {
        let paused = i64::try_from(self.paused.as_micros()).unwrap_or(i64::MAX);
        UtcMicros(instant.0.saturating_add(paused))
    }

    /// Stops or goes on; what is to be told of it.
    fn follow(&mut self, wish: &Wish, now: UtcMicros) -> Option<Turn> {
        let is_stop = wish.wish == RunWish::Suspend;
        if is_stop {
            self.stopped.get_or_insert(now);
        } else if let Some(since) = self.stopped.take() {
            self.paused += left(now, since);
        }
        let turn = Turn { is_stop, ordered: wish.ordered, at: now };
        let is_new = wish.ordered > std::mem::replace(&mut self.answered, wish.ordered);
        is_new.then_some(turn)
    }
}

/// How long it still takes if it is not stopped again.
fn left_of(halts: &Halts, end: UtcMicros, now: UtcMicros) -> Duration {
    left(halts.later(end), now)
}

/// `None`: for ever.
async fn sleep(longest: Option<Duration>) {
    match longest {
        Some(longest) => tokio::time::sleep(longest).await,
        None => std::future::pending().await,
    }
}

/// When it ends by itself, and as what. Without a declared time it takes its limit and has done its work by then; with
/// one beyond its limit the limit ends it.
fn planned_end(order: &RunOrder, declared: Option<Duration>) -> (Option<UtcMicros>, EndCause) {
    let limit = order.time_limit.seconds().map(Duration::from_secs);
    let (takes, cause) = match (declared, limit) {
        (Some(declared), Some(limit)) if declared > limit => (Some(limit), EndCause::TimeLimit),
        (Some(declared), _) => (Some(declared), EndCause::Exited),
        (None, limit) => (limit, EndCause::Exited),
    };
    let end = takes.map(|takes| {
        let micros = i64::try_from(takes.as_micros()).unwrap_or(i64::MAX);
        UtcMicros(order.allocated_at.0.saturating_add(micros))
    });
    (end, cause)
}

fn left(end: UtcMicros, now: UtcMicros) -> Duration {
    Duration::from_micros(u64::try_from(end.0.saturating_sub(now.0)).unwrap_or(0))
}

fn told_cause(wish: RunWish) -> EndCause {
    match wish {
        RunWish::Requeue => EndCause::Requeued,
        RunWish::NodeDown => EndCause::NodeFailed,
        RunWish::GiveWay => EndCause::Preempted,
        RunWish::UsedUp => EndCause::TimeLimit,
        RunWish::Run | RunWish::Suspend | RunWish::Cancel | RunWish::Release => EndCause::Cancelled,
    }
}

/// The declared time; an environment that cannot be read declares none.
async fn declared(node: &Node, order: &RunOrder) -> Option<Duration> {
    let environment = match node.log.blob(&order.spec.environment).await {
        Ok(environment) => environment?,
        Err(error) => {
            tracing::warn!(run = %order.run, %error, "the environment cannot be read; the run takes its time limit");
            return None;
        }
    };
    let entry =
        environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(DECLARED_SECONDS))?;
    parse_seconds(std::str::from_utf8(entry).ok()?.trim())
}

/// Decimal seconds, to the microsecond.
fn parse_seconds(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let seconds: u32 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let digits: String = fraction.chars().chain("000000".chars()).take(6).collect();
    Some(Duration::from_secs(u64::from(seconds)) + Duration::from_micros(digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_seconds_are_decimal() {
        let micros = |text| parse_seconds(text).map(|duration| duration.as_micros());
        for (text, expected) in [
            ("0", Some(0)),
            ("1", Some(1_000_000)),
            ("0.5", Some(500_000)),
            (".25", Some(250_000)),
            ("2.0000019", Some(2_000_001)),
            ("", None),
            (".", None),
            ("-1", None),
            ("1e3", None),
            ("1.x", None),
            ("99999999999", None),
        ] {
            assert_eq!(micros(text), expected, "{text}");
        }
    }
}
