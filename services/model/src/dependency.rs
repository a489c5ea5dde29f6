//! Dependencies: what is known of each condition, and how it is shown.

use daybook_schemas::JobId;
use daybook_schemas::UtcMicros;
use daybook_schemas::job::{Dependency, DependencyKind, JobState};
use serde::{Deserialize, Serialize};

use crate::cluster::Cluster;
use crate::job::Job;

/// What is known of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Not yet decided.
    Open,
    /// It holds.
    Satisfied,
    /// It can never hold.
    Never,
}

/// A condition and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DependencyState {
    /// The condition.
    pub condition: Dependency,
    /// What is known.
    pub outcome: Outcome,
}

/// What the job (or array, or task) that a condition looks at has come to.
struct Observed {
    /// When it first started, or was cancelled without a start.
    begun: Option<UtcMicros>,
    /// It is over; whether with success.
    over: Option<bool>,
}

/// What is known of a condition of `job` now, and not before when it lets the job start.
///
/// A job that is not in memory (unknown, or long gone) satisfies every condition, as in Slurm.
pub(crate) fn evaluate(cluster: &Cluster, job: &Job, condition: &Dependency) -> (Outcome, Option<UtcMicros>) {
    if condition.kind == DependencyKind::Singleton {
        let key = (job.spec.user.uid, job.name.clone());
        let alone = match cluster.active_names.get(&key).and_then(|others| others.get_min()) {
            Some(oldest) => *oldest >= job.id,
            None => true,
        };
        return (if alone { Outcome::Satisfied } else { Outcome::Open }, None);
    }
    let observed = condition.job.and_then(|other| observe(cluster, other, condition.task));
    let Some(observed) = observed else { return (Outcome::Satisfied, None) };
    let outcome = match (condition.kind, observed.over) {
        (DependencyKind::After, _) => {
            return match observed.begun {
                Some(begun) if condition.delay_minutes > 0 => {
                    (Outcome::Satisfied, Some(begun.plus_seconds(i64::from(condition.delay_minutes) * 60)))
                }
                Some(_) => (Outcome::Satisfied, None),
                None => (Outcome::Open, None),
            };
        }
        (DependencyKind::AfterAny, Some(_))
        | (DependencyKind::AfterOk | DependencyKind::AfterCorr, Some(true))
        | (DependencyKind::AfterNotOk, Some(false)) => Outcome::Satisfied,
        (_, Some(_)) => Outcome::Never,
        (_, None) => Outcome::Open,
    };
    (outcome, None)
}

fn observe(cluster: &Cluster, id: JobId, task: Option<u32>) -> Option<Observed> {
    if let Some(array) = cluster.arrays.get(&id) {
        return match task {
            None => Some(Observed {
                begun: (array.started.len() == array.tasks().len() || array.is_over())
                    .then(|| begin_of_array(cluster, id)),
                over: array.is_over().then(|| array.failed.is_empty()),
            }),
            Some(task) => {
                let over = match (array.succeeded.contains(task), array.failed.contains(task)) {
                    (true, _) => Some(true),
                    (_, true) => Some(false),
                    _ => None,
                };
                let begun = array.started.contains(task) || over.is_some();
                let at = array
                    .task_job_id(task)
                    .and_then(|id| cluster.jobs.get(&id))
                    .and_then(|job| job.started)
                    .unwrap_or(cluster.time);
                Some(Observed { begun: begun.then_some(at), over })
            }
        };
    }
    let job = cluster.jobs.get(&id)?;
    let over = job.state.is_ended().then(|| job.state == JobState::Completed);
    Some(Observed { begun: job.started.or(job.ended), over })
}

fn begin_of_array(cluster: &Cluster, id: JobId) -> UtcMicros {
    cluster.jobs.get(&id).and_then(|job| job.started.or(job.ended)).unwrap_or(cluster.time)
}

/// The conditions not yet satisfied, as squeue and scontrol show them: `afterok:7(unfulfilled)`, and `afterok:7_*`
/// for all of an array.
pub fn dependency_notation(cluster: &Cluster, job: &Job) -> String {
    let separator = if job.dependencies_any { "?" } else { "," };
    let parts: Vec<String> = job
        .dependencies
        .iter()
        .filter(|state| state.outcome != Outcome::Satisfied)
        .map(|state| condition_notation(cluster, state))
        .collect();
    parts.join(separator)
}

/// A condition as squeue and scontrol show it: `afterok:7(unfulfilled)`.
pub fn condition_notation(cluster: &Cluster, state: &DependencyState) -> String {
    let condition = &state.condition;
    let word = match condition.kind {
        DependencyKind::After => "after",
        DependencyKind::AfterAny => "afterany",
        DependencyKind::AfterOk => "afterok",
        DependencyKind::AfterNotOk => "afternotok",
        DependencyKind::AfterCorr => "aftercorr",
        DependencyKind::Singleton => "singleton",
    };
    let outcome = if state.outcome == Outcome::Never { "failed" } else { "unfulfilled" };
    let Some(other) = condition.job else { return format!("{word}({outcome})") };
    let task = match condition.task {
        Some(task) => format!("_{task}"),
        None if cluster.arrays.contains_key(&other) => "_*".to_string(),
        None => String::new(),
    };
    let delay =
        if condition.delay_minutes > 0 { format!("+{}", condition.delay_minutes) } else { String::new() };
    format!("{word}:{other}{task}{delay}({outcome})")
}
