//! Under which workload key a job is counted.

use daybook_model::Cluster;
use daybook_schemas::accounts::WorkloadKey;
use daybook_schemas::api::{ApiError, ErrorCode};
use daybook_schemas::node::AccountingEnforcement::Wckeys;

use super::accounts::name_of;

/// The key of a job of this user that asks for this one, as the job's event has it; absent: none.
///
/// Where the cluster tracks keys a job that names none gets its user's default, with a `*` before it: so the books show which
/// keys were chosen. With `AccountingStorageEnforce=wckeys` a key that is named must be one of the user's.
pub(super) fn wckey(cluster: &Cluster, user: &str, asked: Option<&str>) -> Result<Option<String>, ApiError> {
    let parameters = cluster.configured().map(|configured| &configured.parameters);
    let user = user.to_ascii_lowercase();
    let Some(asked) = asked.filter(|asked| !asked.is_empty()) else {
        let default = || {
            let known = cluster.accounts().users().get(user.as_str());
            format!("*{}", known.and_then(|known| known.default_wckey.as_deref()).unwrap_or_default())
        };
        return Ok(parameters.is_some_and(|parameters| parameters.track_wckeys).then(default));
    };
    let invalid = || ApiError::new(ErrorCode::InvalidWckey, "Invalid wckey specification");
    let name = name_of(asked).map_err(|_| invalid())?;
    let key = WorkloadKey { user, name };
    let is_known = || cluster.accounts().wckeys().contains(&key);
    if parameters.is_some_and(|parameters| parameters.enforces(Wckeys)) && !is_known() {
        return Err(invalid());
    }
    Ok(Some(key.name))
}
