//! How the nodes of a cluster are connected.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::NodeName;

/// The network between the nodes, as `topology.conf` describes it. Nodes that it does not name are in no job of
/// several nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Topology {
    /// `topology/tree`: switches over nodes, and switches over switches, in the order of the file.
    Tree(Vec<SwitchDefinition>),
    /// `topology/block`.
    Block(BlockTopology),
}

/// `SwitchName=`: a switch over nodes (a leaf) or over other switches, never both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchDefinition {
    /// Its name.
    pub name: String,
    /// `Nodes=`, in the cluster's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeName>,
    /// `Switches=`: the switches below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<String>,
    /// `LinkSpeed=`: for people only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_speed: Option<u32>,
}

/// Blocks in the order of the file; neighbours of them make larger ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockTopology {
    /// `BlockName=` lines.
    pub blocks: Vec<BlockDefinition>,
    /// `BlockSizes=`: nodes of a block, then of larger ones, each a power of two times the first. Empty: none given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<u32>,
}

/// `BlockName=`: nodes that are close to each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockDefinition {
    /// Its name.
    pub name: String,
    /// `Nodes=`, in the cluster's order.
    pub nodes: Vec<NodeName>,
}
