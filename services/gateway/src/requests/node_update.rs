use daybook_model::Cluster;
use daybook_schemas::Body;
use daybook_schemas::api::{ApiError, ErrorCode, NodeUpdateRequest, Peer};
use daybook_schemas::events::NodeUpdated;
use daybook_schemas::node::NodeUpdateState;

use super::{Decided, Decision};
use crate::authority::Authority;

/// `POST /v1/nodes/update`: all of the nodes, or none.
pub(crate) struct NodeUpdate(pub(crate) NodeUpdateRequest);

impl NodeUpdate {
    pub(super) fn decide(&self, cluster: &Cluster, authority: &Authority, peer: Peer) -> Decision {
        let request = &self.0;
        if !authority.is_administrator(cluster, peer.uid) {
            return Err(ApiError::new(ErrorCode::PermissionDenied, "Invalid user id"));
        }
        if request.nodes.is_empty() || request.nodes.iter().any(|name| !cluster.nodes().contains_key(name)) {
            return Err(ApiError::new(ErrorCode::InvalidNodeName, "Invalid node name specified"));
        }
        let needs_reason = matches!(request.state, Some(NodeUpdateState::Drain | NodeUpdateState::Down));
        let has_reason = |name| cluster.nodes().get(name).is_some_and(|node| node.reason.is_some());
        if needs_reason && request.reason.is_none() && !request.nodes.iter().all(has_reason) {
            return Err(ApiError::new(ErrorCode::InvalidRequest, "Invalid argument")
                .detail("You must specify a reason when DOWNING a node."));
        }
        if request.state == Some(NodeUpdateState::Resume) {
            let idle = |name| cluster.nodes().get(name).is_some_and(|node| !node.drain && !node.down);
            if request.nodes.iter().all(idle) {
                return Err(ApiError::new(ErrorCode::InvalidNodeState, "Invalid node state specified"));
            }
        }
        let bodies = request.nodes.iter().map(|node| {
            NodeUpdated { node: node.clone(), state: request.state, reason: request.reason.clone() }.into()
        });
        let bodies: Vec<Body> = bodies.collect();
        Ok((Decided::default(), bodies))
    }
}
