//! Histories told event by event, and the books that they make as text.
#![allow(dead_code)]

use std::fmt::Write as _;
use std::sync::Arc;

use daybook_ledger::Book;
use daybook_schemas::api::{AccountingQuery, AccountingRecord, CapacityQuery, RecordKind};
use daybook_schemas::events::*;
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::*;
use daybook_schemas::node::*;
use daybook_schemas::run::*;
use daybook_schemas::{
    Actor, Authentication, BlobHash, Body, Commit, Event, GpuUuid, JobId, Mebibytes, NodeName, RunId,
    Seconds, Seq, Subject, UtcMicros,
};

/// 2026-12-02T00:00:00Z, from which histories count their seconds.
pub const BASE: i64 = 1_796_169_600;

/// The instant so many seconds after [`BASE`].
pub fn at(seconds: f64) -> UtcMicros {
    UtcMicros(BASE * 1_000_000 + (seconds * 1e6).round() as i64)
}

/// Seconds after [`BASE`], without needless decimals.
pub fn since(at: UtcMicros) -> String {
    let micros = at.0 - BASE * 1_000_000;
    if micros % 1_000_000 == 0 {
        format!("{}", micros / 1_000_000)
    } else {
        format!("{:.1}", micros as f64 / 1e6)
    }
}

pub fn run(text: &str) -> RunId {
    text.parse().unwrap()
}

pub fn exit(code: u32, signal: u32) -> ExitStatus {
    ExitStatus { code, signal }
}

pub fn gpu(node: &str, index: u32) -> GpuDevice {
    GpuDevice::new(node, index, "a100")
}

pub fn node(name: &str, cpus: u32, gpus: u32) -> NodeDefinition {
    NodeDefinition {
        hostname: "vm".into(),
        address: "127.0.0.1".into(),
        gpus: (0..gpus).map(|index| gpu(name, index)).collect(),
        ..NodeDefinition::new(name, cpus, Mebibytes(16_000))
    }
}

pub fn configuration(nodes: Vec<NodeDefinition>) -> ClusterConfigured {
    let names: Vec<NodeName> = nodes.iter().map(|node| node.name.clone()).collect();
    ClusterConfigured {
        cluster_name: "tx".into(),
        config_hash: "0".into(),
        nodes,
        partitions: vec![PartitionDefinition {
            nodes_text: "ALL".into(),
            default: true,
            max_time: TimeLimit::minutes(2880),
            default_time: Some(TimeLimit::minutes(60)),
            min_nodes: 1,
            ..PartitionDefinition::new("main", names)
        }],
        parameters: ClusterParameters {
            kill_wait: Seconds(5),
            default_memory: Some(MemoryRequest::PerCpu(Mebibytes(500))),
            planner_jobs_max: 1000,
            ..ClusterParameters::default()
        },
        ..ClusterConfigured::default()
    }
}

pub fn spec() -> JobSpec {
    JobSpec {
        name: "job".into(),
        user: JobUser { uid: 1001, gid: 1001, name: "alice".into(), group: "alice".into() }.into(),
        account: Some("ml".into()),
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
        script: BlobHash::of(b"#!/bin/sh"),
        script_bytes: 9,
        command: None,
        arguments: vec![],
        environment: BlobHash::of(b""),
        work_dir: "/home/alice".into(),
        std_in: None,
        std_out: None,
        std_err: None,
        open_mode: OpenMode::Truncate,
        umask: 0o22,
        resource_limits: Default::default(),
        comment: None,
        submit_host: "vm".into(),
        submit_line: "sbatch job.sh".into(),
        session: 1,
    }
}

pub fn target(job: u32, tasks: Option<&str>) -> JobTarget {
    JobTarget { job: JobId(job), tasks: tasks.map(|tasks| tasks.parse().unwrap()) }
}

/// What a run gets of a node: CPUs `4-7`, GPU indices.
pub fn share(node: &str, cpus: &str, gpus: &[u32]) -> RunNode {
    let cpus: IndexSet = cpus.parse().unwrap();
    RunNode {
        node: node.into(),
        memory: Mebibytes(500 * cpus.len()),
        cpus,
        gpus: gpus
            .iter()
            .map(|index| AllocatedGpu {
                index: *index,
                uuid: GpuUuid::from(format!("{node}/gpu{index}")),
                gpu_type: "a100".into(),
            })
            .collect(),
        tasks: 1,
    }
}

/// A history: commits with one event each, at the log's times that it is told.
#[derive(Clone, Default)]
pub struct Story {
    pub commits: Vec<Arc<Commit>>,
    pub now: f64,
}

impl Story {
    pub fn new() -> Story {
        Story::default()
    }

    /// One node `gpu01` with 8 CPUs and 4 GPUs and one `node01` with 8 CPUs, registered at 0.
    pub fn with_cluster() -> Story {
        let mut story = Story::new();
        story.add(configuration(vec![node("gpu01", 8, 4), node("node01", 8, 0)]));
        story.register("gpu01", 4).register("node01", 0);
        story
    }

    /// What follows is logged so many seconds after [`BASE`].
    pub fn at(&mut self, seconds: f64) -> &mut Story {
        self.now = seconds;
        self
    }

    /// Logs an event that happens now.
    pub fn add(&mut self, body: impl Into<Body>) -> &mut Story {
        let now = self.now;
        self.add_of(now, body)
    }

    /// Logs an event now that says it happened at another instant.
    pub fn add_of(&mut self, happened: f64, body: impl Into<Body>) -> &mut Story {
        self.commit(vec![(happened, body.into())])
    }

    pub fn commit(&mut self, bodies: Vec<(f64, Body)>) -> &mut Story {
        let seq = Seq(self.commits.len() as u64 + 1);
        let events = bodies
            .into_iter()
            .enumerate()
            .map(|(index, (happened, body))| Event {
                id: format!("{seq}.{index}").into(),
                source: "test".into(),
                time: at(happened),
                actor: Actor {
                    name: "root".into(),
                    uid: Some(0),
                    authentication: Authentication::PeerCredentials,
                    via: None,
                },
                cause: None,
                body,
            })
            .collect();
        self.commits.push(Arc::new(Commit { seq, time: at(self.now), subject: Subject::Jobs, events }));
        self
    }

    pub fn register(&mut self, name: &str, gpus: u32) -> &mut Story {
        self.add(NodeRegistered {
            node: name.into(),
            boot_id: "b".into(),
            cpus: 8,
            memory: Mebibytes(16_000),
            gpus: (0..gpus).map(|index| gpu(name, index)).collect(),
            agent_version: "0".into(),
            operating_system: "Linux".into(),
            architecture: "x86_64".into(),
            unconfined: None,
        })
    }

    pub fn set_node(&mut self, name: &str, state: NodeUpdateState) -> &mut Story {
        self.add(NodeUpdated::new(name.into(), Some(state), Some("why".into())))
    }

    pub fn lease_lost(&mut self, name: &str, last_heard: f64) -> &mut Story {
        self.add(NodeLeaseLost { node: name.into(), last_heard: at(last_heard) })
    }

    pub fn timed_out(&mut self, name: &str, last_evidence: f64) -> &mut Story {
        let last_evidence = at(last_evidence);
        self.add(NodeTimedOut { node: name.into(), last_evidence, waited: Seconds(300) })
    }

    pub fn lease_regained(&mut self, name: &str) -> &mut Story {
        self.add(NodeLeaseRegained { node: name.into() })
    }

    pub fn submit(&mut self, job: u32, change: impl FnOnce(&mut JobSpec)) -> &mut Story {
        let mut spec = spec();
        change(&mut spec);
        let ids = spec.array.as_ref().map_or(1, |array| array.tasks.len() as u32);
        self.add(JobSubmitted { job: JobId(job), ids, spec })
    }

    pub fn array(&mut self, job: u32, tasks: &str, running_max: Option<u32>) -> &mut Story {
        let tasks = tasks.parse().unwrap();
        self.submit(job, |spec| spec.array = Some(ArrayRequest { tasks, running_max }))
    }

    pub fn allocate(&mut self, id: &str, nodes: Vec<RunNode>) -> &mut Story {
        self.add(allocation(id, None, nodes))
    }

    pub fn allocate_task(&mut self, id: &str, array: u32, task: u32, nodes: Vec<RunNode>) -> &mut Story {
        self.add(allocation(id, Some(ArrayTaskId { array_job: JobId(array), task }), nodes))
    }

    pub fn start(&mut self, id: &str, node: &str) -> &mut Story {
        self.add(RunStarted { run: run(id), node: node.into(), pid: Some(7) })
    }

    pub fn end(&mut self, id: &str, node: &str, cause: EndCause, status: ExitStatus) -> &mut Story {
        let now = self.now;
        self.end_of(now, id, node, cause, status)
    }

    pub fn end_of(
        &mut self,
        happened: f64,
        id: &str,
        node: &str,
        cause: EndCause,
        exit: ExitStatus,
    ) -> &mut Story {
        let usage = Some(ProcessUsage {
            user_cpu_us: 12_000,
            system_cpu_us: 6_000,
            max_rss_kib: 10_584,
            ..Default::default()
        });
        let usage =
            if cause == EndCause::LaunchFailed || cause == EndCause::NodeFailed { None } else { usage };
        self.add_of(happened, RunEnded { run: run(id), node: node.into(), cause, exit, message: None, usage })
    }

    pub fn release(&mut self, id: &str, node: &str) -> &mut Story {
        let now = self.now;
        self.release_of(now, id, node)
    }

    pub fn release_of(&mut self, happened: f64, id: &str, node: &str) -> &mut Story {
        self.add_of(happened, RunNodeReleased { run: run(id), node: node.into() })
    }

    pub fn cancel(&mut self, job: u32, tasks: Option<&str>, uid: u32) -> &mut Story {
        self.add(JobCancelRequested { target: target(job, tasks), uid, signal: None, batch: false })
    }

    pub fn requeue(&mut self, job: u32, hold: bool) -> &mut Story {
        self.add(JobRequeued { job: JobId(job), hold })
    }

    /// The books of the history so far.
    pub fn book(&self) -> TestBook {
        let dir = tempfile::tempdir().unwrap();
        let book = Book::open(dir.path()).unwrap();
        book.post(&self.commits).unwrap();
        assert_eq!(book.faults().unwrap(), Vec::<String>::new(), "the books of a history have no faults");
        TestBook { book, dir, now: at(self.now) }
    }

    /// sacct's records of the history with columns by name.
    pub fn records(&self, columns: &[&str]) -> String {
        self.book().records(&AccountingQuery::default(), columns)
    }
}

pub fn allocation(id: &str, array: Option<ArrayTaskId>, nodes: Vec<RunNode>) -> RunAllocated {
    RunAllocated {
        run: run(id),
        array,
        partition: "main".into(),
        nodes,
        time_limit: TimeLimit::minutes(60),
        reservation: None,
        billing: None,
        price_version: None,
    }
}

pub struct TestBook {
    pub book: Book,
    pub dir: tempfile::TempDir,
    pub now: UtcMicros,
}

impl TestBook {
    pub fn records(&self, query: &AccountingQuery, columns: &[&str]) -> String {
        let answer = self.book.accounting(query, self.now).unwrap();
        let mut text = String::new();
        for record in &answer.records {
            let cells: Vec<String> = columns.iter().map(|column| cell(record, column)).collect();
            writeln!(text, "{}", cells.join(" ")).unwrap();
        }
        text
    }

    /// Ids of the records that match.
    pub fn ids(&self, query: &AccountingQuery) -> String {
        let query = AccountingQuery { allocations_only: true, ..query.clone() };
        self.records(&query, &["id"]).lines().collect::<Vec<_>>().join(" ")
    }

    /// The physical book of a window in seconds after [`BASE`].
    pub fn capacity(&self, from: f64, to: f64) -> String {
        let query = CapacityQuery { start: Some(at(from)), end: Some(at(to)), nodes: vec![] };
        let answer = self.book.capacity(&query, self.now.max(at(to))).unwrap();
        let mut text = String::new();
        for row in &answer.rows {
            assert_eq!(row.seconds.values().sum::<u64>(), row.installed, "classes add up: {row:?}");
            let name = row.gpu.as_ref().map_or_else(|| format!("{} cpus", row.node), ToString::to_string);
            let classes: Vec<String> = row
                .seconds
                .iter()
                .map(|(class, seconds)| format!("{class:?} {seconds}").to_lowercase())
                .collect();
            writeln!(text, "{name}: {} = {}", row.installed, classes.join(" + ")).unwrap();
        }
        text
    }
}

fn cell(record: &AccountingRecord, column: &str) -> String {
    let instant = |at: Option<UtcMicros>| at.map_or("-".to_string(), since);
    let or_dash = |text: &str| if text.is_empty() { "-".to_string() } else { text.to_string() };
    match column {
        "id" => {
            let mut id = match (&record.array, &record.tasks_waiting) {
                (Some(task), _) => format!("{}_{}", task.array_job, task.task),
                (None, Some(waiting)) => {
                    let most = record.tasks_running_max.map_or(String::new(), |most| format!("%{most}"));
                    format!("{}_[{}{most}]", record.job, waiting.step_notation())
                }
                (None, None) => record.job.to_string(),
            };
            if record.kind == RecordKind::BatchStep {
                id.push_str(".batch");
            }
            id
        }
        "raw" => record.job.to_string(),
        "run" => record.run.map_or("-".to_string(), |run| run.to_string()),
        "state" => match record.cancelled_by {
            Some(uid) => format!("{} by {uid}", record.state.word()),
            None => record.state.word().to_string(),
        },
        "exit" => record.exit.to_string(),
        "submit" => since(record.submitted),
        "wckey" => record.wckey.clone(),
        "eligible" => instant(record.eligible),
        "start" => instant(record.started),
        "end" => {
            let mark = match (record.end_is_bound, record.end_is_corrected) {
                (true, true) => "?!",
                (true, false) => "?",
                (false, true) => "!",
                (false, false) => "",
            };
            format!("{}{mark}", instant(record.ended))
        }
        "unseen" => format!("{}unseen", record.gpu_seconds_unseen),
        "suspended" => format!("{}s", record.suspended_seconds),
        "elapsed" => format!("{}s", record.elapsed_seconds),
        "gpu_seconds" => format!("{}gpus", record.gpu_seconds),
        "nodes" => record.node_list.replace(' ', "_"),
        "cpus" => format!("{}/{}", record.allocated_cpus, record.requested_cpus),
        "mem" => or_dash(&record.requested_memory),
        "req" => or_dash(&record.requested_tres),
        "alloc" => or_dash(&record.allocated_tres),
        "reason" => record.reason.word().to_string(),
        "restarts" => record.restarts.to_string(),
        "name" => record.name.clone(),
        "partition" => or_dash(&record.partition),
        "limit" => format!("{:?}", record.time_limit),
        "comment" => record.comment.clone().unwrap_or_else(|| "-".into()),
        "evidence" => record.evidence.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        other => panic!("no column {other}"),
    }
}
