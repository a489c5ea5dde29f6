//! A witness of the log: sees every commit as soon as it is there, and says when one breaks a rule.
//!
//! It folds the real model, and beside it keeps what it needs to judge in its own, simpler way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use daybook_model::Cluster;
use daybook_schemas::events::{JobSubmitted, PlannerCycle, RunAllocated};
use daybook_schemas::job::JobState;
use daybook_schemas::run::{EndCause, RunNode};
use daybook_schemas::{Body, Commit, Event, JobId, NodeName, RunId, Seq, Subject};

use crate::policies;

/// A CPU or GPU: its node, its kind, its number or identity.
type Unit = (NodeName, &'static str, String);

/// How a run ended, as its node told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// By what.
    pub cause: EndCause,
    /// Where.
    pub seq: Seq,
}

/// What the witness knows.
#[derive(Default)]
pub struct Witness {
    /// The model, folded one commit after the other.
    pub cluster: Cluster,
    /// Submissions in the log, by the client's request id.
    pub submitted: BTreeMap<String, JobId>,
    /// Requests of which something is in the log.
    pub requests: BTreeSet<String>,
    /// Runs that were allocated and not void.
    pub allocated: BTreeMap<RunId, Vec<RunNode>>,
    /// Ends of runs.
    pub ended: BTreeMap<RunId, Told>,
    /// Runs that ended because their node was silent for too long; the node may tell another end later.
    pub given_up: BTreeSet<RunId>,
    /// The last state of every job record that there ever was; `None`: it came to its end and was forgotten at once.
    pub states: BTreeMap<JobId, Option<JobState>>,
    events: BTreeSet<Arc<str>>,
    holders: BTreeMap<Unit, RunId>,
    reserved: BTreeMap<u32, u32>,
    last_plan: Seq,
}

impl Witness {
    /// Before the first commit.
    pub fn new() -> Witness {
        Witness { cluster: Cluster::new(), ..Witness::default() }
    }

    /// Sees the next commit. An error is a broken rule.
    pub fn see(&mut self, commit: &Commit) -> Result<(), String> {
        self.judge(commit).map_err(|what| format!("commit {}: {what}", commit.seq))
    }

    fn judge(&mut self, commit: &Commit) -> Result<(), String> {
        let time_before = self.cluster.time();
        self.cluster.apply(commit).map_err(|why| format!("the model cannot fold it: {why}"))?;
        if commit.time < time_before {
            return Err("the log's time goes back".to_string());
        }
        for event in &commit.events {
            if !self.events.insert(event.id.0.clone()) {
                return Err(format!("event {} is in the log twice", event.id));
            }
            self.judge_event(commit, event)?;
        }
        if commit.subject == Subject::Plan {
            self.last_plan = commit.seq;
            policies::check_limits(&self.cluster)?;
        }
        self.judge_states(commit)?;
        self.cluster.sanity_check().map_err(|violations| {
            let words: Vec<String> = violations.iter().map(ToString::to_string).collect();
            format!("the model is not sane: {}", words.join("; "))
        })
    }

    fn judge_event(&mut self, commit: &Commit, event: &Event) -> Result<(), String> {
        if let Some(request) = event.id.0.strip_prefix("req/").and_then(|rest| rest.split('/').next()) {
            self.requests.insert(request.to_string());
        }
        match &event.body {
            Body::JobSubmitted(data) => self.judge_submission(event, data),
            Body::PlannerCycle(data) => self.judge_cycle(data),
            Body::RunAllocated(data) => self.judge_allocation(commit, data),
            Body::RunEnded(data) => self.note_end(commit, data.run, data.cause),
            Body::RunLost(data) => self.note_end(commit, data.run, EndCause::Lost),
            Body::NodeTimedOut(data) => {
                let runs = self.cluster.runs().values();
                let runs = runs.filter(|run| run.given_up_on.contains(&data.node));
                self.given_up.extend(runs.map(|run| run.id));
                Ok(())
            }
            Body::RunNodeReleased(data) => {
                self.holders.retain(|(node, ..), run| *node != data.node || *run != data.run);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A request is one job, and no id is given twice.
    fn judge_submission(&mut self, event: &Event, data: &JobSubmitted) -> Result<(), String> {
        let request = event.id.0.split('/').nth(1).unwrap_or_default().to_string();
        if let Some(before) = self.submitted.insert(request.clone(), data.job) {
            return Err(format!("request {request} is job {before} and job {}", data.job));
        }
        let end = data.job.0 + data.ids;
        let before = self.reserved.range(..end).next_back();
        if before.is_some_and(|(_, taken)| *taken > data.job.0) {
            return Err(format!("an id of job {} was given before", data.job));
        }
        self.reserved.insert(data.job.0, end);
        Ok(())
    }

    /// Fencing: who decides has seen everything that was decided before.
    fn judge_cycle(&self, data: &PlannerCycle) -> Result<(), String> {
        match data.input < self.last_plan {
            true => {
                Err(format!("a cycle decided from {}, though {} decided already", data.input, self.last_plan))
            }
            false => Ok(()),
        }
    }

    /// Nothing is given twice, and an allocation is void only if something has come between.
    fn judge_allocation(&mut self, commit: &Commit, data: &RunAllocated) -> Result<(), String> {
        let run = data.run;
        let counts = self.cluster.runs().get(&run).is_some_and(|there| there.allocated_seq == commit.seq);
        if !counts {
            let input = commit.events.iter().find_map(|event| match &event.body {
                Body::PlannerCycle(cycle) => Some(cycle.input),
                _ => None,
            });
            let overtaken = input.is_some_and(|input| input.next() < commit.seq);
            return if overtaken { Ok(()) } else { Err(format!("run {run} is void from the start")) };
        }
        if self.allocated.insert(run, data.nodes.clone()).is_some() {
            return Err(format!("run {run} is allocated twice"));
        }
        for unit in data.nodes.iter().flat_map(units) {
            if let Some(holder) = self.holders.insert(unit.clone(), run) {
                let (node, kind, name) = unit;
                return Err(format!("{kind} {name} of {node} is given to {run}, and {holder} has it"));
            }
        }
        Ok(())
    }

    fn note_end(&mut self, commit: &Commit, run: RunId, cause: EndCause) -> Result<(), String> {
        match self.ended.insert(run, Told { cause, seq: commit.seq }) {
            Some(before) => Err(format!("run {run} ends, and has ended in commit {}", before.seq)),
            None => Ok(()),
        }
    }

    /// What is over stays over, unless somebody has put it back; and only what is over is forgotten.
    fn judge_states(&mut self, commit: &Commit) -> Result<(), String> {
        for (id, state) in &mut self.states {
            let Some(before) = *state else { continue };
            let now = self.cluster.jobs().get(id);
            if now.is_none() && !before.is_ended() {
                // Its node told so late of its end that it need not be remembered.
                let given_up = || self.given_up.iter().any(|run| run.job == *id);
                let ends_it = |event: &Event| match &event.body {
                    Body::NodeTimedOut(_) => given_up(),
                    _ => ended_run(event).is_some_and(|run| run.job == *id),
                };
                if !commit.events.iter().any(ends_it) {
                    return Err(format!("job {id} is forgotten as {}", before.word()));
                }
                *state = None;
            }
            if now.is_some_and(|job| before.is_ended() && !job.state.is_ended()) {
                let is_back =
                    |event: &Event| matches!(&event.body, Body::JobRequeued(data) if data.job == *id);
                if !commit.events.iter().any(is_back) {
                    return Err(format!("job {id} was {} and is not over any more", before.word()));
                }
            }
        }
        self.states.extend(self.cluster.jobs().iter().map(|(id, job)| (*id, Some(job.state))));
        Ok(())
    }
}

fn ended_run(event: &Event) -> Option<RunId> {
    match &event.body {
        Body::RunEnded(data) => Some(data.run),
        Body::RunLost(data) => Some(data.run),
        _ => None,
    }
}

fn units(share: &RunNode) -> Vec<Unit> {
    let cpus = share.cpus.iter().map(|cpu| (share.node.clone(), "CPU", cpu.to_string()));
    let gpus = share.gpus.iter().map(|gpu| (share.node.clone(), "GPU", gpu.uuid.to_string()));
    cpus.chain(gpus).collect()
}
