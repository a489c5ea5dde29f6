//! Accounts, users, associations and QOS as they are shown.

use daybook_model::Cluster;
use daybook_schemas::api::AccountsView;

/// All of them.
pub fn accounts_view(cluster: &Cluster) -> AccountsView {
    let accounts = cluster.accounts();
    let mut qos: Vec<_> = accounts.all_qos().values().map(|qos| qos.as_ref().clone()).collect();
    qos.sort_by_key(|qos| qos.id);
    AccountsView {
        seq: cluster.position(),
        cluster: cluster.configured().map(|configured| configured.cluster_name.clone()).unwrap_or_default(),
        accounts: accounts.accounts().values().map(|account| account.as_ref().clone()).collect(),
        users: accounts.users().values().map(|user| user.as_ref().clone()).collect(),
        qos,
        wckeys: accounts.wckeys().iter().cloned().collect(),
        associations: accounts.associations().values().map(|own| own.as_ref().clone()).collect(),
    }
}
