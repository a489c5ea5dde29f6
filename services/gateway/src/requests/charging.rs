//! On whose account a job runs, and with which QOS.

use daybook_model::Cluster;
use daybook_schemas::api::{ApiError, ErrorCode};
use daybook_schemas::node::AccountingEnforcement::{Associations, Qos};

use super::partitions::Accepting;

/// An account and a QOS as a job's event has them; absent: none, and the cluster's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Charging {
    pub(super) account: Option<String>,
    pub(super) qos: Option<String>,
}

/// What a job of this user gets that asks for these. Of several partitions the first says which account and QOS it is, and
/// the others must allow it. Where nobody has set accounts up and nothing is enforced, what is asked for is taken as it is.
pub(super) fn charging(
    cluster: &Cluster,
    user: &str,
    partitions: &Accepting,
    account: Option<&str>,
    qos: Option<&str>,
) -> Result<Charging, ApiError> {
    let names: Vec<&str> = partitions.iter().map(|partition| partition.name.as_str()).collect();
    let Some((first, others)) = names.split_first() else {
        return charging_in(cluster, user, "", account, qos);
    };
    let found = charging_in(cluster, user, first, account, qos)?;
    for name in others {
        charging_in(cluster, user, name, found.account.as_deref(), found.qos.as_deref())?;
    }
    Ok(found)
}

fn charging_in(
    cluster: &Cluster,
    user: &str,
    partition: &str,
    account: Option<&str>,
    qos: Option<&str>,
) -> Result<Charging, ApiError> {
    let accounts = cluster.accounts();
    let enforces = |what| cluster.configured().is_some_and(|configured| configured.parameters.enforces(what));
    let user = user.to_ascii_lowercase();
    let account = account.map(str::to_ascii_lowercase);
    let account = account.or_else(|| accounts.default_account(&user).map(str::to_string));
    let association = account.as_deref().and_then(|account| accounts.of_job(&user, account, partition));
    if association.is_none() && enforces(Associations) {
        return Err(ApiError::new(
            ErrorCode::InvalidAccount,
            "Invalid account or account/partition combination specified",
        ));
    }
    let invalid_qos = || ApiError::new(ErrorCode::InvalidQos, "Invalid qos specification");
    let asked = qos.map(str::to_ascii_lowercase);
    let qos = asked.or_else(|| association.map(|own| accounts.default_qos_of(own).to_string()));
    if let Some(name) = &qos {
        let must_exist = accounts.are_used() || enforces(Qos);
        if name.is_empty() || (must_exist && accounts.qos(name).is_none()) {
            return Err(invalid_qos());
        }
        let is_listed = |name: &String| association.is_some_and(|own| accounts.qos_of(own).contains(name));
        if enforces(Qos) && !is_listed(name) {
            return Err(invalid_qos());
        }
    }
    Ok(Charging { account, qos })
}
