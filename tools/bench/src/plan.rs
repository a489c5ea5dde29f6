//! The planning core alone: cycles of a moving queue, without log, loop or daemon.

use std::collections::BTreeMap;
use std::time::Instant;

use daybook_model::Cluster;
use daybook_planner::{Policy, explain, plan};
use daybook_schemas::events::{JobSubmitted, NodeRegistered, RunEnded, RunNodeReleased};
use daybook_schemas::job::{GpuRequest, GpuScope, JobSpec, TimeLimit};
use daybook_schemas::node::{AccountingEnforcement, NodeDefinition, PartitionDefinition};
use daybook_schemas::run::{EndCause, ExitStatus};
use daybook_schemas::{Actor, Body, Commit, Event, JobId, Mebibytes, RunId, Subject, UtcMicros};
use serde_json::{Value, json};

use crate::backlog::{golden_cluster, golden_spec, node, resident_mebibytes};
use crate::figures::rounded;
use crate::users;

/// What `daybook-bench plan` is told.
#[derive(clap::Args)]
pub struct PlanArguments {
    /// Waiting jobs.
    #[arg(long, default_value_t = 10_000)]
    jobs: usize,
    /// Nodes of eight GPUs and eight CPUs.
    #[arg(long, default_value_t = 1_000)]
    nodes: usize,
    /// What the requests are drawn with.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Cycles that are timed.
    #[arg(long, default_value_t = 200)]
    cycles: usize,
    /// Requests that can never start, each another, in front of the queue.
    #[arg(long, default_value_t = 0)]
    impossible: usize,
    /// Users in accounts of ten, with limits enforced: each may hold as many GPUs as there are for each of them. Without,
    /// nothing is limited.
    #[arg(long, default_value_t = 0)]
    users: u32,
    /// Print JSON (always; the option is there for scripts that give it).
    #[arg(long)]
    json: bool,
}

/// How many jobs are explained, one after the other.
const EXPLAINED: usize = 21;

/// A cluster and its next commits.
struct Scene {
    cluster: Cluster,
    now: UtcMicros,
    random: u64,
    spec: JobSpec,
    users: u32,
}

/// Times cycles: each after one run has ended and one job was submitted.
pub fn measure(arguments: &PlanArguments) -> Result<Value, String> {
    let before = resident_mebibytes();
    let mut scene = Scene {
        cluster: Cluster::new(),
        now: UtcMicros(1_800_000_000_000_000),
        random: arguments.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
        spec: golden_spec()?,
        users: arguments.users,
    };
    scene.configure(arguments)?;
    let nodes = resident_mebibytes();
    for number in 0..arguments.impossible {
        scene.submit_impossible(number)?;
    }
    for _ in 0..arguments.jobs + arguments.nodes * 4 {
        scene.submit()?;
    }
    let policy = Policy::of(&scene.cluster).ok_or("the cluster is not configured")?;
    // The nodes fill; what is left is the queue.
    let mut first_cycles = 0;
    loop {
        let cycle = plan(&scene.cluster, scene.now, &policy);
        let is_full = cycle.starts.is_empty();
        scene.commit(Subject::Plan, cycle.to_events().into_iter().map(|event| event.body).collect())?;
        first_cycles += 1;
        if is_full || first_cycles > 1_000 {
            break;
        }
    }
    while scene.cluster.ready().len() < arguments.jobs + arguments.impossible {
        scene.submit()?;
    }
    let (mut millis, mut considered, mut bounded, mut starts) = (Vec::new(), 0u64, 0u64, 0usize);
    let mut steps: Vec<u64> = Vec::new();
    for _ in 0..arguments.cycles {
        scene.now = UtcMicros(scene.now.0 + 1_000_000);
        scene.end_a_run()?;
        scene.submit()?;
        let begun = Instant::now();
        let cycle = plan(&scene.cluster, scene.now, &policy);
        millis.push(begun.elapsed().as_secs_f64() * 1e3);
        considered += u64::from(cycle.jobs_considered);
        steps.push(cycle.steps);
        bounded += u64::from(cycle.bound.is_some());
        starts += cycle.starts.len();
        scene.commit(Subject::Plan, cycle.to_events().into_iter().map(|event| event.body).collect())?;
    }
    // Figures of cycles that have nothing to do would be no figures of a scheduler.
    if starts == 0 && arguments.cycles > 0 {
        return Err(
            "no job was started in any of the cycles: the made-up queue does not fit the made-up cluster"
                .to_string(),
        );
    }
    millis.sort_by(f64::total_cmp);
    let of_changed_nodes = scene.cycle_after_a_node_changed(&policy)?;
    let explain = scene.explain_median(&policy);
    let waiting = scene.cluster.ready().len();
    let peak_bytes = memory_bytes("VmHWM:");
    let bytes_per_job = scene.bytes_per_job(arguments.jobs)?;
    steps.sort_unstable();
    let at = |part: f64| millis[((millis.len() - 1) as f64 * part).round() as usize];
    Ok(json!({
        "jobs": arguments.jobs,
        "nodes": arguments.nodes,
        "seed": arguments.seed,
        "cycles": arguments.cycles,
        "impossible": arguments.impossible,
        "users": arguments.users,
        "waiting": waiting,
        "waiting_by_reason": scene.reasons(),
        "running": scene.cluster.runs().len(),
        "min_ms": rounded(at(0.0)),
        "median_ms": rounded(at(0.5)),
        "p99_ms": rounded(at(0.99)),
        "max_ms": rounded(at(1.0)),
        "after_a_node_changed_ms": rounded(of_changed_nodes),
        "explain_median_ms": rounded(explain),
        "steps": steps[steps.len() / 2],
        "steps_max": steps[steps.len() - 1],
        "peak_bytes": peak_bytes,
        "bytes_per_waiting_job": bytes_per_job,
        "jobs_considered_per_cycle": considered / arguments.cycles.max(1) as u64,
        "starts": starts,
        "bounded_cycles": bounded,
        "resident_mebibytes_of_jobs_and_runs": resident_mebibytes().saturating_sub(nodes),
        "resident_mebibytes_of_nodes": nodes.saturating_sub(before),
    }))
}

impl Scene {
    fn configure(&mut self, arguments: &PlanArguments) -> Result<(), String> {
        let mut configured = golden_cluster()?;
        let template = configured.nodes.first().cloned().ok_or("the golden cluster has no node")?;
        configured.nodes = (0..arguments.nodes).map(|number| node(&template, number)).collect();
        let names = configured.nodes.iter().map(|node| node.name.clone()).collect();
        configured.partitions = vec![PartitionDefinition::new("main", names)];
        let considered = arguments.jobs.saturating_add(arguments.impossible);
        configured.parameters.planner_jobs_max = u32::try_from(considered).unwrap_or(u32::MAX);
        configured.parameters.max_job_count = u32::MAX;
        // The golden sample sets everything that there is.
        configured.parameters.strict_order = false;
        configured.parameters.backfill_by_expected_time = false;
        configured.parameters.backfill_reservations = 1;
        configured.parameters.default_memory =
            Some(daybook_schemas::job::MemoryRequest::PerCpu(Mebibytes(1000)));
        if arguments.users > 0 {
            configured.parameters.accounting_enforced =
                vec![AccountingEnforcement::Associations, AccountingEnforcement::Limits];
        }
        let definitions = configured.nodes.clone();
        self.commit(Subject::Admin, vec![configured.into()])?;
        let gpus = definitions.iter().map(|node| node.gpus.len() as u64).sum::<u64>();
        let gpus_each = gpus / u64::from(arguments.users.max(1));
        for bodies in users::defined(arguments.users, gpus_each.max(8)).chunks(1_000) {
            self.commit(Subject::Admin, bodies.to_vec())?;
        }
        definitions.iter().try_for_each(|definition| self.register(definition))
    }

    fn register(&mut self, definition: &NodeDefinition) -> Result<(), String> {
        let registered = NodeRegistered {
            node: definition.name.clone(),
            boot_id: "bench".to_string(),
            cpus: definition.cpus,
            memory: definition.memory,
            gpus: definition.gpus.clone(),
            agent_version: String::new(),
            operating_system: String::new(),
            architecture: String::new(),
            unconfined: None,
        };
        self.commit(Subject::Node(definition.name.clone()), vec![registered.into()])
    }

    /// Waiting jobs by the reason that is recorded.
    fn reasons(&self) -> BTreeMap<&'static str, u64> {
        let mut reasons = BTreeMap::new();
        for key in self.cluster.ready() {
            if let Some(job) = self.cluster.jobs().get(&key.job) {
                *reasons.entry(job.reason.word()).or_insert(0) += 1;
            }
        }
        reasons
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % bound
    }

    /// A job of one to eight GPUs on a node, or of two to eight whole nodes; of a quarter of an hour to two days.
    fn submit(&mut self) -> Result<(), String> {
        let mut spec = self.spec.clone();
        let gpus = [1, 1, 1, 2, 2, 4, 8, 8][self.below(8) as usize];
        let nodes = if self.below(20) == 0 { 2u32 << self.below(3) } else { 1 };
        let minutes = [15, 30, 60, 60, 240, 480, 1440, 2880][self.below(8) as usize];
        spec.partition = "main".to_string();
        spec.time_limit = Some(TimeLimit::minutes(minutes));
        if self.users > 0 {
            let number = u32::try_from(self.below(self.users.into())).unwrap_or(0);
            spec.user = users::user(number);
            spec.account = Some(users::account_of(number));
        }
        spec.request_mut().nodes_min = nodes;
        spec.request_mut().nodes_max = Some(nodes);
        spec.request_mut().tasks = nodes;
        spec.request_mut().cpus_per_task = gpus;
        spec.request_mut().tasks_per_node = None;
        spec.request_mut().memory = None;
        spec.request_mut().exclusive = false;
        spec.request_mut().nodes_required = Vec::new();
        spec.request_mut().nodes_excluded = Vec::new();
        spec.request_mut().features = Vec::new();
        spec.request_mut().gpus = vec![GpuRequest { scope: GpuScope::Node, gpu_type: None, count: gpus }];
        let job = self.cluster.next_job_id();
        self.commit(Subject::Jobs, vec![JobSubmitted { job, ids: 1, spec }.into()])
    }

    /// A job of more memory than a node has.
    fn submit_impossible(&mut self, number: usize) -> Result<(), String> {
        let mut spec = self.spec.clone();
        spec.partition = "main".to_string();
        spec.time_limit = Some(TimeLimit::minutes(60));
        spec.request = daybook_schemas::job::ResourceRequest {
            memory: Some(daybook_schemas::job::MemoryRequest::PerNode(Mebibytes(1_000_000 + number as u64))),
            ..daybook_schemas::job::ResourceRequest::default()
        }
        .into();
        let job = self.cluster.next_job_id();
        self.commit(Subject::Jobs, vec![JobSubmitted { job, ids: 1, spec }.into()])
    }

    /// Milliseconds of a cycle that knows nothing from those before: what is known of requests goes when a node registers.
    fn cycle_after_a_node_changed(&mut self, policy: &Policy) -> Result<f64, String> {
        let Some(node) = self.cluster.nodes().values().next().cloned() else { return Ok(0.0) };
        self.register(&node.definition)?;
        let begun = Instant::now();
        let cycle = plan(&self.cluster, self.now, policy);
        let millis = begun.elapsed().as_secs_f64() * 1e3;
        self.commit(Subject::Plan, cycle.to_events().into_iter().map(|event| event.body).collect())?;
        Ok(millis)
    }

    /// Milliseconds that the reason of one job takes: the median of some that stand evenly in the queue.
    fn explain_median(&self, policy: &Policy) -> f64 {
        let apart = (self.cluster.ready().len() / EXPLAINED).max(1);
        let jobs = self.cluster.ready().iter().step_by(apart);
        let mut millis: Vec<f64> = jobs
            .map(|key| {
                let begun = Instant::now();
                let _ = std::hint::black_box(explain(&self.cluster, self.now, policy, key.job));
                begun.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        millis.sort_by(f64::total_cmp);
        millis.get(millis.len() / 2).copied().unwrap_or(0.0)
    }

    /// What the model's memory grows by for each job that is submitted, measured on so many.
    fn bytes_per_job(&mut self, jobs: usize) -> Result<u64, String> {
        let before = memory_bytes("VmRSS:");
        for _ in 0..jobs {
            self.submit()?;
        }
        Ok(memory_bytes("VmRSS:").saturating_sub(before) / jobs.max(1) as u64)
    }

    /// One of the runs, drawn, is over and released.
    fn end_a_run(&mut self) -> Result<(), String> {
        let count = self.cluster.runs().len() as u64;
        if count == 0 {
            return Ok(());
        }
        let from = RunId::new(JobId(u32::try_from(self.below(count)).unwrap_or(0)), 0);
        let found = self.cluster.runs().range(from..).next().map(|(id, run)| (*id, run.clone()));
        let Some((run, held)) = found else { return Ok(()) };
        let exit = ExitStatus::default();
        for share in held.nodes.iter() {
            let node = share.node.clone();
            let ended = RunEnded {
                run,
                node: node.clone(),
                cause: EndCause::Exited,
                exit,
                message: None,
                usage: None,
            };
            let released = RunNodeReleased { run, node: node.clone() };
            self.commit(Subject::Node(node), vec![ended.into(), released.into()])?;
        }
        Ok(())
    }

    fn commit(&mut self, subject: Subject, bodies: Vec<Body>) -> Result<(), String> {
        let seq = self.cluster.position().next();
        let event = |(number, body)| Event {
            id: format!("plan/{seq}/{number}").into(),
            source: "bench".to_string(),
            time: self.now,
            actor: Actor::service("bench"),
            cause: None,
            body,
        };
        let events = bodies.into_iter().enumerate().map(event).collect();
        self.cluster.apply(&Commit { seq, time: self.now, subject, events })
    }
}

/// A figure of this process's memory, in bytes: `VmHWM:` is the most that it has had, `VmRSS:` what it has.
fn memory_bytes(figure: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(figure));
    let kibibytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}
