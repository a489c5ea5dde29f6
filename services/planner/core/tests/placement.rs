//! A job of one node goes where the least becomes useless to those who usually come.

mod support;

use daybook_model::{Cluster, Node};
use daybook_plan::fragmentation::{
    Mix, Room, Shape, WHOLE_GPU, WHOLE_MEMORY, placement_mix, unusable, usual_mix,
};
use daybook_schemas::Mebibytes;
use daybook_schemas::job::{GpuRequest, GpuScope, MemoryRequest, ResourceRequest};
use daybook_schemas::node::NodeDefinition;
use daybook_schemas::run::ExitStatus;
use proptest::prelude::*;
use support::{Simulation, configuration, job, node, parameters, partition};

const NODES: usize = 9;

fn name(number: usize) -> String {
    format!("n{number}")
}

/// Three sorts of nodes, one of them heavier.
fn nodes() -> Vec<NodeDefinition> {
    let make = |number: usize| {
        let (cpus, gpus) = [(16, 8), (8, 4), (12, 4)][number % 3];
        let mut made = node(&name(number), cpus, 8_000, &vec!["a100"; gpus]);
        made.weight = if number == 8 { 1 } else { 2 };
        made
    };
    (0..NODES).map(make).collect()
}

fn request((cpus, memory, gpus, exclusive): (u32, u64, u32, bool)) -> ResourceRequest {
    let wish = GpuRequest { scope: GpuScope::Node, gpu_type: None, count: gpus };
    ResourceRequest {
        nodes_max: Some(1),
        cpus_per_task: cpus,
        memory: Some(MemoryRequest::PerNode(Mebibytes(memory))),
        gpus: if gpus > 0 { vec![wish] } else { Vec::new() },
        exclusive,
        ..ResourceRequest::default()
    }
}

fn room(node: &Node) -> Room<'_> {
    let gpus = node.gpus_free().map(|gpu| (gpu.gpu_type.as_str(), WHOLE_GPU));
    let cpus = u64::from(node.cpus_free()) * 1_000;
    Room::new(cpus, node.memory_free().0, node.runs.is_empty(), gpus)
}

/// Where the rule says that a request goes, looking at every node.
fn expected(cluster: &Cluster, mix: &Mix, request: &ResourceRequest) -> Option<String> {
    let memory = match request.memory {
        Some(MemoryRequest::PerNode(Mebibytes(0))) => WHOLE_MEMORY,
        Some(MemoryRequest::PerNode(amount)) => amount.0,
        ref other => panic!("{other:?}"),
    };
    let shape = Shape {
        cpus: u64::from(request.cpus_per_task) * 1_000,
        memory,
        gpus: request.gpus.first().map_or(0, |wish| wish.count),
        share: WHOLE_GPU,
        gpu_types: Vec::new(),
        exclusive: request.exclusive,
    };
    let ranked = cluster.nodes().values().filter_map(|node| {
        let before = room(node);
        let left = before.without(&shape).into_iter().next()?;
        let growth = unusable(&left, mix) as i64 - unusable(&before, mix) as i64;
        let free = if shape.gpus > 0 { before.gpu_thousandths() } else { 0 };
        Some((node.definition.weight, growth, free, node.order, node.definition.name.to_string()))
    });
    ranked.min().map(|(.., name)| name)
}

fn wishes() -> impl Strategy<Value = (u32, u64, u32, bool)> {
    let memory = prop_oneof![6 => 1u64..3_000, 1 => Just(0)];
    let gpus = prop_oneof![3 => Just(1u32), 2 => Just(0), 1 => Just(2), 1 => Just(4), 1 => Just(8)];
    (1u32..7, memory, gpus, prop::bool::weighted(0.1))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    #[test]
    fn the_planner_takes_the_node_that_a_look_at_every_node_finds(
        acts in prop::collection::vec((wishes(), prop::option::weighted(0.4, any::<usize>())), 1..40),
    ) {
        let mut simulation = Simulation::new();
        let parameters =
            daybook_schemas::node::ClusterParameters { memory_is_consumed: true, ..parameters() };
        let names: Vec<String> = (0..NODES).map(name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        simulation.configure(configuration(nodes(), vec![partition("main", &names)], parameters));
        nodes().iter().for_each(|node| simulation.register(node));
        for (wish, end) in acts {
            let mut spec = job("job", "main", 60);
            spec.request = request(wish).into();
            let wanted = spec.request.clone();
            let submitted = simulation.submit(spec);
            let mix = placement_mix(usual_mix(&simulation.cluster));
            let expected = expected(&simulation.cluster, &mix, &wanted);
            let cycle = simulation.plan();
            let start = cycle.starts.iter().find(|start| start.run.job == submitted);
            let taken = start.map(|start| start.nodes[0].node.to_string());
            prop_assert_eq!(taken, expected, "{:?}", wish);
            // Nobody waits, so that each cycle has one job.
            if start.is_none() {
                simulation.cancel(submitted);
            }
            let runs: Vec<_> = simulation.cluster.runs().keys().copied().collect();
            if let Some(number) = end.filter(|_| !runs.is_empty()) {
                let run = runs[number % runs.len()];
                simulation.end(run, ExitStatus::default());
                simulation.release(run);
            }
        }
    }
}
