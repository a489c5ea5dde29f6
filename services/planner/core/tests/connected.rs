//! What holds for every queue on every network: neighbours are neighbours, few switches are few, nothing is given twice.

mod support;

use std::collections::BTreeSet;

use daybook_plan::Cycle;
use daybook_schemas::job::{JobSpec, SwitchRequest};
use daybook_schemas::run::ExitStatus;
use daybook_schemas::topology::{BlockDefinition, BlockTopology, SwitchDefinition, Topology};
use daybook_schemas::{NodeName, RunId, Seconds};
use proptest::prelude::*;
use support::{Simulation, configuration, job, node, parameters, partition};

const NAMES: [&str; 9] = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"];

/// A job, without its name.
#[derive(Clone, Debug)]
struct Wish {
    nodes: Option<(u32, u32)>,
    tasks: u32,
    cpus: u32,
    minutes: u32,
    contiguous: bool,
    switches: Option<(u32, u64)>,
    exclusive: bool,
    required: Option<usize>,
}

#[derive(Clone, Debug)]
enum Act {
    Submit(Wish),
    End(usize),
    Tick(i64),
}

fn wishes() -> impl Strategy<Value = Wish> {
    let nodes =
        prop::option::weighted(0.8, (1u32..5, 0u32..3).prop_map(|(least, more)| (least, least + more)));
    let switches = prop::option::weighted(0.5, (1u32..3, 0u64..900));
    let required = prop::option::weighted(0.1, 0usize..9);
    (nodes, 1u32..7, 1u32..4, 1u32..30, any::<bool>(), switches, prop::bool::weighted(0.3), required)
        .prop_map(|(nodes, tasks, cpus, minutes, contiguous, switches, exclusive, required)| Wish {
            nodes,
            tasks,
            cpus,
            minutes,
            contiguous,
            switches,
            exclusive,
            required,
        })
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        5 => wishes().prop_map(Act::Submit),
        3 => any::<usize>().prop_map(Act::End),
        2 => (1i64..600).prop_map(Act::Tick),
    ];
    prop::collection::vec(act, 1..50)
}

/// Each node's leaf (3: none), and whether there is a switch above the first two and one above all.
fn networks() -> impl Strategy<Value = (Vec<usize>, bool, bool, bool)> {
    (prop::collection::vec(0usize..4, 9), any::<bool>(), any::<bool>(), prop::bool::weighted(0.2))
}

fn topology(network: &(Vec<usize>, bool, bool, bool)) -> Topology {
    let (leaf_of, has_middle, has_top, is_block) = network;
    let nodes = |leaf: usize| -> Vec<NodeName> {
        let of_leaf = NAMES.iter().zip(leaf_of).filter(|(_, of)| **of == leaf);
        of_leaf.map(|(name, _)| NodeName::from(*name)).collect()
    };
    let leaves =
        (0..3).map(|leaf| (format!("leaf{leaf}"), nodes(leaf))).filter(|(_, nodes)| !nodes.is_empty());
    if *is_block {
        let blocks = leaves.map(|(name, nodes)| BlockDefinition { name, nodes }).collect();
        return Topology::Block(BlockTopology { blocks, sizes: vec![2, 4] });
    }
    let leaves: Vec<(String, Vec<NodeName>)> = leaves.collect();
    let names: Vec<String> = leaves.iter().map(|(name, _)| name.clone()).collect();
    let mut switches: Vec<SwitchDefinition> = leaves
        .into_iter()
        .map(|(name, nodes)| SwitchDefinition { name, nodes, ..SwitchDefinition::default() })
        .collect();
    let above = |name: &str, switches: &[String]| SwitchDefinition {
        name: name.to_string(),
        switches: switches.to_vec(),
        ..SwitchDefinition::default()
    };
    if *has_middle && names.len() > 1 {
        switches.push(above("middle", &names[..2]));
    }
    if *has_top && !names.is_empty() {
        switches.insert(0, above("top", &names));
    }
    Topology::Tree(switches)
}

fn cluster(network: &(Vec<usize>, bool, bool, bool)) -> Simulation {
    let nodes: Vec<_> = (0u32..).zip(NAMES).map(|(at, name)| node(name, 2 + at % 3, 1000, &[])).collect();
    let mut simulation = Simulation::new();
    let mut configured = configuration(nodes.clone(), vec![partition("main", &NAMES)], parameters());
    configured.topology = Some(topology(network));
    simulation.configure(configured);
    nodes.iter().for_each(|node| simulation.register(node));
    simulation
}

fn spec(wish: &Wish) -> JobSpec {
    let mut spec = job("job", "main", wish.minutes);
    let request = spec.request_mut();
    if let Some((least, most)) = wish.nodes {
        (request.nodes_min, request.nodes_max) = (least, Some(most));
    }
    (request.tasks, request.tasks_given) = (wish.tasks.max(request.nodes_min), true);
    request.cpus_per_task = wish.cpus;
    request.contiguous = wish.contiguous;
    request.switches = wish.switches.map(|(count, wait)| SwitchRequest { count, wait: Some(Seconds(wait)) });
    request.exclusive = wish.exclusive;
    request.nodes_required = wish.required.map(|at| NodeName::from(NAMES[at])).into_iter().collect();
    spec
}

fn check(simulation: &mut Simulation, network: &(Vec<usize>, bool, bool, bool)) -> Cycle {
    let now = simulation.now;
    let cycle = simulation.plan();
    // No CPU twice is one of the model's invariants.
    simulation.cluster.sanity_check().expect("the cluster is sane");
    for start in &cycle.starts {
        let started = &simulation.cluster.jobs()[&start.run.job];
        let asked = &started.request;
        let places: Vec<usize> = start
            .nodes
            .iter()
            .map(|share| NAMES.iter().position(|name| *name == share.node.as_str()).expect("a node"))
            .collect();
        assert!(places.len() >= asked.nodes_min as usize);
        assert!(asked.nodes_max.is_none_or(|most| places.len() <= most as usize));
        for name in &asked.nodes_required {
            assert!(start.nodes.iter().any(|share| share.node == *name), "{name} is missing: {start:?}");
        }
        if asked.contiguous {
            assert!(places.windows(2).all(|pair| pair[0] + 1 == pair[1]), "no neighbours: {places:?}");
        }
        let leaves: BTreeSet<usize> = places.iter().map(|place| network.0[*place]).collect();
        if places.len() > 1 {
            assert!(!leaves.contains(&3), "a node under no switch: {places:?}");
        }
        if let Some(few) = asked.switches {
            let wait = i64::try_from(few.wait_within(Seconds(300)).0).expect("short");
            let has_waited = started.eligible.expect("ready").plus_seconds(wait) <= now;
            assert!(has_waited || leaves.len() <= few.count as usize, "{places:?} for {few:?}");
        }
    }
    // Whoever still waits for few switches wakes the planner in time.
    let waiting = simulation.cluster.ready().iter().filter_map(|key| simulation.cluster.jobs().get(&key.job));
    for job in waiting.filter(|job| job.reason.word() == "Resources") {
        let Some(few) = job.request.switches else { continue };
        let wait = i64::try_from(few.wait_within(Seconds(300)).0).expect("short");
        let until = job.eligible.expect("ready").plus_seconds(wait);
        assert!(until <= now || cycle.wake.is_some_and(|wake| wake <= until), "{until:?}: {:?}", cycle.wake);
    }
    cycle
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, ..ProptestConfig::default() })]

    #[test]
    fn neighbours_and_few_switches_are_what_was_asked_for(network in networks(), acts in acts()) {
        let mut simulation = cluster(&network);
        for act in &acts {
            match act {
                Act::Submit(wish) => drop(simulation.submit(spec(wish))),
                Act::End(number) => {
                    let runs: Vec<RunId> = simulation.cluster.runs().keys().copied().collect();
                    if !runs.is_empty() {
                        let run = runs[number % runs.len()];
                        simulation.end(run, ExitStatus::default());
                        simulation.release(run);
                    }
                }
                Act::Tick(seconds) => simulation.now = simulation.now.plus_seconds(*seconds),
            }
            check(&mut simulation, &network);
            // What has started may make a promise move, and with it what may start: but that comes to an end.
            let waiting = simulation.cluster.ready().len();
            let settled = (0..=waiting).any(|_| !simulation.plan().decides());
            prop_assert!(settled, "it still decides after {waiting} cycles at one instant");
        }
    }

    #[test]
    fn a_wish_for_few_switches_keeps_nobody_from_starting_when_it_has_passed(network in networks(), wish in wishes()) {
        let plain = Wish { switches: None, ..wish.clone() };
        let mut starts = Vec::new();
        for wish in [plain, wish] {
            let mut simulation = cluster(&network);
            let id = simulation.submit(spec(&wish));
            check(&mut simulation, &network);
            simulation.now = simulation.now.plus_seconds(300);
            check(&mut simulation, &network);
            starts.push(simulation.cluster.jobs()[&id].run.is_some());
        }
        prop_assert_eq!(starts[0], starts[1]);
    }
}
