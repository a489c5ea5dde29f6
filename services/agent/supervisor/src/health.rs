//! A site's own check of its nodes: `HealthCheckProgram`.

use daybook_schemas::Seconds;

use crate::programs::Programs;

/// So long a check may take, in seconds, as in Slurm.
pub const CHECK_LIMIT: Seconds = Seconds(60);

/// What is run to see whether a node is well, and when. What follows from it is the program's own to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HealthCheck {
    /// Run once before the node is registered, then at every interval.
    pub programs: Programs,
    /// Absent: only before the node is registered.
    pub interval: Option<Seconds>,
    /// It is run while the node is one of these; empty: always.
    pub loads: Vec<NodeLoad>,
    /// Each node has its own moment in the interval; else all have the same.
    pub is_spread: bool,
}

/// How much of a node is given to runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeLoad {
    /// No CPU.
    Idle,
    /// Some CPUs.
    Mixed,
    /// All CPUs.
    Allocated,
}

impl NodeLoad {
    /// Of a node of which so many CPUs are given away.
    pub fn of(given: u64, cpus: u64) -> NodeLoad {
        match given {
            0 => NodeLoad::Idle,
            given if given < cpus => NodeLoad::Mixed,
            _ => NodeLoad::Allocated,
        }
    }
}

impl HealthCheck {
    /// Whether it is run on a node that is so.
    pub fn is_for(&self, load: NodeLoad) -> bool {
        self.loads.is_empty() || self.loads.contains(&load)
    }
}
