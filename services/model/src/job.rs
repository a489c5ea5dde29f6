use std::sync::Arc;

use daybook_schemas::events::{ArrayTaskId, LimitFigures};
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::{JobSpec, JobState, Reason, ResourceRequest, TimeLimit};
use daybook_schemas::preemption::GivingWay;
use daybook_schemas::priority::PriorityFactors;
use daybook_schemas::run::ExitStatus;
use daybook_schemas::{JobId, RunId, Seq, UtcMicros};
use serde::{Deserialize, Serialize};

use crate::accrual::Accrual;
use crate::dependency::DependencyState;

/// The several partitions that a job may start in, in its order.
pub type Partitions = Arc<[Arc<str>]>;

/// Who holds a job back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hold {
    /// Its owner: anybody who may change the job may release it.
    User,
    /// An administrator: only one may release it.
    Admin,
}

/// A job record: a plain job, an array's waiting tasks together, or one started task of an array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Its own id; an array's record has the array's.
    pub id: JobId,
    /// Set for a task that has been split from its array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<ArrayTaskId>,
    /// Set for an array's record: the tasks that have not started and were not cancelled. Never empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks_waiting: Option<IndexSet>,
    /// As submitted; shared by all tasks of an array.
    pub spec: Arc<JobSpec>,
    /// What it needs now (changed by `scontrol update`).
    pub request: Arc<ResourceRequest>,
    /// The partition now. While it waits for several that it may start in: their names, joined by commas.
    pub partition: Arc<str>,
    /// The partitions that it may start in, in its order, where those are several; kept while it runs in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitions: Option<Partitions>,
    /// The account now; empty: none.
    pub account: Arc<str>,
    /// The QOS now.
    pub qos: Arc<str>,
    /// The workload key now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wckey: Option<Arc<str>>,
    /// The reservations that it asks for now, joined by commas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<Arc<str>>,
    /// Its name now.
    pub name: Arc<str>,
    /// `--comment` now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<Arc<str>>,
    /// Whether it may run again after an interruption.
    pub requeue: bool,
    /// The limit now, resolved against the partition's default.
    pub time_limit: TimeLimit,
    /// Nobody gave a limit: of several partitions that it may start in each gives its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_default_limit: bool,
    /// The limit that it has when it comes back, where its present or last run has another: a shorter one to start earlier,
    /// or its partition's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit_whole: Option<TimeLimit>,
    /// The shortest limit that it may be given to start earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_min: Option<TimeLimit>,
    /// It must have ended by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<UtcMicros>,
    /// Higher starts first; the hold does not change it.
    pub priority: u32,
    /// The priority was set by hand: it stays, and neither factors nor `nice` count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub priority_fixed: bool,
    /// What the priority is made of, as it was when it was calculated; `None`: its place in the order of submission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_factors: Option<Box<PriorityFactors>>,
    /// The site's own part of the priority.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub site_factor: i32,
    /// Subtracted from the priority.
    pub nice: i32,
    /// The log's time of the submission.
    pub submitted: UtcMicros,
    /// The commit of the submission.
    pub submitted_seq: Seq,
    /// Pending, running, suspended, or how it ended; `Completing` is derived ([`crate::Cluster::shown_state`]).
    pub state: JobState,
    /// Whether it is held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    /// Not before this instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<UtcMicros>,
    /// The commit from which on it could have started (nothing but resources, priority or time in the way).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eligible_seq: Option<Seq>,
    /// The log's time of that commit, or `begin` if later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eligible: Option<UtcMicros>,
    /// Since when it has gained priority by age.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accrual: Option<Accrual>,
    /// Conditions with what is known of each; empty: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<DependencyState>,
    /// One satisfied condition is enough.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dependencies_any: bool,
    /// What the planner said last; see [`Job::shown_reason`].
    pub reason: Reason,
    /// The planner's figures for people.
    #[serde(default, skip_serializing_if = "str_is_empty")]
    pub reason_detail: Arc<str>,
    /// Since when [`Job::shown_reason`] has been what it is: the log's time of the commit that made it so, or the begin
    /// time that came.
    pub reason_since: UtcMicros,
    /// Starts so far; the next run has this as its number.
    pub starts: u32,
    /// The present or last run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Of the present or last run: when it was allocated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<UtcMicros>,
    /// When the job or its last run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<UtcMicros>,
    /// As the job shows it (a time limit or a cancellation shows 0:0).
    pub exit: ExitStatus,
    /// What the last run had, after it has been released (while it holds them: [`crate::Run::nodes`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_nodes: Option<Arc<[daybook_schemas::run::RunNode]>>,
    /// What that was billed; `None`: its CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_billing: Option<u64>,
    /// Of the present or last run: to whom it gave way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gave_way: Option<Arc<GivingWay>>,
    /// Of the present or last run: when it was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<crate::run::Pauses>,
    /// Of the present or last run: the limit that ended it by being used up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_up: Option<Arc<LimitFigures>>,
    /// The user id that cancelled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<u32>,
    /// Goes back into the queue when its run has ended: held (true) or not (false).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requeue_when_ended: Option<bool>,
    /// The last commit that changed this record.
    pub changed: Seq,
}

fn is_zero(number: &i32) -> bool {
    *number == 0
}

fn str_is_empty(text: &Arc<str>) -> bool {
    text.is_empty()
}

impl Job {
    /// Whether nothing but time, priority and resources keeps it from starting.
    pub fn is_ready(&self) -> bool {
        self.state == JobState::Pending && self.hold.is_none() && self.dependencies_satisfied()
    }

    /// Why it waits, as squeue shows it at `now`.
    pub fn shown_reason(&self, now: UtcMicros) -> Reason {
        if self.state.is_ended() {
            return self.reason;
        }
        match self.hold {
            Some(Hold::Admin) => return Reason::JobHeldAdmin,
            Some(Hold::User) if is_of_requeue(self.reason) => return self.reason,
            Some(Hold::User) => return Reason::JobHeldUser,
            None if self.state != JobState::Pending => return self.reason,
            None => {}
        }
        if self.dependencies_hopeless() {
            return Reason::DependencyNeverSatisfied;
        }
        if !self.dependencies_satisfied() {
            return Reason::Dependency;
        }
        if self.begin.is_some_and(|begin| begin > now) {
            return Reason::BeginTime;
        }
        self.reason
    }

    /// The partitions that it may start in.
    pub fn partitions(&self) -> &[Arc<str>] {
        self.partitions.as_deref().unwrap_or(std::slice::from_ref(&self.partition))
    }

    /// The partition that it is counted in: that of its run, and while it waits for several the first.
    pub fn charged_partition(&self) -> &Arc<str> {
        let first = self.partitions().first().filter(|_| self.state == JobState::Pending);
        first.unwrap_or(&self.partition)
    }

    /// Whether it waits for, or may go back to, this partition.
    pub fn may_start_in(&self, partition: &str) -> bool {
        self.partitions().iter().any(|name| **name == *partition)
    }

    /// Priority as shown: 0 while held.
    pub fn shown_priority(&self) -> u32 {
        if self.hold.is_some() && !self.state.is_ended() { 0 } else { self.priority }
    }
}

/// Whether a reason says why a job that came back into the queue is held.
fn is_of_requeue(reason: Reason) -> bool {
    matches!(reason, Reason::LaunchFailedRequeuedHeld | Reason::RequeuedHeld | Reason::ReservationDeleted)
}
