//! Decides every recorded cycle again, from the log alone, and compares.

use std::collections::BTreeMap;
use std::fmt;

use daybook_log::{EventLog, ReadError};
use daybook_model::Cluster;
use daybook_schemas::events::{
    Body, JobFinished, PlannerCycle, RunAllocated, RunPreempted, RunResumeOrdered, RunUsedUp,
};
use daybook_schemas::{Commit, Seq, Stream};

use daybook_plan::{Policy, plan};

/// States kept behind the end of the fold; a cycle that was decided from an older one is decided from a second fold.
const HISTORY: usize = 4_096;
/// Commits read at once.
const BATCH: usize = 512;

/// What a verification found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The last commit looked at.
    pub through: Seq,
    /// Recorded cycles decided again.
    pub cycles: u64,
    /// Starts in them.
    pub starts: u64,
    /// The first cycle that was decided otherwise; verification ends there.
    pub difference: Option<Difference>,
}

/// A recorded cycle that this program would have decided otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The commit that has the cycle.
    pub seq: Seq,
    /// The position that it was decided from.
    pub input: Seq,
    /// What differs: the first part that does.
    pub part: Part,
    /// As recorded.
    pub recorded: String,
    /// As decided now.
    pub decided: String,
}

/// A part of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The policy's hash: another planner, or other parameters.
    Policy,
    /// Which runs start, in which order.
    Starts,
    /// What a run gets.
    Resources,
    /// Reasons.
    Reasons,
    /// Protected starts.
    Reservations,
    /// Jobs ended.
    Finished,
    /// Runs that give way.
    Preemptions,
    /// Suspended runs that go on.
    Resumes,
    /// Runs whose limits are used up.
    UsedUp,
    /// Only the counts of what was looked at, or the hash.
    Hash,
}

/// Why a log cannot be verified.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It cannot be read on.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A commit is missing.
    #[error("the log ends at {0} though it says that it is longer")]
    Short(Seq),
    /// The model cannot fold it.
    #[error("commit {seq} cannot be folded: {why}")]
    Fold {
        /// Where.
        seq: Seq,
        /// Why.
        why: String,
    },
    /// A cycle says that it was decided from a position that it cannot have seen.
    #[error("the cycle in commit {seq} says that it was decided from {input}, which does not lie before it")]
    Input {
        /// The commit.
        seq: Seq,
        /// The position that it names.
        input: Seq,
    },
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Policy => "policy",
            Part::Starts => "starts",
            Part::Resources => "resources",
            Part::Reasons => "reasons",
            Part::Reservations => "reservations",
            Part::Finished => "finished jobs",
            Part::Preemptions => "preemptions",
            Part::Resumes => "runs that go on",
            Part::UsedUp => "runs with used up limits",
            Part::Hash => "hash",
        })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { seq, input, part, recorded, decided } = self;
        write!(
            f,
            "commit {seq}, decided from {input}: {part} differ\n  recorded: {recorded}\n  decided:  {decided}"
        )
    }
}

/// Folds the state stream from its beginning to its present end, decides every recorded cycle again from the state at
/// its input, and stops at the first that comes out otherwise.
pub async fn verify(log: &dyn EventLog) -> Result<Report, ReplayError> {
    let end = log.end(Stream::State);
    let mut cluster = Cluster::new();
    let mut history = BTreeMap::from([(Seq::ZERO, cluster.clone())]);
    let mut report = Report { through: Seq::ZERO, cycles: 0, starts: 0, difference: None };
    while cluster.position() < end {
        let commits = log.read(Stream::State, cluster.position().next(), BATCH).await?;
        if commits.is_empty() {
            return Err(ReplayError::Short(cluster.position()));
        }
        for commit in commits.iter().take_while(|commit| commit.seq <= end) {
            if let Some(recorded) = recorded_cycle(commit) {
                let before = state_at(log, &history, commit.seq, recorded.input).await?;
                report.cycles += 1;
                report.starts += recorded.starts.len() as u64;
                report.difference = compare(&before, commit, recorded);
            }
            report.through = commit.seq;
            if report.difference.is_some() {
                return Ok(report);
            }
            fold(&mut cluster, commit)?;
            history.insert(commit.seq, cluster.clone());
            if history.len() > HISTORY {
                history.pop_first();
            }
        }
    }
    Ok(report)
}

fn fold(cluster: &mut Cluster, commit: &Commit) -> Result<(), ReplayError> {
    cluster.apply(commit).map_err(|why| ReplayError::Fold { seq: commit.seq, why })
}

fn recorded_cycle(commit: &Commit) -> Option<&PlannerCycle> {
    commit.counted().find_map(|(_, event)| match &event.body {
        Body::PlannerCycle(cycle) => Some(cycle.as_ref()),
        _ => None,
    })
}

async fn state_at(
    log: &dyn EventLog,
    history: &BTreeMap<Seq, Cluster>,
    seq: Seq,
    input: Seq,
) -> Result<Cluster, ReplayError> {
    if input >= seq {
        return Err(ReplayError::Input { seq, input });
    }
    if let Some(cluster) = history.get(&input) {
        return Ok(cluster.clone());
    }
    let mut cluster = Cluster::new();
    while cluster.position() < input {
        let commits = log.read(Stream::State, cluster.position().next(), BATCH).await?;
        if commits.is_empty() {
            return Err(ReplayError::Short(cluster.position()));
        }
        for commit in commits.iter().take_while(|commit| commit.seq <= input) {
            fold(&mut cluster, commit)?;
        }
    }
    Ok(cluster)
}

/// The first part of a cycle that comes out otherwise.
fn compare(before: &Cluster, commit: &Commit, recorded: &PlannerCycle) -> Option<Difference> {
    let difference = |part, recorded_text: String, decided: String| {
        Some(Difference { seq: commit.seq, input: recorded.input, part, recorded: recorded_text, decided })
    };
    let Some(policy) = Policy::of(before) else {
        return difference(Part::Policy, recorded.policy_hash.clone(), "no configuration yet".to_string());
    };
    let cycle = plan(before, recorded.now, &policy);
    if cycle.policy_hash != recorded.policy_hash {
        return difference(Part::Policy, recorded.policy_hash.clone(), cycle.policy_hash);
    }
    let decided = Events::of(cycle.to_events().into_iter().map(|event| event.body));
    let found = Events::of(commit.counted().map(|(_, event)| event.body.clone()));
    if recorded.starts.iter().ne(cycle.starts.iter().map(|start| &start.run)) {
        let runs = |runs: &mut dyn Iterator<Item = String>| runs.collect::<Vec<_>>().join(" ");
        let text = runs(&mut recorded.starts.iter().map(|run| run.to_string()));
        return difference(
            Part::Starts,
            text,
            runs(&mut cycle.starts.iter().map(|start| start.run.to_string())),
        );
    }
    for at in 0..found.allocated.len().max(decided.allocated.len()) {
        let (recorded_run, decided_run) = (found.allocated.get(at), decided.allocated.get(at));
        if recorded_run != decided_run {
            return difference(Part::Resources, text_of(recorded_run), text_of(decided_run));
        }
    }
    if recorded.reasons != cycle.reasons {
        return difference(Part::Reasons, text_of(Some(&recorded.reasons)), text_of(Some(&cycle.reasons)));
    }
    if recorded.reservations != cycle.reservations {
        let text = text_of(Some(&recorded.reservations));
        return difference(Part::Reservations, text, text_of(Some(&cycle.reservations)));
    }
    if found.finished != decided.finished {
        return difference(Part::Finished, text_of(Some(&found.finished)), text_of(Some(&decided.finished)));
    }
    if found.preempted != decided.preempted {
        let text = text_of(Some(&found.preempted));
        return difference(Part::Preemptions, text, text_of(Some(&decided.preempted)));
    }
    if found.resumed != decided.resumed {
        let text = text_of(Some(&found.resumed));
        return difference(Part::Resumes, text, text_of(Some(&decided.resumed)));
    }
    if found.used_up != decided.used_up {
        return difference(Part::UsedUp, text_of(Some(&found.used_up)), text_of(Some(&decided.used_up)));
    }
    let of_recorded = (recorded.jobs_considered, recorded.steps, recorded.bound, &recorded.decision_hash);
    let of_decided = (cycle.jobs_considered, cycle.steps, cycle.bound, &cycle.decision_hash);
    if of_recorded != of_decided {
        return difference(Part::Hash, format!("{of_recorded:?}"), format!("{of_decided:?}"));
    }
    None
}

/// What a commit says beside the cycle itself.
#[derive(Default)]
struct Events {
    allocated: Vec<RunAllocated>,
    finished: Vec<JobFinished>,
    preempted: Vec<RunPreempted>,
    resumed: Vec<RunResumeOrdered>,
    used_up: Vec<RunUsedUp>,
}

impl Events {
    fn of(bodies: impl Iterator<Item = Body>) -> Events {
        let mut events = Events::default();
        for body in bodies {
            match body {
                Body::RunAllocated(data) => events.allocated.push(*data),
                Body::JobFinished(data) => events.finished.push(*data),
                Body::RunPreempted(data) => events.preempted.push(*data),
                Body::RunResumeOrdered(data) => events.resumed.push(*data),
                Body::RunUsedUp(data) => events.used_up.push(*data),
                _ => {}
            }
        }
        events
    }
}

fn text_of<T: serde::Serialize>(value: Option<&T>) -> String {
    match value {
        None => "nothing".to_string(),
        Some(value) => serde_json::to_string(value).unwrap_or_else(|error| error.to_string()),
    }
}

impl Report {
    /// Whether every recorded cycle came out the same.
    pub fn is_clean(&self) -> bool {
        self.difference.is_none()
    }
}
