//! A run whose script another node runs: here something is only held, until the orders say that it is over.

use std::sync::Arc;

use daybook_schemas::orders::{RunOrder, RunWish};
use daybook_schemas::{RunId, Seq};

use crate::agent::Node;
use crate::report::Report;
use crate::watch::Wishes;

/// Holds until the release, and reports it. `None`: the agent has stopped.
pub(crate) async fn hold(node: Arc<Node>, order: Arc<RunOrder>, mut wishes: Wishes) -> Option<Seq> {
    wishes.until(|wish| wish.wish == RunWish::Release).await?;
    release(&node, order.run, &mut wishes).await
}

/// Reports that nothing of a run is here any more.
pub(crate) async fn release(node: &Node, run: RunId, wishes: &mut Wishes) -> Option<Seq> {
    let report = Report::released(node.name(), run, node.clock.now());
    wishes.unless_stopped(node.reporter.append(report)).await?
}
