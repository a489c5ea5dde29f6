//! What people do to jobs that wait: hold them, let them go, change them, take tasks out of their array.

use std::sync::Arc;

use daybook_schemas::UtcMicros;
use daybook_schemas::events::{ArrayTaskId, JobHeld, JobParted, JobReleased, JobUpdated};
use daybook_schemas::job::{JobState, Reason, ResourceRequest, TimeLimit};

use super::job::{keep_tasks_waiting, open_conditions, records};
use crate::cluster::Cluster;
use crate::job::{Hold, Job};
use crate::priority::basic_priority;

pub(super) fn updated(cluster: &mut Cluster, data: &JobUpdated) {
    let Some(job) = cluster.jobs.get(&data.job).cloned() else { return };
    if job.state.is_ended() {
        return;
    }
    let is_waiting = job.state == JobState::Pending;
    let request = data.request.as_ref().map(|request| cluster.shared_request(&Arc::new(request.clone())));
    let partitions = data.partition.as_ref().map(|partition| cluster.shared_partitions(partition));
    // Two changes that were asked for at once may close a circle that neither of them has alone.
    let dependencies =
        data.dependencies.as_ref().filter(|conditions| !cluster.would_wait_for_itself(data.job, conditions));
    cluster.change_job(data.job, |job| {
        change_description(job, data);
        if is_waiting {
            if let Some(partitions) = partitions {
                (job.partition, job.partitions) = partitions;
            }
            change_request(job, data, request);
            if let Some(dependencies) = dependencies {
                job.dependencies = open_conditions(Some(dependencies));
                job.dependencies_any = dependencies.any;
            }
        }
    });
    if let (Some(limit), Some(run)) = (data.time_limit, job.run) {
        cluster.change_run(run, |run| run.time_limit = limit);
    }
    if let Some(most) = data.array_running_max {
        cluster.change_array(data.job, |array| array.running_max = (most > 0).then_some(most));
    }
    if data.name.is_some() {
        cluster.reconsider_singletons(job.spec.user.uid, &job.name);
    }
    cluster.reconsider(data.job);
    cluster.prioritise(data.job, cluster.time);
}

fn change_description(job: &mut Job, data: &JobUpdated) {
    if let Some(name) = &data.name {
        job.name = Arc::from(name.as_str());
    }
    if let Some(comment) = &data.comment {
        job.comment = Some(Arc::from(comment.as_str()));
    }
    if let Some(limit) = data.time_limit {
        job.time_limit = limit;
        (job.time_limit_whole, job.has_default_limit) = (None, false);
    }
    if let Some(requeue) = data.requeue {
        job.requeue = requeue;
    }
}

fn change_request(job: &mut Job, data: &JobUpdated, request: Option<Arc<ResourceRequest>>) {
    if let Some(account) = &data.account {
        job.account = Arc::from(account.as_str());
    }
    if let Some(qos) = &data.qos {
        job.qos = Arc::from(qos.as_str());
    }
    if let Some(wckey) = &data.wckey {
        job.wckey = Some(wckey.as_str()).filter(|key| !key.is_empty()).map(Arc::from);
    }
    if let Some(names) = &data.reservation {
        job.reservation = (!names.is_empty()).then(|| Arc::from(names.as_str()));
    }
    if let Some(begin) = data.begin {
        job.begin = Some(begin);
        job.eligible = None;
        job.accrual = None;
    }
    if let Some(least) = data.time_min {
        job.time_min = (least > TimeLimit::Seconds(0)).then_some(least);
    }
    if let Some(deadline) = data.deadline {
        job.deadline = (deadline > UtcMicros(0)).then_some(deadline);
    }
    if let Some(priority) = data.priority {
        job.priority = priority.clamp(1, u32::MAX - 1);
        (job.priority_fixed, job.nice) = (true, 0);
    } else if let Some(nice) = data.nice
        && !job.priority_fixed
    {
        job.nice = nice;
        job.priority = basic_priority(job);
    }
    if let Some(site) = data.site_factor {
        job.site_factor = site;
    }
    if let Some(request) = request {
        job.request = request;
    }
}

/// Where the array's record would be left without a task, it stands for its last one, which was cancelled.
pub(super) fn parted(cluster: &mut Cluster, data: &JobParted) {
    let Some(record) = cluster.jobs.get(&data.array).cloned() else { return };
    let Some(waiting) = &record.tasks_waiting else { return };
    let mut tasks = data.tasks.intersection(waiting);
    if let Some(last) = record.last_task() {
        tasks.remove(last);
    }
    if tasks.is_empty() {
        return;
    }
    for task in tasks.iter() {
        let id = cluster.arrays.get(&data.array).and_then(|state| state.task_job_id(task));
        let Some(id) = id else { continue };
        let mut own = Job { id, ..Job::clone(&record) };
        own.leave_array(ArrayTaskId { array_job: data.array, task });
        cluster.change_array(data.array, |state| state.records += 1);
        cluster.add_job(own);
        cluster.reconsider(id);
    }
    keep_tasks_waiting(cluster, data.array, waiting.difference(&tasks));
    cluster.part_hopeless_tasks(data.array);
}

/// A user's hold leaves an administrator's as it is.
pub(super) fn held(cluster: &mut Cluster, data: &JobHeld) {
    let hold = if data.by_administrator { Hold::Admin } else { Hold::User };
    for (id, _) in records(cluster, &data.target) {
        cluster.change_job(id, |job| {
            if !job.state.is_ended() && job.hold != Some(Hold::Admin) {
                job.hold = Some(hold);
            }
        });
    }
}

pub(super) fn released(cluster: &mut Cluster, data: &JobReleased) {
    for (id, _) in records(cluster, &data.target) {
        cluster.change_job(id, |job| {
            if data.as_owner && job.hold == Some(Hold::Admin) {
                return;
            }
            job.hold = None;
            if job.state == JobState::Pending {
                job.reason = Reason::None;
                job.priority_fixed = false;
                job.priority = basic_priority(job);
            }
        });
        cluster.prioritise(id, cluster.time);
    }
}
