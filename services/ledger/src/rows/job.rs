use daybook_schemas::billing::{BillingRule, BillingWeights};
use daybook_schemas::events::{ArrayTaskId, JobSubmitted};
use daybook_schemas::job::{ArrayRequest, JobUser, MemoryRequest, ResourceRequest, TimeLimit};
use daybook_schemas::{JobId, RunId, Seq, UtcMicros};
use serde::{Deserialize, Serialize};

use super::{JOBS, Row, SUBMISSIONS, Table};
use crate::keys;
use crate::store::ClusterRow;

/// A job as it was submitted. Never changes; an array's tasks share that of their array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SubmissionRow {
    pub(crate) seq: Seq,
    pub(crate) at: UtcMicros,
    /// How many ids it reserved.
    pub(crate) ids: u32,
    pub(crate) name: String,
    pub(crate) user: JobUser,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) account: Option<String>,
    pub(crate) partition: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) qos: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wckey: Option<String>,
    pub(crate) request: ResourceRequest,
    /// Resolved against the partition's default at the time.
    pub(crate) time_limit: TimeLimit,
    /// The memory that counts where none is asked for: the partition's or the cluster's default at the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) default_memory: Option<MemoryRequest>,
    /// By what the request is billed: of the first partition, at the time. Absent: its CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) billing_weights: Option<BillingWeights>,
    /// How.
    #[serde(default)]
    pub(crate) billing_rule: BillingRule,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) array: Option<ArrayRequest>,
    pub(crate) work_dir: String,
    pub(crate) submit_line: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) comment: Option<String>,
    /// `AccountingStorageEnforce` had `nojobs` then: questions do not find it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_left_out: bool,
    /// It had `nosteps`: its steps are not found.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) has_no_steps: bool,
}

impl SubmissionRow {
    /// As submitted, with the defaults of the configuration of that time.
    pub(crate) fn new(seq: Seq, at: UtcMicros, data: &JobSubmitted, cluster: &ClusterRow) -> SubmissionRow {
        let spec = &data.spec;
        // Of several the first: a run that starts says which it is, and its limit.
        let first = spec.partition.split(',').next().unwrap_or_default();
        let partition = cluster.partitions.get(first);
        let default_time = partition.map_or(TimeLimit::Unlimited, |partition| partition.default_time);
        let default_memory =
            partition.and_then(|partition| partition.default_memory).or(cluster.default_memory);
        SubmissionRow {
            seq,
            at,
            ids: data.ids,
            name: spec.name.clone(),
            user: JobUser::clone(&spec.user),
            account: spec.account.clone(),
            partition: spec.partition.clone(),
            qos: spec.qos.clone(),
            wckey: spec.wckey.clone(),
            request: ResourceRequest::clone(&spec.request),
            time_limit: spec.time_limit.unwrap_or(default_time),
            default_memory,
            billing_weights: partition.and_then(|partition| partition.billing_weights.clone()),
            billing_rule: cluster.billing_rule,
            array: spec.array.clone(),
            work_dir: spec.work_dir.clone(),
            submit_line: spec.submit_line.clone(),
            comment: spec.comment.clone(),
            is_left_out: cluster.leaves_jobs_out,
            has_no_steps: cluster.leaves_steps_out,
        }
    }
}

impl Row for SubmissionRow {
    type Key = JobId;
    const TABLE: Table = SUBMISSIONS;
    fn key(key: &JobId) -> Vec<u8> {
        keys::job(*key)
    }
}

/// Where a job is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phase {
    Pending,
    Running,
    Ended,
}

/// Who holds a job back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Hold {
    User,
    Admin,
}

/// What posting needs to know of a job: a plain one, an array with its waiting tasks, or one task that has started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JobRow {
    /// Of a task. The last task takes over the row of its array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<ArrayTaskId>,
    pub(crate) phase: Phase,
    /// Which record is the present one.
    pub(crate) attempt: u32,
    /// Starts so far.
    pub(crate) starts: u32,
    /// The present or last run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<RunId>,
    /// May start again after a node's failure.
    pub(crate) requeue: bool,
    /// Goes back into the queue when its run has ended: held (true) or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) requeue_when_ended: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cancelled_by: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hold: Option<Hold>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) begin: Option<UtcMicros>,
    /// It has conditions that were not seen to hold.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) depends: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<UtcMicros>,
}

impl Row for JobRow {
    type Key = JobId;
    const TABLE: Table = JOBS;
    fn key(key: &JobId) -> Vec<u8> {
        keys::job(*key)
    }
}
