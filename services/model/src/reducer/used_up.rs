use std::sync::Arc;

use daybook_schemas::events::RunUsedUp;
use daybook_schemas::orders::RunWish;

use crate::cluster::Cluster;

/// Overtaken where the run has ended or was told to end for another reason; one that gives way in its own time ends now.
pub(super) fn used_up(cluster: &mut Cluster, data: &RunUsedUp) {
    let goes_on =
        |run: &Arc<crate::Run>| run.end.is_none() && matches!(run.wish, RunWish::Run | RunWish::GiveWay);
    if !cluster.runs.get(&data.run).is_some_and(goes_on) {
        return;
    }
    cluster.change_run(data.run, |run| run.wish = RunWish::UsedUp);
    let limit = Arc::new(data.limit.clone());
    cluster.change_job(data.run.job, |job| job.used_up = Some(limit));
}
