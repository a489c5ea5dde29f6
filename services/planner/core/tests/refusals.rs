//! What could never start, on the recorded cluster, as the recordings say (`sbatch-05`, `sbatch-07`).

mod support;

use daybook_model::fit::{Impossible, could_ever_start, partition_limit};
use daybook_schemas::NodeName;
use daybook_schemas::job::{MemoryRequest, Reason, TimeLimit};
use daybook_schemas::{Mebibytes, job::JobSpec};
use support::script::Options;
use support::script::jobs::set_request;
use support::{Simulation, configuration, job, node, parameters, partition};

const DAY: u32 = 24 * 60;

fn recorded_cluster() -> Simulation {
    let mut nodes = vec![
        node("node01", 8, 16_000, &[]),
        node("node02", 8, 16_000, &[]),
        node("gpu01", 8, 16_000, &["a100"; 4]),
        node("gpu02", 8, 16_000, &["a100"; 4]),
    ];
    for node in &mut nodes {
        let second = if node.gpus.is_empty() { "avx512" } else { "a100" };
        node.features = vec!["intel".to_string(), second.to_string()];
        node.weight = if node.gpus.is_empty() { 1 } else { 10 };
    }
    let mut partitions = vec![
        partition("main", &["node01", "node02", "gpu01", "gpu02"]),
        partition("short", &["node01", "node02"]),
        partition("gpu", &["gpu01", "gpu02"]),
        partition("debug", &["node01"]),
    ];
    for (partition, minutes) in partitions.iter_mut().zip([2 * DAY, 60, DAY, 30]) {
        partition.max_time = TimeLimit::minutes(minutes);
    }
    partitions[3].max_nodes = Some(1);
    let mut parameters = parameters();
    parameters.memory_is_consumed = true;
    parameters.default_memory = Some(MemoryRequest::PerCpu(Mebibytes(500)));
    let mut simulation = Simulation::new();
    // No agent has registered: what could ever start does not depend on what is up.
    simulation.configure(configuration(nodes, partitions, parameters));
    simulation
}

fn spec(options: &str) -> JobSpec {
    let words = options.split_whitespace().map(|word| word.split_once('=').unwrap_or((word, "")));
    let mut options = Options(words.collect());
    let partition = options.get("p").unwrap_or("main");
    let mut spec = job("wrap", partition, 30);
    match options.get("t") {
        Some("UNLIMITED") => spec.time_limit = Some(TimeLimit::Unlimited),
        Some(minutes) => spec.time_limit = Some(TimeLimit::minutes(minutes.parse().expect("minutes"))),
        None => {}
    }
    set_request(&mut spec, &mut options);
    assert!(options.0.is_empty());
    spec
}

#[test]
fn what_slurm_refuses_at_submission_is_refused_and_what_it_accepts_waits() {
    use Impossible::{
        CpusPerNode, MemoryPerNode, NoFeature, NoNode, NoPartition, NodeConfiguration, NodeCount,
    };
    let cluster = recorded_cluster().cluster;
    let node99 = || Some(NoNode(NodeName::from("node99")));
    let table = [
        ("p=nosuch", Some(NoPartition("nosuch".to_string()))),
        ("", None),
        ("p=short t=120", None),
        ("N=5", None),
        ("N=3 p=gpu", None),
        ("n=100", None),
        ("p=debug N=2", None),
        ("c=9", Some(CpusPerNode)),
        ("tpn=9", Some(CpusPerNode)),
        ("mem=17408", Some(MemoryPerNode)),
        ("mem=16000", None),
        ("mem_per_cpu=17000", Some(MemoryPerNode)),
        ("mem=0", None),
        ("gres=5", Some(NodeConfiguration)),
        ("gpus=20", Some(NodeConfiguration)),
        ("gpus=8", None),
        ("p=short gres=1", Some(NodeConfiguration)),
        ("gres=v100:1", Some(NodeConfiguration)),
        ("gres=a100:4", None),
        ("N=3 gres=1", Some(NodeConfiguration)),
        ("C=nofeature", Some(NoFeature("nofeature".to_string()))),
        ("C=a100 p=short", Some(NodeConfiguration)),
        ("w=node99", node99()),
        ("x=node99", node99()),
        ("w=node01 p=gpu", Some(NodeConfiguration)),
        ("x=node01,node02 p=short", Some(NodeConfiguration)),
        ("N=0", Some(NodeCount)),
        ("N=2-1", Some(NodeCount)),
        ("n=32", None),
        ("N=4 exclusive", None),
    ];
    for (options, expected) in table {
        let spec = spec(options);
        let answer = could_ever_start(&cluster, &spec.partition, &spec.request).err();
        assert_eq!(answer, expected, "sbatch {options}");
    }
    assert_eq!(CpusPerNode.detail(), Some("CPU count per node can not be satisfied"));
    assert_eq!(CpusPerNode.to_string(), "Requested node configuration is not available");
}

#[test]
fn limits_of_partitions_are_those_that_enforcepartlimits_refuses() {
    let cluster = recorded_cluster().cluster;
    let table = [
        ("p=short t=120", Some(Reason::PartitionTimeLimit)),
        ("t=4320", Some(Reason::PartitionTimeLimit)),
        ("t=UNLIMITED", Some(Reason::PartitionTimeLimit)),
        ("t=2880", None),
        ("N=5", Some(Reason::PartitionNodeLimit)),
        ("N=3 p=gpu", Some(Reason::PartitionNodeLimit)),
        ("p=debug N=2", Some(Reason::PartitionNodeLimit)),
        ("n=100", Some(Reason::PartitionConfig)),
        ("n=32", None),
        ("c=9", None),
    ];
    for (options, expected) in table {
        let spec = spec(options);
        let partition = cluster.partition(&spec.partition).expect("a partition");
        let limit = spec.time_limit.expect("a limit");
        assert_eq!(partition_limit(&cluster, partition, &spec.request, limit), expected, "sbatch {options}");
    }
}
