use daybook_schemas::Body;

use crate::cluster::Cluster;

/// Accounts are as their events say; the gateway has made sure that they hang together.
pub(super) fn changed(cluster: &mut Cluster, body: &Body) {
    if let Body::AssociationRemoved(data) = body {
        cluster.hand_usage_up(data.id);
    }
    cluster.accounts.apply(body);
    cluster.note_stale_charges();
}
