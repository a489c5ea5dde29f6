//! Which GPUs nodes have.

use daybook_schemas::node::NodeDefinition;

use crate::machine::Vm;
use crate::written::usable;

fn slurm_conf(node: &str) -> String {
    format!("ClusterName=tx\nGresTypes=gpu\n{node}\nPartitionName=main Nodes=ALL\n")
}

fn shown(node: &NodeDefinition) -> String {
    let gpus: Vec<String> = node
        .gpus
        .iter()
        .map(|gpu| {
            format!("{}:{}:{}:{}", gpu.index, gpu.uuid, gpu.gpu_type, gpu.file.as_deref().unwrap_or("-"))
        })
        .collect();
    gpus.join(" ")
}

/// The GPUs of the first node, on a machine with two H200.
fn gpus(node: &str, gres_conf: &str) -> String {
    let slurm_conf = slurm_conf(node);
    let files = [("slurm.conf", slurm_conf.as_str()), ("gres.conf", gres_conf)];
    shown(&usable(&files, &Vm::with_two_gpus(), &[]).cluster.nodes[0])
}

#[test]
fn gpus_without_a_gres_conf_have_no_device_files() {
    let text = slurm_conf("NodeName=g Gres=gpu:a100:1,gpu:T4");
    let cluster = usable(&[("slurm.conf", &text)], &Vm::with_two_gpus(), &[]).cluster;
    assert_eq!(shown(&cluster.nodes[0]), "0:g/gpu0:a100:- 1:g/gpu1:t4:-");
    assert_eq!(cluster.nodes[0].gres, "gpu:a100:1,gpu:T4");
}

#[test]
fn types_come_from_either_file() {
    let files = "0:g/gpu0:a100:/dev/x0 1:g/gpu1:a100:/dev/x1";
    for (gres, line) in [
        ("gpu:a100:2", "NodeName=g Name=gpu Type=A100 File=/dev/x[0-1]"),
        ("gpu:2", "NodeName=g Name=gpu Type=a100 File=/dev/x[0-1]"),
        ("gpu:a100:2", "NodeName=g Name=gpu File=/dev/x[0-1]"),
        ("gpu:a100:2", "Name=gpu Type=a100 File=/dev/x1\nName=gpu Type=a100 File=/dev/x0 Count=1"),
    ] {
        assert_eq!(gpus(&format!("NodeName=g Gres={gres}"), line), files, "{gres} with {line}");
    }
}

#[test]
fn gpus_are_numbered_in_the_order_of_their_files() {
    let lines = "Name=gpu Type=b File=/dev/x[9-10]\nName=gpu Type=a File=/dev/x2";
    assert_eq!(
        gpus("NodeName=g Gres=gpu:a:1,gpu:b:2", lines),
        "0:g/gpu0:a:/dev/x2 1:g/gpu1:b:/dev/x9 2:g/gpu2:b:/dev/x10"
    );
}

#[test]
fn a_line_without_nodes_is_for_those_that_declare_gpus() {
    let text = slurm_conf("NodeName=plain,g\nNodeName=h Gres=gpu");
    let files = [("slurm.conf", text.as_str()), ("gres.conf", "Name=gpu File=/dev/x0")];
    let nodes = usable(&files, &Vm::with_two_gpus(), &[]).cluster.nodes;
    assert_eq!(nodes.iter().map(|node| node.gpus.len()).collect::<Vec<_>>(), [0, 0, 1]);
}

#[test]
fn the_driver_names_the_gpus_of_this_machine() {
    let found = "0:GPU-00000000:h200:/dev/nvidia0 1:GPU-00000001:h200:/dev/nvidia1";
    let here = "NodeName=g NodeHostname=vm";
    assert_eq!(gpus(&format!("{here} Gres=gpu:h200:2"), "AutoDetect=nvml"), found);
    assert_eq!(gpus(&format!("{here} Gres=gpu:2"), "NodeName=g AutoDetect=nvml"), found);
    assert_eq!(
        gpus(&format!("{here} Gres=gpu:2"), "NodeName=g Name=gpu Type=h200 File=/dev/nvidia[0-1]"),
        found
    );
    // A declared type is a part of the driver's, and fewer may be declared than there are.
    let one = "0:GPU-00000000:h2:/dev/nvidia0";
    assert_eq!(gpus(&format!("{here} Gres=gpu:h2:1"), "AutoDetect=NVML"), one);
}

#[test]
fn the_driver_says_nothing_of_other_machines_and_simulated_nodes() {
    let declared = "0:g/gpu0:h200:- 1:g/gpu1:h200:-";
    assert_eq!(gpus("NodeName=g NodeHostname=far Gres=gpu:h200:2", "AutoDetect=nvml"), declared);
    let text = slurm_conf("NodeName=g NodeHostname=vm Gres=gpu:h200:2");
    let toml = "[nodes.g]\nsimulated = true\n";
    let files = [("slurm.conf", text.as_str()), ("gres.conf", "AutoDetect=nvml"), ("daybook.toml", toml)];
    assert_eq!(shown(&usable(&files, &Vm::with_two_gpus(), &[]).cluster.nodes[0]), declared);
}

#[test]
fn files_of_other_machines_and_simulated_nodes_are_not_looked_for() {
    let expected = "0:g/gpu0::/dev/nowhere0";
    assert_eq!(gpus("NodeName=g NodeHostname=far Gres=gpu:1", "Name=gpu File=/dev/nowhere0"), expected);
    let text = slurm_conf("NodeName=g NodeHostname=vm Gres=gpu:1");
    let toml = "[nodes.g]\nsimulated = true\n";
    let gres = "Name=gpu File=/dev/nowhere0";
    let files = [("slurm.conf", text.as_str()), ("gres.conf", gres), ("daybook.toml", toml)];
    assert_eq!(shown(&usable(&files, &Vm::with_two_gpus(), &[]).cluster.nodes[0]), expected);
}

#[test]
fn gpus_are_bound_to_the_cores_and_links_of_their_lines() {
    let node = "NodeName=g Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 Gres=gpu:4";
    let lines = "Name=gpu File=/dev/x0 Cores=0-3 Links=-1,4,0,0\nName=gpu File=/dev/x1 CPUs=0-3 Link=4,-1,0,0\n\
                 Name=gpu File=/dev/x[2-3] Cores=4-5,7";
    let slurm_conf = slurm_conf(node);
    let files = [("slurm.conf", slurm_conf.as_str()), ("gres.conf", lines)];
    let cluster = usable(&files, &Vm::with_two_gpus(), &[]).cluster;
    let shown: Vec<String> = cluster.nodes[0]
        .gpus
        .iter()
        .map(|gpu| format!("{}:{}:{:?}", gpu.index, gpu.cores, gpu.links))
        .collect();
    assert_eq!(shown.join(" "), "0:0-3:[0, 4, 0, 0] 1:0-3:[4, 0, 0, 0] 2:4-5,7:[] 3:4-5,7:[]");
}
