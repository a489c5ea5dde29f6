//! Partitions changed while the cluster runs.

use daybook_config::change_partition;
use daybook_schemas::Mebibytes;
use daybook_schemas::NodeName;
use daybook_schemas::job::{MemoryRequest, TimeLimit};
use daybook_schemas::node::{NodeDefinition, PartitionDefinition, PartitionState};

fn nodes() -> Vec<NodeDefinition> {
    ["n1", "n2", "n3"].map(|name| NodeDefinition::new(name, 4, Mebibytes(1000))).to_vec()
}

/// The partition with these words changed, or what is said against them.
fn changed(words: &str) -> Result<PartitionDefinition, Vec<String>> {
    let settings: Vec<(String, String)> = words
        .split_whitespace()
        .filter_map(|word| word.split_once('='))
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect();
    let partition = PartitionDefinition {
        default_time: Some(TimeLimit::minutes(60)),
        max_nodes: Some(2),
        allow_accounts: Some(vec!["ml".to_string()]),
        ..PartitionDefinition::new("main", vec![NodeName::from("n1")])
    };
    let nodes = nodes();
    let refused = change_partition(partition, &settings, nodes.iter());
    refused.map_err(|faults| faults.into_iter().map(|fault| fault.what).collect())
}

/// What a change makes of one part of the partition.
type Part = fn(&PartitionDefinition) -> String;

#[test]
fn each_setting_changes_what_it_names_and_nothing_else() {
    let table: &[(&str, Part, &str)] = &[
        ("state=drain", |p| format!("{:?}", p.state), "Drain"),
        ("Nodes=n[2-3]", |p| format!("{:?} {}", p.nodes.len(), p.nodes_text), "2 n[2-3]"),
        ("nodes=ALL", |p| p.nodes.len().to_string(), "3"),
        ("nodes=", |p| p.nodes.len().to_string(), "0"),
        ("MaxTime=30", |p| format!("{:?}", (p.max_time, p.default_time)), "(Seconds(1800), None)"),
        ("DefaultTime=NONE", |p| format!("{:?}", p.default_time), "None"),
        ("MaxTime=UNLIMITED", |p| format!("{:?}", p.max_time), "Unlimited"),
        ("MaxNodes=UNLIMITED", |p| format!("{:?}", p.max_nodes), "None"),
        ("MinNodes=2", |p| format!("{:?}", (p.min_nodes, p.max_nodes)), "(2, Some(2))"),
        ("AllowAccounts=ALL", |p| format!("{:?}", p.allow_accounts), "None"),
        ("AllowAccounts=", |p| format!("{:?}", p.allow_accounts), "None"),
        ("DenyAccounts=Bio", |p| format!("{:?}", p.deny_accounts), "[\"bio\"]"),
        ("AllowQos=High,low", |p| format!("{:?}", p.allow_qos), "Some([\"high\", \"low\"])"),
        ("DenyQos=low", |p| format!("{:?}", p.deny_qos), "[\"low\"]"),
        ("AllocNodes=login[1-2]", |p| format!("{:?}", p.submit_hosts), "Some([\"login1\", \"login2\"])"),
        ("QOS=gpu", |p| format!("{:?}", p.qos), "Some(\"gpu\")"),
        ("QOS=N/A", |p| format!("{:?}", p.qos), "None"),
        ("Priority=7", |p| format!("{:?}", (p.priority_tier, p.priority_job_factor)), "(7, 7)"),
        ("MaxMemPerNode=500", |p| format!("{:?}", p.max_memory_per_node), "Some(Mebibytes(500))"),
        ("MaxMemPerNode=UNLIMITED", |p| format!("{:?}", p.max_memory_per_node), "None"),
        ("OverSubscribe=EXCLUSIVE", |p| p.exclusive.to_string(), "true"),
        ("LLN=YES", |p| p.least_loaded.to_string(), "true"),
        (
            "TRESBillingWeights=CPU=1.0,Mem=0.25G",
            |p| format!("{:?}", p.billing_weights.as_ref().map(|own| (own.text.as_str(), own.weights.len()))),
            "Some((\"CPU=1.0,Mem=0.25G\", 2))",
        ),
        ("TRESBillingWeights=", |p| format!("{:?}", p.billing_weights), "None"),
        ("DisableRootJobs=YES", |p| p.no_root_jobs.to_string(), "true"),
        ("JobDefaults=DefCpuPerGPU=4", |p| format!("{:?}", p.default_cpus_per_gpu), "Some(4)"),
    ];
    for (words, part, expected) in table {
        let partition = changed(words).unwrap_or_else(|why| panic!("{words}: {why:?}"));
        assert_eq!(part(&partition), *expected, "{words}");
    }
    let both = changed("JobDefaults=DefCpuPerGPU=4,DefMemPerGPU=100 State=DOWN").expect("accepted");
    assert_eq!(both.default_memory, Some(MemoryRequest::PerGpu(Mebibytes(100))));
    assert_eq!(both.state, PartitionState::Down);
    assert_eq!(both.allow_accounts, Some(vec!["ml".to_string()]));
}

#[test]
fn what_is_wrong_or_has_no_effect_is_refused() {
    for (words, expected) in [
        ("state=sideways", "state=sideways is not known"),
        ("nodes=n9", "PartitionName=main has unknown nodes: n9"),
        ("maxtime=soon", "maxtime=soon is no time limit"),
        ("MinNodes=3", "MinNodes=3 is more than MaxNodes"),
        ("DefaultTime=60 MaxTime=30", "DefaultTime=60 is longer than MaxTime=30"),
        ("LLN=perhaps", "LLN=perhaps is neither YES nor NO"),
        (
            "ReqResv=YES",
            "ReqResv=YES has no effect: Daybook does not support jobs with a reservation only yet",
        ),
        ("SuspendTimeout=5", "SuspendTimeout concerns Slurm's own daemons only"),
        ("Colour=red", "unknown key of a partition \"Colour\""),
        ("JobDefaults=Colour=red", "JobDefaults has an unknown entry \"Colour=red\""),
    ] {
        assert_eq!(changed(words), Err(vec![expected.to_string()]), "{words}");
    }
}
