//! `scontrol show topology`: switches or blocks, all or those that a name stands for.

use std::collections::{BTreeMap, BTreeSet};

use daybook_schemas::NodeName;
use daybook_schemas::events::ClusterConfigured;
use daybook_schemas::grammar::hostlist;
use daybook_schemas::topology::{SwitchDefinition, Topology};

use crate::client::{CallError, Client};
use crate::commands::json;
use crate::commands::scontrol::Flags;
use crate::say;

/// What stands before the reason of a failed call.
const CALL: &str = "slurm_load_topo error";
/// What Slurm shows where a switch says nothing of its `LinkSpeed`.
const LINK_SPEED: u32 = 1;

/// Shows them.
pub fn show(flags: Flags, name: Option<&str>) -> u8 {
    let asked = Client::connect().map_err(CallError::from).and_then(|mut client| client.get("/v1/cluster"));
    let cluster: ClusterConfigured = match asked {
        Ok(cluster) => cluster,
        Err(error) => return json::report(CALL, &error),
    };
    if flags.json {
        return json::print("topology", &cluster.topology);
    }
    let Some(topology) = &cluster.topology else {
        say::print("No topology information available\n");
        return 0;
    };
    match (lines(topology, name), name) {
        (lines, Some(name)) if lines.is_empty() => {
            say::error("scontrol", format!("Topology information contains no switch or node named {name}"));
            1
        }
        (lines, _) => {
            say::print(&lines);
            0
        }
    }
}

/// The lines of all switches or blocks; with a name the one of that name, or those that have the node of that name.
fn lines(topology: &Topology, name: Option<&str>) -> String {
    let is_meant = |own: &str, nodes: &BTreeSet<&NodeName>| {
        name.is_none_or(|name| own == name || nodes.iter().any(|node| node.as_str() == name))
    };
    let mut out = String::new();
    match topology {
        Topology::Tree(switches) => {
            let known = settle(switches);
            for switch in switches {
                let Some((level, nodes)) = known.get(switch.name.as_str()) else { continue };
                if is_meant(&switch.name, nodes) {
                    out.push_str(&switch_line(switch, *level, nodes));
                }
            }
        }
        Topology::Block(topology) => {
            for (index, block) in topology.blocks.iter().enumerate() {
                let nodes: BTreeSet<&NodeName> = block.nodes.iter().collect();
                if is_meant(&block.name, &nodes) {
                    let size = topology.sizes.first().copied().unwrap_or(0).max(block.nodes.len() as u32);
                    let nodes = hostlist::compress(block.nodes.iter().map(NodeName::as_str));
                    let name = &block.name;
                    out.push_str(&format!(
                        "BlockName={name} BlockIndex={index} Nodes={nodes} BlockSize={size}\n"
                    ));
                }
            }
        }
    }
    out
}

fn switch_line(switch: &SwitchDefinition, level: u32, nodes: &BTreeSet<&NodeName>) -> String {
    let speed = switch.link_speed.unwrap_or(LINK_SPEED);
    let mut line = format!("SwitchName={} Level={level} LinkSpeed={speed}", switch.name);
    if !nodes.is_empty() {
        line.push_str(&format!(" Nodes={}", hostlist::compress(nodes.iter().map(|node| node.as_str()))));
    }
    if !switch.switches.is_empty() {
        let below = hostlist::compress(switch.switches.iter().map(String::as_str));
        line.push_str(&format!(" Switches={below}"));
    }
    line.push('\n');
    line
}

/// The level of each switch, and all nodes below it. What is in a loop, which no checked configuration has, is left out.
fn settle(switches: &[SwitchDefinition]) -> BTreeMap<&str, (u32, BTreeSet<&NodeName>)> {
    let mut known: BTreeMap<&str, (u32, BTreeSet<&NodeName>)> = BTreeMap::new();
    // Each round settles at least one switch, or nothing more is to be had.
    for _ in 0..switches.len() {
        let before = known.len();
        for switch in switches {
            let below = switch.switches.iter().map(|name| known.get(name.as_str()));
            let Some(below) = below.collect::<Option<Vec<_>>>() else { continue };
            let level = below.iter().map(|(level, _)| level + 1).max().unwrap_or(0);
            let nodes = below.iter().flat_map(|(_, nodes)| nodes).copied().chain(&switch.nodes).collect();
            known.entry(&switch.name).or_insert((level, nodes));
        }
        if known.len() == before {
            break;
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use daybook_schemas::topology::{BlockDefinition, BlockTopology};

    use super::*;

    fn names(text: &str) -> Vec<NodeName> {
        hostlist::expand(text).unwrap().into_iter().map(NodeName::from).collect()
    }

    #[test]
    fn switches_show_their_level_and_all_nodes_below_them() {
        let leaf = |name: &str, nodes: &str, link_speed| SwitchDefinition {
            name: name.to_string(),
            nodes: names(nodes),
            link_speed,
            ..SwitchDefinition::default()
        };
        let top = SwitchDefinition {
            name: "top".to_string(),
            switches: vec!["s1".to_string(), "s2".to_string()],
            ..SwitchDefinition::default()
        };
        let topology = Topology::Tree(vec![top, leaf("s1", "n[1-2]", None), leaf("s2", "n[3-4]", Some(100))]);
        expect_test::expect![[r#"
            SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=s[1-2]
            SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-2]
            SwitchName=s2 Level=0 LinkSpeed=100 Nodes=n[3-4]
        "#]]
        .assert_eq(&lines(&topology, None));
        expect_test::expect![[r#"
            SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=s[1-2]
            SwitchName=s2 Level=0 LinkSpeed=100 Nodes=n[3-4]
        "#]]
        .assert_eq(&lines(&topology, Some("n3")));
        assert_eq!(lines(&topology, Some("s1")), "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-2]\n");
        assert_eq!(lines(&topology, Some("n9")), "");
    }

    #[test]
    fn blocks_show_their_number() {
        let blocks = vec![BlockDefinition { name: "b1".to_string(), nodes: names("n[1-2]") }];
        let topology = Topology::Block(BlockTopology { blocks, sizes: vec![2, 4] });
        assert_eq!(lines(&topology, None), "BlockName=b1 BlockIndex=0 Nodes=n[1-2] BlockSize=2\n");
    }
}
