use daybook_model::{Cluster, Node};
use daybook_schemas::Body;
use daybook_schemas::api::{ApiError, ErrorCode, NodeUpdateRequest, Peer};
use daybook_schemas::events::NodeUpdated;
use daybook_schemas::node::NodeUpdateState;

use super::{Decided, Decision};
use crate::authority::{Authority, not_the_owner};

/// The longest comment and the like, in bytes, and the most features.
const TEXT_BYTES_MAX: usize = 4_096;
const FEATURES_MAX: usize = 1_000;

/// `POST /v1/nodes/update`: all of the nodes, or none.
pub(crate) struct NodeUpdate(pub(crate) NodeUpdateRequest);

impl NodeUpdate {
    pub(super) fn decide(&self, cluster: &Cluster, authority: &Authority, peer: Peer) -> Decision {
        let request = &self.0;
        if !authority.is_administrator(cluster, peer.uid) {
            return Err(not_the_owner());
        }
        check_texts(request)?;
        let nodes: Option<Vec<&Node>> =
            request.nodes.iter().map(|name| cluster.nodes().get(name).map(AsRef::as_ref)).collect();
        let Some(nodes) = nodes.filter(|nodes| !nodes.is_empty()) else {
            return Err(ApiError::new(ErrorCode::InvalidNodeName, "Invalid node name specified"));
        };
        let mut bodies: Vec<Body> = Vec::new();
        for node in nodes {
            self.check(node)?;
            let change = NodeUpdated {
                node: node.definition.name.clone(),
                state: request.state.filter(|_| !(request.unless_idle && is_in_service(node))),
                reason: request.reason.clone(),
                weight: request.weight,
                features: request.features.clone(),
                active_features: request.active_features.clone(),
                comment: request.comment.clone(),
                extra: request.extra.clone(),
            };
            if change != NodeUpdated::new(node.definition.name.clone(), None, None) {
                bodies.push(change.into());
            }
        }
        Ok((Decided::default(), bodies))
    }

    fn check(&self, node: &Node) -> Result<(), ApiError> {
        let request = &self.0;
        let needs_reason = matches!(
            request.state,
            Some(NodeUpdateState::Drain | NodeUpdateState::Down | NodeUpdateState::Fail)
        );
        if needs_reason && request.reason.is_none() && node.reason.is_none() {
            return Err(ApiError::new(ErrorCode::InvalidRequest, "Invalid argument")
                .detail("You must specify a reason when DOWNING or DRAINING a node."));
        }
        if request.state == Some(NodeUpdateState::Resume) && !request.unless_idle && is_in_service(node) {
            return Err(ApiError::new(ErrorCode::InvalidNodeState, "Invalid node state specified"));
        }
        let available = request.features.as_ref().unwrap_or(&node.definition.features);
        let active = request.active_features.as_deref().unwrap_or(node.features());
        if active.iter().any(|feature| !available.contains(feature)) {
            return Err(ApiError::new(
                ErrorCode::InvalidRequest,
                "Active features not subset of available features",
            ));
        }
        if request.gres.as_ref().is_some_and(|gres| *gres != node.definition.gres) {
            return Err(ApiError::new(
                ErrorCode::InvalidRequest,
                "Invalid generic resource (gres) specification",
            )
            .detail(format!("the GPUs of {} are those of its configuration", node.definition.name)));
        }
        Ok(())
    }
}

/// Whether there is nothing that it could come back from.
fn is_in_service(node: &Node) -> bool {
    !node.drain && !node.down && !node.fail
}

fn check_texts(request: &NodeUpdateRequest) -> Result<(), ApiError> {
    let invalid = |what: &str| Err(ApiError::new(ErrorCode::InvalidRequest, "Invalid argument").detail(what));
    let texts = [&request.reason, &request.comment, &request.extra];
    if texts.into_iter().flatten().any(|text| text.len() > TEXT_BYTES_MAX || text.contains('\0')) {
        return invalid("a text is too long or has a NUL byte");
    }
    let features = [&request.features, &request.active_features];
    let is_legal = |name: &String| {
        !name.is_empty()
            && name.len() <= 256
            && name.chars().all(|c| c.is_ascii_graphic() && !"&|,()[]*".contains(c))
    };
    if features.into_iter().flatten().any(|list| list.len() > FEATURES_MAX || !list.iter().all(is_legal)) {
        return Err(ApiError::new(ErrorCode::InvalidRequest, "Invalid feature specification"));
    }
    Ok(())
}
