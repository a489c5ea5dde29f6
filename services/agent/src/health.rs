//! Runs the site's own check of the node: before it is registered, and then at every interval.

use std::sync::Arc;
use std::time::Duration;

use daybook_schemas::orders::DesiredSet;
use daybook_schemas::{NodeName, Seconds, UtcMicros};
use daybook_supervisor::environment::PROGRAM_PATH;
use daybook_supervisor::health::NodeLoad;
use tokio::sync::{oneshot, watch};

use crate::agent::Node;
use crate::watch::told_to_stop;

const MICROS: i64 = 1_000_000;

/// Runs it once, unless the agent stops.
pub(crate) async fn check(node: &Arc<Node>, stopped: &mut watch::Receiver<bool>) {
    let health = &node.config.health;
    if health.programs.are_none() || node.config.node.simulated {
        return;
    }
    let mut environment = vec![
        ("PATH".to_string(), PROGRAM_PATH.to_string()),
        ("SLURMD_NODENAME".to_string(), node.name().to_string()),
    ];
    if !node.config.care.slurm_conf.is_empty() {
        environment.push(("SLURM_CONF".to_string(), node.config.care.slurm_conf.clone()));
    }
    let programs = health.programs.clone();
    let (ended, end) = oneshot::channel();
    // A thread of its own: the agent's stop does not wait for it, and the program ends with it.
    let began = std::thread::Builder::new().name("health check".to_string()).spawn(move || {
        let _ = ended.send(programs.run(&environment));
    });
    let end = async {
        match began {
            Ok(_) => end.await.unwrap_or(Ok(())),
            Err(error) => Err(error.to_string()),
        }
    };
    tokio::select! {
        biased;
        () = told_to_stop(stopped) => {}
        end = end => if let Err(why) = end {
            tracing::error!(node = %node.name(), why, "the health check failed; what follows is the program's to say");
        }
    }
}

/// Runs it again and again, until the agent stops.
pub(crate) async fn check_regularly(
    node: Arc<Node>,
    orders: watch::Receiver<Arc<DesiredSet>>,
    mut stopped: watch::Receiver<bool>,
) {
    let health = &node.config.health;
    let Some(interval) = health.interval.filter(|interval| interval.0 > 0) else { return };
    let offset = if health.is_spread { own_moment(node.name(), interval) } else { Duration::ZERO };
    loop {
        let pause = until_next(node.clock.now(), interval, offset);
        tokio::select! {
            biased;
            () = told_to_stop(&mut stopped) => return,
            () = tokio::time::sleep(pause) => {}
        }
        let load = load(node.name(), node.config.node.cpus, &orders.borrow());
        if health.is_for(load) {
            check(&node, &mut stopped).await;
        }
    }
}

/// A node's place in an interval: the same after each start, and spread over the nodes.
fn own_moment(name: &NodeName, interval: Seconds) -> Duration {
    let mixed = name.as_str().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |mixed, byte| {
        (mixed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Duration::from_secs(mixed % interval.0)
}

/// From now to the next multiple of the interval, counted from the epoch, and `offset` behind it: without one the same
/// moment on all nodes, so that parallel programs are disturbed at once. Never zero.
fn until_next(now: UtcMicros, interval: Seconds, offset: Duration) -> Duration {
    let interval =
        i64::try_from(interval.0).unwrap_or(i64::MAX / MICROS).clamp(1, i64::MAX / MICROS) * MICROS;
    let offset = i64::try_from(offset.as_micros()).unwrap_or(0);
    let into = now.0.saturating_sub(offset).rem_euclid(interval);
    Duration::from_micros(u64::try_from(interval - into).unwrap_or(1))
}

fn load(name: &NodeName, cpus: u32, orders: &DesiredSet) -> NodeLoad {
    let here = orders.runs.iter().flat_map(|order| order.nodes.iter().filter(|share| share.node == *name));
    NodeLoad::of(here.map(|share| share.cpus.len()).sum(), cpus.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_nodes_check_at_the_same_moment_unless_they_are_spread() {
        let next = |now: i64, offset: u64| {
            until_next(UtcMicros(now * MICROS), Seconds(300), Duration::from_secs(offset)).as_secs()
        };
        assert_eq!((next(600, 0), next(601, 0), next(899, 0)), (300, 299, 1));
        assert_eq!((next(600, 10), next(610, 10), next(611, 10)), (10, 300, 299));
        let moments: Vec<u64> =
            ["n1", "n2", "n3"].map(|name| own_moment(&name.into(), Seconds(300)).as_secs()).to_vec();
        let mut distinct = moments.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 3, "{moments:?}");
        assert!(moments.iter().all(|moment| *moment < 300));
    }
}
