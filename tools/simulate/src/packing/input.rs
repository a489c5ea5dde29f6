//! Pods and nodes, as the files of the openb trace have them.

use std::path::Path;

use daybook_plan::fragmentation::{Shape, WHOLE_GPU};

use crate::rows::Rows;
use crate::trace::TraceError;

/// The most pods, and the most nodes.
const PODS_MAX: usize = 1_000_000;
const NODES_MAX: usize = 100_000;
/// The most of a column, so that no sum goes beyond 64 bits.
const CPU_MILLI_MAX: u64 = 100_000_000;
const MEMORY_MIB_MAX: u64 = 1 << 40;
const GPUS_MAX: u64 = 1_024;

/// A pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// What it takes, apart from memory.
    pub shape: Shape,
    /// Memory in MiB.
    pub memory: u64,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRow {
    /// CPUs, in thousandths.
    pub cpus: u64,
    /// Memory in MiB.
    pub memory: u64,
    /// GPUs.
    pub gpus: u32,
    /// Their type.
    pub gpu_type: String,
}

/// Reads pods: CSV, gzipped or not, with the columns `cpu_milli`, `memory_mib`, `num_gpu`, `gpu_milli` (thousandths of each
/// GPU), and perhaps `gpu_spec` (types joined by `|`; empty: any).
pub fn read_pods(path: &Path) -> Result<Vec<Pod>, TraceError> {
    let mut pods = Vec::new();
    let rows = Rows::open(path)?;
    let [cpus, memory, gpus, share] = rows.columns(["cpu_milli", "memory_mib", "num_gpu", "gpu_milli"])?;
    let types = rows.column("gpu_spec");
    rows.each(PODS_MAX, |row| {
        let gpu_count = row.number(gpus, 0, GPUS_MAX)?;
        let share_min = u64::from(gpu_count > 0);
        let spec = types.and_then(|column| row.record.get(column)).unwrap_or("");
        let mut gpu_types: Vec<String> =
            spec.split('|').map(str::trim).filter(|name| !name.is_empty()).map(str::to_string).collect();
        gpu_types.sort_unstable();
        gpu_types.dedup();
        let shape = Shape {
            cpus: row.number(cpus, 0, CPU_MILLI_MAX)?,
            memory: 0,
            gpus: gpu_count as u32,
            share: row.number(share, share_min, WHOLE_GPU.into())? as u32,
            gpu_types,
            exclusive: false,
        };
        pods.push(Pod { shape, memory: row.number(memory, 0, MEMORY_MIB_MAX)? });
        Ok(())
    })?;
    Ok(pods)
}

/// Reads nodes: CSV, gzipped or not, with the columns `cpu_milli`, `memory_mib`, `gpu` (how many) and `model` (their type).
pub fn read_nodes(path: &Path) -> Result<Vec<NodeRow>, TraceError> {
    let mut nodes = Vec::new();
    let rows = Rows::open(path)?;
    let [cpus, memory, gpus, model] = rows.columns(["cpu_milli", "memory_mib", "gpu", "model"])?;
    rows.each(NODES_MAX, |row| {
        nodes.push(NodeRow {
            cpus: row.number(cpus, 0, CPU_MILLI_MAX)?,
            memory: row.number(memory, 0, MEMORY_MIB_MAX)?,
            gpus: row.number(gpus, 0, GPUS_MAX)? as u32,
            gpu_type: row.record.get(model).unwrap_or("").to_string(),
        });
        Ok(())
    })?;
    Ok(nodes)
}
