//! The same history decides the same bytes: in a debug build and a release build, in another process, in eight threads
//! at once, and whatever the order in which the nodes came.
//!
//! The expected hash is a file, so every process, build and machine that runs this test is compared with every other.
//! It changes only with what is decided, and then `Policy::VERSION` goes up.

mod support;

use std::fmt::Write;

use daybook_plan::Policy;
use daybook_schemas::events::ClusterConfigured;
use daybook_schemas::job::{ArrayRequest, GpuRequest, GpuScope, JobSpec, MemoryRequest};
use daybook_schemas::node::{ClusterParameters, NodeDefinition};
use daybook_schemas::run::ExitStatus;
use daybook_schemas::{Mebibytes, RunId, canonical};
use support::{Simulation, configuration, job, node, parameters, partition};

const NODES: usize = 40;
const STEPS: usize = 200;

/// Numbers that are the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn one_of<T: Copy>(&mut self, these: &[T]) -> T {
        these[self.below(these.len() as u64) as usize]
    }
}

fn nodes() -> Vec<NodeDefinition> {
    let gpus = ["a100", "a100", "a100", "a100", "h100", "h100", "h100", "h100"];
    let make = |at: usize| match at % 4 {
        0 => node(&format!("cpu{at:02}"), 16, 64_000, &[]),
        1 => node(&format!("mix{at:02}"), 16, 64_000, &gpus),
        _ => node(&format!("gpu{at:02}"), 32, 128_000, &gpus[4..]),
    };
    (0..NODES).map(make).collect()
}

fn configured(protected: u32, nodes: &[NodeDefinition]) -> ClusterConfigured {
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let partitions = vec![partition("main", &names), partition("left", &names[..NODES / 2])];
    let parameters = ClusterParameters {
        backfill_reservations: protected,
        memory_is_consumed: true,
        default_memory: Some(MemoryRequest::PerCpu(Mebibytes(1_000))),
        ..parameters()
    };
    configuration(nodes.to_vec(), partitions, parameters)
}

fn spec(numbers: &mut Numbers) -> JobSpec {
    let minutes = numbers.one_of(&[5, 10, 30, 60, 60, 240]);
    let partition = numbers.one_of(&["main", "main", "left"]);
    let mut spec = job(numbers.one_of(&["train", "eval", "sweep"]), partition, minutes);
    let request = spec.request_mut();
    request.cpus_per_task = numbers.one_of(&[1, 2, 4, 8]);
    if numbers.below(4) == 0 {
        request.nodes_min = numbers.one_of(&[2, 3, 6]);
        request.nodes_max = Some(request.nodes_min);
        request.tasks = request.nodes_min;
    }
    if numbers.below(2) == 0 {
        let gpu_type = numbers.one_of(&[None, Some("a100"), Some("h100")]).map(str::to_string);
        let scope = numbers.one_of(&[GpuScope::Node, GpuScope::Job, GpuScope::Task]);
        let count = numbers.one_of(&[1, 1, 2, 4]);
        request.gpus = vec![GpuRequest { scope, gpu_type, count: count.max(request.nodes_min) }];
    }
    request.exclusive = numbers.below(25) == 0;
    if numbers.below(10) == 0 {
        let tasks = (0..numbers.below(6) as u32 + 1).collect();
        spec.array = Some(ArrayRequest { tasks, running_max: numbers.one_of(&[None, Some(2)]) });
    }
    spec
}

/// A stream of submissions and ends; the hash of all that was decided. The nodes register in the order given.
fn decided(protected: u32, registering: &[NodeDefinition]) -> String {
    let mut simulation = Simulation::new();
    simulation.configure(configured(protected, &nodes()));
    registering.iter().for_each(|node| simulation.register(node));
    let mut numbers = Numbers(u64::from(protected));
    let (mut decisions, mut starts) = (String::new(), 0);
    for _ in 0..STEPS {
        for _ in 0..numbers.below(4) {
            simulation.submit(spec(&mut numbers));
        }
        let running: Vec<RunId> = simulation.cluster.runs().keys().copied().collect();
        if running.len() as u64 > numbers.below(200) {
            let run = numbers.one_of(&running);
            simulation.end(run, ExitStatus::default());
            simulation.release(run);
        }
        simulation.now = simulation.now.plus_seconds(numbers.below(60) as i64);
        let cycle = simulation.plan();
        starts += cycle.starts.len();
        writeln!(decisions, "{} {} {}", cycle.input, cycle.steps, cycle.decision_hash).expect("a string");
    }
    assert!(starts > STEPS / 2 && simulation.cluster.ready().len() > STEPS / 10, "it starts and it waits");
    canonical::sha256_hex(decisions.as_bytes())
}

fn all_decided(registering: &[NodeDefinition]) -> String {
    let line = |protected: &u32| format!("{protected} protected: {}\n", decided(*protected, registering));
    [1, 8, 64].iter().map(line).collect()
}

#[test]
fn a_history_decides_the_same_bytes_in_every_build_process_and_thread() {
    let decided = format!("policy version {}\n{}", Policy::VERSION, all_decided(&nodes()));
    let eight: Vec<_> = (0..8).map(|_| std::thread::spawn(|| all_decided(&nodes()))).collect();
    for thread in eight {
        assert!(decided.ends_with(&thread.join().expect("a thread")));
    }
    expect_test::expect_file!["everywhere.txt"].assert_eq(&decided);
}

#[test]
fn the_order_in_which_nodes_came_decides_nothing() {
    let mut backwards = nodes();
    backwards.reverse();
    let mut by_kind = nodes();
    by_kind.sort_by_key(|node| (node.gpus.len(), std::cmp::Reverse(node.name.clone())));
    let forwards = all_decided(&nodes());
    assert_eq!(all_decided(&backwards), forwards);
    assert_eq!(all_decided(&by_kind), forwards);
}
