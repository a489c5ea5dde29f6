//! The cluster that a machine is by itself: one node, one partition.

use daybook_schemas::NodeName;
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::node::{GpuDevice, NodeDefinition, PartitionDefinition};

use crate::machine::{FoundGpu, Machine, short};

/// The only partition's name.
const PARTITION: &str = "main";

/// The machine as a node, named by its short host name.
pub(crate) fn node(machine: &dyn Machine) -> NodeDefinition {
    let hostname = machine.hostname();
    let name = node_name(&hostname);
    let cpus = machine.cpus();
    let found = machine.gpus();
    NodeDefinition {
        address: hostname.clone(),
        cpus: cpus.cpus,
        boards: 1,
        sockets: cpus.sockets,
        cores_per_socket: cpus.cores_per_socket,
        threads_per_core: cpus.threads_per_core,
        memory: machine.memory(),
        tmp_disk: machine.tmp_disk(),
        weight: 1,
        features: Vec::new(),
        gres: gres(&found),
        gpus: (0u32..).zip(found).map(|(index, gpu)| device(index, gpu)).collect(),
        simulated: false,
        initial: None,
        name: NodeName::from(name),
        hostname,
    }
}

/// The partition of all jobs.
pub(crate) fn partition(node: &NodeName) -> PartitionDefinition {
    PartitionDefinition { default: true, ..PartitionDefinition::new(PARTITION, vec![node.clone()]) }
}

/// The host name up to its first dot, with `-` for what a node's name cannot have.
fn node_name(hostname: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let name: String = short(hostname).chars().map(legal).collect();
    if name.is_empty() { "localhost".to_string() } else { name }
}

fn device(index: u32, gpu: FoundGpu) -> GpuDevice {
    GpuDevice {
        index,
        uuid: gpu.uuid.as_str().into(),
        gpu_type: gpu.gpu_type,
        file: gpu.file.map(|file| file.to_string_lossy().into_owned()),
        cores: IndexSet::new(),
        links: Vec::new(),
    }
}

/// `gpu:h200:4,gpu:t4:1`: neighbours of one type together.
fn gres(found: &[FoundGpu]) -> String {
    let groups = found.chunk_by(|one, next| one.gpu_type == next.gpu_type);
    let words: Vec<String> =
        groups.map(|group| format!("gpu:{}:{}", group[0].gpu_type, group.len())).collect();
    words.join(",")
}
