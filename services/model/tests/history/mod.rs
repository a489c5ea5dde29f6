//! Makes commits out of arbitrary numbers: most of them sensible, some overtaken, some about nothing.
#![allow(dead_code)] // each test binary uses its own part

use daybook_model::Cluster;
use daybook_schemas::accounts::{AccountUser, Association, PreemptMode, Qos, QosFlag, Shares};
use daybook_schemas::events::*;
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::*;
use daybook_schemas::node::*;
use daybook_schemas::priority::*;
use daybook_schemas::reservation::*;
use daybook_schemas::run::*;
use daybook_schemas::*;

/// One step: a kind, and two numbers that choose what it is about.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub kind: u8,
    pub a: u16,
    pub b: u16,
}

pub struct History {
    pub cluster: Cluster,
    pub commits: Vec<Commit>,
    now: i64,
}

const NODES: [&str; 3] = ["n1", "n2", "n3"];
/// A QOS with limits.
const LIMITED: &str = "limited";

impl History {
    pub fn new() -> History {
        let mut history = History { cluster: Cluster::new(), commits: Vec::new(), now: 1_000_000_000 };
        history.commit(Subject::Admin, vec![configuration(3).into()]);
        for name in NODES {
            history.commit(Subject::Node(name.into()), vec![registration(name).into()]);
        }
        history
    }

    pub fn now(&self) -> UtcMicros {
        UtcMicros(self.now * 1_000_000)
    }

    /// A commit of one event.
    pub fn say(&mut self, subject: Subject, body: impl Into<Body>) {
        self.commit(subject, vec![body.into()]);
    }

    /// Time passes, and something that changes nothing is written.
    pub fn wait(&mut self, seconds: i64) {
        self.now += seconds;
        let node = NodeName::from("nosuch");
        self.say(Subject::Plan, NodeLeaseRegained { node });
    }

    fn commit(&mut self, subject: Subject, bodies: Vec<Body>) {
        let seq = self.cluster.position().next();
        let time = UtcMicros(self.now * 1_000_000);
        let event = |(number, body)| Event {
            id: format!("e/{seq}/{number}").into(),
            source: "test".to_string(),
            time,
            actor: Actor::service("test"),
            cause: None,
            body,
        };
        let events = bodies.into_iter().enumerate().map(event).collect();
        let commit = Commit { seq, time, subject, events };
        self.cluster.apply(&commit).expect("a valid commit");
        self.commits.push(commit);
    }

    /// A job that there is, or (seldom) one that there is not.
    fn some_job(&self, number: u16) -> JobId {
        let known: Vec<JobId> = self.cluster.jobs().keys().copied().collect();
        match known.is_empty() || number.is_multiple_of(17) {
            true => JobId(u32::from(number) + 1000),
            false => known[usize::from(number) % known.len()],
        }
    }

    fn some_run(&self, number: u16) -> Option<RunId> {
        let known: Vec<RunId> = self.cluster.runs().keys().copied().collect();
        (!known.is_empty()).then(|| known[usize::from(number) % known.len()])
    }

    fn target(&self, a: u16, b: u16) -> JobTarget {
        let job = self.some_job(a);
        let array = self.cluster.arrays().get(&job);
        let tasks = array
            .filter(|_| b.is_multiple_of(2))
            .map(|_| [u32::from(b) % 5, u32::from(b) % 3].into_iter().collect());
        JobTarget { job, tasks }
    }

    pub fn step(&mut self, Step { kind, a, b }: Step) {
        self.now += i64::from(b % 40);
        match kind {
            0..=2 => self.submit(a, b),
            3..=5 => self.allocate(a, b),
            6 => self.about_run(a, |run, node| RunStarted { run, node, pid: Some(1) }.into()),
            7 | 8 => self.end(a, b),
            9 => self.release(a),
            10 => {
                let target = self.target(a, b);
                let signal = (b.is_multiple_of(5)).then_some(10);
                self.jobs(JobCancelRequested { target, uid: 7, signal, batch: true });
            }
            11 if a.is_multiple_of(3) => {
                let array = self.some_job(b);
                self.jobs(JobParted { array, tasks: [u32::from(a) % 5].into_iter().collect() });
            }
            11 => {
                let target = self.target(a, b);
                self.jobs(JobHeld { target, by_administrator: b % 2 == 1 });
            }
            12 => {
                let target = self.target(a, b);
                self.jobs(JobReleased { target, as_owner: false });
            }
            13 => {
                let job = self.some_job(a);
                self.jobs(JobRequeued { job, hold: b.is_multiple_of(3) });
            }
            14 => self.update(a, b),
            15 => self.node_update(a, b),
            16 => {
                let job = self.some_job(a);
                let data =
                    JobFinished { job, state: JobState::Cancelled, reason: Reason::DependencyNeverSatisfied };
                self.commit(Subject::Plan, vec![data.into()]);
            }
            17 | 18 => self.lease(a, b),
            19 | 20 => self.reservation(a, b),
            21 => {
                let mut configured = configuration(1 + usize::from(a) % 3);
                configured.parameters.priority = b.is_multiple_of(2).then(|| priority(u64::from(b)));
                if !b.is_multiple_of(3) {
                    configured.parameters.accounting_enforced = vec![AccountingEnforcement::Limits];
                }
                configured.partitions[0].qos = a.is_multiple_of(5).then(|| LIMITED.to_string());
                self.commit(Subject::Admin, vec![configured.into()]);
            }
            22 => {
                let at = UtcMicros((self.now - i64::from(a % 50)) * 1_000_000);
                let input = self.cluster.position();
                self.say(Subject::Plan, PrioritiesCalculated { input, at });
            }
            23 if b.is_multiple_of(3) => self.qos(a, b),
            23 => self.account(a, b),
            24 | 25 => self.preempt(a, b),
            26 => self.order_turn(a, b),
            _ => self.turn(a, b),
        }
    }

    /// Priorities are made of factors from here on, usage never fades, and every user has an association.
    pub fn count_usage(&mut self) {
        let mut configured = configuration(3);
        configured.parameters.priority = Some(priority(0));
        self.say(Subject::Admin, configured);
        for user in 0..3 {
            self.account(user, 1);
        }
    }

    /// A user has an association and a default account from here on; or (seldom) has one no more.
    fn account(&mut self, a: u16, b: u16) {
        let (id, user) = (10 + u32::from(a % 3), format!("user{}", a % 3));
        if b.is_multiple_of(7) && self.cluster.accounts().associations().contains_key(&id) {
            return self.jobs(AssociationRemoved { id });
        }
        let shares = if b.is_multiple_of(5) { Shares::Parent } else { Shares::Number(u32::from(b % 4)) };
        let account = "root".to_string();
        let association = Association {
            id,
            account: account.clone(),
            user: Some(user.clone()),
            shares,
            ..Association::default()
        };
        self.jobs(AssociationDefined { association });
        let user = AccountUser { name: user, default_account: Some(account), ..AccountUser::default() };
        self.jobs(UserDefined { user });
    }

    /// A QOS has other factors and limits from here on.
    fn qos(&mut self, a: u16, b: u16) {
        let flags = [QosFlag::NoDecay, QosFlag::OverPartQos, QosFlag::UsageFactorSafe];
        let mut qos = Qos {
            usage_factor: u64::from(a % 4) * 500_000,
            flags: flags.into_iter().take(usize::from(a % 4)).collect(),
            ..Qos::new(7, LIMITED)
        };
        qos.limits.max_jobs = Some(u32::from(b % 4));
        qos.limits.grp_tres = [("cpu".to_string(), u64::from(a % 5))].into();
        self.jobs(QosDefined { qos });
    }

    /// A node is silent, given up, or back.
    fn lease(&mut self, a: u16, b: u16) {
        let node = NodeName::from(NODES[usize::from(a) % 3]);
        let earlier = UtcMicros((self.now - i64::from(b % 30)) * 1_000_000);
        let body: Body = match b % 4 {
            0 => NodeLeaseLost { node, last_heard: earlier }.into(),
            1 | 2 => NodeTimedOut { node, last_evidence: earlier, waited: Seconds(30) }.into(),
            _ => NodeLeaseRegained { node }.into(),
        };
        self.commit(Subject::Plan, vec![body]);
    }

    /// A reservation is made, changed or deleted, whatever uses it.
    fn reservation(&mut self, a: u16, b: u16) {
        let name = format!("r{}", a % 3);
        if b.is_multiple_of(4) {
            return self.jobs(ReservationDeleted { name });
        }
        let start = UtcMicros((self.now + i64::from(a % 200) - 60) * 1_000_000);
        let flags = ReservationFlags {
            flex: a.is_multiple_of(5),
            repeat: (a.is_multiple_of(2)).then_some(Repeat::ALL[usize::from(a) % 5].0),
            begins_in: (b.is_multiple_of(7)).then_some(Seconds(u64::from(b))),
            purge_after: (b.is_multiple_of(3)).then_some(Seconds(u64::from(b % 90))),
            ..ReservationFlags::default()
        };
        let reservation = ReservationDefinition {
            name,
            start,
            end: start.plus_seconds(60 + i64::from(b % 100)),
            nodes: vec![NODES[usize::from(b) % 3].into()],
            cpus: (a.is_multiple_of(3))
                .then(|| ReservedCpus {
                    node: NODES[usize::from(b) % 3].into(),
                    cpus: [u32::from(a % 4)].into_iter().collect(),
                })
                .into_iter()
                .collect(),
            flags,
            ..ReservationDefinition::default()
        };
        if b.is_multiple_of(2) {
            self.jobs(ReservationUpdated { reservation });
        } else {
            self.jobs(ReservationCreated { reservation });
        }
    }

    fn jobs(&mut self, body: impl Into<Body>) {
        self.commit(Subject::Jobs, vec![body.into()]);
    }

    fn submit(&mut self, a: u16, b: u16) {
        let mut spec = spec(["train", "eval"][usize::from(a) % 2], u32::from(a % 3));
        spec.hold = b.is_multiple_of(7);
        spec.begin = (b.is_multiple_of(5)).then(|| UtcMicros((self.now + i64::from(a % 100)) * 1_000_000));
        spec.kill_on_invalid_dependency = a.is_multiple_of(2);
        if b.is_multiple_of(3) {
            let kinds = [
                DependencyKind::After,
                DependencyKind::AfterAny,
                DependencyKind::AfterOk,
                DependencyKind::AfterNotOk,
                DependencyKind::AfterCorr,
                DependencyKind::Singleton,
            ];
            let kind = kinds[usize::from(a) % kinds.len()];
            let job = (kind != DependencyKind::Singleton).then(|| self.some_job(b));
            let delay_minutes = if kind == DependencyKind::After { u32::from(a % 3) } else { 0 };
            let condition = Dependency { kind, job, task: None, delay_minutes };
            spec.dependencies = Some(Dependencies { conditions: vec![condition], any: a % 2 == 1 });
        }
        if a.is_multiple_of(3) {
            let gpus = GpuRequest { scope: GpuScope::Node, gpu_type: None, count: 1 + u32::from(b % 3) };
            spec.request_mut().gpus = vec![gpus];
        }
        let mut ids = 1;
        if a.is_multiple_of(4) {
            let tasks = IndexSet::range(0, u32::from(b % 5));
            ids = tasks.len() as u32;
            spec.array = Some(ArrayRequest { tasks, running_max: (b.is_multiple_of(2)).then_some(2) });
        }
        spec.reservation = [None, None, Some("r1"), Some("r0,r2")][usize::from(a) % 4].map(str::to_string);
        spec.qos = a.is_multiple_of(11).then(|| LIMITED.to_string());
        let job = self.cluster.next_job_id();
        self.jobs(JobSubmitted { job, ids, spec });
    }

    /// A plain job for a reservation.
    pub fn submit_for(&mut self, reservation: &str) {
        let spec = JobSpec { reservation: Some(reservation.to_string()), ..spec("train", 1) };
        let job = self.cluster.next_job_id();
        self.jobs(JobSubmitted { job, ids: 1, spec });
    }

    /// Starts the first ready job, or (seldom) some other one; on a node that may be full.
    fn allocate(&mut self, a: u16, b: u16) {
        let first = self.cluster.ready().iter().next().map(|key| key.job);
        let job = if b.is_multiple_of(9) { Some(self.some_job(a)) } else { first };
        let Some(job) = job else { return };
        let Some(record) = self.cluster.jobs().get(&job).cloned() else { return };
        let mut run = RunId::new(job, record.starts);
        // As the planner has it: a task that left its array names it until it has started once.
        let mut array = record.task.filter(|_| record.starts == 0);
        if let Some(task) =
            record.tasks_waiting.as_ref().and_then(|tasks| tasks.iter().nth(usize::from(b % 2)))
        {
            let id = self.cluster.arrays().get(&job).and_then(|array| array.task_job_id(task));
            run = RunId::new(id.expect("a task of the array"), 0);
            array = Some(ArrayTaskId { array_job: job, task });
        }
        let wanted = 1 + usize::from(a) % 2;
        let free = |name: &&str| {
            let node = self.cluster.nodes().get(&NodeName::from(*name));
            node.filter(|node| b.is_multiple_of(11) || node.is_schedulable() && node.cpus_free() > 0)
        };
        let nodes: Vec<RunNode> = NODES
            .iter()
            .filter_map(|name| free(name).map(|node| (name, node.clone())))
            .take(wanted)
            .map(|(name, node)| RunNode {
                node: (*name).into(),
                cpus: (0..4)
                    .find(|cpu| !node.cpus_allocated.contains(*cpu))
                    .into_iter()
                    .chain(None)
                    .collect(),
                memory: Mebibytes(100),
                gpus: node.gpus_free().take(1).map(allocated).collect(),
                tasks: 1,
            })
            .collect();
        let time_limit = TimeLimit::minutes(5);
        let reservation = (a.is_multiple_of(3)).then(|| format!("r{}", a % 4));
        let data = RunAllocated {
            run,
            array,
            partition: "main".into(),
            nodes,
            time_limit,
            reservation,
            billing: b.is_multiple_of(3).then_some(u64::from(a % 17)),
            price_version: None,
        };
        self.commit(Subject::Plan, vec![data.into()]);
    }

    fn about_run(&mut self, a: u16, body: impl Fn(RunId, NodeName) -> Body) {
        let Some(run) = self.some_run(a) else { return };
        let node = self.cluster.runs()[&run].nodes[0].node.clone();
        self.commit(Subject::Node(node.clone()), vec![body(run, node)]);
    }

    /// A run is told to give way to some job, of an array to the lowest waiting task; and a cycle that may see it gone.
    fn preempt(&mut self, a: u16, b: u16) {
        let (Some(run), record) = (self.some_run(a), self.some_job(b)) else { return };
        let waiting = self.cluster.jobs().get(&record).and_then(|job| job.tasks_waiting.clone());
        let task = waiting.and_then(|tasks| tasks.first());
        let array = task.map(|task| ArrayTaskId { array_job: record, task });
        let own = task.and_then(|task| self.cluster.arrays().get(&record)?.task_job_id(task));
        let modes = [PreemptMode::Requeue, PreemptMode::Cancel, PreemptMode::Suspend];
        let mode = modes[usize::from(b) % 3];
        let grace_end = UtcMicros((self.now + i64::from(a % 30)) * 1_000_000);
        if a.is_multiple_of(5) {
            let limit = LimitFigures {
                limit: "GrpWall".into(),
                of: "account ml".into(),
                most: 1,
                used: Some(1),
                needs: None,
            };
            return self.commit(Subject::Plan, vec![RunUsedUp { run, limit }.into()]);
        }
        let preempted = RunPreempted { run, by: own.unwrap_or(record), array, mode, grace_end };
        let cycle = PlannerCycle {
            input: self.cluster.position(),
            now: UtcMicros(self.now * 1_000_000),
            policy_hash: String::new(),
            starts: Vec::new(),
            reasons: Vec::new(),
            reservations: Vec::new(),
            preemptions: vec![run],
            resumes: Vec::new(),
            used_up: Vec::new(),
            jobs_considered: 0,
            bounded: false,
            bound: None,
            steps: 0,
            gpus_free: None,
            gpus_unusable: None,
            decision_hash: String::new(),
        };
        self.commit(Subject::Plan, vec![cycle.into(), preempted.into()]);
    }

    /// Somebody has a job suspended or lets it go on, or the planner does.
    fn order_turn(&mut self, a: u16, b: u16) {
        let running = self.some_run(a).map(|run| run.job);
        let job = running.filter(|_| !b.is_multiple_of(7)).unwrap_or_else(|| self.some_job(a));
        match b % 4 {
            0 | 1 => self.jobs(JobSuspendRequested { job, uid: 0 }),
            2 => self.jobs(JobResumeRequested { job, uid: 0 }),
            _ => {
                let Some(run) = self.some_run(a) else { return };
                self.say(Subject::Plan, RunResumeOrdered { run });
            }
        }
    }

    /// A node says that a run is stopped, or goes on: as it was told last, or (seldom) something overtaken.
    fn turn(&mut self, a: u16, b: u16) {
        let Some(run) = self.some_run(a) else { return };
        let last = self.cluster.runs()[&run].ordered;
        let ordered = if b.is_multiple_of(5) { Seq(last.0.saturating_sub(1)) } else { last };
        let stops = self.cluster.runs()[&run].is_told_to_stop != b.is_multiple_of(9);
        self.about_run(a, |run, node| match stops {
            true => RunSuspended { run, node, ordered }.into(),
            false => RunResumed { run, node, ordered }.into(),
        });
    }

    fn end(&mut self, a: u16, b: u16) {
        let causes = [
            EndCause::Exited,
            EndCause::Exited,
            EndCause::TimeLimit,
            EndCause::Cancelled,
            EndCause::Requeued,
            EndCause::LaunchFailed,
            EndCause::NodeUnfit,
            EndCause::NodeFailed,
            EndCause::OutOfMemory,
            EndCause::Preempted,
        ];
        let cause = causes[usize::from(b) % causes.len()];
        let exit = ExitStatus { code: u32::from(b % 3), signal: 0 };
        if b.is_multiple_of(13) {
            let last_evidence = UtcMicros((self.now - 20) * 1_000_000);
            self.about_run(a, |run, node| {
                RunLost { run, node, last_evidence, message: "gone".into() }.into()
            });
        } else {
            self.about_run(a, |run, node| {
                RunEnded { run, node, cause, exit, message: None, usage: None }.into()
            });
        }
        if b.is_multiple_of(2) {
            self.release(a);
        }
    }

    fn release(&mut self, a: u16) {
        let Some(run) = self.some_run(a) else { return };
        let held: Vec<NodeName> = self.cluster.runs()[&run].held_on.iter().cloned().collect();
        let node = held[usize::from(a) % held.len()].clone();
        self.commit(Subject::Node(node.clone()), vec![RunNodeReleased { run, node }.into()]);
    }

    fn update(&mut self, a: u16, b: u16) {
        let change = JobUpdated {
            job: self.some_job(a),
            name: (b.is_multiple_of(2)).then(|| "eval".to_string()),
            time_limit: (b.is_multiple_of(3)).then_some(TimeLimit::minutes(9)),
            begin: (b.is_multiple_of(5)).then_some(UtcMicros((self.now + 50) * 1_000_000)),
            reservation: (b.is_multiple_of(11)).then(|| ["", "r2"][usize::from(a) % 2].to_string()),
            nice: (b.is_multiple_of(7)).then_some(i32::from(a)),
            qos: (b.is_multiple_of(13)).then(|| ["normal", LIMITED][usize::from(a) % 2].to_string()),
            wckey: None,
            dependencies: (b.is_multiple_of(4)).then(Dependencies::default),
            array_running_max: (b.is_multiple_of(6)).then_some(u32::from(a % 3)),
            ..JobUpdated::default()
        };
        self.jobs(change);
    }

    fn node_update(&mut self, a: u16, b: u16) {
        let states = [
            NodeUpdateState::Drain,
            NodeUpdateState::Resume,
            NodeUpdateState::Down,
            NodeUpdateState::Undrain,
        ];
        let node = NodeName::from(NODES[usize::from(a) % 3]);
        let state = Some(states[usize::from(b) % 4]);
        let data = NodeUpdated::new(node.clone(), state, Some("test".into()));
        self.commit(Subject::Jobs, vec![data.into()]);
        if b.is_multiple_of(5) {
            self.commit(Subject::Node(node.clone()), vec![registration(node.as_str()).into()]);
        }
    }
}

fn allocated(gpu: &GpuDevice) -> AllocatedGpu {
    AllocatedGpu { index: gpu.index, uuid: gpu.uuid.clone(), gpu_type: gpu.gpu_type.clone() }
}

fn gpus(name: &str) -> Vec<GpuDevice> {
    (0..2).map(|index| GpuDevice::new(name, index, "a100")).collect()
}

fn registration(name: &str) -> NodeRegistered {
    NodeRegistered {
        node: name.into(),
        boot_id: "boot".into(),
        cpus: 4,
        memory: Mebibytes(1000),
        gpus: gpus(name),
        agent_version: "0".into(),
        operating_system: "Linux".into(),
        architecture: "x86_64".into(),
        unconfined: None,
    }
}

fn configuration(nodes: usize) -> ClusterConfigured {
    let definition = |name: &&str| NodeDefinition {
        hostname: "host".into(),
        address: "127.0.0.1".into(),
        gpus: gpus(name),
        gres: "gpu:a100:2".into(),
        ..NodeDefinition::new(name, 4, Mebibytes(1000))
    };
    ClusterConfigured {
        cluster_name: "test".into(),
        config_hash: String::new(),
        nodes: NODES[..nodes].iter().map(definition).collect(),
        partitions: vec![PartitionDefinition {
            nodes_text: "ALL".into(),
            default: true,
            default_time: Some(TimeLimit::minutes(60)),
            ..PartitionDefinition::new("main", NODES[..nodes].iter().map(|name| (*name).into()).collect())
        }],
        parameters: ClusterParameters { planner_jobs_max: 1000, ..ClusterParameters::default() },
        ..ClusterConfigured::default()
    }
}

fn priority(number: u64) -> PriorityParameters {
    PriorityParameters {
        weight_age: 1_000,
        weight_fair_share: 10_000,
        weight_short: 500,
        decay_half_life: Seconds(number * 10),
        usage_reset: number.is_multiple_of(3).then_some(UsageResetPeriod::Daily).filter(|_| number > 0),
        ..PriorityParameters::default()
    }
}

pub fn spec(name: &str, uid: u32) -> JobSpec {
    JobSpec {
        name: name.into(),
        user: JobUser { uid, gid: uid, name: format!("user{uid}"), group: "users".into() }.into(),
        account: None,
        partition: "main".into(),
        qos: None,
        wckey: None,
        request: ResourceRequest::default().into(),
        time_limit: None,
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
        script: BlobHash::of(b"#!/bin/sh\n"),
        script_bytes: 10,
        command: None,
        arguments: Vec::new(),
        environment: BlobHash::of(b""),
        work_dir: "/".into(),
        std_in: None,
        std_out: None,
        std_err: None,
        open_mode: OpenMode::Truncate,
        umask: 0o22,
        resource_limits: Default::default(),
        comment: None,
        submit_host: "host".into(),
        submit_line: "sbatch".into(),
        session: 0,
    }
}
