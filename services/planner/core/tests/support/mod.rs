//! A cluster folded from commits made here, with the planner's decisions applied at once: for scripts, properties and
//! the benchmark.
#![allow(dead_code)] // each test binary uses its own part

pub mod script;

use daybook_model::Cluster;
use daybook_plan::{Cycle, Policy, plan};
use daybook_schemas::events::{
    Body, ClusterConfigured, JobCancelRequested, JobHeld, JobSubmitted, JobTarget, NodeRegistered,
    NodeUpdated, RunEnded, RunNodeReleased,
};
use daybook_schemas::job::{JobSpec, JobUser, OpenMode, ResourceRequest, TimeLimit};
use daybook_schemas::node::{
    ClusterParameters, GpuDevice, NodeDefinition, NodeUpdateState, PartitionDefinition,
};
use daybook_schemas::run::{EndCause, ExitStatus};
use daybook_schemas::{
    Actor, BlobHash, Commit, Event, EventId, JobId, Mebibytes, NodeName, RunId, Seq, Subject, UtcMicros,
};

/// Where the scripts' time begins.
pub const DAWN: UtcMicros = UtcMicros(1_800_000_000_000_000);

/// A cluster and the commits that made it.
pub struct Simulation {
    pub cluster: Cluster,
    pub commits: Vec<Commit>,
    pub now: UtcMicros,
}

impl Simulation {
    pub fn new() -> Simulation {
        Simulation { cluster: Cluster::new(), commits: Vec::new(), now: DAWN }
    }

    /// Appends a commit of one event.
    pub fn say(&mut self, subject: Subject, body: impl Into<Body>) {
        let id = EventId::from(format!("test/{}", self.cluster.position()));
        let actor = Actor { name: "root".to_string(), uid: Some(0), ..Actor::service("test") };
        let event =
            Event { id, source: "test".to_string(), time: self.now, actor, cause: None, body: body.into() };
        self.commit(subject, vec![event]);
    }

    pub fn commit(&mut self, subject: Subject, events: Vec<Event>) -> Seq {
        let commit = Commit { seq: self.cluster.position().next(), time: self.now, subject, events };
        self.cluster.apply(&commit).expect("the commit folds");
        self.commits.push(commit);
        self.cluster.position()
    }

    pub fn configure(&mut self, configured: ClusterConfigured) {
        self.say(Subject::Admin, configured);
    }

    pub fn register(&mut self, node: &NodeDefinition) {
        let registered = NodeRegistered {
            node: node.name.clone(),
            boot_id: "boot".to_string(),
            cpus: node.cpus,
            memory: node.memory,
            gpus: node.gpus.clone(),
            agent_version: "0".to_string(),
            operating_system: "Linux".to_string(),
            architecture: "x86_64".to_string(),
            unconfined: None,
        };
        self.say(Subject::Node(node.name.clone()), registered);
    }

    pub fn submit(&mut self, spec: JobSpec) -> JobId {
        let job = self.cluster.next_job_id();
        let ids = spec.array.as_ref().map_or(1, |array| array.tasks.len() as u32);
        self.say(Subject::Jobs, JobSubmitted { job, ids, spec });
        job
    }

    pub fn cancel(&mut self, job: JobId) {
        let target = JobTarget { job, tasks: None };
        self.say(Subject::Jobs, JobCancelRequested { target, uid: 0, signal: None, batch: false });
    }

    pub fn hold(&mut self, job: JobId) {
        self.say(Subject::Jobs, JobHeld { target: JobTarget { job, tasks: None }, by_administrator: false });
    }

    /// The script of a run is over; its nodes are not yet released.
    pub fn end(&mut self, run: RunId, exit: ExitStatus) {
        self.end_by(run, EndCause::Exited, exit);
    }

    /// The same, by somebody else.
    pub fn end_by(&mut self, run: RunId, cause: EndCause, exit: ExitStatus) {
        let Some(found) = self.cluster.runs().get(&run).cloned() else { panic!("there is no run {run}") };
        let node = found.nodes[0].node.clone();
        let ended = RunEnded { run, node: node.clone(), cause, exit, message: None, usage: None };
        self.say(Subject::Node(node), ended);
    }

    pub fn release(&mut self, run: RunId) {
        let Some(found) = self.cluster.runs().get(&run).cloned() else { panic!("there is no run {run}") };
        for share in found.nodes.iter() {
            let node = share.node.clone();
            self.say(Subject::Node(node.clone()), RunNodeReleased { run, node });
        }
    }

    pub fn update_node(&mut self, node: &str, state: NodeUpdateState) {
        let reason = Some("test".to_string());
        self.say(Subject::Jobs, NodeUpdated::new(NodeName::from(node), Some(state), reason));
    }

    /// What would be decided now.
    pub fn consider(&self) -> Cycle {
        let policy = Policy::of(&self.cluster).expect("the cluster is configured");
        plan(&self.cluster, self.now, &policy)
    }

    /// Plans once and applies what was decided.
    pub fn plan(&mut self) -> Cycle {
        let cycle = self.consider();
        if cycle.decides() || cycle.expects_otherwise(&self.cluster) {
            self.commit(Subject::Plan, cycle.to_events());
        }
        cycle
    }
}

pub fn node(name: &str, cpus: u32, memory: u64, gpus: &[&str]) -> NodeDefinition {
    let gpus = (0u32..).zip(gpus).map(|(index, gpu_type)| GpuDevice::new(name, index, gpu_type));
    let definition = NodeDefinition::new(name, cpus, Mebibytes(memory));
    NodeDefinition { gpus: gpus.collect(), simulated: true, ..definition }
}

pub fn partition(name: &str, nodes: &[&str]) -> PartitionDefinition {
    PartitionDefinition::new(name, nodes.iter().map(|name| NodeName::from(*name)).collect())
}

pub fn parameters() -> ClusterParameters {
    ClusterParameters { max_job_count: 1_000_000, memory_is_consumed: false, ..ClusterParameters::default() }
}

pub fn configuration(
    nodes: Vec<NodeDefinition>,
    partitions: Vec<PartitionDefinition>,
    parameters: ClusterParameters,
) -> ClusterConfigured {
    ClusterConfigured {
        cluster_name: "test".to_string(),
        nodes,
        partitions,
        parameters,
        ..ClusterConfigured::default()
    }
}

pub fn job(name: &str, partition: &str, minutes: u32) -> JobSpec {
    JobSpec {
        name: name.to_string(),
        user: JobUser { uid: 1001, gid: 1001, name: "alice".to_string(), group: "alice".to_string() }.into(),
        account: None,
        partition: partition.to_string(),
        qos: None,
        wckey: None,
        request: ResourceRequest::default().into(),
        time_limit: Some(TimeLimit::minutes(minutes)),
        begin: None,
        dependencies: None,
        kill_on_invalid_dependency: false,
        keep_on_invalid_dependency: false,
        time_min: None,
        deadline: None,
        hold: false,
        nice: 0,
        requeue: true,
        array: None,
        reservation: None,
        script: BlobHash(String::new()),
        script_bytes: 0,
        command: None,
        arguments: Vec::new(),
        environment: BlobHash(String::new()),
        work_dir: "/".to_string(),
        std_in: None,
        std_out: None,
        std_err: None,
        open_mode: OpenMode::Truncate,
        umask: 0o22,
        resource_limits: Default::default(),
        comment: None,
        submit_host: "test".to_string(),
        submit_line: "sbatch".to_string(),
        session: 0,
    }
}
