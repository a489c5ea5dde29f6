use daybook_schemas::Body;

use crate::cluster::Cluster;

/// Accounts are as their events say; the gateway has made sure that they hang together.
pub(super) fn changed(cluster: &mut Cluster, body: &Body) {
    let accounts = &mut cluster.accounts;
    match body {
        Body::AccountDefined(data) => accounts.define_account(data.account.clone()),
        Body::AccountRemoved(data) => accounts.remove_account(&data.account),
        Body::AssociationDefined(data) => accounts.define_association(data.association.clone()),
        Body::AssociationRemoved(data) => accounts.remove_association(data.id),
        Body::QosDefined(data) => accounts.define_qos(data.qos.clone()),
        Body::QosRemoved(data) => accounts.remove_qos(&data.qos),
        Body::UserDefined(data) => accounts.define_user(data.user.clone()),
        Body::UserRemoved(data) => accounts.remove_user(&data.user),
        Body::WckeyDefined(data) => accounts.define_wckey(data.key.clone()),
        Body::WckeyRemoved(data) => accounts.remove_wckey(&data.key),
        _ => {}
    }
}
