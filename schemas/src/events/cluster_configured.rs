use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::license::License;
use crate::node::{ClusterParameters, NodeDefinition, PartitionDefinition};
use crate::topology::Topology;
use crate::units::BlobHash;

/// The configuration in force from here on.
///
/// Nodes and partitions that are no longer named are gone; nodes keep their state and their runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterConfigured {
    /// `ClusterName`.
    pub cluster_name: String,
    /// Hash of the canonical bytes of this event's other fields without `sources`.
    pub config_hash: String,
    /// Nodes, in the order of the configuration.
    pub nodes: Vec<NodeDefinition>,
    /// Partitions, in the order of the configuration.
    pub partitions: Vec<PartitionDefinition>,
    /// Parameters that decisions depend on.
    pub parameters: ClusterParameters,
    /// Users besides root and the daemon's own who are administrators (`SlurmUser`).
    pub administrators: Vec<u32>,
    /// How the nodes are connected (`topology.conf`); absent: all are equally close.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// Licences of the cluster (`Licenses`), sorted by name, each once; empty: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub licenses: Vec<License>,
    /// The files it was read from; none: the machine was described by the daemon itself.
    pub sources: Vec<ConfigurationSource>,
}

/// A file of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigurationSource {
    /// The file's name inside the configuration directory.
    pub name: String,
    /// Hash of its bytes.
    pub hash: BlobHash,
}
