use daybook_model::Cluster;
use daybook_schemas::api::{ApiError, ErrorCode, Peer};
use daybook_schemas::events::ClusterConfigured;
use daybook_schemas::grammar::hostlist;
use daybook_schemas::node::NodeDefinition;

use super::{Decided, Decision};
use crate::authority::Authority;

/// `POST /v1/reconfigure`, with what the files say.
pub(crate) struct Reconfigure(pub(crate) ClusterConfigured);

impl Reconfigure {
    pub(super) fn decide(&self, cluster: &Cluster, authority: &Authority, peer: Peer) -> Decision {
        may_reconfigure(cluster, authority, peer)?;
        if cluster.is_in_force(&self.0) {
            return Ok((Decided::default(), Vec::new()));
        }
        if let Some(configured) = cluster.configured() {
            check_nodes(configured, &self.0)?;
        }
        Ok((Decided::default(), vec![self.0.clone().into()]))
    }
}

/// Whether this user may have the files read again.
pub(crate) fn may_reconfigure(cluster: &Cluster, authority: &Authority, peer: Peer) -> Result<(), ApiError> {
    match authority.is_administrator(cluster, peer.uid) {
        true => Ok(()),
        false => Err(ApiError::new(ErrorCode::PermissionDenied, "Invalid user id")),
    }
}

/// The agents have their nodes' descriptions from the start: of a node only its weight and its features may change.
fn check_nodes(in_force: &ClusterConfigured, new: &ClusterConfigured) -> Result<(), ApiError> {
    let as_started = |node: &NodeDefinition| NodeDefinition {
        weight: 1,
        features: Vec::new(),
        initial: None,
        ..node.clone()
    };
    let find = |configured: &ClusterConfigured, node: &NodeDefinition| {
        configured.nodes.iter().find(|other| other.name == node.name).map(as_started)
    };
    let differs = |node: &&NodeDefinition| find(in_force, node) != Some(as_started(node));
    let is_gone = |node: &&NodeDefinition| find(new, node).is_none();
    let names: Vec<&str> = new
        .nodes
        .iter()
        .filter(differs)
        .chain(in_force.nodes.iter().filter(is_gone))
        .map(|node| node.name.as_str())
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    let names = hostlist::compress(names);
    Err(ApiError::new(ErrorCode::NotSupported, "Nodes are read at the start of daybookd only").detail(format!(
        "nodes came, went or changed in more than weight and features: {names}; nothing was changed; restart \
         daybookd (jobs go on)"
    )))
}
