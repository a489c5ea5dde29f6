//! Nodes of several kinds, from a CSV with one node a line.

use std::collections::BTreeSet;
use std::path::Path;

use crate::machine::{GPUS_MAX, Group, NODES_MAX, PROCESSORS_MAX};
use crate::rows::{Row, Rows};
use crate::trace::TraceError;

/// The columns by what they mean, each by the names that published lists have for it; others are refused.
const NAME: [&str; 2] = ["sn", "node_name"];
const CPUS: [&str; 2] = ["cpu_milli", "cpu_num"];
const MEMORY: [&str; 1] = ["memory_mib"];
const GPUS: [&str; 2] = ["gpu", "gpu_capacity_num"];
const MODEL: [&str; 2] = ["model", "gpu_model"];
/// The most memory of a node in MiB.
const MEMORY_MIB_MAX: u64 = 1 << 40;

/// Reads a list; neighbours of one kind are one group.
pub(crate) fn read(path: &Path) -> Result<Vec<Group>, TraceError> {
    let rows = Rows::open(path)?;
    let known = [&NAME[..], &CPUS, &MEMORY, &GPUS, &MODEL].concat();
    rows.only(&known)?;
    let name = rows.one_of(&NAME)?;
    let cpus = rows.needed_one_of(&CPUS)?;
    let gpus = rows.needed_one_of(&GPUS)?;
    let model = rows.one_of(&MODEL)?;
    let memory = rows.one_of(&MEMORY)?;
    let mut names = BTreeSet::new();
    let mut groups: Vec<Group> = Vec::new();
    rows.each(NODES_MAX as usize, |row| {
        let own = row.text(name);
        if name.is_some() && !names.insert(own.to_string()) {
            return Err(row.fault(format!("the node \"{own}\" is there twice")));
        }
        let gpus = row.number(gpus, 0, GPUS_MAX.into())? as u32;
        let group = Group {
            nodes: 1,
            cpus: cpu_count(row, cpus)?,
            gpus,
            gpu_type: gpu_type(row, model, gpus)?,
            memory: memory.map_or(Ok(0), |memory| row.number(memory, 1, MEMORY_MIB_MAX))?,
        };
        match groups.last_mut() {
            Some(last) if (Group { nodes: 1, ..last.clone() }) == group => last.nodes += 1,
            _ => groups.push(group),
        }
        Ok(())
    })?;
    Ok(groups)
}

fn cpu_count(row: &Row<'_>, column: usize) -> Result<u32, TraceError> {
    let most = u64::from(PROCESSORS_MAX);
    if row.title(column) != "cpu_milli" {
        return Ok(row.number(column, 1, most)? as u32);
    }
    let thousandths = row.number(column, 1_000, most * 1_000)?;
    if thousandths % 1_000 != 0 {
        return Err(row.fault(format!("cpu_milli is {thousandths}: a node has whole CPUs, 1000 each")));
    }
    Ok((thousandths / 1_000) as u32)
}

fn gpu_type(row: &Row<'_>, column: Option<usize>, gpus: u32) -> Result<String, TraceError> {
    let text = row.text(column);
    if text.contains('|') {
        return Err(row.fault(format!("the type of its GPUs is \"{text}\": a node has one, without |")));
    }
    match (gpus, text) {
        (0, _) => Ok(String::new()),
        (_, "") => Err(row.fault("its GPUs have no type".to_string())),
        (_, text) => Ok(text.to_string()),
    }
}
