//! The nodes that a trace arrives at.

use std::collections::BTreeSet;
use std::path::Path;

use daybook_schemas::node::{GpuDevice, NodeDefinition};
use daybook_schemas::{GpuUuid, Mebibytes};

use crate::node_list;
use crate::trace::{TraceJob, Unit};

/// The most nodes, and the most processors of one node.
pub(crate) const NODES_MAX: u32 = 1_000_000;
pub(crate) const PROCESSORS_MAX: u32 = 1_000_000;
/// The most GPUs of one node.
pub(crate) const GPUS_MAX: u32 = 1_024;
/// The type of GPUs that have none.
const NO_TYPE: &str = "gpu";

/// The nodes, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Equal neighbours.
    pub groups: Vec<Group>,
}

/// Equal nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// How many nodes.
    pub nodes: u32,
    /// CPUs of each.
    pub cpus: u32,
    /// GPUs of each.
    pub gpus: u32,
    /// The type of these GPUs; empty: nobody says.
    pub gpu_type: String,
    /// Memory of each in MiB; 0: not counted.
    pub memory: u64,
}

impl Group {
    /// Nodes of whose GPUs no type is known.
    pub fn new(nodes: u32, cpus: u32, gpus: u32, memory: u64) -> Group {
        Group { nodes, cpus, gpus, gpu_type: String::new(), memory }
    }

    /// Whether the job's GPUs may be these.
    fn suits(&self, job: &TraceJob) -> bool {
        self.gpu_type.is_empty()
            || job.gpu_type.is_empty()
            || job.gpu_type.split('|').any(|wanted| wanted == self.gpu_type)
    }
}

impl Machine {
    /// One node with all processors: the pool of interchangeable processors that most traces were recorded on.
    pub fn pool(processors: u32, unit: Unit) -> Machine {
        // A GPU needs a CPU beside it.
        let gpus = if unit == Unit::Gpu { processors } else { 0 };
        Machine { groups: vec![Group::new(1, processors, gpus, 0)] }
    }

    /// A list of nodes (the text is a file's name), or as [`Machine::parse`] reads it.
    pub fn read(text: &str, unit: Unit) -> Result<Machine, String> {
        let is_count = text.starts_with(|first: char| first.is_ascii_digit()) || text.is_empty();
        if is_count && !Path::new(text).is_file() {
            return Machine::parse(text, unit);
        }
        let groups = node_list::read(Path::new(text)).map_err(|error| format!("--nodes {error}"))?;
        let machine = Machine { groups };
        if unit == Unit::Gpu && machine.processors(unit) == 0 {
            return Err(format!("--nodes {text}: the trace's jobs want GPUs, and no node has any"));
        }
        Ok(machine)
    }

    /// Reads `COUNTxEACH` (`125x8`: 125 nodes of 8 processors, GPUs in a GPU trace), or `COUNT:KEY=N,…` with the keys
    /// `cpus`, `gpus` and `mem` (MiB).
    pub fn parse(text: &str, unit: Unit) -> Result<Machine, String> {
        let wrong = |what: &str| {
            format!(
                "--nodes {text}: {what}; write 125x8 (125 nodes of 8 processors), 125:cpus=64,gpus=8,mem=512000, or the name of a file"
            )
        };
        let number = |word: &str, most: u32| match word.parse::<u32>() {
            Ok(number) if number <= most => Ok(number),
            Ok(_) => Err(wrong(&format!("{word} is more than {most}"))),
            Err(_) => Err(wrong(&format!("\"{word}\" is no number"))),
        };
        let group = if let Some((count, each)) = text.split_once('x') {
            let (nodes, each) = (number(count, NODES_MAX)?, number(each, PROCESSORS_MAX)?);
            Group { nodes, ..Machine::pool(each, unit).groups.remove(0) }
        } else {
            let (count, rest) = text.split_once(':').unwrap_or((text, ""));
            let mut group = Group::new(number(count, NODES_MAX)?, 1, 0, 0);
            for part in rest.split(',').filter(|part| !part.is_empty()) {
                let (key, value) =
                    part.split_once('=').ok_or_else(|| wrong(&format!("\"{part}\" has no \"=\"")))?;
                match key {
                    "cpus" => group.cpus = number(value, PROCESSORS_MAX)?,
                    "gpus" => group.gpus = number(value, GPUS_MAX)?,
                    "mem" => group.memory = number(value, u32::MAX)?.into(),
                    _ => return Err(wrong(&format!("unknown key \"{key}\""))),
                }
            }
            group
        };
        if group.nodes == 0 || group.cpus == 0 {
            return Err(wrong("there would be nothing to run on"));
        }
        if group.gpus > GPUS_MAX && group.nodes > 1 {
            return Err(wrong(&format!("a node has at most {GPUS_MAX} GPUs")));
        }
        if unit == Unit::Gpu && group.gpus == 0 {
            return Err(wrong("the trace's jobs want GPUs, and no node would have any"));
        }
        Ok(Machine { groups: vec![group] })
    }

    /// Processors of the unit in all.
    pub fn processors(&self, unit: Unit) -> u32 {
        let each = |group: &Group| if unit == Unit::Gpu { group.gpus } else { group.cpus };
        let counts = self.groups.iter().map(|group| group.nodes.saturating_mul(each(group)));
        counts.fold(0, u32::saturating_add)
    }

    /// Nodes in all.
    pub fn node_count(&self) -> u32 {
        self.groups.iter().fold(0, |sum, group| sum.saturating_add(group.nodes))
    }

    /// Whether its GPUs have types.
    pub fn has_types(&self) -> bool {
        self.groups.iter().any(|group| !group.gpu_type.is_empty())
    }

    /// Whether memory is counted: every node says how much it has.
    pub fn counts_memory(&self) -> bool {
        self.groups.iter().all(|group| group.memory > 0)
    }

    /// GPUs in all that a job may use.
    pub fn gpus_for(&self, job: &TraceJob) -> u32 {
        let suiting = self.groups.iter().filter(|group| group.suits(job));
        suiting.map(|group| group.nodes.saturating_mul(group.gpus)).fold(0, u32::saturating_add)
    }

    /// The most CPUs and the most GPUs that one node has of those that a job may use.
    pub(crate) fn largest_for(&self, job: &TraceJob) -> Group {
        let suiting = || self.groups.iter().filter(|group| group.gpus > 0 && group.suits(job));
        let gpus = suiting().map(|group| group.gpus).max().unwrap_or(0);
        let cpus = suiting().map(|group| group.cpus).max().unwrap_or(0);
        Group::new(1, cpus, gpus, 0)
    }

    /// The nodes' definitions, in order. Each node has those of the choices among types as features that its GPUs are in.
    pub fn definitions(&self, choices: &BTreeSet<&str>) -> Vec<NodeDefinition> {
        let groups = self.groups.iter().flat_map(|group| (0..group.nodes).map(move |_| group));
        groups.zip(1..).map(|(group, number)| self.definition(group, number, choices)).collect()
    }

    fn definition(&self, group: &Group, number: u32, choices: &BTreeSet<&str>) -> NodeDefinition {
        let name = if self.node_count() == 1 { "pool".to_string() } else { format!("node{number:05}") };
        let gpu_type = if group.gpu_type.is_empty() { NO_TYPE } else { &group.gpu_type };
        let gpus = (0..group.gpus)
            .map(|index| GpuDevice {
                uuid: GpuUuid::from(format!("{name}/{index}")),
                ..GpuDevice::new(&name, index, gpu_type)
            })
            .collect();
        let is_in = |choice: &&&str| choice.split('|').any(|one| one == group.gpu_type);
        let features = choices.iter().filter(is_in).map(|choice| choice.to_string()).collect();
        let definition = NodeDefinition::new(&name, group.cpus, Mebibytes(group.memory));
        NodeDefinition { gpus, features, simulated: true, ..definition }
    }
}

#[cfg(test)]
mod tests {
    use super::{Group, Machine, Unit};

    #[test]
    fn nodes_are_read_or_refused_with_what_would_be_right() {
        let machine =
            |nodes, cpus, gpus, memory| Ok(Machine { groups: vec![Group::new(nodes, cpus, gpus, memory)] });
        assert_eq!(Machine::parse("125x8", Unit::Processor), machine(125, 8, 0, 0));
        assert_eq!(Machine::parse("96x8", Unit::Gpu), machine(96, 8, 8, 0));
        assert_eq!(Machine::parse("4:cpus=64,gpus=8,mem=1000", Unit::Gpu), machine(4, 64, 8, 1000));
        assert_eq!(Machine::parse("100", Unit::Processor), machine(100, 1, 0, 0));
        for (text, what) in [
            ("", "\"\" is no number"),
            ("0", "nothing to run on"),
            ("3x0", "nothing to run on"),
            ("3x-1", "\"-1\" is no number"),
            ("9999999", "more than 1000000"),
            ("3:gpu=4", "unknown key \"gpu\""),
            ("3:cpus", "has no \"=\""),
        ] {
            let error = Machine::parse(text, Unit::Processor).unwrap_err();
            assert!(error.contains(what) && error.contains("125x8"), "{text}: {error}");
        }
        assert!(Machine::parse("3:cpus=8", Unit::Gpu).unwrap_err().contains("no node would have any"));
    }
}
