//! What `topology.conf` says.

use daybook_schemas::topology::Topology;

use crate::machine::Vm;
use crate::written::usable;

fn topology(plugin: &str, text: &str) -> Option<Topology> {
    let slurm = format!(
        "ClusterName=tx\nTopologyPlugin={plugin}\nNodeName=n[1-6] CPUs=8\nNodeSet=rest Nodes=n[5-6]\n\
         PartitionName=main Nodes=ALL\n"
    );
    let files = [("slurm.conf", slurm.as_str()), ("topology.conf", text)];
    usable(&files, &Vm::without_gpus(), &[]).cluster.topology
}

#[test]
fn switches_have_nodes_or_switches_below_them() {
    let text = "# two levels\nswitchname=s1 nodes=n[3-4],n1 LinkSpeed=100\nSwitchName=s2 Nodes=rest,n2\n\
                SwitchName=top \\\n  Switches=s[1-2]\n";
    let Some(Topology::Tree(switches)) = topology("topology/tree", text) else { panic!("no tree") };
    let shown: Vec<String> = switches
        .iter()
        .map(|switch| {
            let nodes: Vec<&str> = switch.nodes.iter().map(|node| node.as_str()).collect();
            format!(
                "{}:{}:{}:{:?}",
                switch.name,
                nodes.join("+"),
                switch.switches.join("+"),
                switch.link_speed
            )
        })
        .collect();
    assert_eq!(shown, ["s1:n1+n3+n4::Some(100)", "s2:n2+n5+n6::None", "top::s1+s2:None"]);
}

#[test]
fn blocks_have_nodes_and_sizes() {
    let text = "BlockName=b1 Nodes=n[1-3]\nBlockName=b2 Nodes=n[4-6]\nBlockSizes=3,6\n";
    let Some(Topology::Block(topology)) = topology("Topology/Block", text) else { panic!("no blocks") };
    let shown: Vec<String> =
        topology.blocks.iter().map(|block| format!("{}:{}", block.name, block.nodes.len())).collect();
    assert_eq!((shown, topology.sizes), (vec!["b1:3".to_string(), "b2:3".to_string()], vec![3, 6]));
}

#[test]
fn a_network_changes_what_a_configuration_means() {
    let slurm = |plugin: &str| {
        format!(
            "ClusterName=tx\nTopologyPlugin={plugin}\nNodeName=n[1-2] CPUs=8\nPartitionName=main Nodes=ALL\n"
        )
    };
    let hash = |plugin: &str, text: Option<&str>| {
        let slurm = slurm(plugin);
        let mut files = vec![("slurm.conf", slurm.as_str())];
        files.extend(text.map(|text| ("topology.conf", text)));
        usable(&files, &Vm::without_gpus(), &[]).cluster.config_hash
    };
    let flat = hash("topology/flat", None);
    let one = hash("topology/tree", Some("SwitchName=s1 Nodes=n[1-2]\n"));
    let same = hash("topology/tree", Some("# the same\nSwitchName=s1 Nodes=n1,n2\n"));
    assert!(flat != one && one == same);
}
