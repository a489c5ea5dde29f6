use std::sync::Arc;

use daybook_schemas::RunId;
use daybook_schemas::accounts::PreemptMode;
use daybook_schemas::events::RunPreempted;
use daybook_schemas::job::JobState;
use daybook_schemas::orders::RunWish;
use daybook_schemas::preemption::GivingWay;

use crate::cluster::Cluster;

/// Overtaken where the run has ended or was told something else, or nobody waits for its place any more.
pub(super) fn preempted(cluster: &mut Cluster, data: &RunPreempted) {
    let record = data.array.map_or(data.by, |task| task.array_job);
    let waits = cluster.jobs.get(&record).is_some_and(|job| job.state == JobState::Pending);
    let goes_on = |run: &Arc<crate::Run>| run.end.is_none() && run.wish == RunWish::Run;
    if !waits || !cluster.runs.get(&data.run).is_some_and(goes_on) {
        return;
    }
    let since = cluster.time;
    let grace_end = data.grace_end.max(since);
    let giving = Arc::new(GivingWay { by: data.by, array: data.array, mode: data.mode, since, grace_end });
    if data.mode == PreemptMode::Suspend {
        super::suspension::order_stop(cluster, data.run);
    }
    cluster.change_run(data.run, |run| {
        if data.mode != PreemptMode::Suspend {
            run.wish = RunWish::GiveWay;
        }
        run.giving_way = Some(giving.clone());
    });
    cluster.change_job(data.run.job, |job| job.gave_way = Some(giving));
    cluster.make_room(record, data.by, data.run);
}

/// Whether the job of a run that gave way goes back into the queue.
pub(super) fn waits_again(cluster: &Cluster, run: RunId) -> bool {
    let giving = cluster.runs.get(&run).and_then(|run| run.giving_way.as_ref());
    giving.is_some_and(|giving| giving.mode == PreemptMode::Requeue)
}
