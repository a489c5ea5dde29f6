//! The clock: at each instant first what ends, then what arrives, then the planner.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use daybook_model::Cluster;
use daybook_plan::{Cycle, Policy, plan};
use daybook_schemas::events::{
    Body, ClusterConfigured, CycleBound, JobSubmitted, NodeRegistered, RunEnded, RunNodeReleased,
};
use daybook_schemas::job::{JobSpec, JobUser, OpenMode, TimeLimit};
use daybook_schemas::node::{ClusterParameters, PartitionDefinition};
use daybook_schemas::run::{EndCause, ExitStatus, RunNode};
use daybook_schemas::{Actor, BlobHash, Commit, Event, EventId, JobId, RunId, Seconds, Subject, UtcMicros};

use crate::machine::Machine;
use crate::request::request;
use crate::trace::{Trace, TraceJob};

/// The one partition.
const PARTITION: &str = "trace";
/// Cycles at one instant before it is said that the planner does not come to an end.
const CYCLES_MAX: u32 = 1_000_000;

/// How a simulation went.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// When each job of the trace started, in seconds on its clock, in the trace's order.
    pub starts: Vec<u64>,
    /// Planning cycles.
    pub cycles: u64,
    /// Steps that they counted.
    pub steps: u64,
    /// Commits folded.
    pub commits: u64,
}

/// Why a simulation does not come to its end: a defect of the planner or the model, or a job that can never run.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// A job cannot run on these nodes.
    #[error("{count} jobs never start on these nodes, the first of them {first}: {reason}")]
    NeverStarts {
        /// How many.
        count: usize,
        /// The name of one.
        first: String,
        /// What the planner says.
        reason: String,
    },
    /// The model refuses a commit.
    #[error("the model refuses a commit: {0}")]
    Model(String),
    /// The planner starts more at one instant than there can be.
    #[error("the planner does not come to an end at {0}")]
    Endless(u64),
}

struct World<'t> {
    trace: &'t Trace,
    machine: &'t Machine,
    cluster: Cluster,
    now: u64,
    users: BTreeMap<&'t str, u32>,
    running: BTreeMap<RunId, Arc<[RunNode]>>,
    /// (end, order of start, run).
    ends: BinaryHeap<Reverse<(u64, u64, RunId)>>,
    outcome: Outcome,
}

/// Runs a trace to its end. `progress` hears how many jobs have ended.
pub fn simulate(
    trace: &Trace,
    machine: &Machine,
    policy: &Policy,
    mut progress: impl FnMut(usize),
) -> Result<Outcome, SimulationError> {
    let mut world = World {
        trace,
        machine,
        cluster: Cluster::new(),
        now: 0,
        users: BTreeMap::new(),
        running: BTreeMap::new(),
        ends: BinaryHeap::new(),
        outcome: Outcome { starts: vec![u64::MAX; trace.jobs.len()], cycles: 0, steps: 0, commits: 0 },
    };
    world.configure()?;
    let (mut arrived, mut ended, mut started) = (0, 0, 0);
    loop {
        let next_end = world.ends.peek().map(|Reverse((end, ..))| *end);
        let next_arrival = trace.jobs.get(arrived).map(|job| job.submit);
        world.now = match (next_end, next_arrival) {
            (Some(end), Some(arrival)) => end.min(arrival),
            (Some(instant), None) | (None, Some(instant)) => instant,
            (None, None) => break,
        };
        ended += world.end_runs()?;
        arrived = world.submit(arrived)?;
        started += world.plan(policy)?;
        progress(ended);
    }
    match started < trace.jobs.len() {
        true => Err(world.never_started()),
        false => Ok(world.outcome),
    }
}

impl<'t> World<'t> {
    fn instant(&self) -> UtcMicros {
        UtcMicros(i64::try_from(self.now).unwrap_or(i64::MAX / 1_000_000).saturating_mul(1_000_000))
    }

    fn configure(&mut self) -> Result<(), SimulationError> {
        let types = self.trace.jobs.iter().map(|job| job.gpu_type.as_str());
        let choices = types.filter(|types| types.contains('|')).collect();
        let nodes = self.machine.definitions(&choices);
        let partition = PartitionDefinition {
            nodes_text: String::new(),
            default: true,
            ..PartitionDefinition::new(PARTITION, nodes.iter().map(|node| node.name.clone()).collect())
        };
        let memory_is_consumed =
            self.machine.counts_memory() && self.trace.jobs.iter().any(|job| job.memory > 0);
        let configured = ClusterConfigured {
            cluster_name: "simulated".to_string(),
            nodes: nodes.clone(),
            partitions: vec![partition],
            parameters: ClusterParameters {
                min_job_age: Seconds(0),
                max_job_count: u32::MAX,
                memory_is_consumed,
                planner_jobs_max: u32::MAX,
                ..ClusterParameters::default()
            },
            ..ClusterConfigured::default()
        };
        self.commit(Subject::Admin, vec![configured.into()])?;
        for node in nodes {
            let registered = NodeRegistered {
                node: node.name.clone(),
                boot_id: "simulated".to_string(),
                cpus: node.cpus,
                memory: node.memory,
                gpus: node.gpus,
                agent_version: String::new(),
                operating_system: String::new(),
                architecture: String::new(),
                unconfined: None,
            };
            self.commit(Subject::Node(node.name), vec![registered.into()])?;
        }
        Ok(())
    }

    /// Everything that ends at this instant, in the order in which it was started.
    fn end_runs(&mut self) -> Result<usize, SimulationError> {
        let mut count = 0;
        while let Some(Reverse((end, _, run))) = self.ends.peek().copied()
            && end == self.now
        {
            self.ends.pop();
            let Some(nodes) = self.running.remove(&run) else { continue };
            for (position, share) in nodes.iter().enumerate() {
                let node = share.node.clone();
                let released = Body::from(RunNodeReleased { run, node: node.clone() });
                let exit = ExitStatus::default();
                let cause = EndCause::Exited;
                let ended = RunEnded { run, node: node.clone(), cause, exit, message: None, usage: None };
                let bodies = if position == 0 { vec![ended.into(), released] } else { vec![released] };
                self.commit(Subject::Node(node), bodies)?;
            }
            count += 1;
        }
        Ok(count)
    }

    /// Everything that arrives at this instant, in the order of the trace.
    fn submit(&mut self, first: usize) -> Result<usize, SimulationError> {
        let trace = self.trace;
        let now = self.now;
        let arrivals = trace.jobs[first..].iter().take_while(|job| job.submit == now);
        let mut bodies: Vec<Body> = Vec::new();
        for job in arrivals {
            let id = JobId((first + bodies.len() + 1) as u32);
            let spec = self.spec(job);
            bodies.push(JobSubmitted { job: id, ids: 1, spec }.into());
        }
        let next = first + bodies.len();
        if !bodies.is_empty() {
            self.commit(Subject::Jobs, bodies)?;
        }
        Ok(next)
    }

    fn spec(&mut self, job: &'t TraceJob) -> JobSpec {
        // Users are numbered as they come.
        let known = self.users.len() as u32;
        let uid = *self.users.entry(&job.user).or_insert(1_000 + known);
        let name = |text: &str| if text.is_empty() { "-".to_string() } else { text.to_string() };
        JobSpec {
            name: name(&job.program),
            user: JobUser { uid, gid: uid, name: name(&job.user), group: String::new() }.into(),
            account: None,
            partition: PARTITION.to_string(),
            qos: None,
            wckey: None,
            request: request(job, self.trace.unit, self.machine).into(),
            time_limit: Some(TimeLimit::Seconds(job.estimate)),
            begin: None,
            dependencies: None,
            kill_on_invalid_dependency: false,
            keep_on_invalid_dependency: false,
            time_min: None,
            deadline: None,
            hold: false,
            nice: 0,
            requeue: false,
            array: None,
            reservation: None,
            script: BlobHash(String::new()),
            script_bytes: 0,
            command: None,
            arguments: Vec::new(),
            environment: BlobHash(String::new()),
            work_dir: String::new(),
            std_in: None,
            std_out: None,
            std_err: None,
            open_mode: OpenMode::Truncate,
            umask: 0,
            resource_limits: Default::default(),
            comment: None,
            submit_host: String::new(),
            submit_line: String::new(),
            session: 0,
        }
    }

    /// Plans until nothing more starts at this instant.
    fn plan(&mut self, policy: &Policy) -> Result<usize, SimulationError> {
        let mut count = 0;
        for _ in 0..CYCLES_MAX {
            let cycle = plan(&self.cluster, self.instant(), policy);
            self.outcome.cycles += 1;
            self.outcome.steps += cycle.steps;
            let has_more = cycle.bound == Some(CycleBound::Starts);
            if !cycle.starts.is_empty() {
                count += cycle.starts.len();
                self.record(&cycle)?;
            }
            if !has_more {
                return Ok(count);
            }
        }
        Err(SimulationError::Endless(self.now))
    }

    fn record(&mut self, cycle: &Cycle) -> Result<(), SimulationError> {
        self.fold(Subject::Plan, cycle.to_events())?;
        for start in &cycle.starts {
            let at = start.run.job.0 as usize - 1;
            let order = self.outcome.commits;
            self.outcome.starts[at] = self.now;
            self.ends.push(Reverse((self.now.saturating_add(self.trace.jobs[at].run), order, start.run)));
            self.running.insert(start.run, start.nodes.clone().into());
        }
        Ok(())
    }

    fn commit(&mut self, subject: Subject, bodies: Vec<Body>) -> Result<(), SimulationError> {
        let position = self.cluster.position();
        let event = |(number, body)| Event {
            id: EventId::from(format!("simulated/{position}/{number}")),
            source: "simulated".to_string(),
            time: self.instant(),
            actor: Actor::service("simulated"),
            cause: None,
            body,
        };
        let events = bodies.into_iter().enumerate().map(event).collect();
        self.fold(subject, events)
    }

    fn fold(&mut self, subject: Subject, events: Vec<Event>) -> Result<(), SimulationError> {
        let commit = Commit { seq: self.cluster.position().next(), time: self.instant(), subject, events };
        self.outcome.commits += 1;
        self.cluster.apply(&commit).map_err(SimulationError::Model)
    }

    fn never_started(&self) -> SimulationError {
        let waiting = || self.outcome.starts.iter().enumerate().filter(|(_, start)| **start == u64::MAX);
        let first = waiting().next().map(|(at, _)| at);
        let policy = Policy { reasons_max: 1_000, considered_min: 1_000, ..Policy::new(1, u32::MAX) };
        let cycle = plan(&self.cluster, self.instant(), &policy);
        let reason =
            cycle.reasons.iter().find(|change| Some(change.job.0 as usize) == first.map(|at| at + 1));
        SimulationError::NeverStarts {
            count: waiting().count(),
            first: first.map_or(String::new(), |at| self.trace.jobs[at].id.clone()),
            reason: reason.map_or("no reason is known", |change| change.reason.word()).to_string(),
        }
    }
}
