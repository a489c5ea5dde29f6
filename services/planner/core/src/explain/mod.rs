//! Why one job waits, as data: what blocks, by how much, since when, behind whom, and what is to be expected.
//!
//! [`explain`] is pure, like [`crate::plan`], and walks the queue as that does, with a [`watch::Watch`] on the one job, so
//! the two cannot disagree. It costs at most one planning cycle and a walk over the nodes.

mod blocks;
mod figures;
mod line;
mod outlook;
pub(crate) mod watch;

pub(crate) use blocks::{nodes_asked, nodes_most};

use daybook_model::{Cluster, Job};
use daybook_schemas::api::{Explanation, RunOutline};
use daybook_schemas::grammar::{hostlist, job_id};
use daybook_schemas::job::{ArrayRequest, JobState};
use daybook_schemas::{JobId, UtcMicros};

use crate::plan::decide;
use crate::policy::Policy;
use watch::Watch;

/// The most jobs, runs, conditions or nodes that one list of an explanation names.
pub const NAMED_MAX: usize = 16;

/// Why a job waits at `now`, or what has become of it; `None` where there is no record of this id (an array's waiting
/// tasks are the record of the array's id).
///
/// `now` should not be before the cluster's time.
pub fn explain(cluster: &Cluster, now: UtcMicros, policy: &Policy, id: JobId) -> Option<Explanation> {
    let job = cluster.jobs().get(&id)?;
    let mut explanation = outline(cluster, now, job);
    if job.state != JobState::Pending {
        return Some(explanation);
    }
    if let Some((block, outlook)) = blocks::outside_the_line(cluster, now, job) {
        explanation.blocks.push(block);
        explanation.outlook = Some(outlook);
        return Some(explanation);
    }
    let mut watch = Watch::new(job);
    let cycle = decide(cluster, now, policy, Some(&mut watch));
    let verdict = watch.reason().unwrap_or(job.reason);
    let partition = watch.partition(job);
    explanation.partition = partition.to_string();
    if let Some(block) = blocks::kept(&watch) {
        explanation.blocks.push(block);
        explanation.outlook = Some(outlook::of(cluster, now, policy, job, &watch, &cycle));
        return Some(explanation);
    }
    if let Some((block, outlook)) = blocks::refusal(cluster, job, verdict, now, &watch) {
        explanation.blocks.push(block);
        explanation.outlook = Some(outlook);
        return Some(explanation);
    }
    let sight = figures::look(cluster, job, partition);
    explanation.blocks.extend(blocks::in_line(cluster, now, job, policy, &watch, sight.as_ref()));
    explanation.figures = sight.map(|sight| sight.figures);
    explanation.place = Some(line::place(cluster, now, policy, job, partition));
    explanation.outlook = Some(outlook::of(cluster, now, policy, job, &watch, &cycle));
    Some(explanation)
}

/// What is known without looking at the queue.
fn outline(cluster: &Cluster, now: UtcMicros, job: &Job) -> Explanation {
    let waiting = job.tasks_waiting.as_ref().map(|tasks| ArrayRequest {
        tasks: tasks.clone(),
        running_max: cluster.arrays().get(&job.id).and_then(|array| array.running_max),
    });
    Explanation {
        seq: cluster.position(),
        now,
        job: job.id,
        display_id: job_id::format_id(job.id, job.task, waiting.as_ref()),
        name: job.name.to_string(),
        user: job.spec.user.name.clone(),
        partition: job.partition.to_string(),
        state: cluster.shown_state(job),
        submitted: job.submitted,
        reason: cluster.shown_reason(job, now),
        since: cluster.shown_reason_since(job, now),
        blocks: Vec::new(),
        figures: None,
        place: None,
        outlook: None,
        ended: job.ended.filter(|_| job.state.is_ended()),
        run: run_outline(cluster, job),
        giving_way: giving_way(cluster, job.id),
        gave_way: job.gave_way.as_deref().copied(),
        used_up: job.used_up.as_deref().cloned(),
    }
}

/// Jobs whose runs make room for this one.
fn giving_way(cluster: &Cluster, id: JobId) -> Vec<JobId> {
    let runs = cluster.rooms().get(&id).into_iter().flat_map(|room| room.runs.iter());
    runs.take(NAMED_MAX).map(|run| run.job).collect()
}

fn run_outline(cluster: &Cluster, job: &Job) -> Option<RunOutline> {
    let (id, started) = (job.run?, job.started?);
    let run = cluster.runs().get(&id);
    let nodes = match run {
        Some(run) => &run.nodes[..],
        None => job.last_nodes.as_deref().unwrap_or(&[]),
    };
    Some(RunOutline {
        run: id,
        started,
        node_list: hostlist::compress(nodes.iter().map(|share| share.node.as_str())),
        limit_end: run.filter(|run| run.end.is_none()).and_then(|run| run.limit_end()),
        exit: job.exit,
    })
}
