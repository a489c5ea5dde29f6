//! Which nodes are how close to each other.

use std::collections::{BTreeMap, BTreeSet};

use daybook_schemas::NodeName;
use daybook_schemas::topology::{BlockTopology, SwitchDefinition, Topology};

/// The network over the sites of one plan: leaf switches (or blocks), and groups of them that are connected.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// The leaf of each site, by its number; `None`: under no switch. Empty without a topology.
    leaf_of: Vec<Option<usize>>,
    leaves: usize,
    /// The lowest first, each level in the order of the configuration.
    groups: Vec<Group>,
}

/// A switch with all leaf switches below it, or neighbouring blocks.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Switches between it and the nodes: 0 for a leaf.
    pub(super) level: u32,
    /// Its leaves, ascending.
    pub(super) leaves: Vec<usize>,
}

impl Network {
    /// The network of `sites` nodes; `number` gives a node's number among them, and `None` for one that is not there.
    ///
    /// Linear in the nodes named, and in leaf switches times levels. Switches in a loop (which no configuration that was
    /// checked has) connect nothing.
    pub fn new(
        topology: Option<&Topology>,
        sites: usize,
        number: impl Fn(&NodeName) -> Option<usize>,
    ) -> Network {
        let (leaves, groups): (Vec<&[NodeName]>, Vec<Group>) = match topology {
            None => return Network::default(),
            Some(Topology::Tree(switches)) => {
                let leaves = switches.iter().filter(|switch| !switch.nodes.is_empty());
                (leaves.map(|switch| switch.nodes.as_slice()).collect(), tree(switches))
            }
            Some(Topology::Block(topology)) => {
                (topology.blocks.iter().map(|block| block.nodes.as_slice()).collect(), blocks(topology))
            }
        };
        let mut leaf_of = vec![None; sites];
        for (leaf, nodes) in leaves.iter().enumerate() {
            for site in nodes.iter().filter_map(&number) {
                if let Some(of_site) = leaf_of.get_mut(site) {
                    *of_site = Some(leaf);
                }
            }
        }
        let leaves = leaves.len();
        Network { leaf_of, leaves, groups }
    }

    /// Whether nothing is known of it: all nodes are equally close.
    pub(super) fn is_flat(&self) -> bool {
        self.leaf_of.is_empty()
    }

    /// The leaf of a site.
    pub fn leaf(&self, site: usize) -> Option<usize> {
        self.leaf_of.get(site).copied().flatten()
    }

    /// How many leaves there are.
    pub(super) fn leaves(&self) -> usize {
        self.leaves
    }

    pub(super) fn groups(&self) -> &[Group] {
        &self.groups
    }
}

/// The most switches one above the other: what is higher connects nothing. The configuration has no more.
const LEVELS_MAX: usize = 64;

/// Every switch with the leaf switches below it. Each round settles the switches whose parts are all settled.
fn tree(switches: &[SwitchDefinition]) -> Vec<Group> {
    let mut settled: BTreeMap<&str, (u32, BTreeSet<usize>)> = BTreeMap::new();
    let leaves = switches.iter().filter(|switch| !switch.nodes.is_empty());
    for (leaf, switch) in leaves.enumerate() {
        settled.insert(&switch.name, (0, BTreeSet::from([leaf])));
    }
    let mut open: Vec<&SwitchDefinition> =
        switches.iter().filter(|switch| switch.nodes.is_empty() && !switch.switches.is_empty()).collect();
    for _ in 0..LEVELS_MAX {
        let before = open.len();
        let mut found = Vec::new();
        open.retain(|switch| {
            let parts = switch.switches.iter().map(|below| settled.get(below.as_str()));
            let Some(parts) = parts.collect::<Option<Vec<_>>>() else { return true };
            let level = parts.iter().map(|(level, _)| level + 1).max().unwrap_or(1);
            let leaves = parts.iter().flat_map(|(_, leaves)| leaves).copied().collect();
            found.push((switch.name.as_str(), (level, leaves)));
            false
        });
        settled.extend(found);
        if open.len() == before {
            break;
        }
    }
    let in_order = switches.iter().filter_map(|switch| settled.get(switch.name.as_str()));
    let mut groups: Vec<Group> = in_order
        .map(|(level, leaves)| Group { level: *level, leaves: leaves.iter().copied().collect() })
        .collect();
    groups.sort_by_key(|group| group.level);
    groups
}

/// Every block, the larger ones that `BlockSizes` makes of neighbours, and all together.
fn blocks(topology: &BlockTopology) -> Vec<Group> {
    let count = topology.blocks.len();
    let mut groups = Vec::new();
    let base = topology.sizes.first().copied().unwrap_or(1).max(1);
    let mut widths: Vec<usize> = topology.sizes.iter().skip(1).map(|size| (size / base) as usize).collect();
    widths.retain(|width| (2..count).contains(width));
    widths.insert(0, 1);
    widths.push(count.max(2));
    let all: Vec<usize> = (0..count).collect();
    for (level, width) in (0u32..).zip(widths) {
        groups.extend(all.chunks(width).map(|leaves| Group { level, leaves: leaves.to_vec() }));
    }
    groups
}

#[cfg(test)]
mod tests {
    use daybook_schemas::NodeName;
    use daybook_schemas::topology::{BlockDefinition, BlockTopology, SwitchDefinition, Topology};

    use super::Network;

    fn shown(topology: &Topology) -> String {
        let number = |name: &NodeName| name.as_str()[1..].parse().ok();
        let network = Network::new(Some(topology), 10, number);
        let groups = network.groups().iter().map(|group| {
            let leaves: Vec<String> = group.leaves.iter().map(usize::to_string).collect();
            format!("{}:{}", group.level, leaves.join("+"))
        });
        groups.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn switches_are_listed_from_the_leaves_up_with_all_leaves_below_them() {
        let table: [(&[&str], &str); 5] = [
            (&["a n0", "b n1"], "0:0 0:1"),
            (&["top ab", "a n0", "b n1"], "0:0 0:1 1:0+1"),
            (&["a n0", "b n1", "c n2", "low ab", "top low,c"], "0:0 0:1 0:2 1:0+1 2:0+1+2"),
            // A switch of two parents is below both.
            (&["a n0", "b n1", "c n2", "one ab", "two bc"], "0:0 0:1 0:2 1:0+1 1:1+2"),
            // What is in a loop connects nothing.
            (&["a n0", "one two", "two one"], "0:0"),
        ];
        for (lines, expected) in table {
            let switch = |line: &&str| {
                let (name, below) = line.split_once(' ').expect("two words");
                let mut switch = SwitchDefinition { name: name.to_string(), ..SwitchDefinition::default() };
                match below {
                    "ab" => switch.switches = vec!["a".to_string(), "b".to_string()],
                    "bc" => switch.switches = vec!["b".to_string(), "c".to_string()],
                    node if node.starts_with('n') => switch.nodes = vec![NodeName::from(node)],
                    others => switch.switches = others.split(',').map(str::to_string).collect(),
                }
                switch
            };
            assert_eq!(shown(&Topology::Tree(lines.iter().map(switch).collect())), expected, "{lines:?}");
        }
    }

    #[test]
    fn neighbouring_blocks_make_larger_ones_and_all_of_them_the_largest() {
        let table: [(usize, &[u32], &str); 4] = [
            (1, &[], "0:0 1:0"),
            (3, &[4], "0:0 0:1 0:2 1:0+1+2"),
            (3, &[4, 8], "0:0 0:1 0:2 1:0+1 1:2 2:0+1+2"),
            (4, &[2, 4, 8], "0:0 0:1 0:2 0:3 1:0+1 1:2+3 2:0+1+2+3"),
        ];
        for (count, sizes, expected) in table {
            let block = |number| BlockDefinition {
                name: format!("b{number}"),
                nodes: vec![NodeName::from(format!("n{number}").as_str())],
            };
            let blocks = (0..count).map(block).collect();
            let topology = Topology::Block(BlockTopology { blocks, sizes: sizes.to_vec() });
            assert_eq!(shown(&topology), expected, "{count} blocks, {sizes:?}");
        }
    }
}
