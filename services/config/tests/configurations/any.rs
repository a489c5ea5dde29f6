//! No configuration makes reading it fail, whatever stands in it.

use daybook_config::Severity;
use proptest::prelude::*;

use crate::machine::Vm;
use crate::written::loaded;

fn key() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "ClusterName",
        "NodeName",
        "PartitionName",
        "NodeSet",
        "DownNodes",
        "Nodes",
        "CPUs",
        "Boards",
        "Sockets",
        "SocketsPerBoard",
        "CoresPerSocket",
        "ThreadsPerCore",
        "RealMemory",
        "Gres",
        "GresTypes",
        "Feature",
        "State",
        "NodeAddr",
        "NodeHostname",
        "Port",
        "Default",
        "MaxTime",
        "DefaultTime",
        "MinNodes",
        "MaxNodes",
        "Priority",
        "DefMemPerCPU",
        "DefMemPerGPU",
        "KillWait",
        "SlurmUser",
        "SlurmdSpoolDir",
        "SchedulerParameters",
        "SelectTypeParameters",
        "Name",
        "Type",
        "File",
        "Count",
        "AutoDetect",
        "Cores",
        "Include",
    ])
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "DEFAULT",
            "ALL",
            "a",
            "a,b",
            "n[1-3]",
            "n[0-99]",
            "n2",
            "gpu",
            "gpu:2",
            "gpu:a100:1",
            "/dev/fakegpu[0-1]",
            "/dev/nvidia0",
            "nvml",
            "off",
            "0",
            "1",
            "65533",
            "4294967295",
            "99999999999999999999",
            "-1",
            "UNLIMITED",
            "1-0",
            "YES",
            "DOWN",
            "vm",
            "slurm.conf",
            "bf_max_job_test=5",
            "CR_Core",
        ])
        .prop_map(String::from),
        "[a-z0-9\\[\\]:,/%=()-]{1,12}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    let pair = (key(), value()).prop_map(|(key, value)| format!("{key}={value}"));
    let line = prop::collection::vec(pair, 1..6).prop_map(|pairs| pairs.join(" "));
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn whatever_is_written_there_is_a_configuration_or_an_error(slurm in text(), gres in text(), toml in "[a-z\\[\\]=\"0-9\n.]{0,40}") {
        let files = [("slurm.conf", slurm.as_str()), ("gres.conf", gres.as_str()), ("daybook.toml", toml.as_str())];
        let loaded = loaded(&files, &Vm::with_two_gpus());
        let has_error = loaded.diagnostics.iter().any(|fault| fault.severity == Severity::Error);
        prop_assert_eq!(loaded.configuration.is_none(), has_error);
        for fault in &loaded.diagnostics {
            prop_assert!(!fault.what.is_empty() && !fault.what.contains('\n'), "{}", fault);
        }
        if let Some(configuration) = loaded.configuration {
            for node in &configuration.cluster.nodes {
                prop_assert!(node.cpus >= 1 && node.memory.0 >= 1);
                prop_assert!(node.gpus.iter().zip(0..).all(|(gpu, index)| gpu.index == index));
            }
            let mut uuids: Vec<_> = configuration.cluster.nodes.iter().flat_map(|node| &node.gpus).map(|gpu| &gpu.uuid).collect();
            let count = uuids.len();
            uuids.sort();
            uuids.dedup();
            prop_assert_eq!(uuids.len(), count, "one GPU twice in the books");
        }
    }
}
