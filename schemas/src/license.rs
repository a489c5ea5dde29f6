//! Licences: counted things that belong to the cluster and to no node.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A licence and a number of it: what there is (`Licenses` in `slurm.conf`), or what a job takes (`-L`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct License {
    /// Its name; letter case counts.
    pub name: String,
    /// How many, at least 1.
    pub count: u32,
}
