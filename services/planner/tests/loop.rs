//! The planner's loop on a log in memory with faults, and the verification of what it recorded.

#[path = "../core/tests/support/mod.rs"]
mod support;

use std::sync::Arc;
use std::time::Duration;

use daybook_log::clock::{Clock, ManualClock};
use daybook_log::follow::Live;
use daybook_log::memory::{Fault, MemoryLog};
use daybook_log::{Append, EventLog};
use daybook_model::Cluster;
use daybook_planner::replay::{Part, verify};
use daybook_planner::{Planner, Policy, plan};
use daybook_schemas::events::{Body, ClusterConfigured, JobSubmitted, RunEnded, RunNodeReleased};
use daybook_schemas::job::{JobSpec, JobState, Reason, SwitchRequest};
use daybook_schemas::run::{EndCause, ExitStatus};
use daybook_schemas::topology::{SwitchDefinition, Topology};
use daybook_schemas::{Actor, Commit, Draft, Event, EventId, JobId, RunId, Seconds, Seq, Stream, Subject};
use support::{DAWN, Simulation, configuration, job, node, parameters, partition};

const PATIENCE: Duration = Duration::from_secs(60);

/// A log with a configured cluster of `cpus` CPUs, its projection, and a clock that stands at dawn.
struct World {
    log: Arc<MemoryLog>,
    live: Live<Cluster>,
    clock: Arc<ManualClock>,
    next_event: u32,
    next_job: u32,
}

impl World {
    async fn new(cpus: u32) -> World {
        let definition = node("n1", cpus, 16_000, &[]);
        World::of(configuration(vec![definition], vec![partition("main", &["n1"])], parameters())).await
    }

    async fn of(configured: ClusterConfigured) -> World {
        let clock = Arc::new(ManualClock::at(DAWN));
        let log = MemoryLog::with_clock(clock.clone());
        let live = Live::start(log.clone(), Stream::State, Cluster::new());
        let mut world = World { log, live, clock, next_event: 0, next_job: 1 };
        let mut setup = Simulation::new();
        setup.configure(configured.clone());
        configured.nodes.iter().for_each(|definition| setup.register(definition));
        for commit in setup.commits {
            for event in commit.events {
                world.say(commit.subject.clone(), event.body).await;
            }
        }
        world
    }

    fn planner(&self) -> Planner {
        Planner::start(self.log.clone(), self.live.clone(), self.clock.clone())
    }

    async fn say(&mut self, subject: Subject, body: impl Into<Body>) -> Seq {
        self.next_event += 1;
        let event = Event {
            id: EventId::from(format!("test/{}", self.next_event)),
            source: "test".to_string(),
            time: self.clock.now(),
            actor: Actor::service("test"),
            cause: None,
            body: body.into(),
        };
        let draft = Draft { subject, expect: None, events: vec![event] };
        let append = Append { stream: Stream::State, draft, blobs: Vec::new() };
        self.log.append(append).await.expect("the test's own events are appended").seq
    }

    async fn submit(&mut self, spec: JobSpec) -> JobId {
        let id = JobId(self.next_job);
        self.next_job += 1;
        self.say(Subject::Jobs, JobSubmitted { job: id, ids: 1, spec }).await;
        id
    }

    async fn end(&mut self, run: RunId) {
        let node = daybook_schemas::NodeName::from("n1");
        let (cause, exit) = (EndCause::Exited, ExitStatus::default());
        let ended = RunEnded { run, node: node.clone(), cause, exit, message: None, usage: None };
        self.say(Subject::Node(node.clone()), ended).await;
        self.say(Subject::Node(node.clone()), RunNodeReleased { run, node }).await;
    }

    /// Waits until the state is as it should be.
    async fn until(&self, what: &str, holds: impl Fn(&Cluster) -> bool) -> Arc<Cluster> {
        let mut snapshots = self.live.subscribe();
        let found = tokio::time::timeout(PATIENCE, async {
            snapshots.wait_for(|cluster| holds(cluster)).await.expect("the projection goes on").clone()
        });
        found.await.unwrap_or_else(|_| panic!("it never happened: {what}"))
    }

    async fn commits(&self) -> Vec<Arc<Commit>> {
        self.log.read(Stream::State, Seq(1), 100_000).await.expect("the log is readable")
    }

    async fn assert_clean(&self) {
        let report = verify(self.log.as_ref()).await.expect("the log can be verified");
        assert_eq!(report.difference, None);
        assert_eq!(report.through, self.log.end(Stream::State));
    }
}

fn is_running(job: JobId) -> impl Fn(&Cluster) -> bool {
    move |cluster| cluster.jobs().get(&job).is_some_and(|job| job.state == JobState::Running)
}

#[tokio::test]
async fn a_job_starts_without_waiting_for_any_timer_and_the_next_when_it_ends() {
    let mut world = World::new(1).await;
    let planner = world.planner();
    let (first, second) =
        (world.submit(job("a", "main", 10)).await, world.submit(job("b", "main", 10)).await);
    world.until("the first runs", is_running(first)).await;
    world.end(RunId::new(first, 0)).await;
    world.until("the second runs", is_running(second)).await;
    planner.stop().await;
    world.assert_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_begin_time_wakes_the_planner() {
    let mut world = World::new(1).await;
    let planner = world.planner();
    let mut spec = job("later", "main", 10);
    spec.begin = Some(DAWN.plus_seconds(30));
    let later = world.submit(spec).await;
    world.until("it is known", |cluster| cluster.jobs().contains_key(&later)).await;
    let before = world.log.end(Stream::State);
    // The manual clock is moved while the loop sleeps; nothing is appended by anybody else.
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(world.log.end(Stream::State), before, "nothing is recorded before its time");
    world.clock.set(DAWN.plus_seconds(30));
    world.until("it runs", is_running(later)).await;
    planner.stop().await;
    world.assert_clean().await;
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_wait_for_few_switches_wakes_the_planner() {
    let nodes = vec![node("n1", 1, 1000, &[]), node("n2", 1, 1000, &[])];
    let mut configured = configuration(nodes, vec![partition("main", &["n1", "n2"])], parameters());
    let leaf = |name: &str, node: &str| SwitchDefinition {
        name: name.to_string(),
        nodes: vec![node.into()],
        ..SwitchDefinition::default()
    };
    let switches = vec!["s1".to_string(), "s2".to_string()];
    let top = SwitchDefinition { name: "top".to_string(), switches, ..SwitchDefinition::default() };
    configured.topology = Some(Topology::Tree(vec![leaf("s1", "n1"), leaf("s2", "n2"), top]));
    let mut world = World::of(configured).await;
    let planner = world.planner();
    let mut spec = job("choosy", "main", 10);
    (spec.request_mut().nodes_min, spec.request_mut().nodes_max, spec.request_mut().tasks) = (2, Some(2), 2);
    spec.request_mut().switches = Some(SwitchRequest { count: 1, wait: Some(Seconds(30)) });
    let choosy = world.submit(spec).await;
    let waits =
        |cluster: &Cluster| cluster.jobs().get(&choosy).is_some_and(|job| job.reason == Reason::Resources);
    world.until("it waits for one switch", waits).await;
    world.clock.set(DAWN.plus_seconds(30));
    world.until("it runs on two", is_running(choosy)).await;
    planner.stop().await;
    world.assert_clean().await;
}

#[tokio::test]
async fn cycles_that_change_nothing_are_not_recorded() {
    let mut world = World::new(1).await;
    let planner = world.planner();
    let first = world.submit(job("a", "main", 10)).await;
    let second = world.submit(job("b", "main", 10)).await;
    world
        .until("one runs and the other has its reason", |cluster| {
            is_running(first)(cluster) && cluster.expected_start(second).is_some()
        })
        .await;
    let before = world.log.end(Stream::State);
    for _ in 0..20 {
        world.submit(job("c", "main", 10)).await;
    }
    // The planner has seen them all once the job behind the first has started.
    world.end(RunId::new(first, 0)).await;
    world.until("the second runs", is_running(second)).await;
    planner.stop().await;
    let after = world.commits().await;
    let cycles = after.iter().filter(|commit| commit.seq > before && commit.subject == Subject::Plan).count();
    // One for the start; at most one more for a promise that moved while the run was ending.
    assert!((1..=2).contains(&cycles), "{cycles} cycles");
    world.assert_clean().await;
}

#[tokio::test(start_paused = true)]
async fn lost_duplicate_and_refused_appends_start_every_job_exactly_once() {
    let mut world = World::new(64).await;
    for _ in 0..40 {
        world.submit(job("a", "main", 10)).await;
    }
    let faults = [
        Some(Fault::Unavailable),
        Some(Fault::AppendLost),
        Some(Fault::Unavailable),
        Some(Fault::AcknowledgementLost),
    ];
    world.log.script(faults);
    let planner = world.planner();
    world.until("all forty run", |cluster| cluster.runs().len() == 40).await;
    world.log.script([Some(Fault::DeliveredTwice)]);
    let last = loop {
        // The test's own append may meet the fault that is meant for the planner.
        match world.try_submit().await {
            Some(job) => break job,
            None => continue,
        }
    };
    world.until("one more runs", is_running(last)).await;
    planner.stop().await;
    let commits = world.commits().await;
    let mut started: Vec<RunId> = Vec::new();
    for event in commits.iter().flat_map(|commit| &commit.events) {
        if let Body::RunAllocated(start) = &event.body {
            started.push(start.run);
        }
    }
    let count = started.len();
    started.sort_unstable();
    started.dedup();
    assert_eq!(started.len(), count, "no run is allocated twice");
    assert_eq!(world.live.now().void_allocations(), 0);
    world.assert_clean().await;
}

impl World {
    async fn try_submit(&mut self) -> Option<JobId> {
        let id = JobId(self.next_job);
        self.next_event += 1;
        let event = Event {
            id: EventId::from(format!("test/{}", self.next_event)),
            source: "test".to_string(),
            time: self.clock.now(),
            actor: Actor::service("test"),
            cause: None,
            body: JobSubmitted { job: id, ids: 1, spec: job("last", "main", 10) }.into(),
        };
        let draft = Draft { subject: Subject::Jobs, expect: None, events: vec![event] };
        let answer = self.log.append(Append { stream: Stream::State, draft, blobs: Vec::new() }).await;
        use daybook_log::AppendError::Duplicate;
        let is_in = matches!(answer, Ok(_) | Err(Duplicate { .. }));
        self.next_job += u32::from(is_in);
        is_in.then_some(id)
    }
}

#[tokio::test]
async fn two_planners_on_one_log_start_every_job_once() {
    let mut world = World::new(8).await;
    let (one, other) = (world.planner(), world.planner());
    let mut jobs = Vec::new();
    for _ in 0..30 {
        jobs.push(world.submit(job("a", "main", 10)).await);
    }
    for job in &jobs {
        world.until("it runs", is_running(*job)).await;
        world.end(RunId::new(*job, 0)).await;
    }
    one.stop().await;
    other.stop().await;
    assert_eq!(world.live.current(PATIENCE).await.expect("current").void_allocations(), 0);
    world.assert_clean().await;
}

#[tokio::test]
async fn a_cycle_that_was_decided_otherwise_is_found() {
    let mut world = World::new(2).await;
    let job = world.submit(job("a", "main", 10)).await;
    let cluster = world.live.current(PATIENCE).await.expect("current");
    let policy = Policy::of(&cluster).expect("configured");
    let mut cycle = plan(&cluster, DAWN, &policy);
    assert_eq!(cycle.starts.len(), 1);
    // Somebody changed the CPU afterwards, without touching the hash.
    cycle.starts[0].nodes[0].cpus = "1".parse().expect("a CPU");
    let draft = Draft { subject: Subject::Plan, expect: None, events: cycle.to_events() };
    let seq = world
        .log
        .append(Append { stream: Stream::State, draft, blobs: Vec::new() })
        .await
        .expect("appended")
        .seq;
    world.until("it runs there", is_running(job)).await;
    let report = verify(world.log.as_ref()).await.expect("verified");
    let difference = report.difference.expect("a difference");
    assert_eq!((difference.seq, difference.part), (seq, Part::Resources));
    assert!(difference.recorded.contains(r#""cpus":"1""#) && difference.decided.contains(r#""cpus":"0""#));
    assert_eq!(difference.input, cluster.position());
}
