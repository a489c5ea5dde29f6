//! Runs on simulated nodes: they take their declared time, and no process.

use std::sync::Arc;
use std::time::Duration;

use daybook_schemas::orders::{RunOrder, RunWish};
use daybook_schemas::run::EndCause;
use daybook_schemas::{Seq, UtcMicros};

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
    let (end, cause) = planned_end(&order, wishes.unless_stopped(declared(&node, &order)).await?);
    let mut start = Some(Report::simulated_start(node.name(), order.run, order.allocated_at));
    let left = end.map(|end| left(end, node.clock.now()));
    let by_itself = async {
        match left {
            Some(left) => tokio::time::sleep(left).await,
            None => std::future::pending().await,
        }
    };
    // One that is over already (after a restart) tells start and end together.
    if !left.is_some_and(|left| left.is_zero())
        && let Some(start) = start.take()
    {
        node.reporter.send(start).await;
    }
    tokio::pin!(by_itself);
    // A run whose time was up before it heard of a wish has ended by itself.
    let wish = tokio::select! {
        biased;
        () = &mut by_itself => None,
        wish = wishes.until(|wish| wish.wish != RunWish::Run) => Some(wish?),
    };
    // Warned that it is to give way, it goes on while it may.
    let grace = wish.as_ref().filter(|wish| wish.wish == RunWish::GiveWay).map(|wish| wish.grace.0);
    let wish = match (wish, grace) {
        (Some(warning), Some(grace)) => tokio::select! {
            biased;
            () = &mut by_itself => None,
            wish = wishes.until(|wish| !matches!(wish.wish, RunWish::Run | RunWish::GiveWay)) => Some(wish?),
            () = tokio::time::sleep(Duration::from_secs(grace)) => Some(warning),
        },
        (wish, _) => wish,
    };
    let (end, cause) = match wish {
        None => (end.unwrap_or_else(|| node.clock.now()), cause),
        Some(wish) => (node.clock.now(), told_cause(wish.wish)),
    };
    let report = Report::simulated_end(node.name(), order.run, end, cause).after(start);
    wishes.unless_stopped(node.reporter.append(report)).await?
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
        RunWish::Run | RunWish::Cancel | RunWish::Release => EndCause::Cancelled,
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
