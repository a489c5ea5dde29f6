//! What a waiting job may expect.

use daybook_model::{Cluster, Job};
use daybook_schemas::UtcMicros;
use daybook_schemas::api::{ExpectedEnd, Outlook};
use daybook_schemas::events::PlannedStart;
use daybook_schemas::license::License;
use daybook_schemas::orders::RunWish;

use super::NAMED_MAX;
use super::watch::Watch;
use crate::cycle::Cycle;
use crate::policy::Policy;
use crate::releases::expected_end;

/// Of a job that stands in the line.
pub(super) fn of(
    cluster: &Cluster,
    now: UtcMicros,
    policy: &Policy,
    job: &Job,
    watch: &Watch,
    cycle: &Cycle,
) -> Outlook {
    let Some(met) = watch.met() else {
        return Outlook::NotLookedAt { jobs_considered: cycle.jobs_considered };
    };
    if met.is_started {
        return Outlook::StartsNext;
    }
    if let Some(planned) = &met.planned {
        return Outlook::Protected {
            start: planned.start,
            nodes: planned.nodes.clone(),
            after: ends_at(cluster, now, job, planned),
            shown: cluster.expected_start(job.id),
        };
    }
    let protected = if policy.backfill { policy.reservations } else { 0 };
    if met.blocked_in_front < protected && met.promises.len() < policy.reservations_max as usize {
        return Outlook::NoEndKnown;
    }
    Outlook::NotProtected { protected }
}

/// Runs that are expected to end when a planned start begins, and that hold something on its nodes or licences that it
/// needs.
fn ends_at(cluster: &Cluster, now: UtcMicros, job: &Job, planned: &PlannedStart) -> Vec<ExpectedEnd> {
    let is_needed = |license: &License| job.request.licenses.iter().any(|own| own.name == license.name);
    let licensed = (!job.request.licenses.is_empty()).then(|| cluster.licensed_runs());
    let licensed = licensed.into_iter().flatten().filter(|(_, held)| held.iter().any(is_needed));
    let licensed = licensed.map(|(run, _)| run);
    let mut runs: Vec<_> = planned
        .nodes
        .iter()
        .filter_map(|name| cluster.nodes().get(name))
        .flat_map(|node| node.runs.iter().copied())
        .chain(licensed)
        .filter_map(|id| cluster.runs().get(&id))
        .filter(|run| expected_end(cluster, run, now) == Some(planned.start))
        .map(|run| ExpectedEnd {
            job: run.id.job,
            is_ending: run.end.is_some() || !matches!(run.wish, RunWish::Run | RunWish::Suspend),
        })
        .collect();
    runs.sort_unstable_by_key(|end| end.job);
    runs.dedup();
    runs.truncate(NAMED_MAX);
    runs
}
