//! Whole objects: a job, a node, a partition.

use daybook_model::{Cluster, Counts, Job, Node, Reservation, dependency_notation};
use daybook_schemas::accounts::PreemptMode;
use daybook_schemas::api::{
    JobView, LicenseView, NodeView, PartitionView, ReservationView, ReservedCores, ResourceCounts,
};
use daybook_schemas::grammar::hostlist;
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::grammar::output_pattern::{self, PatternValues};
use daybook_schemas::job::JobState;
use daybook_schemas::node::{GpuDevice, PartitionDefinition};
use daybook_schemas::run::RunNode;
use daybook_schemas::{Mebibytes, UtcMicros};

/// A job record as it is at `now`.
pub(crate) fn job_view(cluster: &Cluster, job: &Job, now: UtcMicros) -> JobView {
    let nodes = held_nodes(cluster, job);
    let counts = counts_of(cluster, job, nodes);
    let started = if job.state == JobState::Pending { None } else { job.started };
    JobView {
        job: job.id,
        array: job.task,
        tasks_waiting: job.tasks_waiting.clone(),
        preempt_eligible: started
            .filter(|_| cluster.preemption().is_some())
            .map(|started| cluster.preempt_exempt_until(job, started)),
        gave_way: job.gave_way.as_deref().copied(),
        state: cluster.shown_state(job),
        reason: cluster.shown_reason(job, now),
        reason_detail: job.reason_detail.to_string(),
        priority: job.shown_priority(),
        submitted: job.submitted,
        eligible: job.eligible.or(job.begin.filter(|_| job.is_ready())),
        accrues_since: cluster.accrues_since(job, now),
        started,
        ended: end_or_limit(cluster, job),
        expected_start: cluster.expected_start(job.id),
        last_considered: cluster.last_cycle(),
        time_limit: job.time_limit,
        run_seconds: run_seconds(cluster, job, now),
        run: job.run,
        nodes: nodes.to_vec(),
        node_list: node_list(nodes),
        suspend_time: job.pauses.filter(|_| started.is_some()).map(|pauses| pauses.changed),
        seconds_before_suspend: job
            .pauses
            .filter(|_| started.is_some())
            .map_or(0, |pauses| u64::try_from(pauses.ran / 1_000_000).unwrap_or(0)),
        exit: job.exit,
        restarts: job.starts.saturating_sub(1),
        tres: counts.notation(),
        node_count: counts.nodes,
        cpu_count: counts.cpus,
        reservation: cluster.shown_reservation(job).map(|names| names.to_string()),
        account: job.account.to_string(),
        qos: job.qos.to_string(),
        wckey: tracks_wckeys(cluster).then(|| job.wckey.as_deref().unwrap_or_default().to_string()),
        dependency: dependency_notation(cluster, job),
        std_out: std_out(job, nodes),
        std_err: expand(job, nodes, job.spec.std_err.as_deref()).unwrap_or_else(|| std_out(job, nodes)),
        std_in: expand(job, nodes, job.spec.std_in.as_deref()).unwrap_or_else(|| "/dev/null".to_string()),
        spec: current_spec(job),
    }
}

fn tracks_wckeys(cluster: &Cluster) -> bool {
    cluster.configured().is_some_and(|configured| configured.parameters.track_wckeys)
}

/// The licences, by name.
pub(crate) fn license_views(cluster: &Cluster) -> Vec<LicenseView> {
    let view = |name: &str| LicenseView {
        name: name.to_string(),
        total: cluster.licenses_in_all(name),
        used: cluster.licenses_used(name),
        free: cluster.licenses_free(name),
    };
    cluster.license_names().into_iter().map(view).collect()
}

/// The request with what has been changed since.
fn current_spec(job: &Job) -> daybook_schemas::job::JobSpec {
    let mut spec = (*job.spec).clone();
    spec.name = job.name.to_string();
    spec.request = job.request.clone();
    spec.partition = job.partition.to_string();
    spec.reservation = job.reservation.as_deref().map(str::to_string);
    spec.comment = job.comment.as_deref().map(str::to_string);
    spec.nice = job.nice;
    spec.requeue = job.requeue;
    spec.begin = job.begin;
    spec.time_min = job.time_min;
    spec.deadline = job.deadline;
    spec
}

/// What the job's present run holds, or its last run held.
pub(crate) fn held_nodes<'a>(cluster: &'a Cluster, job: &'a Job) -> &'a [RunNode] {
    if job.state == JobState::Pending && cluster.shown_state(job) == JobState::Pending {
        return &[];
    }
    match job.run.and_then(|run| cluster.runs().get(&run)) {
        Some(run) => &run.nodes,
        None => job.last_nodes.as_deref().unwrap_or(&[]),
    }
}

/// What a job has or had, or would get at least, with what it is billed.
pub(crate) fn counts_of(cluster: &Cluster, job: &Job, nodes: &[RunNode]) -> Counts {
    if nodes.is_empty() {
        return Counts::of_request(cluster, job);
    }
    let run = job.run.and_then(|run| cluster.runs().get(&run));
    let billing = run.map_or(job.last_billing, |run| run.billing);
    Counts { billing, ..Counts::of_nodes(nodes) }
}

pub(crate) fn node_list(nodes: &[RunNode]) -> String {
    match nodes {
        [] => String::new(),
        [only] => only.node.to_string(),
        _ => hostlist::compress(nodes.iter().map(|share| share.node.as_str())),
    }
}

/// The end of what is over; of what runs, the instant at which its limit ends it.
pub(crate) fn end_or_limit(cluster: &Cluster, job: &Job) -> Option<UtcMicros> {
    match job.state {
        JobState::Pending => None,
        JobState::Running | JobState::Suspended => cluster.runs().get(&job.run?)?.limit_end(),
        _ => job.ended,
    }
}

/// Whole seconds from the start to the end or now, without those in which it was stopped.
pub(crate) fn run_seconds(cluster: &Cluster, job: &Job, now: UtcMicros) -> u64 {
    let (Some(started), false) = (job.started, cluster.shown_state(job) == JobState::Pending) else {
        return 0;
    };
    let goes_on = matches!(job.state, JobState::Running | JobState::Suspended);
    let end = if goes_on { now } else { job.ended.unwrap_or(now) };
    if job.pauses.is_some() {
        return u64::try_from(daybook_model::ran(job.pauses, started, end) / 1_000_000).unwrap_or(0);
    }
    u64::try_from(end.seconds() - started.seconds()).unwrap_or(0)
}

/// Standard output's path.
pub(crate) fn std_out(job: &Job, nodes: &[RunNode]) -> String {
    let is_array = job.task.is_some() || job.tasks_waiting.is_some();
    let default = if is_array { "slurm-%A_%a.out" } else { "slurm-%j.out" };
    expand(job, nodes, job.spec.std_out.as_deref().or(Some(default))).unwrap_or_default()
}

/// A file pattern with everything replaced that is known, made absolute.
pub(crate) fn expand(job: &Job, nodes: &[RunNode], pattern: Option<&str>) -> Option<String> {
    let spec = &job.spec;
    let node = nodes.first().map(|share| share.node.to_string()).unwrap_or_default();
    let values = PatternValues {
        job: job.id,
        array_job: job.task.map_or(job.id, |task| task.array_job),
        array_task: job.task.map(|task| task.task),
        node: &node,
        user: &spec.user.name,
        name: &job.name,
    };
    let path = output_pattern::expand(pattern?, &values);
    Some(if path.starts_with('/') { path } else { format!("{}/{path}", spec.work_dir.trim_end_matches('/')) })
}

/// Why a node is down whose agent is not heard.
const NOT_RESPONDING: &str = "Not responding";

/// A node as it is at `now`. `is_planned`: something of it is kept for a job ([`Cluster::planned_nodes`]).
pub fn node_view(cluster: &Cluster, node: &Node, is_planned: bool, now: UtcMicros) -> NodeView {
    let registration = node.registration.as_deref();
    let name = &node.definition.name;
    // Slurm's controller gives this reason itself, where nobody has given another.
    let silence = node.silence.filter(|_| node.reason.is_none());
    let partitions = cluster.configured().map_or(&[][..], |configured| &configured.partitions);
    let reservation = cluster.reservation_on(name, now).map(|found| &found.definition);
    NodeView {
        reservation: reservation.map(|found| found.name.clone()),
        maintenance: reservation.is_some_and(|found| found.flags.maintenance),
        definition: (*node.definition).clone(),
        state: node.base_state(cluster.is_completing(node)),
        drain: node.drain,
        fail: node.fail,
        planned: is_planned,
        active_features: node.active_features.as_deref().map(<[String]>::to_vec),
        comment: node.comment.as_deref().unwrap_or_default().to_string(),
        extra: node.extra.as_deref().unwrap_or_default().to_string(),
        not_responding: node.registration.is_none() || node.silence.is_some(),
        reason: match &node.reason {
            Some(reason) => reason.text.clone(),
            None => silence.map(|_| NOT_RESPONDING.to_string()).unwrap_or_default(),
        },
        reason_set_by: match &node.reason {
            Some(reason) => Some(reason.by.clone()),
            None => silence.map(|_| "planner".to_string()),
        },
        reason_uid: node.reason.as_ref().and_then(|reason| reason.uid),
        reason_set_at: match &node.reason {
            Some(reason) => Some(reason.at),
            None => silence.map(|silence| silence.noticed),
        },
        allocated: ResourceCounts {
            cpus: node.cpus_allocated.len() as u32,
            memory: allocated_memory(cluster, node),
            gpus: node.gpus_allocated.len() as u32,
        },
        gpus_allocated: allocated_gpus(node),
        runs: node.runs.iter().copied().collect(),
        partitions: partitions
            .iter()
            .filter(|partition| partition.nodes.contains(name))
            .map(|partition| partition.name.clone())
            .collect(),
        registered_at: registration.map(|registration| registration.at),
        boot_id: registration.map(|registration| registration.boot_id.clone()),
        agent_version: registration
            .map(|registration| registration.agent_version.clone())
            .unwrap_or_default(),
        operating_system: registration
            .map(|registration| registration.operating_system.clone())
            .unwrap_or_default(),
        architecture: registration.map(|registration| registration.architecture.clone()).unwrap_or_default(),
        unconfined: registration.and_then(|registration| registration.unconfined.clone()).unwrap_or_default(),
    }
}

/// Memory given away; nothing where memory is not a consumed resource, as Slurm shows it.
fn allocated_memory(cluster: &Cluster, node: &Node) -> Mebibytes {
    let consumed = cluster.configured().is_some_and(|configured| configured.parameters.memory_is_consumed);
    if consumed { node.memory_allocated } else { Mebibytes(0) }
}

fn allocated_gpus(node: &Node) -> Vec<GpuDevice> {
    let known = |index: u32| node.gpus().iter().find(|gpu| gpu.index == index).cloned();
    let unknown = |index: u32| GpuDevice::new(node.definition.name.as_str(), index, "");
    node.gpus_allocated.iter().map(|index| known(index).unwrap_or_else(|| unknown(index))).collect()
}

/// A partition with its totals.
pub fn partition_view(cluster: &Cluster, partition: &PartitionDefinition) -> PartitionView {
    let nodes = partition.nodes.iter().filter_map(|name| cluster.nodes().get(name));
    let mut counts = Counts::of_definitions(nodes.map(|node| node.definition.as_ref()));
    counts.billing = cluster.bill(partition, &counts, &[]);
    PartitionView {
        definition: partition.clone(),
        total_cpus: counts.cpus,
        total_nodes: counts.nodes,
        tres: counts.notation(),
        preempt_mode: cluster
            .preemption()
            .map(|parameters| partition.preempt_mode.unwrap_or(parameters.mode))
            .filter(|mode| *mode != PreemptMode::Off),
    }
}

/// A reservation as it is at `now`; `None`: it is over.
pub(crate) fn reservation_view(
    cluster: &Cluster,
    reservation: &Reservation,
    now: UtcMicros,
) -> Option<ReservationView> {
    let window = reservation.window(now)?;
    let mut definition = (*reservation.definition).clone();
    (definition.start, definition.end) = (window.start, window.end);
    let nodes = definition.nodes.iter().filter_map(|name| cluster.nodes().get(name));
    let (mut cpus, mut cores) = (0u32, 0u32);
    let mut core_ids = Vec::new();
    for node in nodes {
        let (has, name) = (&node.definition, &node.definition.name);
        let threads = has.threads_per_core.max(1);
        if let Some(kept) = definition.cpus_of(name) {
            let of_node: IndexSet = kept.iter().map(|cpu| cpu / threads).collect();
            cpus = cpus.saturating_add(u32::try_from(kept.len()).unwrap_or(u32::MAX));
            cores = cores.saturating_add(u32::try_from(of_node.len()).unwrap_or(u32::MAX));
            core_ids.push(ReservedCores { node: name.clone(), cores: of_node });
        } else {
            cpus = cpus.saturating_add(has.cpus);
            cores = cores.saturating_add(has.cpus / threads);
        }
    }
    let jobs = cluster.reservation_jobs(&definition.name).map_or(0, |jobs| jobs.len());
    Some(ReservationView {
        active: window.start <= now,
        cpus,
        cores,
        core_ids,
        jobs: u32::try_from(jobs).unwrap_or(u32::MAX),
        definition,
    })
}
