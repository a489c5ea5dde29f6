//! What holds for every queue beside every set of reservations.

mod support;

use std::sync::Arc;

use daybook_schemas::events::{ReservationCreated, ReservationDeleted};
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::reservation::{
    Repeat, ReservationDefinition, ReservationFlags, ReservationUser, ReservedCpus,
};
use daybook_schemas::run::ExitStatus;
use daybook_schemas::{NodeName, RunId, Seconds, Subject, UtcMicros};
use proptest::prelude::*;
use support::{Simulation, configuration, job, node, parameters, partition};

const NODES: [&str; 3] = ["a", "b", "c"];

#[derive(Clone, Debug)]
enum Act {
    /// By which user, for how long, with how many CPUs, naming which reservations.
    Submit {
        user: u32,
        minutes: u32,
        nodes: u32,
        cpus: u32,
        names: Vec<u8>,
    },
    /// Which one, on which nodes, beginning when and how long, for which user.
    Reserve {
        name: u8,
        nodes: u8,
        /// Which CPUs of each; none: all.
        cpus: Option<u8>,
        begins_in: i64,
        seconds: i64,
        user: u32,
        flags: ReservationFlags,
    },
    Unreserve(u8),
    End(usize),
    Tick(i64),
}

fn flags() -> impl Strategy<Value = ReservationFlags> {
    let repeat =
        prop_oneof![3 => Just(None), 1 => Just(Some(Repeat::Hourly)), 1 => Just(Some(Repeat::Weekend))];
    (
        any::<[bool; 4]>(),
        repeat,
        prop::option::weighted(0.1, 60u64..3_000),
        prop::option::weighted(0.2, 60u64..600),
    )
        .prop_map(|([maintenance, flex, overlap, magnetic], repeat, begins_in, purge)| {
            ReservationFlags {
                maintenance: maintenance && overlap,
                flex: flex && !overlap,
                overlap,
                magnetic,
                repeat: repeat.filter(|_| begins_in.is_none()),
                begins_in: begins_in.map(Seconds),
                purge_after: purge.map(Seconds),
                ..ReservationFlags::default()
            }
        })
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let names = prop::collection::vec(0u8..4, 0..3);
    let act = prop_oneof![
        5 => (0u32..3, 1u32..90, 1u32..3, 1u32..5, names)
            .prop_map(|(user, minutes, nodes, cpus, names)| Act::Submit { user, minutes, nodes, cpus, names }),
        3 => ((0u8..4, 1u8..8, prop::option::of(1u8..16)), 0i64..4_000, 60i64..3_000, 0u32..3, flags()).prop_map(
            |((name, nodes, cpus), begins_in, seconds, user, flags)| Act::Reserve {
                name, nodes, cpus, begins_in, seconds, user, flags
            }
        ),
        1 => (0u8..4).prop_map(Act::Unreserve),
        2 => any::<usize>().prop_map(Act::End),
        5 => (1i64..2_400).prop_map(Act::Tick),
    ];
    prop::collection::vec(act, 1..50)
}

fn cluster(reservations: u32) -> Simulation {
    let mut simulation = Simulation::new();
    let mut parameters = parameters();
    parameters.backfill_reservations = reservations;
    let nodes: Vec<_> = NODES.iter().map(|name| node(name, 4, 4_000, &[])).collect();
    simulation.configure(configuration(nodes.clone(), vec![partition("main", &NODES)], parameters));
    nodes.iter().for_each(|node| simulation.register(node));
    simulation
}

fn perform(simulation: &mut Simulation, act: &Act) {
    match act {
        Act::Submit { user, minutes, nodes, cpus, names } => {
            let mut spec = job("job", "main", *minutes);
            let named: Vec<String> = names.iter().map(|name| format!("r{name}")).collect();
            // What the gateway accepts: only what there is.
            let is_there = |name: &String| {
                let found = simulation.cluster.reservations().get(name.as_str());
                found.is_some_and(|found| found.window(simulation.now).is_some())
            };
            let named: Vec<String> = named.into_iter().filter(is_there).collect();
            spec.reservation = (!named.is_empty()).then(|| named.join(","));
            spec.user = daybook_schemas::job::JobUser { uid: *user, ..(*spec.user).clone() }.into();
            let request = Arc::make_mut(&mut spec.request);
            (request.nodes_min, request.tasks) = (*nodes, *nodes);
            (request.tasks_given, request.cpus_per_task) = (true, *cpus);
            simulation.submit(spec);
        }
        Act::Reserve { name, nodes, cpus, begins_in, seconds, user, flags } => {
            let name = format!("r{name}");
            if simulation.cluster.reservations().contains_key(name.as_str()) {
                return;
            }
            let chosen = (0..3).filter(|bit| nodes & (1 << bit) != 0).map(|bit| NodeName::from(NODES[bit]));
            let chosen: Vec<NodeName> = chosen.collect();
            let of_mask = |mask: u8| -> IndexSet { (0..4).filter(|cpu| mask & (1 << cpu) != 0).collect() };
            let kept = |node: &NodeName| {
                let cpus = of_mask((*cpus)?);
                Some(ReservedCpus { node: node.clone(), cpus })
            };
            let cpus = chosen.iter().filter_map(kept);
            let cpus = cpus.collect();
            let start = simulation.now.plus_seconds(*begins_in);
            let reservation = ReservationDefinition {
                name,
                start,
                end: start.plus_seconds(*seconds),
                cpus,
                nodes: chosen,
                users: vec![ReservationUser { uid: *user, name: user.to_string() }],
                flags: flags.clone(),
                ..ReservationDefinition::default()
            };
            simulation.say(Subject::Jobs, ReservationCreated { reservation });
        }
        Act::Unreserve(name) => {
            let name = format!("r{name}");
            if simulation.cluster.reservation_jobs(&name).is_none() {
                simulation.say(Subject::Jobs, ReservationDeleted { name });
            }
        }
        Act::End(number) => {
            let runs: Vec<RunId> = simulation.cluster.runs().keys().copied().collect();
            if !runs.is_empty() {
                let run = runs[number % runs.len()];
                simulation.end(run, ExitStatus::default());
                simulation.release(run);
            }
        }
        Act::Tick(seconds) => tick(simulation, *seconds),
    }
}

/// Moves time on; runs end when they have to, and the planner looks whenever it would wake by itself.
fn tick(simulation: &mut Simulation, seconds: i64) {
    let until = simulation.now.plus_seconds(seconds);
    loop {
        let ends = simulation.cluster.runs().values().filter_map(|run| run.limit_end());
        let wake = simulation.consider().wake.filter(|wake| *wake > simulation.now);
        let Some(at) = ends.chain(wake).min().filter(|at| *at <= until) else { break };
        simulation.now = at.max(simulation.now);
        let over = |run: &daybook_model::Run| run.limit_end().is_some_and(|end| end <= at);
        let runs = simulation.cluster.runs().values();
        let over: Vec<RunId> = runs.filter(|run| over(run)).map(|run| run.id).collect();
        for run in over {
            simulation.end(run, ExitStatus::default());
            simulation.release(run);
        }
        check(simulation);
    }
    simulation.now = until;
}

/// Plans, applies, and checks every start against every reservation.
fn check(simulation: &mut Simulation) {
    let before = simulation.cluster.clone();
    let now = simulation.now;
    let void = before.void_allocations();
    let cycle = simulation.plan();
    simulation.cluster.sanity_check().expect("the cluster is sane");
    assert_eq!(simulation.cluster.void_allocations(), void, "nothing is given twice");
    for start in &cycle.starts {
        let job = &before.jobs()[&start.run.job];
        let own = start.reservation.as_deref();
        let used = own.map(|name| &before.reservations()[name]);
        let limit = job.time_limit.seconds().map(|seconds| now.plus_seconds(seconds as i64));
        let run_end: Option<UtcMicros> = simulation.cluster.runs()[&start.run].limit_end();
        if let Some(used) = used {
            let (definition, window) = (&used.definition, used.window(now).expect("it is not over"));
            assert!(used.admits(job), "{start:?} may use it");
            assert!(
                definition.flags.magnetic && job.reservation.is_none()
                    || job
                        .reservation
                        .as_ref()
                        .is_some_and(|names| names.split(',').any(|name| Some(name) == own)),
                "{start:?} asks for it"
            );
            if !definition.flags.flex && definition.flags.begins_in.is_none() {
                assert!(window.start <= now, "{start:?}: it has begun");
                assert!(run_end.is_some_and(|end| end <= window.end), "{start:?} ends with it");
                assert!(start.nodes.iter().all(|share| definition.nodes.contains(&share.node)), "{start:?}");
                for share in &start.nodes {
                    let own = definition.cpus_of(&share.node);
                    let is_own = own.is_none_or(|own| share.cpus.difference(own).is_empty());
                    assert!(is_own, "{start:?} uses CPUs that its reservation does not keep");
                }
            }
        } else {
            assert!(job.reservation.is_none(), "{start:?} asks for a reservation");
        }
        for share in &start.nodes {
            for (name, other) in before.reservations() {
                let gives_way = used.is_some_and(|used| {
                    let flags = &used.definition.flags;
                    flags.maintenance || flags.overlap && !other.definition.flags.maintenance
                });
                if Some(&**name) == own || gives_way || !other.definition.nodes.contains(&share.node) {
                    continue;
                }
                let kept = other.definition.cpus_of(&share.node);
                if kept.is_some_and(|kept| kept.intersection(&share.cpus).is_empty()) {
                    continue;
                }
                let end = run_end.or(limit);
                assert!(!other.meets(now, now, end), "{start:?} runs in {name} ({:?})", other.definition);
            }
        }
    }
    // One that started something may have more to start at the same instant: who was kept from nodes by a reservation
    // alone may now be kept by what runs there, and stands in line with the protected start of that.
    match cycle.starts.is_empty() {
        true => assert!(simulation.consider().starts.is_empty(), "nothing is left to start"),
        false => check(simulation),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_runs_in_a_reservation_that_it_does_not_use(acts in acts(), reservations in 0u32..3) {
        let mut simulation = cluster(reservations);
        for act in &acts {
            perform(&mut simulation, act);
            check(&mut simulation);
        }
    }
}
