//! Limits of associations and QOS, as far as they bind at submission and at changes.

use std::sync::Arc;

use daybook_model::{Charge, Cluster, Need, Refusal};
use daybook_schemas::JobId;
use daybook_schemas::accounts::NORMAL_QOS;
use daybook_schemas::api::{ApiError, ErrorCode};
use daybook_schemas::job::{JobUser, ResourceRequest, TimeLimit};

use super::charging::Charging;
use super::partitions::Accepting;

/// For whom a job is counted that is submitted like this.
pub(super) fn charge_of(user: &JobUser, partitions: &Accepting, charging: &Charging) -> Charge {
    let partition = partitions.first().map(|partition| partition.name.as_str());
    Charge {
        partition: Arc::from(partition.unwrap_or_default()),
        qos: Arc::from(charging.qos.as_deref().unwrap_or(NORMAL_QOS)),
        account: Arc::from(charging.account.as_deref().unwrap_or_default()),
        user: Arc::from(user.name.to_ascii_lowercase()),
    }
}

/// The limit of a job that names none, where the longest that its QOS and associations allow is shorter than a partition
/// would give.
pub(super) fn default_limit(cluster: &Cluster, charge: &Charge, partitions: &Accepting) -> Option<TimeLimit> {
    let most = cluster.max_wall(charge)?;
    let mut limits = partitions.iter().map(|partition| cluster.resolve_time_limit(None, &partition.name));
    limits.any(|limit| limit > most).then_some(most)
}

/// So many more jobs like this break no limit on waiting jobs, nor, where the QOS denies them at once, any other.
pub(super) fn check_submission(
    cluster: &Cluster,
    charge: &Charge,
    (count, request, time): (u64, &ResourceRequest, TimeLimit),
) -> Result<(), ApiError> {
    if !cluster.enforces_limits() {
        return Ok(());
    }
    let need = Need::of_request(cluster, request, &charge.partition, time);
    told(cluster.submission_refusal(charge, count, &need))
}

/// A job that waits, and is changed to this. Who it is counted for already is not asked again; for others it comes anew.
pub(super) fn check_change(
    cluster: &Cluster,
    (id, before, charge): (JobId, &Charge, &Charge),
    (count, request, time): (u64, &ResourceRequest, TimeLimit),
) -> Result<(), ApiError> {
    if !cluster.enforces_limits() {
        return Ok(());
    }
    if before != charge {
        let mut others = cluster.clone();
        others.discount(id);
        return check_submission(&others, charge, (count, request, time));
    }
    let need = Need::of_request(cluster, request, &charge.partition, time);
    told(cluster.denial(charge, &need))
}

/// Slurm's two lines.
fn told(refusal: Option<Refusal>) -> Result<(), ApiError> {
    let Some(refusal) = refusal else { return Ok(()) };
    let what = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)";
    Err(ApiError::new(ErrorCode::AccountingPolicy, what).detail(refusal.reason.word()))
}
