//! One node to test on.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use daybook_agent::{Agent, AgentConfig, AgentHandle, ConfinementConfig};
use daybook_cgroup::{NodeGroups, Versions};
use daybook_log::memory::MemoryLog;
use daybook_log::{Append, EventLog as _};
use daybook_schemas::events::{JobReleased, JobTarget, RunEnded, RunLost, RunNodeReleased, RunStarted};
use daybook_schemas::node::NodeDefinition;
use daybook_schemas::orders::{DesiredSet, RunOrder, RunWish};
use daybook_schemas::{Actor, BlobHash, Body, Commit, Draft, Event, RunId, Seq, Stream, Subject};
use daybook_supervisor::health::HealthCheck;
use daybook_supervisor::records::{Care, Record};
use daybook_supervisor::run_files::RunFiles;
use serde_json::json;
use tokio::sync::watch;

/// Longer than anything here takes; a test that comes here has failed.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The supervisor's program, built once.
pub fn supervisor() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT
        .get_or_init(|| {
            let profile_dir =
                std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().to_path_buf();
            let mut build = Command::new(env!("CARGO"));
            build.args(["build", "--quiet", "-p", "daybook-supervisor", "--target-dir"]);
            build.arg(profile_dir.parent().unwrap());
            if profile_dir.ends_with("release") {
                build.arg("--release");
            }
            assert!(build.status().unwrap().success(), "daybook-supervisor cannot be built");
            profile_dir.join("daybook-supervisor")
        })
        .clone()
}

/// A node with its agent, and the orders it is given.
pub struct Bench {
    pub directory: tempfile::TempDir,
    pub log: Arc<MemoryLog>,
    pub node: NodeDefinition,
    pub supervisor: PathBuf,
    pub allow_other_users: bool,
    pub confinement: ConfinementConfig,
    pub care: Care,
    pub health: HealthCheck,
    pub usage_interval: Option<Duration>,
    orders: BTreeMap<RunId, RunOrder>,
    publish: watch::Sender<Arc<DesiredSet>>,
    agent: Option<AgentHandle>,
    next_job: u32,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    Ended(RunEnded),
    Lost(RunLost),
}

impl End {
    /// Cause and exit status, as `time_limit 0:15`.
    pub fn text(&self) -> String {
        match self {
            End::Ended(ended) => {
                let cause = serde_json::to_value(ended.cause).unwrap();
                format!("{} {}", cause.as_str().unwrap(), ended.exit)
            }
            End::Lost(_) => "lost".to_string(),
        }
    }

    pub fn ended(self) -> RunEnded {
        match self {
            End::Ended(ended) => ended,
            End::Lost(lost) => panic!("{lost:?}"),
        }
    }
}

impl Drop for Bench {
    /// The groups of its node have no other place to be removed from.
    fn drop(&mut self) {
        NodeGroups::new("n1", &self.directory.path().join("state"), Versions::Both).remove();
    }
}

impl Bench {
    pub async fn new() -> Bench {
        let bench = Bench::unstarted(false);
        bench.started().await
    }

    pub fn unstarted(simulated: bool) -> Bench {
        let directory = tempfile::tempdir().unwrap();
        // Other users' jobs pass through.
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let work = directory.path().join("work");
        std::fs::create_dir(&work).unwrap();
        std::fs::set_permissions(&work, std::fs::Permissions::from_mode(0o777)).unwrap();
        let node = json!({
            "name": "n1", "hostname": "localhost", "address": "localhost", "cpus": 8, "boards": 1, "sockets": 1,
            "cores_per_socket": 8, "threads_per_core": 1, "memory": 16000, "tmp_disk": 0, "weight": 1, "features": [],
            "gpus": [], "gres": "", "simulated": simulated
        });
        let empty = DesiredSet { node: "n1".into(), generation: Seq::ZERO, runs: Vec::new() };
        Bench {
            directory,
            log: MemoryLog::new(),
            node: serde_json::from_value(node).unwrap(),
            supervisor: supervisor(),
            allow_other_users: nix::unistd::geteuid().is_root(),
            confinement: ConfinementConfig::default(),
            care: Care::default(),
            health: HealthCheck::default(),
            usage_interval: None,
            orders: BTreeMap::new(),
            publish: watch::Sender::new(Arc::new(empty)),
            agent: None,
            next_job: 1,
        }
    }

    pub async fn started(mut self) -> Bench {
        self.start();
        self
    }

    pub fn start(&mut self) {
        assert!(self.agent.is_none());
        let config = self.config(self.confinement.clone());
        self.agent = Some(Agent::start(config, self.log.clone(), self.orders_to_follow()).unwrap());
    }

    pub fn config(&self, confinement: ConfinementConfig) -> AgentConfig {
        AgentConfig {
            node: self.node.clone(),
            state_dir: self.directory.path().join("state"),
            spool_dir: self.directory.path().join("spool"),
            supervisor_binary: self.supervisor.clone(),
            allow_other_users: self.allow_other_users,
            confinement,
            care: self.care.clone(),
            health: self.health.clone(),
            usage_interval: self.usage_interval,
        }
    }

    pub fn orders_to_follow(&self) -> watch::Receiver<Arc<DesiredSet>> {
        self.publish.subscribe()
    }

    pub async fn stop(&mut self) {
        let agent = self.agent.take().unwrap();
        tokio::time::timeout(PATIENCE, agent.stop()).await.expect("the agent stops");
    }

    pub fn work(&self, file: &str) -> PathBuf {
        self.directory.path().join("work").join(file)
    }

    pub fn files(&self, run: RunId) -> RunFiles {
        RunFiles::of(&self.directory.path().join("state/runs"), run)
    }

    pub fn spooled(&self, run: RunId) -> PathBuf {
        self.directory.path().join("spool").join(format!("job{:05}", run.job.0))
    }

    pub fn has_files(&self, run: RunId) -> bool {
        RunFiles::runs_in(&self.directory.path().join("state/runs")).contains(&run)
    }

    pub fn record(&self, run: RunId) -> Record {
        self.files(run).read_record().unwrap().unwrap_or_default()
    }

    /// An order for a script on this node, not yet given.
    pub async fn order(&mut self, script: &str, environment: &str) -> RunOrder {
        let job = self.next_job;
        self.next_job += 1;
        let environment = format!("PATH=/usr/bin:/bin\0{environment}");
        let blobs = vec![Arc::from(script.as_bytes()), Arc::from(environment.as_bytes())];
        let body = JobReleased {
            target: JobTarget { job: daybook_schemas::JobId(job), tasks: None },
            as_owner: false,
        };
        let allocated = self.append(&format!("job/{job}"), body.into(), blobs).await;
        let own = nix::unistd::User::from_uid(nix::unistd::geteuid()).unwrap().unwrap();
        let order = json!({
            "run": format!("{job}.0"), "allocated": allocated, "allocated_at": self.now(), "cluster_name": "tx",
            "nodes": [{ "node": "n1", "cpus": "0", "memory": 500, "tasks": 1 }],
            "partition": "main", "account": "ml", "qos": "normal", "time_limit": { "minutes": 60 }, "kill_wait": 1,
            "wish": "run",
            "spec": {
                "name": "job", "partition": "main", "requeue": true,
                "script": BlobHash::of(script.as_bytes()), "script_bytes": script.len(),
                "environment": BlobHash::of(environment.as_bytes()),
                "request": { "nodes_min": 1, "tasks": 1, "cpus_per_task": 1 },
                "user": { "uid": own.uid.as_raw(), "gid": own.gid.as_raw(), "name": own.name, "group": "g" },
                "work_dir": self.directory.path().join("work"), "umask": 0o022,
                "submit_host": "vm", "submit_line": "sbatch"
            }
        });
        serde_json::from_value(order).unwrap()
    }

    pub fn now(&self) -> daybook_schemas::UtcMicros {
        use daybook_log::clock::Clock as _;
        daybook_log::clock::SystemClock.now()
    }

    /// Gives an order.
    pub fn give(&mut self, order: RunOrder) -> RunId {
        let run = order.run;
        self.orders.insert(run, order);
        self.publish();
        run
    }

    /// Adds an order without telling it yet.
    pub fn put(&mut self, order: RunOrder) -> RunId {
        let run = order.run;
        self.orders.insert(run, order);
        run
    }

    /// Tells all orders.
    pub fn tell(&self) {
        self.publish();
    }

    /// Waits until so many runs are released, all of which ended with success.
    pub async fn all_released(&self, count: usize) {
        let mut position = Seq::ZERO;
        let mut released = 0;
        let wait = async {
            while released < count {
                for commit in self.log.read(Stream::State, position.next(), 1000).await.unwrap() {
                    position = commit.seq;
                    for event in &commit.events {
                        match &event.body {
                            Body::RunNodeReleased(_) => released += 1,
                            Body::RunEnded(ended) => assert!(ended.exit.is_success(), "{ended:?}"),
                            Body::RunLost(lost) => panic!("{lost:?}"),
                            _ => {}
                        }
                    }
                }
                if released < count && self.log.end(Stream::State) == position {
                    self.log.wait_past(Stream::State, position).await.unwrap();
                }
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.expect("all runs end in time");
    }

    /// Orders a script as it is.
    pub async fn run(&mut self, script: &str) -> RunId {
        let order = self.order(script, "").await;
        self.give(order)
    }

    pub fn change(&mut self, run: RunId, change: impl FnOnce(&mut RunOrder)) {
        change(self.orders.get_mut(&run).unwrap());
        self.publish();
    }

    pub fn wish(&mut self, run: RunId, wish: RunWish) {
        self.change(run, |order| order.wish = wish);
    }

    /// The orders do not know this run any more.
    pub fn drop_order(&mut self, run: RunId) {
        self.orders.remove(&run);
        self.publish();
    }

    /// The same, without telling it now.
    pub fn forget_quietly(&mut self, run: RunId) {
        self.orders.remove(&run);
    }

    /// Waits for so many registrations of the node.
    pub async fn seen_registrations(&self, count: usize) {
        let wait = async {
            loop {
                let end = self.log.end(Stream::State);
                let commits = self.commits().await;
                let events = commits.iter().flat_map(|commit| &commit.events);
                if events.filter(|event| matches!(event.body, Body::NodeRegistered(_))).count() >= count {
                    return;
                }
                self.log.wait_past(Stream::State, end).await.unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.expect("the node registers");
    }

    fn publish(&self) {
        let runs = self.orders.values().cloned().map(Arc::new).collect();
        // Later than all there is, also than a registration on its way: the test is dispatch, and has seen it all.
        let generation = Seq(self.log.end(Stream::State).0 + 1_000_000);
        self.publish.send_replace(Arc::new(DesiredSet { node: "n1".into(), generation, runs }));
    }

    /// The orders as they were derived from an earlier position.
    pub fn publish_as_of(&self, generation: Seq) {
        let runs = self.orders.values().cloned().map(Arc::new).collect();
        self.publish.send_replace(Arc::new(DesiredSet { node: "n1".into(), generation, runs }));
    }

    pub async fn append(&self, id: &str, body: Body, blobs: Vec<Arc<[u8]>>) -> Seq {
        let actor = Actor::service("test");
        let event =
            Event { id: id.into(), source: "test".into(), time: self.now(), actor, cause: None, body };
        let draft = Draft { subject: Subject::Jobs, expect: None, events: vec![event] };
        self.log.append(Append { stream: Stream::State, draft, blobs }).await.unwrap().seq
    }

    pub async fn commits(&self) -> Vec<Arc<Commit>> {
        let mut commits: Vec<Arc<Commit>> = Vec::new();
        loop {
            let next = Seq(commits.len() as u64 + 1);
            let more = self.log.read(Stream::State, next, 1000).await.unwrap();
            if more.is_empty() {
                return commits;
            }
            commits.extend(more);
        }
    }

    /// Every event of a run, in order, by its type and its commit.
    pub async fn events(&self, run: RunId) -> Vec<(Seq, Event)> {
        let is_of_run = |event: &Event| match &event.body {
            Body::RunStarted(data) => data.run == run,
            Body::RunSuspended(data) => data.run == run,
            Body::RunResumed(data) => data.run == run,
            Body::RunEnded(data) => data.run == run,
            Body::RunLost(data) => data.run == run,
            Body::RunNodeReleased(data) => data.run == run,
            _ => false,
        };
        let mut events = Vec::new();
        for commit in self.commits().await {
            events.extend(
                commit
                    .events
                    .iter()
                    .filter(|event| is_of_run(event))
                    .map(|event| (commit.seq, event.clone())),
            );
        }
        events
    }

    /// Waits for what is looked for among the run's events.
    pub async fn seen<T>(&self, run: RunId, find: impl Fn(&Body) -> Option<T>) -> T {
        let search = async {
            loop {
                let end = self.log.end(Stream::State);
                let found = self.events(run).await.iter().find_map(|(_, event)| find(&event.body));
                match found {
                    Some(found) => return found,
                    None => self.log.wait_past(Stream::State, end).await.unwrap(),
                };
            }
        };
        match tokio::time::timeout(PATIENCE, search).await {
            Ok(found) => found,
            Err(_) => panic!("run {run}: only {:?}", self.events(run).await),
        }
    }

    pub async fn start_of(&self, run: RunId) -> RunStarted {
        self.seen(run, |body| match body {
            Body::RunStarted(data) => Some((**data).clone()),
            _ => None,
        })
        .await
    }

    pub async fn end_of(&self, run: RunId) -> End {
        self.seen(run, |body| match body {
            Body::RunEnded(data) => Some(End::Ended((**data).clone())),
            Body::RunLost(data) => Some(End::Lost((**data).clone())),
            _ => None,
        })
        .await
    }

    pub async fn release_of(&self, run: RunId) -> RunNodeReleased {
        self.seen(run, |body| match body {
            Body::RunNodeReleased(data) => Some((**data).clone()),
            _ => None,
        })
        .await
    }

    /// The same, where there was nothing to clear up: its end and its release are one commit.
    pub async fn is_settled_at_once(&self, run: RunId) {
        self.is_settled(run).await;
        let events = self.events(run).await;
        let [.., (ended, _), (released, _)] = events.as_slice() else { panic!("{events:?}") };
        assert_eq!(ended, released, "end and release are one commit");
    }

    /// The reasons for which the node has taken itself out of service.
    pub async fn withdrawals(&self) -> Vec<String> {
        let commits = self.commits().await;
        let events = commits.iter().flat_map(|commit| &commit.events);
        let reason = |event: &Event| match &event.body {
            Body::NodeUpdated(data) if data.is_withdrawal() => data.reason.clone(),
            _ => None,
        };
        events.filter_map(reason).collect()
    }

    /// Waits until it has, so many times.
    pub async fn has_withdrawn(&self, count: usize) -> Vec<String> {
        let wait = async {
            loop {
                let end = self.log.end(Stream::State);
                let reasons = self.withdrawals().await;
                if reasons.len() >= count {
                    return reasons;
                }
                self.log.wait_past(Stream::State, end).await.unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.expect("the node withdraws")
    }

    /// A site's own program, as a shell script; gives its path.
    pub fn program(&self, name: &str, script: &str) -> String {
        let path = self.directory.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\ncd {}\n{script}\n", self.work("").display())).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    /// The run is over, told once and whole, and nothing of it is left on disk.
    pub async fn is_settled(&self, run: RunId) {
        self.release_of(run).await;
        let spooled = self.spooled(run);
        until(|| !self.has_files(run) && !spooled.exists()).await;
        let events = self.events(run).await;
        let types: Vec<&str> = events.iter().map(|(_, event)| event.body.type_name()).collect();
        let mut once = types.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(types.len(), once.len(), "{types:?}");
        assert!(
            types.ends_with(&["run.ended.v1", "run.node_released.v1"])
                || types.ends_with(&["run.lost.v1", "run.node_released.v1"])
        );
    }
}

/// Waits until something that tells nobody is the case.
pub async fn until(is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("it becomes so in time");
}

/// Waits until a file has something in it that ends with a line's end.
pub async fn until_written(path: &Path) -> String {
    until(|| std::fs::read_to_string(path).is_ok_and(|text| text.ends_with('\n'))).await;
    std::fs::read_to_string(path).unwrap()
}

/// Whether a process is there and no zombie.
pub fn is_alive(pid: &str) -> bool {
    daybook_supervisor::processes::status(pid.trim().parse().unwrap())
        .is_some_and(|status| status.state != 'Z')
}
