use daybook_model::Cluster;
use daybook_schemas::api::{
    ApiError, ENVIRONMENT_BYTES_MAX, ErrorCode, JobSubmission, Peer, SCRIPT_BYTES_MAX,
};
use daybook_schemas::events::JobSubmitted;
use daybook_schemas::grammar::license;
use daybook_schemas::job::{Dependency, JobSpec, JobUser, ResourceRequest};
use daybook_schemas::{BlobHash, JobId, UtcMicros};

use super::charging::{Charging, charging};
use super::limits::{charge_of, check_submission, default_limit};
use super::partitions::{
    Accepting, Asked, Submitter, accepting, check_access, check_fits, check_limits, check_names, joined,
};
use super::reservation::check_named;
use super::time_limits::{check_deadline, check_time_min, limits_in, shortest};
use super::wckey::wckey;
use super::{Decided, Decision};
use crate::authority::Authority;

/// The longest job name, path or other text of a job, in bytes.
const TEXT_BYTES_MAX: usize = 4096;
/// The most arguments behind a script's name.
const ARGUMENTS_MAX: usize = 4096;
/// The QOS of jobs that name none.
const DEFAULT_QOS: &str = "normal";
/// The most conditions of a dependency.
const CONDITIONS_MAX: usize = 1024;

/// `POST /v1/jobs`, with the payload already hashed.
pub(crate) struct Submission {
    pub(crate) asked: JobSubmission,
    pub(crate) user: JobUser,
    pub(crate) script: BlobHash,
    pub(crate) script_bytes: u64,
    pub(crate) environment: BlobHash,
}

impl Submission {
    pub(super) fn decide(
        &self,
        cluster: &Cluster,
        authority: &Authority,
        peer: Peer,
        (next_id, now): (JobId, UtcMicros),
    ) -> Decision {
        let asked = &self.asked;
        let is_administrator = authority.is_administrator(cluster, peer.uid);
        if asked.nice < 0 && !authority.is_operator(cluster, peer.uid) {
            return Err(ApiError::new(ErrorCode::InvalidRequest, "Invalid --nice value"));
        }
        let configured = cluster
            .configured()
            .ok_or_else(|| ApiError::new(ErrorCode::NotReady, "the cluster is not configured yet"))?;
        let parameters = &configured.parameters;
        let partitions = self.partitions(cluster)?;
        let submitter = Submitter { user: &self.user, is_administrator, host: &asked.submit_host };
        partitions.iter().try_for_each(|partition| check_access(partition, &submitter))?;
        let (account, qos) = (asked.account.as_deref(), asked.qos.as_deref());
        let charging = charging(cluster, &self.user.name, &partitions, account, qos)?;
        check_request(&asked.request)?;
        check_licenses(cluster, &asked.request)?;
        let charge = charge_of(&self.user, &partitions, &charging);
        let time_limit = asked.time_limit.or_else(|| default_limit(cluster, &charge, &partitions));
        // As in Slurm a held job may ask for more than there is (that is looked at when it is released), but by known names.
        match asked.hold {
            true => check_names(cluster, &asked.request)?,
            false => check_fits(cluster, &partitions, &asked.request)?,
        }
        if let Some(names) = &asked.reservation {
            let account = charging.account.as_deref().unwrap_or_default();
            check_named(cluster, names, self.user.uid, account, now.max(cluster.time()))?;
        }
        let of_partition = Asked {
            request: &asked.request,
            time_limit,
            account: charging.account.as_deref().unwrap_or_default(),
            qos: charging.qos.as_deref().unwrap_or(DEFAULT_QOS),
        };
        check_limits(cluster, &partitions, &of_partition)?;
        let limits = limits_in(cluster, &partitions, time_limit);
        check_time_min(asked.time_min, &limits)?;
        check_deadline(asked.deadline, shortest(&limits, asked.time_min), now)?;
        let ids = array_ids(asked, parameters.max_array_size)?;
        check_dependencies(asked, next_id.0..next_id.0.saturating_add(ids))?;
        let least = shortest(&limits, asked.time_min);
        check_submission(cluster, &charge, (ids.into(), &asked.request, least))?;
        let waiting = cluster.jobs().len() - cluster.ended_count();
        if waiting >= parameters.max_job_count as usize {
            return Err(ApiError::new(
                ErrorCode::TooManyJobs,
                "Slurm temporarily unable to accept job, sleeping and retrying",
            )
            .detail(format!("MaxJobCount={} is reached", parameters.max_job_count)));
        }
        if next_id.0.checked_add(ids).is_none() {
            return Err(ApiError::new(ErrorCode::TooManyJobs, "no job ids are left"));
        }
        let wckey = wckey(cluster, &self.user.name, asked.wckey.as_deref())?;
        let spec =
            JobSpec { time_limit, wckey, ..self.spec(joined(&partitions), charging, parameters.job_requeue) };
        let decided = Decided { job: Some(next_id), ..Decided::default() };
        Ok((decided, vec![JobSubmitted { job: next_id, ids, spec }.into()]))
    }

    fn partitions(&self, cluster: &Cluster) -> Result<Accepting, ApiError> {
        if let Some(names) = &self.asked.partition {
            return accepting(cluster, names);
        }
        let partitions = cluster.configured().map_or(&[][..], |configured| &configured.partitions);
        let default = partitions.iter().find(|partition| partition.default).ok_or_else(|| {
            ApiError::new(ErrorCode::InvalidPartition, "No partition specified or system default partition")
        })?;
        accepting(cluster, &default.name)
    }

    fn spec(&self, partition: String, charging: Charging, requeue_by_default: bool) -> JobSpec {
        let asked = self.asked.clone();
        JobSpec {
            name: asked.name,
            user: self.user.clone().into(),
            account: charging.account,
            partition,
            qos: charging.qos,
            wckey: None,
            request: asked.request.into(),
            time_limit: asked.time_limit,
            begin: asked.begin,
            dependencies: asked.dependencies.filter(|dependencies| !dependencies.conditions.is_empty()),
            kill_on_invalid_dependency: asked.kill_on_invalid_dependency,
            keep_on_invalid_dependency: asked.keep_on_invalid_dependency,
            time_min: asked.time_min,
            deadline: asked.deadline,
            hold: asked.hold,
            nice: asked.nice,
            requeue: asked.requeue.unwrap_or(requeue_by_default),
            array: asked.array,
            reservation: asked.reservation,
            script: self.script.clone(),
            script_bytes: self.script_bytes,
            command: asked.command,
            arguments: asked.arguments,
            environment: self.environment.clone(),
            work_dir: asked.work_dir,
            std_in: asked.std_in,
            std_out: asked.std_out,
            std_err: asked.std_err,
            open_mode: asked.open_mode,
            umask: asked.umask,
            resource_limits: asked.resource_limits.into(),
            comment: asked.comment,
            submit_host: asked.submit_host,
            submit_line: asked.submit_line,
            session: asked.session,
        }
    }
}

/// What can be judged of a submission without the cluster: sizes and texts.
pub(crate) fn check_payload(asked: &JobSubmission) -> Result<(), ApiError> {
    let invalid =
        |what: String| Err(ApiError::new(ErrorCode::InvalidRequest, "Invalid job submission").detail(what));
    if asked.script.0.is_empty() {
        return invalid("the batch script is empty".to_string());
    }
    if asked.script.0.len() > SCRIPT_BYTES_MAX {
        return Err(ApiError::new(
            ErrorCode::TooLarge,
            "Pathname of a file, directory or other parameter too long",
        )
        .detail(format!(
            "the batch script has {} bytes, at most {SCRIPT_BYTES_MAX} are accepted",
            asked.script.0.len()
        )));
    }
    let environment: usize = asked.environment.iter().map(|entry| entry.0.len() + 1).sum();
    if environment > ENVIRONMENT_BYTES_MAX {
        return Err(ApiError::new(
            ErrorCode::TooLarge,
            "Pathname of a file, directory or other parameter too long",
        )
        .detail(format!(
            "the environment has {environment} bytes, at most {ENVIRONMENT_BYTES_MAX} are accepted"
        )));
    }
    if asked.environment.iter().any(|entry| entry.0.contains(&0) || !entry.0.contains(&b'=')) {
        return invalid("an environment entry has no = or has a NUL byte".to_string());
    }
    let texts = [Some(&asked.name), Some(&asked.work_dir), asked.std_in.as_ref(), asked.std_out.as_ref()];
    let more =
        [asked.std_err.as_ref(), asked.comment.as_ref(), asked.command.as_ref(), Some(&asked.submit_host)];
    let all = texts.into_iter().chain(more).flatten().chain(&asked.arguments);
    for text in all {
        if text.len() > TEXT_BYTES_MAX * 32 || text.contains('\0') {
            return invalid("a text is too long or has a NUL byte".to_string());
        }
    }
    if asked.name.len() > TEXT_BYTES_MAX || asked.name.is_empty() || asked.arguments.len() > ARGUMENTS_MAX {
        return invalid("the job's name is empty or too long, or it has too many arguments".to_string());
    }
    if !asked.work_dir.starts_with('/') {
        return invalid(format!("the working directory {} is not absolute", asked.work_dir));
    }
    Ok(())
}

pub(super) fn check_request(request: &ResourceRequest) -> Result<(), ApiError> {
    let node_count = || Err(ApiError::new(ErrorCode::NodeCountInvalid, "Node count specification invalid"));
    if request.nodes_min == 0 || request.nodes_max.is_some_and(|most| most < request.nodes_min) {
        return node_count();
    }
    if request.tasks == 0 || request.cpus_per_task == 0 || request.tasks_per_node == Some(0) {
        return Err(ApiError::new(ErrorCode::InvalidRequest, "Invalid task count specification"));
    }
    if request.tasks.checked_mul(request.cpus_per_task).is_none() {
        return Err(unavailable_configuration());
    }
    if request.switches.is_some_and(|few| few.count == 0) {
        return Err(ApiError::new(ErrorCode::InvalidRequest, "Invalid number of switches")
            .detail("at least one switch has to be allowed"));
    }
    Ok(())
}

/// Licences that the cluster does not have are refused, of a held job too.
pub(super) fn check_licenses(cluster: &Cluster, request: &ResourceRequest) -> Result<(), ApiError> {
    let invalid = || ApiError::new(ErrorCode::InvalidLicense, "Invalid license specification");
    if !license::is_in_order(&request.licenses) || cluster.missing_license(request).is_some() {
        return Err(invalid());
    }
    Ok(())
}

fn unavailable_configuration() -> ApiError {
    ApiError::new(ErrorCode::UnavailableConfiguration, "Requested node configuration is not available")
}

/// `own`: the ids that the job gets. One that waits for itself would wait for ever.
fn check_dependencies(asked: &JobSubmission, own: std::ops::Range<u32>) -> Result<(), ApiError> {
    let Some(dependencies) = &asked.dependencies else { return Ok(()) };
    if dependencies.conditions.len() > CONDITIONS_MAX {
        return Err(ApiError::new(ErrorCode::InvalidDependency, "Job dependency problem")
            .detail(format!("more than {CONDITIONS_MAX} conditions")));
    }
    let names_itself = |condition: &Dependency| condition.job.is_some_and(|job| own.contains(&job.0));
    if dependencies.conditions.iter().any(names_itself) {
        return Err(ApiError::new(ErrorCode::InvalidDependency, "Job dependency problem")
            .detail("a job cannot depend on itself"));
    }
    Ok(())
}

/// How many ids a submission takes.
fn array_ids(asked: &JobSubmission, max_array_size: u32) -> Result<u32, ApiError> {
    let Some(array) = &asked.array else { return Ok(1) };
    let invalid = || ApiError::new(ErrorCode::InvalidArray, "Invalid job array specification");
    match array.tasks.last() {
        Some(last) if last < max_array_size => u32::try_from(array.tasks.len()).map_err(|_| invalid()),
        _ => Err(invalid()),
    }
}
