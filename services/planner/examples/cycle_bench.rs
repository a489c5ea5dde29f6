//! How long one planning cycle takes: 50,000 waiting jobs of 1, 10 and 1,000 shapes, on 1 and on 1,000 nodes, empty
//! (as much starts as may) and full (nothing does, and all CPUs but a few are taken).
//!
//! `cargo run --release -p daybook-planner --example cycle_bench`

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Instant;

use daybook_planner::Cycle;
use daybook_schemas::node::NodeDefinition;
use support::{Simulation, configuration, job, node, parameters, partition};

const WAITING: u32 = 50_000;

fn main() {
    println!(
        "{:>6} {:>7} {:>22} {:>9} {:>9} {:>10} {:>8} {:>9}",
        "nodes", "shapes", "cluster", "least", "median", "considered", "starts", "bounded"
    );
    for nodes in [1, 1_000] {
        for shapes in [1, 10, 1_000] {
            let mut simulation = cluster(nodes, shapes);
            measure(nodes, shapes, "empty", &simulation);
            // Everything that starts, until nothing more does.
            while !simulation.plan().starts.is_empty() {}
            measure(nodes, shapes, "full", &simulation);
            let mut wide = cluster_with_free_cpus(nodes, shapes);
            while !wide.plan().starts.is_empty() {}
            measure(nodes, shapes, "full but for some CPUs", &wide);
        }
    }
}

fn cluster(nodes: u32, shapes: u32) -> Simulation {
    queue(nodes, shapes, |shape| 1 + shape % 7)
}

/// Jobs of 5 CPUs leave three of eight free, so that a cycle must look on.
fn cluster_with_free_cpus(nodes: u32, shapes: u32) -> Simulation {
    queue(nodes, shapes, |_| 5)
}

fn queue(nodes: u32, shapes: u32, cpus: impl Fn(u32) -> u32) -> Simulation {
    let mut simulation = Simulation::new();
    let definitions: Vec<NodeDefinition> =
        (0..nodes).map(|number| node(&format!("n{number:04}"), 8, 16_000, &["a100", "a100"])).collect();
    let names: Vec<&str> = definitions.iter().map(|node| node.name.as_str()).collect();
    let partitions = vec![partition("main", &names)];
    simulation.configure(configuration(definitions.clone(), partitions, parameters()));
    definitions.iter().for_each(|node| simulation.register(node));
    for number in 0..WAITING {
        let shape = number % shapes;
        let mut spec = job("job", "main", 60 + shape);
        spec.request.cpus_per_task = cpus(shape);
        simulation.submit(spec);
    }
    simulation.commits.clear();
    simulation
}

fn measure(nodes: u32, shapes: u32, state: &str, simulation: &Simulation) {
    let mut times = Vec::new();
    let mut last: Option<Cycle> = None;
    for _ in 0..25 {
        let begun = Instant::now();
        last = Some(simulation.consider());
        times.push(begun.elapsed());
    }
    times.sort();
    let Some(cycle) = last else { return };
    println!(
        "{nodes:>6} {shapes:>7} {state:>22} {:>6.2} ms {:>6.2} ms {:>10} {:>8} {:>9}",
        times[0].as_secs_f64() * 1e3,
        times[times.len() / 2].as_secs_f64() * 1e3,
        cycle.jobs_considered,
        cycle.starts.len(),
        cycle.bounded
    );
}
