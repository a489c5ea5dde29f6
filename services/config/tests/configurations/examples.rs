//! The sample sites in `deploy/examples/` have no fault, and mean what their pages say.

use std::path::{Path, PathBuf};

use daybook_config::{Configuration, load};
use daybook_schemas::topology::Topology;

use crate::machine::Vm;
use crate::written::shown;

const SITES: [&str; 2] = ["ai-lab", "university"];

fn folder() -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the crate"))
        .join("../../deploy/examples")
}

fn site(name: &str) -> Configuration {
    let loaded = load(&folder().join(name), &Vm::without_gpus());
    assert_eq!(shown(&loaded.diagnostics), "", "{name}");
    assert_eq!(loaded.not_needed, Vec::<String>::new(), "{name}");
    loaded.configuration.expect("no fault")
}

#[test]
fn every_sample_site_is_checked_here() {
    let entries =
        std::fs::read_dir(folder()).expect("deploy/examples").map(|entry| entry.expect("an entry").path());
    let mut sites: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    sites.sort();
    let names: Vec<_> = sites.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    assert_eq!(names, SITES);
}

#[test]
fn sample_sites_have_no_fault_and_their_nodes_are_simulated() {
    for (name, nodes, gpus) in [("university", 64, 56), ("ai-lab", 24, 160)] {
        let cluster = site(name).cluster;
        assert_eq!(cluster.nodes.len(), nodes, "{name}");
        assert_eq!(cluster.nodes.iter().map(|node| node.gpus.len()).sum::<usize>(), gpus, "{name}");
        assert!(cluster.nodes.iter().all(|node| node.simulated), "{name}: it cannot be tried on one machine");
        assert!(cluster.topology.is_some() && cluster.parameters.priority.is_some(), "{name}");
        // Every node is in a partition.
        for node in &cluster.nodes {
            assert!(
                cluster.partitions.iter().any(|partition| partition.nodes.contains(&node.name)),
                "{}",
                node.name
            );
        }
    }
}

#[test]
fn a_gpu_job_of_default_size_leaves_every_other_gpu_its_share() {
    for name in SITES {
        let cluster = site(name).cluster;
        for partition in &cluster.partitions {
            let Some(cpus) = partition.default_cpus_per_gpu else { continue };
            for node in cluster.nodes.iter().filter(|node| partition.nodes.contains(&node.name)) {
                let gpus = node.gpus.len() as u32;
                assert!(
                    cpus * gpus <= node.cpus,
                    "{name}: {} {}: {cpus} CPUs for each GPU",
                    partition.name,
                    node.name
                );
            }
        }
    }
}

#[test]
fn the_networks_are_a_tree_and_blocks() {
    assert!(
        matches!(site("university").cluster.topology, Some(Topology::Tree(switches)) if switches.len() == 4)
    );
    assert!(
        matches!(site("ai-lab").cluster.topology, Some(Topology::Block(network)) if network.blocks.len() == 3)
    );
}
