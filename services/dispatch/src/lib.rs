//! What each node should be doing now.
//!
//! [`desired_set`] derives it from the model; [`Dispatch`] keeps each subscribed node's set up to date. A set's
//! generation is the position that it was derived from, so a newer one never has a lower number. Dispatch decides
//! nothing: it says what the log has decided.

mod orders;

pub use orders::desired_set;

use std::collections::BTreeMap;
use std::sync::Arc;

use daybook_log::follow::Live;
use daybook_model::Cluster;
use daybook_schemas::orders::DesiredSet;
use daybook_schemas::{NodeName, Seq};
use tokio::sync::watch;

use orders::OrderCache;

/// The orders of the nodes that agents have subscribed to.
pub struct Dispatch {
    sets: BTreeMap<NodeName, watch::Receiver<Arc<DesiredSet>>>,
}

impl Dispatch {
    /// Starts to keep the sets of these nodes. Must be called inside a tokio runtime; ends with the projection.
    pub fn start(live: &Live<Cluster>, nodes: impl IntoIterator<Item = NodeName>) -> Dispatch {
        let mut sets = BTreeMap::new();
        let mut kept = Vec::new();
        for node in nodes {
            let empty = DesiredSet { node: node.clone(), generation: Seq::ZERO, runs: Vec::new() };
            let (publish, set) = watch::channel(Arc::new(empty));
            kept.push(Kept { node: node.clone(), publish, cache: OrderCache::default(), shown: None });
            sets.insert(node, set);
        }
        tokio::spawn(keep(live.subscribe(), kept));
        Dispatch { sets }
    }

    /// A node's orders; `None` for a node that was not named at the start.
    pub fn orders(&self, node: &NodeName) -> Option<watch::Receiver<Arc<DesiredSet>>> {
        self.sets.get(node).cloned()
    }
}

/// One node's set as it was published last.
struct Kept {
    node: NodeName,
    publish: watch::Sender<Arc<DesiredSet>>,
    cache: OrderCache,
    /// `changed` of the node then; `None`: nothing published yet.
    shown: Option<Seq>,
}

async fn keep(mut snapshots: watch::Receiver<Arc<Cluster>>, mut kept: Vec<Kept>) {
    loop {
        let cluster = snapshots.borrow_and_update().clone();
        for one in &mut kept {
            let changed = cluster.nodes().get(&one.node).map(|node| node.changed);
            if changed != one.shown {
                one.publish.send_replace(Arc::new(one.cache.desired_set(&cluster, &one.node)));
                one.shown = changed;
            }
        }
        if snapshots.changed().await.is_err() {
            return;
        }
    }
}
