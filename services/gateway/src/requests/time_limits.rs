//! What is asked of time beside the limit itself: a shorter one to start earlier, and a deadline.

use daybook_model::Cluster;
use daybook_schemas::UtcMicros;
use daybook_schemas::api::{ApiError, ErrorCode};
use daybook_schemas::job::TimeLimit;

use super::partitions::Accepting;

/// The limits that a job has that names one, or none: then each partition gives its own.
pub(super) fn limits_in(
    cluster: &Cluster,
    partitions: &Accepting,
    asked: Option<TimeLimit>,
) -> Vec<TimeLimit> {
    partitions.iter().map(|partition| cluster.resolve_time_limit(asked, &partition.name)).collect()
}

/// The shortest limit that the job may be started with: of these limits, or what is shorter and will do.
pub(super) fn shortest(limits: &[TimeLimit], time_min: Option<TimeLimit>) -> TimeLimit {
    let limits = || limits.iter().copied();
    let found = match time_min {
        Some(least) => limits().max().map(|longest| longest.min(least)),
        None => limits().min(),
    };
    found.unwrap_or(TimeLimit::Unlimited)
}

/// The shortest limit is none that is longer than every limit that the job may have.
pub(super) fn check_time_min(time_min: Option<TimeLimit>, limits: &[TimeLimit]) -> Result<(), ApiError> {
    let is_longer = |least: TimeLimit| limits.iter().all(|limit| least > *limit);
    if time_min.is_some_and(is_longer) { Err(invalid_time_limit()) } else { Ok(()) }
}

/// A job that could not end before its deadline if it started now is refused. `least`: the shortest limit that it takes.
pub(super) fn check_deadline(
    deadline: Option<UtcMicros>,
    least: TimeLimit,
    now: UtcMicros,
) -> Result<(), ApiError> {
    let Some(deadline) = deadline else { return Ok(()) };
    let seconds = least.seconds().map_or(60, |seconds| i64::try_from(seconds).unwrap_or(i64::MAX));
    if now.plus_seconds(seconds) > deadline {
        return Err(invalid_time_limit().detail(format!("it could not end before its deadline, {deadline}")));
    }
    Ok(())
}

fn invalid_time_limit() -> ApiError {
    ApiError::new(
        ErrorCode::InvalidTimeLimit,
        "Requested time limit is invalid (missing or exceeds some limit)",
    )
}
