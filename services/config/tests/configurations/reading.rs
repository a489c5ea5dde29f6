//! What good configurations mean.

use std::path::PathBuf;

use daybook_config::{DaemonSettings, LogBackend, config_hash};
use daybook_schemas::Seconds;
use daybook_schemas::accounts::PreemptMode;
use daybook_schemas::grammar::license;
use daybook_schemas::job::{MemoryRequest, TimeLimit};
use daybook_schemas::node::{NodeDefinition, NodeUpdateState, PartitionDefinition, PartitionState};
use daybook_schemas::preemption::{PreemptType, PreemptionParameters};
use daybook_schemas::priority::{PriorityFlag, PriorityParameters, UsageResetPeriod};
use daybook_schemas::{Mebibytes, NodeName};
use expect_test::expect;

use crate::machine::Vm;
use crate::written::{faultless, loaded, usable};

const NODES: &str = "ClusterName=tx\nNodeName=node[01-04] CPUs=8 RealMemory=16000\n";
const SMALL: &str = "ClusterName=tx\nNodeName=node[01-04] CPUs=8 RealMemory=16000\nPartitionName=main Nodes=ALL Default=YES\n";

fn nodes(text: &str) -> Vec<NodeDefinition> {
    faultless(&format!("ClusterName=tx\n{text}\nPartitionName=main Nodes=ALL\n")).cluster.nodes
}

fn partitions(text: &str) -> Vec<PartitionDefinition> {
    faultless(&format!("{NODES}{text}\n")).cluster.partitions
}

fn names(nodes: &[NodeName]) -> String {
    nodes.iter().map(NodeName::as_str).collect::<Vec<_>>().join(" ")
}

#[test]
fn without_a_slurm_conf_the_machine_is_a_cluster_of_one_node() {
    let configuration = usable(&[], &Vm::with_two_gpus(), &[]);
    assert_eq!(configuration.daemon, DaemonSettings::default());
    let cluster = configuration.cluster;
    assert_eq!((cluster.cluster_name.as_str(), cluster.sources.len()), ("cluster", 0));
    expect![[r#"
        [
            NodeDefinition {
                name: NodeName(
                    "vm",
                ),
                hostname: "vm.hall",
                address: "vm.hall",
                cpus: 16,
                boards: 1,
                sockets: 1,
                cores_per_socket: 8,
                threads_per_core: 2,
                memory: Mebibytes(
                    64000,
                ),
                tmp_disk: Mebibytes(
                    100000,
                ),
                weight: 1,
                features: [],
                gpus: [
                    GpuDevice {
                        index: 0,
                        uuid: GpuUuid(
                            "GPU-00000000",
                        ),
                        gpu_type: "h200",
                        file: Some(
                            "/dev/nvidia0",
                        ),
                        cores: IndexSet {
                            ranges: [],
                        },
                        links: [],
                    },
                    GpuDevice {
                        index: 1,
                        uuid: GpuUuid(
                            "GPU-00000001",
                        ),
                        gpu_type: "h200",
                        file: Some(
                            "/dev/nvidia1",
                        ),
                        cores: IndexSet {
                            ranges: [],
                        },
                        links: [],
                    },
                ],
                gres: "gpu:h200:2",
                simulated: false,
                initial: None,
            },
        ]
        [
            PartitionDefinition {
                name: "main",
                nodes: [
                    NodeName(
                        "vm",
                    ),
                ],
                nodes_text: "vm",
                default: true,
                state: Up,
                max_time: Unlimited,
                default_time: None,
                min_nodes: 0,
                max_nodes: None,
                priority_tier: 1,
                priority_job_factor: 1,
                allow_accounts: None,
                deny_accounts: [],
                allow_groups: None,
                root_only: false,
                hidden: false,
                exclusive: false,
                least_loaded: false,
                default_memory: None,
                allow_qos: None,
                deny_qos: [],
                submit_hosts: None,
                no_root_jobs: false,
                default_cpus_per_gpu: None,
                max_memory_per_node: None,
                qos: None,
                preempt_mode: None,
                grace_time: Seconds(
                    0,
                ),
                billing_weights: None,
            },
        ]
        ClusterParameters {
            kill_wait: Seconds(
                30,
            ),
            min_job_age: Seconds(
                300,
            ),
            max_array_size: 1001,
            max_job_count: 10000,
            first_job_id: 1,
            default_memory: None,
            memory_is_consumed: true,
            least_loaded: false,
            enforce_partition_limits: false,
            one_partition_suffices: false,
            max_memory_per_node: None,
            job_requeue: true,
            node_timeout: Seconds(
                300,
            ),
            over_time_limit_minutes: 0,
            backfill_reservations: 1,
            planner_jobs_max: 10000,
            switch_wait_max: Seconds(
                300,
            ),
            strict_order: false,
            return_to_service: Always,
            kill_invalid_dependency: false,
            enable_user_top: false,
            backfill_by_expected_time: false,
            priority: None,
            preemption: None,
            suspend_grace: Seconds(
                2,
            ),
            accounting_enforced: [],
            track_wckeys: false,
        }"#]]
    .assert_eq(&format!("{:#?}\n{:#?}\n{:#?}", cluster.nodes, cluster.partitions, cluster.parameters));

    let alone = usable(&[], &Vm::without_gpus(), &[]);
    assert_eq!((alone.cluster.nodes[0].gpus.len(), alone.cluster.nodes[0].gres.as_str()), (0, ""));
}

#[test]
fn what_is_not_given_is_as_in_slurm() {
    let cluster = faultless(SMALL).cluster;
    let parameters = &cluster.parameters;
    assert_eq!((parameters.kill_wait, parameters.min_job_age), (Seconds(30), Seconds(300)));
    assert_eq!((parameters.max_array_size, parameters.max_job_count), (1001, 10_000));
    assert_eq!((parameters.first_job_id, parameters.over_time_limit_minutes), (1, 0));
    assert_eq!((parameters.backfill_reservations, parameters.planner_jobs_max), (1, 10_000));
    assert!(parameters.memory_is_consumed && parameters.job_requeue && !parameters.enforce_partition_limits);
    assert_eq!(parameters.default_memory, None);
    let node = &nodes("NodeName=bare")[0];
    assert_eq!((node.hostname.as_str(), node.address.as_str()), ("bare", "bare"));
    assert_eq!((node.cpus, node.memory, node.tmp_disk, node.weight), (1, Mebibytes(1), Mebibytes(0), 1));
    let partition = &cluster.partitions[0];
    assert_eq!((partition.max_time, partition.default_time), (TimeLimit::Unlimited, None));
    assert_eq!((partition.min_nodes, partition.max_nodes, partition.state), (0, None, PartitionState::Up));
    assert_eq!((partition.priority_tier, partition.priority_job_factor), (1, 1));
}

#[test]
fn parameters_are_read_in_any_letter_case() {
    let text = "clustername=TX\nKILLWAIT=5 minjobage=10\nMaxArraySize=0\nMaxJobCount=100K\nFirstJobID=1001\n\
                JobRequeue=0\nEnforcePartLimits=all\nOverTimeLimit=3\nDefMemPerCPU=500\nSlurmUser=slurm(64030)\n\
                SelectTypeParameters=CR_CPU\nSchedulerType=sched/builtin\n\
                SchedulerParameters=bf_max_job_test=1200,bf_interval=30,bf_job_part_count_reserve=5\n\
                NODENAME=a cpus=2\npartitionname=p nodes=a\n";
    let cluster = faultless(text).cluster;
    let parameters = &cluster.parameters;
    assert_eq!((cluster.cluster_name.as_str(), cluster.administrators), ("tx", vec![64_030]));
    assert_eq!((parameters.kill_wait, parameters.min_job_age), (Seconds(5), Seconds(10)));
    assert_eq!((parameters.max_array_size, parameters.max_job_count), (0, 102_400));
    assert_eq!((parameters.first_job_id, parameters.over_time_limit_minutes), (1001, 3));
    assert!(!parameters.job_requeue && parameters.enforce_partition_limits && !parameters.memory_is_consumed);
    assert_eq!(parameters.default_memory, Some(MemoryRequest::PerCpu(Mebibytes(500))));
    assert_eq!((parameters.planner_jobs_max, parameters.backfill_reservations), (1200, 5));
    assert!(parameters.strict_order);
}

#[test]
fn parameters_with_a_special_value_mean_what_slurm_means() {
    let with = |line: &str| faultless(&format!("{line}\n{SMALL}")).cluster;
    assert_eq!(with("MinJobAge=0").parameters.min_job_age, Seconds(u32::MAX.into()), "kept always");
    assert_eq!(with("DefMemPerCPU=0").parameters.default_memory, None, "all of the node");
    assert_eq!(with("DefMemPerNode=UNLIMITED").parameters.default_memory, None);
    let per_gpu = Some(MemoryRequest::PerGpu(Mebibytes(4000)));
    assert_eq!(with("DefMemPerGPU=4000").parameters.default_memory, per_gpu);
    assert_eq!(with("SlurmUser=root").administrators, Vec::<u32>::new());
    assert_eq!(with("SlurmUser=1234").administrators, vec![1234]);
    assert!(with("SelectTypeParameters=CR_Core_Memory").parameters.memory_is_consumed);
    let spread = with("SelectTypeParameters=CR_CPU_Memory,CR_LLN").parameters;
    assert!(spread.least_loaded && spread.memory_is_consumed && !with("").parameters.least_loaded);
    assert!(with("SelectType=select/linear").partitions.iter().all(|partition| partition.exclusive));
    assert!(!with("SelectType=select/cons_tres").partitions[0].exclusive);
}

#[test]
fn licences_are_part_of_the_configuration_and_of_its_hash() {
    let [none, some, same] = ["", "Licenses=matlab:10,ansys\n", "licenses=ansys;matlab*10\n"]
        .map(|line| faultless(&format!("{line}{SMALL}")).cluster);
    assert_eq!(license::format(&some.licenses), "ansys:1,matlab:10");
    assert_eq!((&same.licenses, &same.config_hash), (&some.licenses, &some.config_hash));
    assert!(none.licenses.is_empty() && none.config_hash != some.config_hash);
}

#[test]
fn default_lines_hold_for_what_follows_and_add_up() {
    let nodes = nodes(
        "NodeName=first\n\
         NodeName=DEFAULT CPUs=8 RealMemory=100 Feature=a Weight=5\n\
         NodeName=second Weight=7\n\
         NodeName=DEFAULT RealMemory=200 Features=b,c\n\
         NodeName=third,fourth CPUs=4",
    );
    let found: Vec<String> = nodes
        .iter()
        .map(|node| {
            format!("{} {} {} {:?} {}", node.name, node.cpus, node.memory, node.features, node.weight)
        })
        .collect();
    expect![[r#"
        first 1 1 [] 1
        second 8 100 ["a"] 7
        third 4 200 ["b", "c"] 5
        fourth 4 200 ["b", "c"] 5"#]]
    .assert_eq(&found.join("\n"));
    let partitions = partitions(
        "PartitionName=DEFAULT MaxTime=1:00:00 Nodes=node01 PriorityTier=3\n\
         PartitionName=a Nodes=node02\n\
         PartitionName=DEFAULT MaxTime=2:00:00\n\
         PartitionName=b PriorityTier=4",
    );
    let found: Vec<String> = partitions
        .iter()
        .map(|one| format!("{} {} {:?} {}", one.name, names(&one.nodes), one.max_time, one.priority_tier))
        .collect();
    expect![[r#"
        a node02 Seconds(3600) 3
        b node01 Seconds(7200) 4"#]]
    .assert_eq(&found.join("\n"));
}

#[test]
fn host_names_addresses_and_ports_pair_with_names() {
    let nodes = nodes(
        "NodeName=n[1-2] NodeHostname=h[8-9] NodeAddr=10.0.0.[1-2] Port=[7001-7002]\n\
         NodeName=m[1-2] NodeHostname=vm\n\
         NodeName=v6 NodeAddr=fe80::1 Port=7001",
    );
    let found: Vec<String> =
        nodes.iter().map(|node| format!("{} {} {}", node.name, node.hostname, node.address)).collect();
    expect![[r#"
        n1 h8 10.0.0.1
        n2 h9 10.0.0.2
        m1 vm vm
        m2 vm vm
        v6 v6 fe80::1"#]]
    .assert_eq(&found.join("\n"));
}

#[test]
fn nodes_begin_in_the_state_that_is_configured() {
    let nodes = nodes(
        "NodeName=a State=UNKNOWN\nNodeName=b State=down Reason=\"no power\"\nNodeName=c State=DRAIN\n\
         NodeName=d State=IDLE\nDownNodes=a,d State=DRAIN Reason=dust\nDownNodes=c",
    );
    let found: Vec<String> = nodes
        .iter()
        .map(|node| match &node.initial {
            Some(initial) if initial.state == NodeUpdateState::Down => {
                format!("{} down: {}", node.name, initial.reason)
            }
            Some(initial) => format!("{} {:?}: {}", node.name, initial.state, initial.reason),
            None => format!("{} as registered", node.name),
        })
        .collect();
    expect![[r#"
        a Drain: dust
        b down: no power
        c down: 
        d Drain: dust"#]]
    .assert_eq(&found.join("\n"));
}

#[test]
fn partitions_name_nodes_node_sets_or_all_in_the_order_of_the_cluster() {
    let partitions = partitions(
        "NodeName=fast[1-2] Feature=ib,fast\nNodeSet=quick Feature=fast\nNodeSet=mixed Nodes=node04,quick\n\
         PartitionName=a Nodes=ALL\nPartitionName=b Nodes=node03,node[01-02],node03\nPartitionName=c Nodes=quick\n\
         PartitionName=d Nodes=\"mixed node01\"\nPartitionName=e",
    );
    let found: Vec<String> = partitions
        .iter()
        .map(|one| format!("{} [{}] {}", one.name, one.nodes_text, names(&one.nodes)))
        .collect();
    expect![[r#"
        a [ALL] node01 node02 node03 node04 fast1 fast2
        b [node03,node[01-02],node03] node01 node02 node03
        c [quick] fast1 fast2
        d [mixed node01] node01 node04 fast1 fast2
        e [] "#]]
    .assert_eq(&found.join("\n"));
}

#[test]
fn keys_of_partitions_have_their_meaning() {
    let partition = partitions(
        "PartitionName=p Nodes=node[01-02] Default=yes State=drain MaxTime=2-00:00:00 DefaultTime=90 MinNodes=2 \\\n\
         MaxNodes=4 Priority=9 AllowAccounts=ML,Bio AllowGroups=staff RootOnly=YES Hidden=yes Shared=EXCLUSIVE \\\n\
         DefMemPerCPU=0",
    )
    .remove(0);
    expect![[r#"
        PartitionDefinition {
            name: "p",
            nodes: [
                NodeName(
                    "node01",
                ),
                NodeName(
                    "node02",
                ),
            ],
            nodes_text: "node[01-02]",
            default: true,
            state: Drain,
            max_time: Seconds(
                172800,
            ),
            default_time: Some(
                Seconds(
                    5400,
                ),
            ),
            min_nodes: 2,
            max_nodes: Some(
                4,
            ),
            priority_tier: 9,
            priority_job_factor: 9,
            allow_accounts: Some(
                [
                    "ml",
                    "bio",
                ],
            ),
            deny_accounts: [],
            allow_groups: Some(
                [
                    "staff",
                ],
            ),
            root_only: true,
            hidden: true,
            exclusive: true,
            least_loaded: false,
            default_memory: Some(
                PerCpu(
                    Mebibytes(
                        0,
                    ),
                ),
            ),
            allow_qos: None,
            deny_qos: [],
            submit_hosts: None,
            no_root_jobs: false,
            default_cpus_per_gpu: None,
            max_memory_per_node: None,
            qos: None,
            preempt_mode: None,
            grace_time: Seconds(
                0,
            ),
            billing_weights: None,
        }
    "#]]
    .assert_debug_eq(&partition);
    let denied = partitions(
        "PartitionName=p Nodes=ALL DenyAccounts=ML AllowGroups=ALL MaxNodes=UNLIMITED DefaultTime=NONE",
    )
    .remove(0);
    assert_eq!((denied.deny_accounts, denied.allow_groups), (vec!["ml".to_string()], None));
    assert_eq!((denied.max_nodes, denied.default_time), (None, None));
    let slurm = format!("{NODES}PartitionName=p Nodes=ALL MaxTime=60 DefaultTime=90\n");
    let warning = ["DefaultTime=90 is longer than MaxTime=60"];
    let short =
        usable(&[("slurm.conf", &slurm)], &Vm::with_two_gpus(), &warning).cluster.partitions.remove(0);
    assert_eq!((short.max_time, short.default_time), (TimeLimit::minutes(60), None), "as in Slurm");
}

#[test]
fn files_may_include_others_and_all_are_sources() {
    let files = [
        ("slurm.conf", "ClusterName=TX\nInclude nodes.conf\ninclude %c.parts\n"),
        ("nodes.conf", "NodeName=a,b\n"),
        ("tx.parts", "PartitionName=main Nodes=b\n"),
    ];
    let cluster = usable(&files, &Vm::with_two_gpus(), &[]).cluster;
    let sources: Vec<&str> = cluster.sources.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(sources, ["slurm.conf", "nodes.conf", "tx.parts"]);
    assert_eq!(names(&cluster.partitions[0].nodes), "b");
}

#[test]
fn the_hash_is_of_the_meaning_and_not_of_the_text() {
    let one = faultless(SMALL).cluster;
    let rewritten = format!("# the same\n{}", SMALL.replace("CPUs=8", "cpus=8"));
    let same = faultless(&rewritten).cluster;
    let other = faultless(&SMALL.replace("CPUs=8", "CPUs=9")).cluster;
    assert_ne!(one.sources, same.sources);
    assert_eq!(one.config_hash, same.config_hash);
    assert_ne!(one.config_hash, other.config_hash);
    assert_eq!(config_hash(&one).expect("a hash"), one.config_hash);
    assert_eq!(one.config_hash.len(), 64);
}

#[test]
fn daybook_toml_adds_what_slurm_has_no_word_for() {
    let toml = "[nodes.\"node[01-03]\"]\nsimulated = true\n[nodes.node02]\nsimulated = false\n\
                [planner]\nbackfill_reservations = 0x10\njobs_max = 50_000\nbackfill_order = \"expected\"\n\
                [agent]\nspool_dir = \"/srv/spool/%n\"\n[gateway]\nsocket = \"/run/x.sock\"\n[log]\nbackend = \"embedded\"\n";
    let slurm = format!("SchedulerParameters=bf_max_job_test=7\nSlurmdSpoolDir=/elsewhere\n{SMALL}");
    let files = [("slurm.conf", slurm.as_str()), ("daybook.toml", toml)];
    let configuration = usable(&files, &Vm::with_two_gpus(), &[]);
    let simulated: Vec<bool> = configuration.cluster.nodes.iter().map(|node| node.simulated).collect();
    assert_eq!(simulated, [true, false, true, false]);
    let parameters = &configuration.cluster.parameters;
    assert_eq!((parameters.backfill_reservations, parameters.planner_jobs_max), (16, 50_000));
    assert!(parameters.backfill_by_expected_time && !parameters.strict_order);
    let daemon = configuration.daemon;
    assert_eq!((daemon.socket, daemon.log), (Some(PathBuf::from("/run/x.sock")), LogBackend::Embedded));
    let spool = daemon.spool_dir.expect("a directory").for_node("node01", "vm.hall");
    assert_eq!(spool, PathBuf::from("/srv/spool/node01"));
    let alone = usable(&[("daybook.toml", "[nodes.vm]\nsimulated = true\n")], &Vm::with_two_gpus(), &[]);
    assert!(alone.cluster.nodes[0].simulated);
}

#[test]
fn relays_have_keys_and_may_speak_for_root_where_that_is_said() {
    let toml = "[relays]\nlogin1 = \"UDAEWQGS4HU5TQVN4XTLQ7CTQ6P3NRNXRLBYQG2XL4UHEWHZ67XR4GTV\"\n\
                [relays.\"login2.hall\"]\nkey = \"UAKOHCPA43DQOTRBD2KIWB6YSK4GWQMRYO3RIMOCFH6OAB7BVUPZYCUQ\"\nroot = true\n";
    let configuration = usable(&[("slurm.conf", SMALL), ("daybook.toml", toml)], &Vm::with_two_gpus(), &[]);
    let relays: Vec<_> = configuration
        .daemon
        .relays
        .iter()
        .map(|relay| (relay.name.as_str(), &relay.key[..3], relay.root))
        .collect();
    assert_eq!(relays, [("login1", "UDA", false), ("login2.hall", "UAK", true)]);
}

#[test]
fn settings_for_slurms_own_daemons_are_listed_and_are_no_fault() {
    let text = format!(
        "SlurmctldPort=6817\nslurmdport=6818\nAuthType=auth/munge\nSlurmctldHost=a\nSlurmctldHost=b\n{SMALL}"
    );
    let loaded = loaded(&[("slurm.conf", &text)], &Vm::with_two_gpus());
    assert_eq!((loaded.diagnostics.len(), loaded.configuration.is_some()), (0, true));
    assert_eq!(loaded.not_needed, ["AuthType", "SlurmctldHost", "SlurmctldPort", "SlurmdPort"]);
}

#[test]
fn multifactor_priority_has_slurms_defaults_and_the_weights_that_are_written() {
    let with = |lines: &str| faultless(&format!("{SMALL}{lines}")).cluster.parameters.priority;
    assert_eq!(with("PriorityType=priority/basic\n"), None);
    assert_eq!(with("PriorityType=priority/multifactor\n"), Some(PriorityParameters::default()));
    let written = with(
        "PriorityType=priority/multifactor\nPriorityWeightAge=1000\nPriorityWeightFairshare=10000\n\
         PriorityWeightJobSize=1\nPriorityWeightPartition=2\nPriorityWeightQOS=3\nPriorityWeightAssoc=4\n\
         PriorityWeightShort=500\nPriorityWeightTRES=CPU=10,Mem=20,GRES/gpu:A100=30\nPriorityMaxAge=1-0\n\
         PriorityCalcPeriod=00:01:00\nPriorityDecayHalfLife=14-0\nPriorityShortTime=30\nPriorityFavorSmall=YES\n\
         PriorityUsageResetPeriod=monthly\nPriorityFlags=no_normal_qos,ACCRUE_ALWAYS,FAIR_TREE\n",
    );
    let tres = [("cpu", 10), ("gres/gpu:a100", 30), ("mem", 20)];
    let expected = PriorityParameters {
        weight_age: 1_000,
        weight_association: 4,
        weight_fair_share: 10_000,
        weight_job_size: 1,
        weight_partition: 2,
        weight_qos: 3,
        weight_short: 500,
        weight_tres: tres.iter().map(|(name, weight)| (name.to_string(), *weight)).collect(),
        age_max: Seconds(86_400),
        short_time: Seconds(1_800),
        favor_small: true,
        decay_half_life: Seconds(14 * 86_400),
        usage_reset: Some(UsageResetPeriod::Monthly),
        period: Seconds(60),
        flags: vec![PriorityFlag::AccrueAlways, PriorityFlag::NoNormalQos],
    };
    assert_eq!(written, Some(expected));
    // Usage that never fades.
    let never = with("PriorityType=priority/multifactor\nPriorityDecayHalfLife=0\n").unwrap();
    assert_eq!(never.decay_half_life, Seconds(0));
}

#[test]
fn preemption_has_a_type_a_mode_and_what_is_written_beside_them() {
    let with = |lines: &str| faultless(&format!("{SMALL}{lines}")).cluster;
    assert_eq!(with("PreemptType=preempt/none\nPreemptMode=OFF\n").parameters.preemption, None);
    let by_tier = with("PreemptType=preempt/partition_prio\nPreemptMode=cancel\nPreemptExemptTime=-1\n");
    let expected = PreemptionParameters::new(PreemptType::PartitionPrio, PreemptMode::Cancel);
    assert_eq!(by_tier.parameters.preemption, Some(expected));
    let written = with(
        "PreemptType=preempt/qos\nPreemptMode=REQUEUE\nPreemptExemptTime=00:05:00\n\
         PreemptParameters=youngest_first,min_exempt_priority=5000\n\
         PartitionName=idle Nodes=ALL PreemptMode=OFF GraceTime=60\n",
    );
    let expected = PreemptionParameters {
        exempt_time: Seconds(300),
        youngest_first: true,
        exempt_above: Some(5_000),
        ..PreemptionParameters::new(PreemptType::Qos, PreemptMode::Requeue)
    };
    assert_eq!(written.parameters.preemption, Some(expected));
    let of = |partition: &PartitionDefinition| (partition.preempt_mode, partition.grace_time);
    let partitions: Vec<_> = written.partitions.iter().map(of).collect();
    assert_eq!(partitions, [(None, Seconds(0)), (Some(PreemptMode::Off), Seconds(60))]);
}

#[test]
fn what_is_enforced_is_what_slurms_words_imply() {
    use daybook_schemas::node::AccountingEnforcement::{self, *};
    let enforced = |line: &str| {
        let parameters = faultless(&format!("{SMALL}{line}\n")).cluster.parameters;
        (parameters.accounting_enforced, parameters.track_wckeys)
    };
    let table: [(&str, &[AccountingEnforcement], bool); 10] = [
        ("", &[], false),
        ("TrackWCKey=yes", &[], true),
        ("TrackWCKey=no", &[], false),
        ("AccountingStorageEnforce=none", &[], false),
        ("AccountingStorageEnforce=safe", &[Associations, Limits, Safe], false),
        ("AccountingStorageEnforce=wckeys", &[Associations, Wckeys], true),
        ("AccountingStorageEnforce=wckeys\nTrackWCKey=no", &[Associations, Wckeys], true),
        ("AccountingStorageEnforce=nosteps", &[NoSteps], false),
        ("AccountingStorageEnforce=nojobs,qos", &[Associations, Qos, NoJobs, NoSteps], false),
        ("AccountingStorageEnforce=all", &[Associations, Limits, Qos, Safe, Wckeys], true),
    ];
    for (line, all, tracks) in table {
        assert_eq!(enforced(line), (all.to_vec(), tracks), "{line}");
    }
}
