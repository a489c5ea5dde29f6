//! The nodes that a trace arrives at.

use daybook_schemas::node::{GpuDevice, NodeDefinition};
use daybook_schemas::{GpuUuid, Mebibytes};

use crate::trace::Unit;

/// The most nodes, and the most processors of one node.
const NODES_MAX: u32 = 1_000_000;
const PROCESSORS_MAX: u32 = 1_000_000;
/// The most GPUs of one node.
const GPUS_MAX: u32 = 1_024;

/// What `--nodes` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// How many nodes.
    pub nodes: u32,
    /// CPUs of each.
    pub cpus: u32,
    /// GPUs of each.
    pub gpus: u32,
    /// Memory of each in MiB; 0: not counted.
    pub memory: u64,
}

impl Machine {
    /// One node with all processors: the pool of interchangeable processors that most traces were recorded on.
    pub fn pool(processors: u32, unit: Unit) -> Machine {
        // A GPU needs a CPU beside it.
        let gpus = if unit == Unit::Gpu { processors } else { 0 };
        Machine { nodes: 1, cpus: processors, gpus, memory: 0 }
    }

    /// Reads `COUNTxEACH` (`125x8`: 125 nodes of 8 processors, GPUs in a GPU trace), or `COUNT:KEY=N,…` with the keys
    /// `cpus`, `gpus` and `mem` (MiB).
    pub fn parse(text: &str, unit: Unit) -> Result<Machine, String> {
        let wrong = |what: &str| {
            format!(
                "--nodes {text}: {what}; write 125x8 (125 nodes of 8 processors) or 125:cpus=64,gpus=8,mem=512000"
            )
        };
        let number = |word: &str, most: u32| match word.parse::<u32>() {
            Ok(number) if number <= most => Ok(number),
            Ok(_) => Err(wrong(&format!("{word} is more than {most}"))),
            Err(_) => Err(wrong(&format!("\"{word}\" is no number"))),
        };
        let machine = if let Some((count, each)) = text.split_once('x') {
            let (nodes, each) = (number(count, NODES_MAX)?, number(each, PROCESSORS_MAX)?);
            Machine { nodes, ..Machine::pool(each, unit) }
        } else {
            let (count, rest) = text.split_once(':').unwrap_or((text, ""));
            let mut machine = Machine { nodes: number(count, NODES_MAX)?, cpus: 1, gpus: 0, memory: 0 };
            for part in rest.split(',').filter(|part| !part.is_empty()) {
                let (key, value) =
                    part.split_once('=').ok_or_else(|| wrong(&format!("\"{part}\" has no \"=\"")))?;
                match key {
                    "cpus" => machine.cpus = number(value, PROCESSORS_MAX)?,
                    "gpus" => machine.gpus = number(value, GPUS_MAX)?,
                    "mem" => machine.memory = number(value, u32::MAX)?.into(),
                    _ => return Err(wrong(&format!("unknown key \"{key}\""))),
                }
            }
            machine
        };
        if machine.nodes == 0 || machine.cpus == 0 {
            return Err(wrong("there would be nothing to run on"));
        }
        if machine.gpus > GPUS_MAX && machine.nodes > 1 {
            return Err(wrong(&format!("a node has at most {GPUS_MAX} GPUs")));
        }
        if unit == Unit::Gpu && machine.gpus == 0 {
            return Err(wrong("the trace's jobs want GPUs, and no node would have any"));
        }
        Ok(machine)
    }

    /// Processors of the unit in all.
    pub fn processors(&self, unit: Unit) -> u32 {
        let each = if unit == Unit::Gpu { self.gpus } else { self.cpus };
        self.nodes.saturating_mul(each)
    }

    /// The nodes' definitions, in order.
    pub fn definitions(&self) -> Vec<NodeDefinition> {
        (0..self.nodes).map(|number| self.definition(number)).collect()
    }

    fn definition(&self, number: u32) -> NodeDefinition {
        let name = if self.nodes == 1 { "pool".to_string() } else { format!("node{:05}", number + 1) };
        let gpus = (0..self.gpus)
            .map(|index| GpuDevice {
                uuid: GpuUuid::from(format!("{name}/{index}")),
                ..GpuDevice::new(&name, index, "gpu")
            })
            .collect();
        let definition = NodeDefinition::new(&name, self.cpus, Mebibytes(self.memory));
        NodeDefinition { gpus, simulated: true, ..definition }
    }
}

#[cfg(test)]
mod tests {
    use super::{Machine, Unit};

    #[test]
    fn nodes_are_read_or_refused_with_what_would_be_right() {
        let machine = |nodes, cpus, gpus, memory| Ok(Machine { nodes, cpus, gpus, memory });
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
