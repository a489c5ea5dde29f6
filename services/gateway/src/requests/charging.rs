//! On whose account a job runs, and with which QOS.

use daybook_model::Cluster;
use daybook_schemas::api::{ApiError, ErrorCode};
use daybook_schemas::node::AccountingEnforcement::{Associations, Qos};

/// An account and a QOS as a job's event has them; absent: none, and the cluster's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Charging {
    pub(super) account: Option<String>,
    pub(super) qos: Option<String>,
}

/// What a job of this user in this partition gets that asks for these. Where nobody has set accounts up and nothing is
/// enforced, what is asked for is taken as it is.
pub(super) fn charging(
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
