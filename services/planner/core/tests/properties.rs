//! What holds for every queue on every cluster.

mod support;

use std::collections::BTreeMap;

use daybook_model::fit::could_ever_start;
use daybook_plan::{Cycle, Policy, Start, plan};
use daybook_schemas::events::{ClusterConfigured, PlannedStart, ReasonChange};
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::{ArrayRequest, GpuRequest, GpuScope, JobSpec, MemoryRequest, Reason, TimeLimit};
use daybook_schemas::license::License;
use daybook_schemas::node::{ClusterParameters, NodeDefinition, PartitionDefinition};
use daybook_schemas::orders::RunWish;
use daybook_schemas::run::ExitStatus;
use daybook_schemas::{Body, JobId, Mebibytes, NodeName, RunId, UtcMicros, canonical};
use proptest::prelude::*;
use support::{Simulation, configuration, job, node, parameters, partition};

/// A job, without its name.
#[derive(Clone, Debug)]
struct Wish {
    nodes: (u32, Option<u32>),
    tasks: u32,
    cpus: u32,
    minutes: u32,
    memory: Option<MemoryRequest>,
    gpus: Option<GpuRequest>,
    exclusive: bool,
    partition: &'static str,
    array: Option<(u32, u32)>,
    /// Of each of [`LICENSES`].
    licenses: (u32, u32),
    /// The shortest limit that will do, in minutes.
    time_min: Option<u32>,
    /// In how many minutes it must have ended.
    deadline: Option<i64>,
}

/// Licences of the cluster.
const LICENSES: [(&str, u32); 2] = [("ansys", 2), ("matlab", 5)];

#[derive(Clone, Debug)]
enum Act {
    Submit(Wish),
    /// Ends the n-th run, early.
    End(usize),
    Cancel(usize),
    Drain(usize, bool),
    Tick(i64),
}

fn wishes() -> impl Strategy<Value = Wish> {
    let memory = prop_oneof![
        3 => Just(None),
        1 => (0u64..3000).prop_map(|amount| Some(MemoryRequest::PerNode(Mebibytes(amount)))),
        1 => (1u64..900).prop_map(|amount| Some(MemoryRequest::PerCpu(Mebibytes(amount)))),
        1 => (1u64..900).prop_map(|amount| Some(MemoryRequest::PerGpu(Mebibytes(amount)))),
    ];
    let scope = prop_oneof![Just(GpuScope::Node), Just(GpuScope::Task), Just(GpuScope::Job)];
    let kind = prop_oneof![Just(None), Just(Some("a100".to_string())), Just(Some("h100".to_string()))];
    let gpus =
        (scope, kind, 1u32..4).prop_map(|(scope, gpu_type, count)| GpuRequest { scope, gpu_type, count });
    let nodes = prop_oneof![4 => Just((1, None)), 1 => (1u32..3, 0u32..2).prop_map(|(least, more)| (least, Some(least + more)))];
    let partition = prop_oneof![
        3 => Just("main"),
        3 => Just("part"),
        1 => Just("main,part"),
        1 => Just("part,main"),
    ];
    let array = prop::option::weighted(0.2, (1u32..5, 0u32..3));
    let licenses = prop_oneof![2 => Just((0, 0)), 1 => (0u32..3, 0u32..6)];
    let time_min = prop::option::weighted(0.2, 1u32..20);
    let deadline = prop::option::weighted(0.1, 1i64..90);
    (
        (nodes, 1u32..5, 1u32..4, 1u32..40),
        (time_min, deadline),
        (memory, prop::option::weighted(0.4, gpus), prop::bool::weighted(0.1), partition, array, licenses),
    )
        .prop_map(|((nodes, tasks, cpus, minutes), (time_min, deadline), others)| {
            let (memory, gpus, exclusive, partition, array, licenses) = others;
            Wish {
                nodes,
                tasks,
                cpus,
                minutes,
                memory,
                gpus,
                exclusive,
                partition,
                array,
                licenses,
                time_min,
                deadline,
            }
        })
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        5 => wishes().prop_map(Act::Submit),
        3 => any::<usize>().prop_map(Act::End),
        1 => any::<usize>().prop_map(Act::Cancel),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(node, drain)| Act::Drain(node, drain)),
        3 => (1i64..1800).prop_map(Act::Tick),
    ];
    prop::collection::vec(act, 1..60)
}

/// So many cycles at one instant, each for what the last one has started, are more than enough.
const CYCLES_UNTIL_SETTLED: usize = 4;

/// How many starts are protected: few, or so many that they are drawn over time.
fn protected() -> impl Strategy<Value = u32> {
    prop_oneof![3 => 0u32..4, 1 => Just(64u32)]
}

fn nodes() -> Vec<NodeDefinition> {
    let mut nodes = vec![
        node("a", 4, 4000, &[]),
        node("b", 8, 8000, &["a100", "a100"]),
        node("c", 8, 6000, &["a100", "h100", "h100"]),
    ];
    nodes[0].weight = 2;
    nodes[2].sockets = 2;
    nodes[2].threads_per_core = 2;
    nodes[2].cores_per_socket = 2;
    // One GPU is bound to no cores, and one names cores that the node does not have.
    for (gpu, cores) in nodes[2].gpus.iter_mut().zip([(0, 2), (2, 4), (3, 9)]) {
        gpu.cores = IndexSet::range(cores.0, cores.1);
    }
    nodes[1].gpus[1].cores = IndexSet::range(4, 8);
    nodes[2].gpus[1].links = vec![1, 0, 4];
    nodes
}

/// Licences of these counts.
fn licenses(counts: [u32; 2]) -> Vec<License> {
    let licenses = LICENSES.iter().zip(counts).filter(|(_, count)| *count > 0);
    licenses.map(|((name, _), count)| License { name: name.to_string(), count }).collect()
}

fn configured(partitions: Vec<PartitionDefinition>, parameters: ClusterParameters) -> ClusterConfigured {
    let licenses = licenses(LICENSES.map(|(_, count)| count));
    ClusterConfigured { licenses, ..configuration(nodes(), partitions, parameters) }
}

fn cluster(reservations: u32) -> Simulation {
    let mut simulation = Simulation::new();
    let mut parameters = parameters();
    parameters.memory_is_consumed = true;
    parameters.default_memory = Some(MemoryRequest::PerCpu(Mebibytes(500)));
    parameters.backfill_reservations = reservations;
    let partitions = vec![partition("main", &["a", "b", "c"]), partition("part", &["b", "c"])];
    simulation.configure(configured(partitions, parameters));
    nodes().iter().for_each(|node| simulation.register(node));
    simulation
}

fn spec(wish: &Wish) -> JobSpec {
    let mut spec = job("job", wish.partition, wish.minutes);
    spec.request_mut().nodes_min = wish.nodes.0;
    spec.request_mut().nodes_max = wish.nodes.1;
    spec.request_mut().tasks = wish.tasks.max(wish.nodes.0);
    spec.request_mut().tasks_given = true;
    spec.request_mut().cpus_per_task = wish.cpus;
    spec.request_mut().memory = wish.memory;
    spec.request_mut().gpus = wish.gpus.clone().into_iter().collect();
    spec.request_mut().exclusive = wish.exclusive;
    spec.request_mut().licenses = licenses([wish.licenses.0, wish.licenses.1]);
    spec.time_min = wish.time_min.map(TimeLimit::minutes);
    spec.array = wish.array.map(|(tasks, most)| ArrayRequest {
        tasks: IndexSet::range(0, tasks),
        running_max: (most > 0).then_some(most),
    });
    spec
}

/// What is looked at after each cycle.
type Watch<'w> = &'w mut dyn FnMut(&Simulation, &Cycle);

fn act(simulation: &mut Simulation, act: &Act, watch: Watch<'_>) {
    match act {
        Act::Submit(wish) => {
            let mut spec = spec(wish);
            let minutes = |minutes: i64| simulation.now.plus_seconds(minutes.saturating_mul(60));
            spec.deadline = wish.deadline.map(minutes);
            simulation.submit(spec);
        }
        Act::End(number) => {
            let runs: Vec<RunId> = simulation.cluster.runs().keys().copied().collect();
            if !runs.is_empty() {
                let run = runs[number % runs.len()];
                simulation.end(run, ExitStatus::default());
                simulation.release(run);
            }
        }
        Act::Cancel(number) => {
            let waiting: Vec<JobId> = simulation.cluster.ready().iter().map(|key| key.job).collect();
            if !waiting.is_empty() {
                simulation.cancel(waiting[number % waiting.len()]);
                // Running tasks of a cancelled array do as they are told, at once.
                let runs = simulation.cluster.runs().values();
                let told: Vec<RunId> =
                    runs.filter(|run| run.wish != RunWish::Run).map(|run| run.id).collect();
                for run in told {
                    simulation.end(run, ExitStatus::default());
                    simulation.release(run);
                }
            }
        }
        Act::Drain(number, drain) => {
            let name = ["a", "b", "c"][number % 3];
            let state = if *drain {
                daybook_schemas::node::NodeUpdateState::Drain
            } else {
                daybook_schemas::node::NodeUpdateState::Resume
            };
            simulation.update_node(name, state);
        }
        Act::Tick(seconds) => tick(simulation, *seconds, watch),
    }
}

/// Moves time on; runs end at their limits, and what that frees is planned at that instant.
fn tick(simulation: &mut Simulation, seconds: i64, watch: Watch<'_>) {
    let until = simulation.now.plus_seconds(seconds);
    loop {
        let ends = simulation.cluster.runs().values().filter_map(|run| Some((run.limit_end()?, run.id)));
        let ends: Vec<(UtcMicros, RunId)> = ends.collect();
        let Some(at) = ends.iter().map(|(at, _)| *at).min().filter(|at| *at <= until) else { break };
        simulation.now = at.max(simulation.now);
        for (_, run) in ends.into_iter().filter(|(end, _)| *end == at) {
            simulation.end(run, ExitStatus::default());
            simulation.release(run);
        }
        let cycle = check(simulation);
        watch(simulation, &cycle);
    }
    simulation.now = until;
}

/// Plans, applies, and checks what must hold after every cycle.
fn check(simulation: &mut Simulation) -> Cycle {
    let void = simulation.cluster.void_allocations();
    let cycle = simulation.plan();
    assert_eq!(
        simulation.cluster.void_allocations(),
        void,
        "what is decided on the newest state is not void"
    );
    let figure = cycle.fragmentation.expect("there are GPUs");
    assert!(figure.gpus_unusable.is_none_or(|unusable| unusable <= figure.gpus_free), "{figure:?}");
    let up = simulation.cluster.nodes().values().filter(|node| node.is_schedulable());
    let free: usize = up.map(|node| node.gpus_free().count()).sum();
    assert_eq!(figure.gpus_free, free as u64 * 1_000, "what is free after the starts");
    // No CPU and no GPU twice is one of the model's invariants.
    simulation.cluster.sanity_check().expect("the cluster is sane");
    for node in simulation.cluster.nodes().values() {
        assert!(
            node.memory_allocated <= node.definition.memory,
            "{} has not so much memory",
            node.definition.name
        );
    }
    for (name, in_all) in LICENSES {
        let runs = simulation.cluster.runs().values().filter(|run| run.end.is_none());
        let jobs = runs.filter_map(|run| simulation.cluster.jobs().get(&run.id.job));
        let held = jobs.flat_map(|job| &job.request.licenses).filter(|license| license.name == name);
        assert!(held.map(|license| license.count).sum::<u32>() <= in_all, "more of {name} than there are");
    }
    for start in &cycle.starts {
        let asked = &simulation.cluster.jobs()[&start.run.job].request;
        let tasks: u32 = start.nodes.iter().map(|share| share.tasks).sum();
        let cpus: u64 = start.nodes.iter().map(|share| share.cpus.len()).sum();
        assert_eq!(tasks, asked.tasks.max(start.nodes.len() as u32));
        assert!(cpus >= u64::from(tasks * asked.cpus_per_task));
        let count = start.nodes.len() as u32;
        let job = &simulation.cluster.jobs()[&start.run.job];
        let ends = start.time_limit.seconds().map(|seconds| cycle.now.plus_seconds(seconds as i64));
        assert!(job.deadline.is_none_or(|deadline| ends.is_some_and(|end| end <= deadline)), "{start:?}");
        let least = job.time_min.unwrap_or(job.spec.time_limit.expect("given"));
        assert!(start.time_limit >= least.min(job.spec.time_limit.expect("given")), "{start:?}");
        assert!(count >= asked.nodes_min && asked.nodes_max.is_none_or(|most| count <= most));
        for wish in &asked.gpus {
            let gpus = |node: &daybook_schemas::run::RunNode| {
                node.gpus
                    .iter()
                    .filter(|gpu| wish.gpu_type.as_ref().is_none_or(|name| *name == gpu.gpu_type))
                    .count() as u32
            };
            let all: u32 = start.nodes.iter().map(gpus).sum();
            match wish.scope {
                GpuScope::Node => assert!(start.nodes.iter().all(|node| gpus(node) >= wish.count)),
                GpuScope::Task => {
                    assert!(start.nodes.iter().all(|node| gpus(node) >= wish.count * node.tasks))
                }
                GpuScope::Job => assert!(all >= wish.count),
            }
        }
    }
    cycle
}

/// The earliest start that was ever promised to each waiting job; an array's task in front has the array's.
#[derive(Default)]
struct Promises(BTreeMap<JobId, UtcMicros>);

impl Promises {
    fn watch(&mut self, simulation: &Simulation, cycle: &Cycle) {
        let now = simulation.now;
        for start in &cycle.starts {
            let job = start.array.map_or(start.run.job, |task| task.array_job);
            if let Some(promise) = self.0.remove(&job) {
                assert!(now <= promise, "{job} starts at {now}, not at {promise}");
            }
        }
        for planned in &cycle.reservations {
            let before = self.0.insert(planned.job, planned.start).unwrap_or(planned.start);
            assert!(planned.start <= before, "{} was promised {before}, now {}", planned.job, planned.start);
        }
        self.0.retain(|job, _| simulation.cluster.jobs().get(job).is_some_and(|job| !job.state.is_ended()));
        for (job, promise) in &self.0 {
            assert!(*promise > now, "{job} was promised {promise} and waits at {now}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_given_twice_and_nobody_gets_less_than_asked(acts in acts(), reservations in protected()) {
        let mut simulation = cluster(reservations);
        for step in &acts {
            act(&mut simulation, step, &mut |_, _| {});
            let cycle = check(&mut simulation);
            // A cycle leaves nothing to decide, and recording expected starts settles them. Only that licences have gone
            // to a start behind it, which a job in front could not have used, is said a cycle later.
            let next = simulation.plan();
            prop_assert!(next.finished.is_empty(), "{:?}", next);
            // What is kept for a job in front may be kept elsewhere beside what has started behind it: that leaves other
            // room, to be filled once more.
            let is_moved = |planned: &PlannedStart| {
                cycle.reservations.iter().any(|before| before.job == planned.job && before != planned)
            };
            // Nodes for GPUs of a whole job are found by a heuristic, which may see more where less is free.
            let is_searched = |start: &Start| {
                let gpus = &simulation.cluster.jobs()[&start.run.job].request.gpus;
                gpus.iter().any(|wish| wish.scope == GpuScope::Job)
            };
            if !next.reservations.iter().any(is_moved) && !next.starts.iter().any(is_searched) {
                let is_about_licenses = |change: &ReasonChange| change.reason == Reason::Licenses;
                prop_assert!(next.starts.is_empty(), "{:?}", next);
                prop_assert!(next.reasons.iter().all(is_about_licenses), "{:?}", next);
            }
            let settles = (0..CYCLES_UNTIL_SETTLED).any(|_| !simulation.plan().decides());
            prop_assert!(settles, "{:?}", next);
            prop_assert!(!simulation.consider().expects_otherwise(&simulation.cluster));
        }
    }

    #[test]
    fn the_first_blocked_job_never_starts_later_than_promised(acts in acts()) {
        let mut simulation = cluster(1);
        let mut promises = Promises::default();
        for step in &acts {
            // Drained nodes break promises, and so does an array in front whose %N lets more tasks start; job-wide GPUs
            // over several nodes are placed by a heuristic; and of two partitions' promises the second is made anew
            // whenever the first moves.
            let is_excepted = |wish: &Wish| {
                wish.gpus.as_ref().is_some_and(|gpus| gpus.scope == GpuScope::Job)
                    || wish.array.is_some_and(|(_, most)| most > 0)
                    || wish.partition != "main"
            };
            match step {
                Act::Drain(..) => continue,
                Act::Submit(wish) if is_excepted(wish) => continue,
                _ => act(&mut simulation, step, &mut |simulation, cycle| promises.watch(simulation, cycle)),
            }
            let cycle = check(&mut simulation);
            promises.watch(&simulation, &cycle);
        }
    }

    #[test]
    fn the_order_of_the_configuration_file_does_not_change_what_is_decided(acts in acts()) {
        // The same nodes and partitions said in two commits instead of one, and members in another order.
        let mut one = cluster(2);
        let mut other = Simulation::new();
        let mut parameters = one.cluster.configured().expect("configured").parameters.clone();
        parameters.backfill_reservations = 2;
        let partitions = vec![partition("part", &["c", "b"]), partition("main", &["c", "a", "b"])];
        other.configure(configured(partitions, parameters));
        nodes().iter().rev().for_each(|node| other.register(node));
        for step in &acts {
            act(&mut one, step, &mut |_, _| {});
            act(&mut other, step, &mut |_, _| {});
            let (first, second) = (check(&mut one), check(&mut other));
            prop_assert_eq!(&first, &second);
            prop_assert_eq!(first.decision_hash, second.decision_hash);
        }
    }

    #[test]
    fn a_cycle_decided_again_has_the_same_bytes(acts in acts(), reservations in protected()) {
        let mut simulation = cluster(reservations);
        for step in &acts {
            act(&mut simulation, step, &mut |_, _| {});
            let (first, again) = (simulation.consider(), simulation.consider());
            let bytes = |cycle: &Cycle| {
                let events: Vec<_> = cycle.to_events().iter().map(|event| event.to_value().expect("JSON")).collect();
                canonical::to_bytes(&events).expect("canonical")
            };
            prop_assert_eq!(bytes(&first), bytes(&again));
            // And folded anew from the commits.
            let mut folded = daybook_model::Cluster::new();
            simulation.commits.iter().for_each(|commit| folded.apply(commit).expect("folds"));
            let policy = Policy::of(&folded).expect("configured");
            // What one state has kept of earlier cycles and the other has not changes nothing, the steps not either.
            prop_assert_eq!(plan(&folded, simulation.now, &policy), first);
            check(&mut simulation);
        }
    }

    #[test]
    fn what_could_never_start_does_not_start_and_the_rest_does_in_an_empty_cluster(wish in wishes()) {
        let mut simulation = cluster(1);
        let mut spec = spec(&wish);
        // Of several partitions one may limit what another could never give.
        spec.partition = spec.partition.split(',').next().expect("a first").to_string();
        let possible = could_ever_start(&simulation.cluster, &spec.partition, &spec.request).is_ok();
        simulation.submit(spec);
        let cycle = simulation.plan();
        let refused = cycle.reasons.first().map(|change| change.reason);
        let limited = refused.is_some_and(|reason| {
            use daybook_schemas::job::Reason::{PartitionConfig, PartitionNodeLimit};
            matches!(reason, PartitionConfig | PartitionNodeLimit)
        });
        prop_assert_eq!(possible && !limited, !cycle.starts.is_empty(), "{:?}", refused);
    }
}

#[test]
fn events_name_the_cycle_first_and_the_starts_in_its_order() {
    let mut simulation = cluster(1);
    for _ in 0..3 {
        simulation.submit(job("job", "main", 10));
    }
    let cycle = simulation.consider();
    let events = cycle.to_events();
    let Body::PlannerCycle(recorded) = &events[0].body else { panic!("{:?}", events[0].body) };
    let starts: Vec<RunId> = events[1..]
        .iter()
        .map(|event| match &event.body {
            Body::RunAllocated(start) => start.run,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(recorded.starts, starts);
    assert_eq!(starts.len(), 3);
    assert_eq!(recorded.decision_hash, cycle.decision_hash);
    let position = simulation.cluster.position();
    let ids: Vec<String> = events.iter().map(|event| event.id.to_string()).collect();
    assert_eq!(ids[..2], [format!("plan/{position}/0"), format!("plan/{position}/1")]);
    assert_eq!(simulation.cluster.nodes()[&NodeName::from("b")].definition.weight, 1);
}

#[test]
fn a_policy_of_other_parameters_has_another_hash() {
    let hashes = [Policy::new(1, 10).hash(), Policy::new(2, 10).hash(), Policy::new(1, 11).hash()];
    assert!(hashes[0] != hashes[1] && hashes[0] != hashes[2] && hashes[1] != hashes[2]);
    assert_eq!(hashes[0], Policy::new(1, 10).hash());
    assert_eq!(
        String::from_utf8(Policy::new(1, 0).to_bytes().expect("canonical")).expect("text"),
        concat!(
            r#"{"backfill":true,"considered_min":1000,"finished_max":1000,"jobs_max":1,"order":"queue","#,
            r#""reasons_max":1000,"reservations":1,"reservations_max":256,"starts_max":1000,"#,
            r#""steps_max":200000000,"version":6,"weights":null}"#
        )
    );
}
