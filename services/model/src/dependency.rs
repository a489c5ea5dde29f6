//! Dependencies: what is known of each condition, and how it is shown.

use daybook_schemas::events::ArrayTaskId;
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::{Dependency, DependencyKind, JobState};
use daybook_schemas::{JobId, UtcMicros};
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
    /// What is known. Of a condition task by task: `Satisfied` while some waiting task may start, `Never` when all of
    /// them never may.
    pub outcome: Outcome,
    /// `aftercorr` of an array: tasks whose counterparts have ended with success, or do not exist.
    #[serde(default, skip_serializing_if = "IndexSet::is_empty")]
    pub tasks_satisfied: IndexSet,
    /// `aftercorr` of an array: tasks whose counterparts have ended without success.
    #[serde(default, skip_serializing_if = "IndexSet::is_empty")]
    pub tasks_never: IndexSet,
}

impl DependencyState {
    /// A condition of which nothing is known yet.
    pub fn open(condition: Dependency) -> DependencyState {
        let (tasks_satisfied, tasks_never) = (IndexSet::new(), IndexSet::new());
        DependencyState { condition, outcome: Outcome::Open, tasks_satisfied, tasks_never }
    }

    /// Whether it is judged for each task of an array by itself.
    fn is_by_task(&self) -> bool {
        self.condition.kind == DependencyKind::AfterCorr && self.condition.task.is_none()
    }

    /// Whether something about it may still come.
    pub(crate) fn is_open(&self, tasks_waiting: Option<&IndexSet>) -> bool {
        match tasks_waiting.filter(|_| self.is_by_task()) {
            None => self.outcome == Outcome::Open,
            Some(waiting) => {
                !waiting.difference(&self.tasks_satisfied).difference(&self.tasks_never).is_empty()
            }
        }
    }

    /// What the tasks that still wait make of it.
    fn judge_by_task(&mut self, waiting: &IndexSet) {
        self.outcome = if !waiting.intersection(&self.tasks_satisfied).is_empty() {
            Outcome::Satisfied
        } else if waiting.difference(&self.tasks_never).is_empty() {
            Outcome::Never
        } else {
            Outcome::Open
        };
    }
}

impl Job {
    /// The waiting tasks of an array that may start: those that their conditions let, but the last one (which has the
    /// array's own id) not while others cannot. `None`: not an array's record.
    pub fn tasks_startable(&self) -> Option<IndexSet> {
        let waiting = self.tasks_waiting.as_ref()?;
        let satisfied = |state: &DependencyState| match (state.is_by_task(), state.outcome) {
            (true, _) => waiting.intersection(&state.tasks_satisfied),
            (false, Outcome::Satisfied) => waiting.clone(),
            (false, _) => IndexSet::new(),
        };
        let mut startable = self.join_tasks(waiting, self.dependencies_any, satisfied);
        if let Some(last) = self.last_task().filter(|_| startable.len() < waiting.len()) {
            startable.remove(last);
        }
        Some(startable)
    }

    /// The waiting tasks of an array that their conditions will never let start; `None`: not an array's record.
    fn tasks_hopeless(&self) -> Option<IndexSet> {
        let waiting = self.tasks_waiting.as_ref()?;
        let never = |state: &DependencyState| match (state.is_by_task(), state.outcome) {
            (true, _) => waiting.intersection(&state.tasks_never),
            (false, Outcome::Never) => waiting.clone(),
            (false, _) => IndexSet::new(),
        };
        match self.dependencies.is_empty() {
            true => Some(IndexSet::new()),
            // Where one condition is enough, a task is hopeless by all of them; else by any.
            false => Some(self.join_tasks(waiting, !self.dependencies_any, never)),
        }
    }

    /// The hopeless tasks of an array of which only the last task waits beside them, and what waits without them.
    pub(crate) fn last_task_waits_for_hopeless(&self) -> Option<(IndexSet, IndexSet)> {
        let hopeless = self.tasks_hopeless()?;
        let rest = self.tasks_waiting.as_ref()?.difference(&hopeless);
        let is_last = !rest.is_empty() && rest.first() == self.last_task();
        (is_last && !hopeless.is_empty()).then_some((hopeless, rest))
    }

    /// The conditions of which something is still to come, or that can never hold.
    pub fn unfulfilled_conditions(&self) -> impl Iterator<Item = &DependencyState> {
        let waiting = self.tasks_waiting.as_ref();
        self.dependencies
            .iter()
            .filter(move |state| state.outcome != Outcome::Satisfied || state.is_open(waiting))
    }

    /// The tasks that any condition gives, or that all of them do; all that wait where there is no condition.
    fn join_tasks(
        &self,
        waiting: &IndexSet,
        any: bool,
        tasks_of: impl Fn(&DependencyState) -> IndexSet,
    ) -> IndexSet {
        let of_each = self.dependencies.iter().map(tasks_of);
        match any && !self.dependencies.is_empty() {
            true => of_each.fold(IndexSet::new(), |all, some| all.union(&some)),
            false => of_each.fold(waiting.clone(), |all, some| all.intersection(&some)),
        }
    }

    /// The task that has the array's own id.
    pub(crate) fn last_task(&self) -> Option<u32> {
        self.spec.array.as_ref().and_then(|array| array.tasks.last())
    }

    /// Whether its conditions hold; of an array: for some task that waits.
    pub fn dependencies_satisfied(&self) -> bool {
        if self.dependencies.is_empty() {
            return true;
        }
        if let Some(tasks) = self.tasks_startable() {
            return !tasks.is_empty();
        }
        let satisfied = |state: &DependencyState| state.outcome == Outcome::Satisfied;
        match self.dependencies_any {
            true => self.dependencies.iter().any(satisfied),
            false => self.dependencies.iter().all(satisfied),
        }
    }

    /// Whether its conditions can never hold any more; of an array: for every task that waits.
    pub fn dependencies_hopeless(&self) -> bool {
        if self.dependencies.is_empty() {
            return false;
        }
        if let Some(tasks) = self.tasks_hopeless() {
            return Some(tasks) == self.tasks_waiting;
        }
        let never = |state: &DependencyState| state.outcome == Outcome::Never;
        match self.dependencies_any {
            true => self.dependencies.iter().all(never),
            false => self.dependencies.iter().any(never),
        }
    }

    /// The conditions that are judged task by task, as the tasks that wait now make them.
    pub(crate) fn judge_conditions_by_task(&mut self) {
        if let Some(waiting) = &self.tasks_waiting {
            let by_task = self.dependencies.iter_mut().filter(|state| state.is_by_task());
            by_task.for_each(|state| state.judge_by_task(waiting));
        }
    }

    /// An array's record becomes that of a task that waits by itself from now on. Its conditions task by task are those of
    /// its own counterpart.
    pub(crate) fn leave_array(&mut self, task: ArrayTaskId) {
        self.task = Some(task);
        self.tasks_waiting = None;
        self.cancelled_by = None;
        self.counts_as_one();
        for state in self.dependencies.iter_mut().filter(|state| state.is_by_task()) {
            let outcome = match () {
                () if state.tasks_satisfied.contains(task.task) => Outcome::Satisfied,
                () if state.tasks_never.contains(task.task) => Outcome::Never,
                () => Outcome::Open,
            };
            let condition = Dependency { task: Some(task.task), ..state.condition.clone() };
            *state = DependencyState { outcome, ..DependencyState::open(condition) };
        }
    }

    /// A task that goes on gaining priority by age with the array's other tasks is one job.
    fn counts_as_one(&mut self) {
        if let Some(accrual) = &mut self.accrual {
            accrual.count = 1;
        }
    }

    /// An array's record becomes that of one of its tasks, of which this is known.
    pub(crate) fn become_task(&mut self, task: ArrayTaskId, outcome: Outcome) {
        self.task = Some(task);
        self.tasks_waiting = None;
        self.counts_as_one();
        // It says who cancelled other tasks of the array.
        self.cancelled_by = None;
        for state in self.dependencies.iter_mut().filter(|state| state.is_by_task()) {
            *state = DependencyState { outcome, ..DependencyState::open(state.condition.clone()) };
        }
    }
}

impl Cluster {
    /// The last task has the array's own id and so starts last: those in front of it that never will leave the array,
    /// each as a record of its own, once they are all that it waits for.
    pub(crate) fn part_hopeless_tasks(&mut self, array: JobId) {
        let Some(record) = self.jobs.get(&array).cloned() else { return };
        let Some((hopeless, rest)) = record.last_task_waits_for_hopeless() else { return };
        for task in hopeless.iter() {
            let Some(id) = self.arrays.get(&array).and_then(|state| state.task_job_id(task)) else {
                continue;
            };
            let mut parted = Job { id, ..Job::clone(&record) };
            parted.become_task(ArrayTaskId { array_job: array, task }, Outcome::Never);
            self.change_array(array, |state| state.records += 1);
            self.add_job(parted);
        }
        self.change_job(array, |job| job.tasks_waiting = Some(rest));
    }
}

/// Looks again at a condition that is judged task by task; false where it is not one.
pub(crate) fn evaluate_by_task(cluster: &Cluster, job: &Job, state: &mut DependencyState) -> bool {
    let (Some(waiting), true) = (&job.tasks_waiting, state.is_by_task()) else { return false };
    let (satisfied, never) = match state.condition.job.and_then(|other| cluster.arrays.get(&other)) {
        Some(other) => {
            let missing = waiting.difference(other.tasks());
            let satisfied = waiting.intersection(&other.succeeded).union(&missing);
            (satisfied, waiting.intersection(&other.failed))
        }
        // No array: it is every task's counterpart.
        None => match evaluate(cluster, job, &state.condition).0 {
            Outcome::Satisfied => (waiting.clone(), IndexSet::new()),
            Outcome::Never => (IndexSet::new(), waiting.clone()),
            Outcome::Open => (IndexSet::new(), IndexSet::new()),
        },
    };
    state.tasks_satisfied = state.tasks_satisfied.union(&satisfied);
    state.tasks_never = never.difference(&state.tasks_satisfied);
    state.judge_by_task(waiting);
    true
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
    let parts: Vec<String> =
        job.unfulfilled_conditions().map(|state| condition_notation(cluster, state)).collect();
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
