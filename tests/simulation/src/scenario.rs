//! What there is and what is asked: a small cluster, and the next request of a user or an administrator.

use daybook_model::Cluster;
use daybook_schemas::api::{
    CancelRequest, JobAction, JobFilter, JobSelector, JobSubmission, JobUpdateRequest, NodeUpdateRequest,
    Text,
};
use daybook_schemas::events::{ClusterConfigured, JobUpdated};
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::{
    ArrayRequest, Dependencies, Dependency, DependencyKind, GpuRequest, GpuScope, MemoryRequest, OpenMode,
    ResourceRequest, TimeLimit,
};
use daybook_schemas::node::{
    ClusterParameters, GpuDevice, NodeDefinition, NodeUpdateState, PartitionDefinition,
};
use daybook_schemas::{JobId, Mebibytes, NodeName, Seconds, UtcMicros};

use crate::choice::Choice;
use crate::policies::HIGH;

/// Users that ask; 0 is the administrator.
pub const USERS: [u32; 4] = [0, 61_001, 61_002, 61_003];

/// A request on its way through the interface.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Where.
    pub path: &'static str,
    /// Who.
    pub uid: u32,
    /// What, as JSON.
    pub body: String,
    /// In words.
    pub words: String,
}

/// A cluster of one to six nodes. About half of them are simulated nodes (a whole real agent), the others machines.
pub fn cluster(choice: &mut Choice) -> ClusterConfigured {
    let count = choice.between(1, 6);
    let nodes: Vec<NodeDefinition> = (0..count).map(|number| node(number, choice)).collect();
    let names = |from: &[NodeDefinition]| from.iter().map(|node| node.name.clone()).collect::<Vec<_>>();
    let mut partitions = vec![partition("main", names(&nodes), 1)];
    partitions[0].default = true;
    if count > 2 && choice.chance(50) {
        partitions.push(partition("urgent", names(&nodes[..2]), 5));
    }
    ClusterConfigured {
        cluster_name: "simulated".to_string(),
        config_hash: "1".to_string(),
        nodes,
        partitions,
        parameters: ClusterParameters {
            min_job_age: Seconds(u64::from(choice.pick(&[2, 300, 1_000_000]).unwrap_or(300u32))),
            memory_is_consumed: choice.chance(50),
            enforce_partition_limits: choice.chance(50),
            node_timeout: Seconds(u64::from(choice.pick(&[0, 20, 60, 300]).unwrap_or(60u32))),
            backfill_reservations: choice.between(1, 3),
            planner_jobs_max: 1000,
            ..ClusterParameters::default()
        },
        ..ClusterConfigured::default()
    }
}

fn node(number: u32, choice: &mut Choice) -> NodeDefinition {
    let name = format!("n{number}");
    let cpus = choice.between(1, 3) * 2;
    let gpus = if choice.chance(50) { choice.between(1, 4) } else { 0 };
    NodeDefinition {
        weight: choice.between(1, 2),
        gpus: (0..gpus).map(|index| GpuDevice::new(&name, index, "a100")).collect(),
        gres: if gpus > 0 { format!("gpu:a100:{gpus}") } else { String::new() },
        simulated: choice.chance(40),
        ..NodeDefinition::new(&name, cpus, Mebibytes(1000))
    }
}

fn partition(name: &str, nodes: Vec<NodeName>, priority_tier: u32) -> PartitionDefinition {
    PartitionDefinition {
        max_time: TimeLimit::minutes(60),
        default_time: Some(TimeLimit::minutes(5)),
        priority_tier,
        ..PartitionDefinition::new(name, nodes)
    }
}

/// What somebody asks next.
pub fn next_request(id: String, cluster: &Cluster, now: UtcMicros, choice: &mut Choice) -> Asked {
    let kinds = vec![(50, 0), (14, 1), (6, 2), (6, 3), (8, 4), (7, 5), (9, 6)];
    match choice.weighted(kinds) {
        Some(1) => cancel(id, some_target(cluster, choice), choice),
        Some(2) => action("/v1/jobs/hold", id, some_target(cluster, choice), choice),
        Some(3) => action("/v1/jobs/release", id, some_target(cluster, choice), choice),
        Some(4) => action("/v1/jobs/requeue", id, some_target(cluster, choice), choice),
        Some(5) => update(id, cluster, now, choice),
        Some(6) => node_update(id, cluster, choice),
        _ => submission(id, cluster, now, choice),
    }
}

fn some_job(cluster: &Cluster, choice: &mut Choice) -> JobId {
    let known: Vec<JobId> = cluster.jobs().keys().copied().collect();
    match choice.chance(3) {
        true => JobId(4_000_000),
        false => choice.pick(&known).unwrap_or(JobId(1)),
    }
}

/// Prefers what is not over.
fn some_target(cluster: &Cluster, choice: &mut Choice) -> JobSelector {
    let alive: Vec<JobId> =
        cluster.jobs().values().filter(|job| !job.state.is_ended()).map(|job| job.id).collect();
    let job = match choice.chance(80) {
        true => choice.pick(&alive).unwrap_or(JobId(1)),
        false => some_job(cluster, choice),
    };
    let is_array = cluster.arrays().contains_key(&job);
    let tasks = (is_array && choice.chance(50)).then(|| (0..choice.between(1, 3)).collect::<IndexSet>());
    JobSelector { job, tasks }
}

fn json(path: &'static str, uid: u32, body: &impl serde::Serialize, words: String) -> Asked {
    let body = serde_json::to_string(body).unwrap_or_default();
    Asked { path, uid, body, words }
}

/// A cancellation of one job, array or some of its tasks; sometimes of all of a user's jobs, or a signal only.
pub fn cancel(request_id: String, target: JobSelector, choice: &mut Choice) -> Asked {
    let uid = choice.pick(&USERS).unwrap_or(0);
    let by_user = uid != 0 && choice.chance(10);
    let filter = match by_user {
        true => JobFilter { uids: vec![uid], ..JobFilter::default() },
        false => JobFilter { jobs: vec![target.clone()], ..JobFilter::default() },
    };
    let signal = choice.chance(10).then_some(10);
    let words = match by_user {
        true => format!("cancel all of user {uid}"),
        false => format!("cancel {} by {uid}", target.job),
    };
    json("/v1/jobs/cancel", uid, &CancelRequest { request_id, filter, signal, batch: true }, words)
}

/// An administrator cancels one job for good.
pub fn cancel_for_good(request_id: String, job: JobId) -> Asked {
    let filter = JobFilter { jobs: vec![JobSelector { job, tasks: None }], ..JobFilter::default() };
    let request = CancelRequest { request_id, filter, signal: None, batch: false };
    json("/v1/jobs/cancel", 0, &request, format!("cancel {job}"))
}

/// An administrator releases one job.
pub fn release(request_id: String, job: JobId) -> Asked {
    let jobs = vec![JobSelector { job, tasks: None }];
    json("/v1/jobs/release", 0, &JobAction { request_id, jobs, hold: false }, format!("release {job}"))
}

/// An administrator brings a node back.
pub fn resume(request_id: String, node: &NodeName) -> Asked {
    let state = Some(NodeUpdateState::Resume);
    let request =
        NodeUpdateRequest { request_id, nodes: vec![node.clone()], state, ..NodeUpdateRequest::default() };
    json("/v1/nodes/update", 0, &request, format!("resume {node}"))
}

fn action(path: &'static str, request_id: String, target: JobSelector, choice: &mut Choice) -> Asked {
    let uid = choice.pick(&USERS).unwrap_or(0);
    let words = format!("{} {} by {uid}", path.rsplit('/').next().unwrap_or(path), target.job);
    json(path, uid, &JobAction { request_id, jobs: vec![target], hold: choice.chance(30) }, words)
}

fn update(request_id: String, cluster: &Cluster, now: UtcMicros, choice: &mut Choice) -> Asked {
    let job = some_job(cluster, choice);
    let change = JobUpdated {
        job,
        name: choice.chance(40).then(|| "eval".to_string()),
        time_limit: choice.chance(40).then(|| TimeLimit::minutes(choice.between(1, 10))),
        begin: choice.chance(30).then(|| now.plus_seconds(i64::from(choice.between(0, 100)))),
        nice: choice.chance(30).then(|| choice.between(0, 100) as i32),
        dependencies: choice.chance(20).then(Dependencies::default),
        ..JobUpdated::default()
    };
    json("/v1/jobs/update", 0, &JobUpdateRequest { request_id, change, tasks: None }, format!("update {job}"))
}

fn node_update(request_id: String, cluster: &Cluster, choice: &mut Choice) -> Asked {
    let names: Vec<NodeName> = cluster.nodes().keys().cloned().collect();
    let node = choice.pick(&names).unwrap_or_else(|| "n0".into());
    let state = choice.weighted(vec![
        (30, NodeUpdateState::Drain),
        (45, NodeUpdateState::Resume),
        (10, NodeUpdateState::Undrain),
        (15, NodeUpdateState::Down),
    ]);
    let words = format!("set {node} {state:?}");
    let request = NodeUpdateRequest {
        request_id,
        nodes: vec![node],
        state,
        reason: Some("simulated".to_string()),
        ..NodeUpdateRequest::default()
    };
    json("/v1/nodes/update", 0, &request, words)
}

/// A job or an array, of some size.
pub fn submission(request_id: String, cluster: &Cluster, now: UtcMicros, choice: &mut Choice) -> Asked {
    let uid = choice.pick(&USERS[1..]).unwrap_or(USERS[1]);
    let seconds = choice.between(0, 400);
    let fails = choice.chance(20);
    let array = choice.chance(20).then(|| ArrayRequest {
        tasks: IndexSet::range(0, choice.between(0, 5)),
        running_max: choice.chance(40).then(|| choice.between(1, 2)),
    });
    let words = match &array {
        Some(array) => format!("submit an array of {} by {uid}", array.tasks.len()),
        None => format!("submit by {uid}"),
    };
    let asked = JobSubmission {
        request_id,
        user: None,
        name: choice.pick(&["train", "eval", "test"]).unwrap_or("train").to_string(),
        account: None,
        partition: (cluster.partition("urgent").is_some() && choice.chance(30)).then(|| "urgent".to_string()),
        qos: (cluster.accounts().qos(HIGH).is_some() && choice.chance(30)).then(|| HIGH.to_string()),
        wckey: None,
        request: resources(cluster, choice),
        time_limit: choice.chance(80).then(|| TimeLimit::minutes(choice.between(1, 8))),
        begin: choice.chance(10).then(|| now.plus_seconds(i64::from(choice.between(0, 200)))),
        dependencies: choice.chance(25).then(|| dependencies(cluster, choice)),
        kill_on_invalid_dependency: choice.chance(50),
        keep_on_invalid_dependency: false,
        time_min: None,
        deadline: None,
        hold: choice.chance(8),
        nice: choice.between(0, 20) as i32,
        requeue: choice.chance(30).then(|| choice.chance(50)),
        array,
        reservation: None,
        script: Text(b"#!/bin/sh\nsleep $1\nexit $2\n".to_vec()),
        command: Some("/work/sleep.sh".to_string()),
        arguments: vec![seconds.to_string(), u32::from(fails).to_string()],
        environment: vec![Text(format!("DAYBOOK_SIMULATED_SECONDS={seconds}").into_bytes())],
        work_dir: "/work".to_string(),
        std_in: None,
        std_out: None,
        std_err: None,
        open_mode: OpenMode::Truncate,
        umask: 0o22,
        resource_limits: Default::default(),
        comment: None,
        submit_host: "login".to_string(),
        submit_line: "sbatch sleep.sh".to_string(),
        session: 1,
    };
    json("/v1/jobs", uid, &asked, words)
}

fn resources(cluster: &Cluster, choice: &mut Choice) -> ResourceRequest {
    let nodes = cluster.nodes().len().min(2) as u32;
    let nodes_min = if choice.chance(20) { nodes.max(1) } else { 1 };
    let gpus = choice.chance(30).then(|| GpuRequest {
        scope: choice.pick(&[GpuScope::Node, GpuScope::Job]).unwrap_or(GpuScope::Node),
        gpu_type: choice.chance(50).then(|| "a100".to_string()),
        count: choice.between(1, 2),
    });
    ResourceRequest {
        nodes_min,
        nodes_max: choice.chance(30).then_some(nodes_min),
        tasks: nodes_min * choice.between(1, 2),
        tasks_given: true,
        cpus_per_task: choice.between(1, 2),
        cpus_per_task_given: true,
        memory: choice
            .chance(50)
            .then(|| MemoryRequest::PerNode(Mebibytes(u64::from(choice.between(1, 600))))),
        gpus: gpus.into_iter().collect(),
        exclusive: choice.chance(5),
        ..ResourceRequest::default()
    }
}

fn dependencies(cluster: &Cluster, choice: &mut Choice) -> Dependencies {
    let kinds = [
        DependencyKind::After,
        DependencyKind::AfterAny,
        DependencyKind::AfterOk,
        DependencyKind::AfterNotOk,
        DependencyKind::Singleton,
    ];
    let condition = |choice: &mut Choice| {
        let kind = choice.pick(&kinds).unwrap_or(DependencyKind::AfterAny);
        let job = (kind != DependencyKind::Singleton).then(|| some_job(cluster, choice));
        let delay_minutes = if kind == DependencyKind::After { choice.between(0, 2) } else { 0 };
        Dependency { kind, job, task: None, delay_minutes }
    };
    let conditions = (0..choice.between(1, 2)).map(|_| condition(choice)).collect();
    Dependencies { conditions, any: choice.chance(30) }
}
