//! How runs are confined, by what is written where.

use daybook_cgroup::{Confining, Rules, Versions};
use daybook_schemas::Mebibytes;

use crate::machine::Vm;
use crate::written::usable;

const CLUSTER: &str = "ClusterName=tx\nNodeName=n1 CPUs=8 RealMemory=16000\nPartitionName=main Nodes=ALL\n";

fn confinement(slurm_conf: &str, cgroup_conf: Option<&str>, daybook_toml: &str) -> Rules {
    let slurm_conf = format!("{CLUSTER}{slurm_conf}");
    let mut files = vec![("slurm.conf", slurm_conf.as_str()), ("daybook.toml", daybook_toml)];
    files.extend(cgroup_conf.map(|text| ("cgroup.conf", text)));
    usable(&files, &Vm::with_two_gpus(), &[]).daemon.confinement
}

#[test]
fn who_says_nothing_has_all_of_it_where_the_machine_can() {
    let settings = confinement("", None, "");
    assert_eq!(settings, Rules::default());
    assert_eq!(settings.confining, Confining::IfPossible);
    assert!(settings.cpus && settings.memory && settings.swap && settings.devices);
}

#[test]
fn who_names_control_groups_relies_on_them() {
    for conf in ["TaskPlugin=task/cgroup,task/affinity", "ProctrackType=proctrack/cgroup"] {
        assert_eq!(confinement(conf, None, "").confining, Confining::Required, "{conf}");
    }
    let allowed = confinement("TaskPlugin=task/cgroup", None, "[agent]\nconfine = \"if_possible\"\n");
    assert_eq!(allowed.confining, Confining::IfPossible);
}

#[test]
fn other_plugins_ask_for_less() {
    for (conf, cpus) in [("TaskPlugin=task/none", false), ("TaskPlugin=task/affinity", true)] {
        let settings = confinement(conf, None, "");
        assert_eq!((settings.cpus, settings.memory, settings.devices), (cpus, false, false), "{conf}");
    }
}

#[test]
fn cgroup_conf_says_what_is_confined() {
    let text = "CgroupPlugin=cgroup/v2\nConstrainRAMSpace=yes\nConstrainDevices=YES\nAllowedRAMSpace=110\n\
                AllowedSwapSpace=5\nMaxRAMPercent=95\nMinRAMSpace=64\n";
    let expected = Rules {
        confining: Confining::IfPossible,
        versions: Versions::Two,
        cpus: false,
        memory: true,
        swap: false,
        devices: true,
        memory_percent: 110,
        swap_percent: 5,
        node_memory_percent: 95,
        memory_min: Mebibytes(64),
        processes_max: Some(0),
    };
    assert_eq!(confinement("", Some(text), "[agent]\nprocesses_max = 0\n"), expected);
    assert_eq!(confinement("", Some("CgroupPlugin=disabled"), "").confining, Confining::Off);
}
