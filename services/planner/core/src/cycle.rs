use std::collections::BTreeMap;

use daybook_model::Cluster;
use daybook_schemas::accounts::PreemptMode;
use daybook_schemas::events::{
    ArrayTaskId, Body, CycleBound, JobFinished, PlannedStart, PlannerCycle, ReasonChange, RunAllocated,
    RunPreempted, RunResumeOrdered, RunUsedUp,
};
use daybook_schemas::job::TimeLimit;
use daybook_schemas::run::RunNode;
use daybook_schemas::{Actor, Event, EventId, JobId, RunId, Seq, UtcMicros, canonical};
use serde::Serialize;

use crate::fragmentation::Figure;

/// A run that a cycle starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Start {
    /// The run; of an array's task by the task's own job id.
    pub run: RunId,
    /// The array that the task is split from; absent for a plain job and for a task that starts again.
    pub array: Option<ArrayTaskId>,
    /// What it gets, in the order of the configuration; the first node runs the script.
    pub nodes: Vec<RunNode>,
    /// How long it may run.
    pub time_limit: TimeLimit,
    /// The partition.
    pub partition: String,
    /// The reservation that it runs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservation: Option<String>,
    /// What it is billed; `None`: its CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub billing: Option<u64>,
}

/// A run that a cycle tells to give way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Preemption {
    /// The run.
    pub run: RunId,
    /// The job that takes its place; of an array's task its own job id.
    pub by: JobId,
    /// Where that is a waiting task of an array: which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayTaskId>,
    /// What becomes of the run's job.
    pub mode: PreemptMode,
    /// Until when it may run on.
    pub grace_end: UtcMicros,
}

/// What one cycle decided. The same cluster, instant and policy give the same bytes on every machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The position that it was decided from.
    pub input: Seq,
    /// The instant that it was decided for.
    pub now: UtcMicros,
    /// [`crate::Policy::hash`] of its policy.
    pub policy_hash: String,
    /// Runs to start, in the order decided.
    pub starts: Vec<Start>,
    /// Waiting jobs whose recorded reason changes, in the order of the queue.
    pub reasons: Vec<ReasonChange>,
    /// Protected starts, in the order of the queue.
    pub reservations: Vec<PlannedStart>,
    /// Runs that give way, in the order decided.
    pub preemptions: Vec<Preemption>,
    /// Suspended runs that go on, in the order decided.
    pub resumes: Vec<RunId>,
    /// Runs that end because what their limits let them use is used up, by id.
    pub used_up: Vec<RunUsedUp>,
    /// Jobs that end because their dependencies can never hold.
    pub finished: Vec<JobFinished>,
    /// Jobs looked at.
    pub jobs_considered: u32,
    /// The first bound that it met before the queue's end.
    pub bound: Option<CycleBound>,
    /// Nodes and returns of resources that it looked at.
    pub steps: u64,
    /// When the first of the jobs that it leaves waiting for few switches gives that up, a reservation begins or ends, or a
    /// limit is used up: another cycle may decide otherwise then, without a new event. No part of what was decided.
    pub wake: Option<UtcMicros>,
    /// What is free on GPUs after its starts, and what of it those who usually come could not use; `None` where no
    /// node has GPUs.
    pub fragmentation: Option<Figure>,
    /// Hash of the canonical bytes of starts, reasons, reservations, finished jobs, preemptions, runs that go on and runs
    /// used up.
    pub decision_hash: String,
}

/// Expected starts that differ by less are the same.
const SAME_START_SECONDS: i64 = 60;

/// What the decision hash is of.
#[derive(Serialize)]
struct Decision<'a> {
    starts: &'a [Start],
    reasons: &'a [ReasonChange],
    reservations: &'a [PlannedStart],
    finished: &'a [JobFinished],
    #[serde(skip_serializing_if = "<[Preemption]>::is_empty")]
    preemptions: &'a [Preemption],
    #[serde(skip_serializing_if = "<[RunId]>::is_empty")]
    resumes: &'a [RunId],
    #[serde(skip_serializing_if = "<[RunUsedUp]>::is_empty")]
    used_up: &'a [RunUsedUp],
}

/// Canonical hash of a value made of maps with text keys, text and integers only.
pub(crate) fn hash_of_integers_and_text<T: Serialize>(value: &T) -> String {
    // No input can make these types inexpressible; a type that could would be a defect of this crate.
    canonical::hash(value).expect("decisions and policies are integers and text")
}

impl Cycle {
    /// Sets the decision hash from what was decided.
    pub(crate) fn seal(mut self) -> Cycle {
        self.decision_hash = hash_of_integers_and_text(&Decision {
            starts: &self.starts,
            reasons: &self.reasons,
            reservations: &self.reservations,
            finished: &self.finished,
            preemptions: &self.preemptions,
            resumes: &self.resumes,
            used_up: &self.used_up,
        });
        self
    }

    /// Whether it starts, ends, stops or resumes something, or changes a reason.
    pub fn decides(&self) -> bool {
        !(self.starts.is_empty()
            && self.reasons.is_empty()
            && self.finished.is_empty()
            && self.preemptions.is_empty()
            && self.resumes.is_empty()
            && self.used_up.is_empty())
    }

    /// Whether it expects other jobs to be next, or clearly other starts, than the last recorded cycle.
    ///
    /// A minute more or less makes no difference, nor do starts within the next minute (or overdue ones): where a run
    /// is late, the start of the job behind it moves with the clock, and each move is no news.
    pub fn expects_otherwise(&self, cluster: &Cluster) -> bool {
        let mut expected: BTreeMap<JobId, UtcMicros> = BTreeMap::new();
        for planned in &self.reservations {
            let start = expected.entry(planned.job).or_insert(planned.start);
            *start = (*start).min(planned.start);
        }
        let soon = self.now.plus_seconds(SAME_START_SECONDS);
        let is_same = |(job, start): (&JobId, &UtcMicros)| {
            expected.get(job).is_some_and(|now_expected| {
                start.0.abs_diff(now_expected.0) <= SAME_START_SECONDS.unsigned_abs() * 1_000_000
                    || *start <= soon && *now_expected <= soon
            })
        };
        expected.len() != cluster.expected_starts().len() || !cluster.expected_starts().iter().all(is_same)
    }

    /// The identity of the event at `number` of the commit that records a cycle decided from `input`.
    pub fn event_id(input: Seq, number: usize) -> EventId {
        EventId::from(format!("plan/{input}/{number}"))
    }

    /// The events of the commit that records it: `planner.cycle`, one `run.allocated` for each start in the same
    /// order, one `job.finished` for each job that ends, one `run.preempted` for each run that gives way, one
    /// `run.resume_ordered` for each run that goes on, one `run.used_up` for each that has used up its limits.
    pub fn to_events(&self) -> Vec<Event> {
        let cycle = PlannerCycle {
            input: self.input,
            now: self.now,
            policy_hash: self.policy_hash.clone(),
            starts: self.starts.iter().map(|start| start.run).collect(),
            reasons: self.reasons.clone(),
            reservations: self.reservations.clone(),
            preemptions: self.preemptions.iter().map(|preemption| preemption.run).collect(),
            resumes: self.resumes.clone(),
            used_up: self.used_up.iter().map(|used_up| used_up.run).collect(),
            jobs_considered: self.jobs_considered,
            bounded: self.bound.is_some(),
            bound: self.bound,
            steps: self.steps,
            gpus_free: self.fragmentation.map(|figure| figure.gpus_free),
            gpus_unusable: self.fragmentation.and_then(|figure| figure.gpus_unusable),
            decision_hash: self.decision_hash.clone(),
        };
        let starts = self.starts.iter().map(|start| {
            Body::from(RunAllocated {
                run: start.run,
                array: start.array,
                partition: start.partition.clone(),
                nodes: start.nodes.clone(),
                time_limit: start.time_limit,
                reservation: start.reservation.clone(),
                billing: start.billing,
                price_version: None,
            })
        });
        let finished = self.finished.iter().cloned().map(Body::from);
        let preempted = self.preemptions.iter().map(|preemption| {
            Body::from(RunPreempted {
                run: preemption.run,
                by: preemption.by,
                array: preemption.array,
                mode: preemption.mode,
                grace_end: preemption.grace_end,
            })
        });
        let resumed = self.resumes.iter().map(|run| Body::from(RunResumeOrdered { run: *run }));
        let used_up = self.used_up.iter().cloned().map(Body::from);
        let bodies = std::iter::once(Body::from(cycle)).chain(starts).chain(finished).chain(preempted);
        let bodies = bodies.chain(resumed).chain(used_up);
        let event = |(number, body)| Event {
            id: Cycle::event_id(self.input, number),
            source: "planner".to_string(),
            time: self.now,
            actor: Actor::service("planner"),
            cause: Some(self.input),
            body,
        };
        bodies.enumerate().map(event).collect()
    }
}
