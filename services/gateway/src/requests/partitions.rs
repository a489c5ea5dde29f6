//! Which partitions a job may be submitted to.

use std::sync::Arc;

use daybook_model::Cluster;
use daybook_model::fit::{self, Impossible, admission_refusal, could_ever_start, partition_limit};
use daybook_schemas::api::{ApiError, ErrorCode};
use daybook_schemas::job::{JobUser, Reason, ResourceRequest, TimeLimit};
use daybook_schemas::node::PartitionDefinition;
use nix::unistd::{Gid, Group, getgrouplist};

/// Partitions that accept jobs, in the order in which they are named; at least one.
pub(super) type Accepting = Vec<Arc<PartitionDefinition>>;

/// The partitions that a comma list names, each once. As in Slurm those that accept no jobs are left out, as long as
/// others are left.
pub(super) fn accepting(cluster: &Cluster, names: &str) -> Result<Accepting, ApiError> {
    let mut found: Accepting = Vec::new();
    let mut unknown: Vec<&str> = Vec::new();
    for name in names.split(',') {
        match cluster.partition(name) {
            Some(partition) if found.iter().all(|known| known.name != name) => found.push(partition.clone()),
            Some(_) => {}
            None => unknown.push(name),
        }
    }
    if !unknown.is_empty() {
        return Err(ApiError::new(ErrorCode::InvalidPartition, "Invalid partition name specified")
            .detail(format!("invalid partition specified: {}", unknown.join(","))));
    }
    found.retain(|partition| partition.accepts_jobs());
    if found.is_empty() {
        return Err(ApiError::new(
            ErrorCode::InvalidPartition,
            "Required partition not available (inactive or drain)",
        ));
    }
    Ok(found)
}

/// The names, joined by commas: what a job has as its partition.
pub(super) fn joined(partitions: &Accepting) -> String {
    partitions.iter().map(|partition| partition.name.as_str()).collect::<Vec<_>>().join(",")
}

/// Who submits, and from where.
pub(super) struct Submitter<'a> {
    pub(super) user: &'a JobUser,
    /// Root, or one of the cluster's administrators.
    pub(super) is_administrator: bool,
    pub(super) host: &'a str,
}

/// Refuses who may not use a partition, whatever `EnforcePartLimits` says.
pub(super) fn check_access(partition: &PartitionDefinition, who: &Submitter<'_>) -> Result<(), ApiError> {
    let name = &partition.name;
    let denied =
        |why: String| Err(ApiError::new(ErrorCode::PermissionDenied, "Access/permission denied").detail(why));
    if partition.root_only && !who.is_administrator {
        return denied(format!("partition {name} is for administrators only (RootOnly)"));
    }
    if partition.no_root_jobs && who.user.uid == 0 {
        return denied(format!("partition {name} takes no jobs of root (DisableRootJobs)"));
    }
    if let Some(groups) = &partition.allow_groups
        && !who.is_administrator
        && !is_in_one_of(who.user, groups)
    {
        return Err(ApiError::new(
            ErrorCode::PermissionDenied,
            "User's group not permitted to use this partition",
        ));
    }
    if let Some(hosts) = &partition.submit_hosts
        && !hosts.iter().any(|host| is_same_host(host, who.host))
    {
        return denied(format!("partition {name} takes no jobs from {} (AllocNodes)", who.host));
    }
    Ok(())
}

fn is_same_host(one: &str, other: &str) -> bool {
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    one.eq_ignore_ascii_case(other) || short(one) == short(other)
}

/// Whether a user is in one of these groups, by this machine's user database.
fn is_in_one_of(user: &JobUser, groups: &[String]) -> bool {
    if groups.contains(&user.group) {
        return true;
    }
    let Ok(name) = std::ffi::CString::new(user.name.as_str()) else { return false };
    let own = getgrouplist(&name, Gid::from_raw(user.gid)).unwrap_or_default();
    groups.iter().any(|group| {
        let found = Group::from_name(group).ok().flatten();
        found.is_some_and(|group| own.contains(&group.gid))
    })
}

/// Refuses nodes and features that are not known.
pub(super) fn check_names(cluster: &Cluster, request: &ResourceRequest) -> Result<(), ApiError> {
    fit::check_names(cluster, request).map_err(impossible)
}

/// Refuses what no partition could ever give; of several the first says why.
pub(super) fn check_fits(
    cluster: &Cluster,
    partitions: &Accepting,
    request: &ResourceRequest,
) -> Result<(), ApiError> {
    at_least_one(partitions, |partition| {
        could_ever_start(cluster, &partition.name, request).map_err(impossible)
    })
}

fn at_least_one(
    partitions: &Accepting,
    check: impl Fn(&PartitionDefinition) -> Result<(), ApiError>,
) -> Result<(), ApiError> {
    let mut first = None;
    for partition in partitions {
        match check(partition) {
            Ok(()) => return Ok(()),
            Err(error) => drop(first.get_or_insert(error)),
        }
    }
    first.map_or(Ok(()), Err)
}

fn impossible(why: Impossible) -> ApiError {
    let code = match why {
        Impossible::NoPartition(_) => ErrorCode::InvalidPartition,
        Impossible::NoNode(_) => ErrorCode::InvalidNodeName,
        Impossible::NodeCount => ErrorCode::NodeCountInvalid,
        Impossible::NoFeature(_)
        | Impossible::CpusPerNode
        | Impossible::MemoryPerNode
        | Impossible::NodeConfiguration => ErrorCode::UnavailableConfiguration,
    };
    let error = ApiError::new(code, why.to_string());
    match why.detail() {
        Some(detail) => error.detail(detail),
        None => error,
    }
}

/// What is asked of a partition, as far as its limits go.
pub(super) struct Asked<'a> {
    pub(super) request: &'a ResourceRequest,
    pub(super) time_limit: Option<TimeLimit>,
    pub(super) account: &'a str,
    pub(super) qos: &'a str,
}

/// `EnforcePartLimits`: what breaks a limit of a partition (`ANY`: of every partition) is refused and does not wait for
/// better times.
pub(super) fn check_limits(
    cluster: &Cluster,
    partitions: &Accepting,
    asked: &Asked<'_>,
) -> Result<(), ApiError> {
    let Some(parameters) = cluster.configured().map(|configured| &configured.parameters) else {
        return Ok(());
    };
    let lifted = cluster.lifted(asked.qos);
    let check = |partition: &PartitionDefinition| {
        let partition = &*lifted.of(partition);
        let limit = asked.time_limit.unwrap_or(TimeLimit::Seconds(0));
        let broken = partition_limit(cluster, partition, asked.request, limit)
            .or_else(|| admission_refusal(partition, asked.account, asked.qos).map(|(reason, _)| reason));
        broken.map_or(Ok(()), |reason| Err(broken_limit(reason)))
    };
    match (parameters.enforce_partition_limits, parameters.one_partition_suffices) {
        (false, _) => Ok(()),
        (true, true) => at_least_one(partitions, check),
        (true, false) => partitions.iter().try_for_each(|partition| check(partition)),
    }
}

fn broken_limit(reason: Reason) -> ApiError {
    let (code, message) = match reason {
        Reason::PartitionTimeLimit => {
            (ErrorCode::InvalidTimeLimit, "Requested time limit is invalid (missing or exceeds some limit)")
        }
        Reason::PartitionNodeLimit => (ErrorCode::NodeCountInvalid, "Node count specification invalid"),
        Reason::MaxMemPerLimit => {
            (ErrorCode::UnavailableConfiguration, "Memory required by task is not available")
        }
        Reason::InvalidAccount => {
            (ErrorCode::InvalidAccount, "Invalid account or account/partition combination specified")
        }
        Reason::InvalidQos => (ErrorCode::InvalidQos, "Invalid qos specification"),
        _ => (ErrorCode::UnavailableConfiguration, "More processors requested than permitted"),
    };
    ApiError::new(code, message)
}

#[cfg(test)]
mod tests;
