//! Why a job waits: the explanation is what the queue shows, and its figures hold.

mod support;

use daybook_model::Job;
use daybook_plan::{Cycle, Policy, explain};
use daybook_schemas::api::{Block, Explanation, Outlook};
use daybook_schemas::events::{Body, JobSubmitted};
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::{
    ArrayRequest, Dependencies, Dependency, DependencyKind, GpuRequest, GpuScope, JobSpec, JobState,
    MemoryRequest, Reason, TimeLimit,
};
use daybook_schemas::node::{NodeUpdateState, PartitionState};
use daybook_schemas::run::ExitStatus;
use daybook_schemas::{Actor, Event, EventId, JobId, Mebibytes, RunId, Subject};
use proptest::prelude::*;
use support::{Simulation, configuration, job, node, parameters, partition};

/// A job by numbers.
#[derive(Clone, Debug)]
struct Wish {
    partition: u8,
    nodes: u32,
    tasks: u32,
    cpus: u32,
    minutes: u32,
    memory: Option<u64>,
    gpus: Option<(u8, u8, u32)>,
    exclusive: bool,
    array: Option<(u32, u32)>,
    kind: u8,
}

#[derive(Clone, Debug)]
enum Act {
    Submit(Wish),
    End(usize),
    EndUncleaned(usize),
    Drain(usize, bool),
    Tick(i64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let wish = (
        (0u8..3, prop_oneof![4 => Just(1u32), 1 => 2u32..4], 1u32..5, 1u32..4, 1u32..40),
        (
            prop::option::weighted(0.4, 1u64..5000),
            prop::option::weighted(0.4, (0u8..3, 0u8..3, 1u32..4)),
            prop::bool::weighted(0.1),
            prop::option::weighted(0.2, (1u32..5, 0u32..3)),
            0u8..20,
        ),
    )
        .prop_map(
            |((partition, nodes, tasks, cpus, minutes), (memory, gpus, exclusive, array, kind))| Wish {
                partition,
                nodes,
                tasks,
                cpus,
                minutes,
                memory,
                gpus,
                exclusive,
                array,
                kind,
            },
        );
    let act = prop_oneof![
        6 => wish.prop_map(Act::Submit),
        2 => any::<usize>().prop_map(Act::End),
        1 => any::<usize>().prop_map(Act::EndUncleaned),
        1 => (0usize..3, any::<bool>()).prop_map(|(node, drain)| Act::Drain(node, drain)),
        2 => (1i64..1800).prop_map(Act::Tick),
    ];
    prop::collection::vec(act, 1..50)
}

const NODES: [&str; 3] = ["a", "b", "c"];

fn cluster(reservations: u32, strict: bool, expected: bool) -> Simulation {
    let mut simulation = Simulation::new();
    let mut parameters = parameters();
    parameters.memory_is_consumed = true;
    parameters.default_memory = Some(MemoryRequest::PerCpu(Mebibytes(500)));
    parameters.backfill_reservations = reservations;
    parameters.strict_order = strict;
    parameters.backfill_by_expected_time = expected;
    let nodes = vec![
        node("a", 4, 4000, &[]),
        node("b", 8, 8000, &["a100", "a100"]),
        node("c", 8, 6000, &["a100", "h100", "h100"]),
    ];
    let mut partitions =
        vec![partition("main", &NODES), partition("part", &["b", "c"]), partition("tight", &["a", "b"])];
    partitions[2].max_time = TimeLimit::minutes(20);
    partitions[2].max_nodes = Some(1);
    simulation.configure(configuration(nodes.clone(), partitions, parameters));
    nodes.iter().for_each(|node| simulation.register(node));
    simulation
}

fn spec(wish: &Wish, simulation: &Simulation) -> JobSpec {
    let mut spec = job("job", ["main", "part", "tight"][usize::from(wish.partition)], wish.minutes);
    spec.request_mut().nodes_min = wish.nodes;
    spec.request_mut().tasks = wish.tasks.max(wish.nodes);
    spec.request_mut().tasks_given = true;
    spec.request_mut().cpus_per_task = wish.cpus;
    spec.request_mut().memory = wish.memory.map(|amount| MemoryRequest::PerNode(Mebibytes(amount)));
    spec.request_mut().gpus = wish
        .gpus
        .into_iter()
        .map(|(scope, gpu_type, count)| GpuRequest {
            scope: [GpuScope::Node, GpuScope::Task, GpuScope::Job][usize::from(scope)],
            gpu_type: [None, Some("a100"), Some("h100")][usize::from(gpu_type)].map(str::to_string),
            count,
        })
        .collect();
    spec.request_mut().exclusive = wish.exclusive;
    spec.array = wish.array.map(|(tasks, most)| ArrayRequest {
        tasks: IndexSet::range(0, tasks),
        running_max: (most > 0).then_some(most),
    });
    let other = simulation.cluster.jobs().keys().next().copied();
    match (wish.kind, other) {
        (0, _) => spec.hold = true,
        (1, _) => spec.begin = Some(simulation.now.plus_seconds(600)),
        (2, Some(other)) => {
            let kind = DependencyKind::AfterOk;
            let condition = Dependency { kind, job: Some(other), task: None, delay_minutes: 0 };
            spec.dependencies = Some(Dependencies { conditions: vec![condition], any: false });
        }
        (3, _) => spec.time_limit = Some(TimeLimit::Unlimited),
        _ => {}
    }
    spec
}

fn act(simulation: &mut Simulation, act: &Act) {
    match act {
        Act::Submit(wish) => drop(simulation.submit(spec(wish, simulation))),
        Act::End(number) | Act::EndUncleaned(number) => {
            let runs: Vec<RunId> = simulation
                .cluster
                .runs()
                .values()
                .filter(|run| run.end.is_none())
                .map(|run| run.id)
                .collect();
            if !runs.is_empty() {
                let run = runs[number % runs.len()];
                simulation.end(run, ExitStatus::default());
                if matches!(act, Act::End(_)) {
                    simulation.release(run);
                }
            }
        }
        Act::Drain(number, drain) => {
            let state = if *drain { NodeUpdateState::Drain } else { NodeUpdateState::Resume };
            simulation.update_node(NODES[*number], state);
        }
        Act::Tick(seconds) => simulation.now = simulation.now.plus_seconds(*seconds),
    }
}

fn explained(simulation: &Simulation, id: JobId) -> Explanation {
    let policy = Policy::of(&simulation.cluster).expect("configured");
    explain(&simulation.cluster, simulation.now, &policy, id).expect("the job is in memory")
}

/// What the queue shows, said again: the recorded reason, and `Priority` where none is recorded and a job of the
/// partition with the recorded reason `Resources` is in front.
fn shown(simulation: &Simulation, job: &Job) -> Reason {
    let recorded = job.shown_reason(simulation.now);
    let cluster = &simulation.cluster;
    let is_in_front = |key: &&daybook_model::PendingKey| {
        let other = &cluster.jobs()[&key.job];
        other.partition == job.partition
            && other.reason == Reason::Resources
            && **key < cluster.pending_key(job)
    };
    let waits = recorded == Reason::None && job.is_ready();
    if waits && cluster.ready().iter().any(|key| is_in_front(&key)) { Reason::Priority } else { recorded }
}

/// Jobs of the partition in front that nothing but resources, priority and promises keeps.
fn in_front(simulation: &Simulation, job: &Job) -> u32 {
    let cluster = &simulation.cluster;
    let in_line = |id: &JobId| {
        let other = &cluster.jobs()[id];
        other.partition == job.partition
            && matches!(other.reason, Reason::None | Reason::Priority | Reason::Resources)
            && cluster.pending_key(other) < cluster.pending_key(job)
    };
    let due = cluster.delayed().iter().filter(|(begin, _)| *begin <= simulation.now).map(|(_, job)| *job);
    cluster.ready().iter().map(|key| key.job).chain(due).filter(in_line).count() as u32
}

/// Everything that an explanation of a settled queue has to be.
fn check(simulation: &Simulation, cycle: &Cycle, job: &Job) {
    let told = explained(simulation, job.id);
    let text = format!("{told:?}");
    assert_eq!(told.reason, shown(simulation, job), "{text}");
    assert!(told.since >= job.submitted && told.since <= simulation.now, "{text}");
    assert_eq!(told.blocks.len(), 1, "{text}");
    let in_line = matches!(told.reason, Reason::Resources | Reason::Priority);
    assert_eq!(told.place.is_some(), in_line && !is_uncleaned(simulation, job), "{text}");
    match &told.blocks[0] {
        Block::Held { by_administrator, .. } => {
            assert!(!by_administrator && told.reason == Reason::JobHeldUser)
        }
        Block::Dependencies { count, conditions, .. } => {
            assert!(*count == 1 && conditions[0].notation.starts_with("afterok:"), "{text}");
            let words = [Reason::Dependency, Reason::DependencyNeverSatisfied];
            assert!(words.contains(&told.reason), "{text}");
        }
        Block::Begin { at } => assert!(*at > simulation.now && told.reason == Reason::BeginTime, "{text}"),
        Block::EarlierRun { .. } => assert!(is_uncleaned(simulation, job), "{text}"),
        Block::Partition { state } => assert_eq!(*state, Some(PartitionState::Up)),
        Block::TimeLimit { asked, most } => {
            assert!(asked > most && told.reason == Reason::PartitionTimeLimit, "{text}");
        }
        Block::NodeLimit { asked, most, .. } => {
            assert!(asked > most && told.reason == Reason::PartitionNodeLimit, "{text}");
        }
        Block::PartitionSize { cpus_needed, cpus_in_all } => {
            assert!(cpus_needed > cpus_in_all && told.reason == Reason::PartitionConfig, "{text}");
        }
        Block::ArrayTasks { running, most } => {
            assert!(*running >= u64::from(*most) && told.reason == Reason::JobArrayTaskLimit, "{text}");
        }
        Block::Limit(figures) => {
            assert!(matches!(told.reason, Reason::Limit(_)) && !figures.limit.is_empty(), "{text}");
        }
        Block::NodesNotUp { nodes, count } => {
            assert!(*count as usize == nodes.len() && told.reason == Reason::ReqNodeNotAvail, "{text}");
            for trouble in nodes {
                assert!(!simulation.cluster.nodes()[&trouble.node].is_schedulable(), "{text}");
            }
        }
        Block::NoSuchLicenses { licenses } => {
            assert!(!licenses.is_empty() && told.reason == Reason::Licenses, "{text}");
        }
        Block::NotPermitted { message } => {
            let refusals = [Reason::InvalidAccount, Reason::InvalidQos, Reason::MaxMemPerLimit];
            assert!(refusals.contains(&told.reason) && !message.is_empty(), "{text}");
        }
        Block::Impossible { message } => {
            assert!(!message.is_empty() && told.reason == Reason::BadConstraints, "{text}");
        }
        Block::Resources { .. } | Block::Promises { .. } | Block::StrictOrder { .. } => {
            assert!(in_line, "{text}");
        }
        Block::FewSwitches { .. } => panic!("nobody asks for few switches: {text}"),
        Block::ReservationWanted { .. } | Block::KeptByReservation { .. } => {
            panic!("nothing is reserved here: {text}")
        }
        Block::StartsInFront { .. } => panic!("the queue is settled: {text}"),
    }
    if told.place.is_some() {
        check_in_line(simulation, cycle, job, &told);
    } else {
        assert!(matches!(told.outlook, Some(Outlook::UntilChanged | Outlook::NotInLine)), "{text}");
    }
}

fn is_uncleaned(simulation: &Simulation, job: &Job) -> bool {
    job.run.is_some_and(|run| simulation.cluster.runs().contains_key(&run))
}

fn check_in_line(simulation: &Simulation, cycle: &Cycle, job: &Job, told: &Explanation) {
    let text = format!("{told:?}");
    let (place, figures) = (told.place.as_ref().expect("a place"), told.figures.as_ref().expect("figures"));
    // Exactly the first in the line of its partition waits for resources.
    assert_eq!(place.in_front, in_front(simulation, job), "{text}");
    assert_eq!(told.reason == Reason::Resources, place.in_front == 0, "{text}");
    assert!(place.length > place.in_front && !place.more, "{text}");
    assert_eq!(place.first.is_some(), place.in_front > 0, "{text}");
    if let Some(first) = place.first {
        assert_eq!(simulation.cluster.jobs()[&first].reason, Reason::Resources, "{text}");
    }
    // Figures are within each other.
    for (free, in_all) in figures.free.gpus.iter().zip(&figures.in_all.gpus) {
        assert!(free.count <= in_all.count && free.gpu_type == in_all.gpu_type, "{text}");
    }
    assert!(figures.free.cpus <= figures.in_all.cpus && figures.free_on_one.cpus <= figures.free.cpus);
    assert!(figures.nodes_with_room <= figures.nodes_usable && figures.nodes_usable <= figures.nodes_allowed);
    if figures.on_one_node {
        assert_eq!(figures.nodes_with_room > 0, figures.fits_now, "{text}");
    }
    match &told.blocks[0] {
        Block::Resources { short } => {
            assert!(!figures.fits_now, "{text}");
            assert!(short.iter().all(|short| short.needs > short.has), "{text}");
        }
        Block::Promises { promises } => {
            assert!(figures.fits_now, "{text}");
            assert!(!figures.on_one_node || !promises.is_empty(), "{text}");
            for promise in promises {
                assert!(promise.job != job.id && promise.start > simulation.now, "{text}");
            }
        }
        Block::StrictOrder { first } => assert!(figures.fits_now && *first != job.id, "{text}"),
        other => panic!("{other:?}"),
    }
    let planned = cycle.reservations.iter().find(|planned| planned.job == job.id);
    match (&told.outlook, planned) {
        (Some(Outlook::Protected { start, nodes, after, shown }), Some(planned)) => {
            assert_eq!((*start, nodes), (planned.start, &planned.nodes), "{text}");
            assert!(after.iter().all(|end| end.job != job.id), "{text}");
            let recorded = simulation.cluster.expected_start(job.id);
            assert_eq!(*shown, recorded, "{text}");
        }
        (Some(Outlook::NoEndKnown | Outlook::NotProtected { .. }), None) => {}
        _ => panic!("{text}, planned {planned:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, ..ProptestConfig::default() })]

    #[test]
    fn every_waiting_jobs_explanation_is_what_the_queue_shows(
        acts in acts(), reservations in 1u32..4, strict in prop::bool::weighted(0.2), expected in prop::bool::weighted(0.2),
    ) {
        let mut simulation = cluster(reservations, strict, expected);
        for step in &acts {
            act(&mut simulation, step);
            // Before the planner has looked there is an explanation as well.
            for job in simulation.cluster.jobs().values() {
                let told = explained(&simulation, job.id);
                prop_assert_eq!(told.reason, simulation.cluster.shown_reason(job, simulation.now));
            }
            while simulation.plan().decides() {}
            let cycle = simulation.consider();
            for job in simulation.cluster.jobs().values() {
                match job.state {
                    JobState::Pending => check(&simulation, &cycle, job),
                    _ => {
                        let told = explained(&simulation, job.id);
                        prop_assert!(told.blocks.is_empty() && told.outlook.is_none() && told.place.is_none());
                        prop_assert!(told.run.is_some());
                    }
                }
            }
        }
    }
}

/// Puts many jobs into the queue in few commits.
fn submit_many(simulation: &mut Simulation, count: u32, cpus: u32) {
    let mut left = count;
    while left > 0 {
        let some = left.min(5_000);
        left -= some;
        let first = simulation.cluster.next_job_id().0;
        let events = (first..first + some)
            .map(|id| {
                let mut spec = job("many", "main", 30);
                spec.request_mut().cpus_per_task = cpus;
                Event {
                    id: EventId::from(format!("many/{id}")),
                    source: "test".to_string(),
                    time: simulation.now,
                    actor: Actor::service("test"),
                    cause: None,
                    body: Body::from(JobSubmitted { job: JobId(id), ids: 1, spec }),
                }
            })
            .collect();
        simulation.commit(Subject::Jobs, events);
    }
}

#[test]
fn a_queue_of_100_000_with_one_changing_reason_writes_one_change() {
    let mut simulation = cluster(1, false, false);
    // All of the three nodes for half an hour, and then 100,000 behind them.
    for _ in 0..3 {
        let mut spec = job("all", "main", 60);
        spec.request_mut().exclusive = true;
        simulation.submit(spec);
    }
    simulation.plan();
    submit_many(&mut simulation, 100_000, 4);
    let cycle = simulation.plan();
    assert_eq!(cycle.reasons.len(), 1, "the first gets Resources, the others are understood");
    let first = cycle.reasons[0].job;
    assert!(cycle.reasons[0].figures.is_some());
    assert_eq!(explained(&simulation, JobId(first.0 + 1)).reason, Reason::Priority);
    assert!(!simulation.plan().decides());

    // The first is held: the one behind it takes its place, and nothing else changes.
    simulation.hold(first);
    let cycle = simulation.plan();
    assert_eq!(cycle.reasons.len(), 1);
    assert_eq!((cycle.reasons[0].job, cycle.reasons[0].reason), (JobId(first.0 + 1), Reason::Resources));
    // Figures alone are no change: less is free, and the reason is the same.
    simulation.update_node("a", NodeUpdateState::Drain);
    assert!(!simulation.plan().decides());

    // The last one's place is told as far as places are counted; a cycle passes over those that are like it.
    let last = explained(&simulation, JobId(first.0 + 99_999));
    let place = last.place.expect("a place");
    assert!(place.more && place.in_front == 10_000, "{place:?}");
    assert!(matches!(last.outlook, Some(Outlook::NotProtected { .. })), "{:?}", last.outlook);
}

#[test]
fn since_when_is_the_commit_that_made_the_word() {
    let mut simulation = cluster(1, false, false);
    for _ in 0..3 {
        let mut spec = job("all", "main", 60);
        spec.request_mut().exclusive = true;
        simulation.submit(spec);
    }
    simulation.plan();
    let (start, first) = (simulation.now, simulation.submit(job("first", "main", 10)));
    let mut held = job("held", "main", 10);
    held.hold = true;
    let held = simulation.submit(held);
    simulation.now = start.plus_seconds(60);
    simulation.plan();
    let second = simulation.submit(job("second", "main", 10));
    simulation.now = start.plus_seconds(300);
    let since = |simulation: &Simulation, id| explained(simulation, id).since;
    assert_eq!(since(&simulation, first), start.plus_seconds(60), "the cycle said Resources");
    assert_eq!(since(&simulation, second), start.plus_seconds(60), "it could have started since it came");
    assert_eq!(since(&simulation, held), start);
    simulation.hold(first);
    simulation.now = start.plus_seconds(400);
    simulation.plan();
    assert_eq!(since(&simulation, first), start.plus_seconds(300));
    assert_eq!(explained(&simulation, first).reason, Reason::JobHeldUser);
    assert_eq!(since(&simulation, second), start.plus_seconds(400), "it is the first now");
}
