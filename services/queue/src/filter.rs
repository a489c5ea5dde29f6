//! Which records a question means.

use daybook_model::{Cluster, Job};
use daybook_schemas::JobId;
use daybook_schemas::api::JobFilter;
use daybook_schemas::reservation::named;

/// Whether a record is meant. Without states, only those that are not over (or are still completing) are.
pub fn matches(cluster: &Cluster, job: &Job, filter: &JobFilter) -> bool {
    let state = cluster.shown_state(job);
    let listed = |list: &[String], value: &str| list.is_empty() || list.iter().any(|item| item == value);
    let state_is_meant = match filter.states.is_empty() {
        true => !state.is_ended(),
        false => filter.states.contains(&state) || filter.states.contains(&job.state),
    };
    state_is_meant
        && (filter.jobs.is_empty()
            || filter.jobs.iter().any(|selector| names(job, selector.job, &selector.tasks)))
        && (filter.uids.is_empty() || filter.uids.contains(&job.spec.user.uid))
        && listed(&filter.partitions, &job.partition)
        && listed(&filter.accounts, &job.account)
        && listed(&filter.qos, &job.qos)
        && listed(&filter.names, &job.name)
        && (filter.reservations.is_empty() || is_of(cluster, job, &filter.reservations))
        && (filter.nodes.is_empty() || runs_on(cluster, job, &filter.nodes))
}

/// Whether `id` (with `tasks`, of an array) names this record.
fn names(job: &Job, id: JobId, tasks: &Option<daybook_schemas::grammar::index_set::IndexSet>) -> bool {
    match (tasks, job.task) {
        (None, Some(task)) => job.id == id || task.array_job == id,
        (None, None) => job.id == id,
        (Some(tasks), Some(task)) => task.array_job == id && tasks.contains(task.task),
        (Some(tasks), None) => {
            job.id == id
                && job.tasks_waiting.as_ref().is_some_and(|waiting| !waiting.intersection(tasks).is_empty())
        }
    }
}

/// Whether it runs in one of these reservations, or asks for one.
fn is_of(cluster: &Cluster, job: &Job, reservations: &[String]) -> bool {
    let shown = cluster.shown_reservation(job);
    shown.is_some_and(|names| named(names).any(|name| reservations.iter().any(|wanted| wanted == name)))
}

fn runs_on(cluster: &Cluster, job: &Job, nodes: &[String]) -> bool {
    job.run
        .and_then(|run| cluster.runs().get(&run))
        .is_some_and(|run| run.nodes.iter().any(|share| nodes.iter().any(|name| name == share.node.as_str())))
}
