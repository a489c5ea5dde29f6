use daybook_schemas::accounts::PreemptMode;
use daybook_schemas::events::{
    ClusterConfigured, ConfigurationSource, LogDurabilityDeclared, LogSync, LogVersionBarrier, NodeLeaseLost,
    NodeLeaseRegained, NodeRegistered, NodeTimedOut, NodeUpdated, PartitionDeleted, PartitionUpdated,
};
use daybook_schemas::grammar::billing_weights;
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::{MemoryRequest, TimeLimit};
use daybook_schemas::license::License;
use daybook_schemas::node::{
    AccountingEnforcement, ClusterParameters, GpuDevice, InitialNodeState, NodeDefinition, NodeUpdateState,
    PartitionDefinition, PartitionState, ReturnToService,
};
use daybook_schemas::preemption::{PreemptType, PreemptionParameters};
use daybook_schemas::priority::{PriorityFlag, PriorityParameters, UsageResetPeriod};
use daybook_schemas::topology::{BlockDefinition, BlockTopology, SwitchDefinition, Topology};
use daybook_schemas::{BlobHash, Body, Mebibytes, NodeName, Seconds, Subject};

use super::instant;

pub fn configured() -> (Subject, Body, Body) {
    let minimal = ClusterConfigured {
        cluster_name: "home".to_string(),
        config_hash: "a0".repeat(32),
        parameters: plain_parameters(),
        ..ClusterConfigured::default()
    };
    (Subject::Admin, full_configuration().into(), minimal.into())
}

/// The full sample with the other kind of network.
pub fn configured_with_blocks() -> Body {
    let block = BlockDefinition { name: "b1".to_string(), nodes: vec![NodeName::from("gpu01")] };
    let topology = Topology::Block(BlockTopology { blocks: vec![block], sizes: vec![1, 2] });
    ClusterConfigured { topology: Some(topology), ..full_configuration() }.into()
}

fn full_configuration() -> ClusterConfigured {
    ClusterConfigured {
        cluster_name: "tx".to_string(),
        config_hash: "0f".repeat(32),
        nodes: vec![full_node(), plain_node()],
        partitions: vec![full_partition(), plain_partition()],
        parameters: ClusterParameters {
            default_memory: Some(MemoryRequest::PerCpu(Mebibytes(500))),
            switch_wait_max: Seconds(60),
            priority: Some(full_priority()),
            preemption: Some(PreemptionParameters {
                by: PreemptType::Qos,
                mode: PreemptMode::Requeue,
                gang: true,
                exempt_time: Seconds(300),
                youngest_first: true,
                exempt_above: Some(50_000),
            }),
            suspend_grace: Seconds(5),
            return_to_service: ReturnToService::UnlessRebooted,
            kill_invalid_dependency: true,
            enable_user_top: true,
            enforce_partition_limits: true,
            one_partition_suffices: true,
            max_memory_per_node: Some(Mebibytes(128_000)),
            accounting_enforced: vec![
                AccountingEnforcement::Associations,
                AccountingEnforcement::Qos,
                AccountingEnforcement::Wckeys,
                AccountingEnforcement::NoJobs,
                AccountingEnforcement::NoSteps,
            ],
            track_wckeys: true,
            least_loaded: true,
            ..plain_parameters()
        },
        administrators: vec![64030],
        topology: Some(full_topology()),
        licenses: vec![License { name: "matlab".to_string(), count: 10 }],
        sources: vec![ConfigurationSource {
            name: "slurm.conf".to_string(),
            hash: BlobHash::of(b"ClusterName=tx\n"),
        }],
    }
}

fn plain_parameters() -> ClusterParameters {
    ClusterParameters {
        kill_wait: Seconds(30),
        min_job_age: Seconds(300),
        max_array_size: 1001,
        max_job_count: 10_000,
        first_job_id: 1,
        default_memory: None,
        memory_is_consumed: true,
        least_loaded: false,
        enforce_partition_limits: false,
        one_partition_suffices: false,
        max_memory_per_node: None,
        job_requeue: true,
        node_timeout: Seconds(300),
        over_time_limit_minutes: 0,
        backfill_reservations: 1,
        planner_jobs_max: 1000,
        switch_wait_max: Seconds(300),
        strict_order: true,
        return_to_service: ReturnToService::Always,
        kill_invalid_dependency: false,
        enable_user_top: false,
        backfill_by_expected_time: true,
        accounting_enforced: Vec::new(),
        track_wckeys: false,
        priority: None,
        preemption: None,
        suspend_grace: Seconds(2),
    }
}

fn full_priority() -> PriorityParameters {
    PriorityParameters {
        weight_age: 1_000,
        weight_association: 10,
        weight_fair_share: 10_000,
        weight_job_size: 1_001,
        weight_partition: 1_002,
        weight_qos: 10_003,
        weight_short: 2_000,
        weight_tres: [("cpu".to_string(), 5), ("gres/gpu:a100".to_string(), 3_000)].into(),
        age_max: Seconds(86_400),
        short_time: Seconds(1_800),
        favor_small: true,
        decay_half_life: Seconds(1_209_600),
        usage_reset: Some(UsageResetPeriod::Monthly),
        period: Seconds(60),
        flags: PriorityFlag::ALL.iter().map(|(_, flag)| *flag).collect(),
    }
}

fn full_topology() -> Topology {
    Topology::Tree(vec![
        SwitchDefinition {
            name: "leaf1".to_string(),
            nodes: vec![NodeName::from("gpu01"), NodeName::from("node01")],
            link_speed: Some(100),
            ..SwitchDefinition::default()
        },
        SwitchDefinition {
            name: "top".to_string(),
            switches: vec!["leaf1".to_string()],
            ..SwitchDefinition::default()
        },
    ])
}

fn full_gpu() -> GpuDevice {
    GpuDevice {
        index: 0,
        uuid: "GPU-6f1a7c52-0001".into(),
        gpu_type: "a100".to_string(),
        file: Some("/dev/nvidia0".to_string()),
        cores: IndexSet::range(0, 2),
        links: vec![0, 4],
    }
}

fn full_node() -> NodeDefinition {
    NodeDefinition {
        name: NodeName::from("gpu01"),
        hostname: "vm".to_string(),
        address: "192.0.2.7".to_string(),
        cpus: 8,
        boards: 1,
        sockets: 1,
        cores_per_socket: 4,
        threads_per_core: 2,
        memory: Mebibytes(16_000),
        tmp_disk: Mebibytes(100),
        weight: 10,
        features: vec!["intel".to_string(), "avx512".to_string()],
        gpus: vec![full_gpu()],
        gres: "gpu:a100:1".to_string(),
        simulated: true,
        initial: Some(InitialNodeState { state: NodeUpdateState::Drain, reason: "new".to_string() }),
    }
}

fn plain_node() -> NodeDefinition {
    NodeDefinition {
        name: NodeName::from("node01"),
        features: Vec::new(),
        gpus: vec![GpuDevice {
            gpu_type: String::new(),
            file: None,
            cores: IndexSet::new(),
            links: Vec::new(),
            ..full_gpu()
        }],
        gres: String::new(),
        simulated: false,
        initial: None,
        ..full_node()
    }
}

fn full_partition() -> PartitionDefinition {
    PartitionDefinition {
        name: "gpu".to_string(),
        nodes: vec![NodeName::from("gpu01")],
        nodes_text: "gpu01".to_string(),
        default: false,
        state: PartitionState::Drain,
        max_time: TimeLimit::minutes(1440),
        default_time: Some(TimeLimit::minutes(60)),
        min_nodes: 1,
        max_nodes: Some(2),
        priority_tier: 10,
        priority_job_factor: 5,
        allow_accounts: Some(vec!["ml".to_string()]),
        deny_accounts: vec!["guests".to_string()],
        allow_groups: Some(vec!["staff".to_string()]),
        root_only: true,
        hidden: true,
        exclusive: true,
        least_loaded: true,
        default_memory: Some(MemoryRequest::PerGpu(Mebibytes(8_000))),
        allow_qos: Some(vec!["high".to_string()]),
        deny_qos: vec!["low".to_string()],
        submit_hosts: Some(vec!["login1".to_string()]),
        no_root_jobs: true,
        default_cpus_per_gpu: Some(4),
        max_memory_per_node: Some(Mebibytes(64_000)),
        qos: Some("gpuqos".to_string()),
        preempt_mode: Some(PreemptMode::Cancel),
        grace_time: Seconds(30),
        billing_weights: Some(billing_weights::parse("CPU=1.0,Mem=0.25G,GRES/gpu=2.0").expect("weights")),
    }
}

pub fn partition_updated() -> (Subject, Body, Body) {
    let full = PartitionUpdated { partition: full_partition() };
    let minimal = PartitionUpdated { partition: plain_partition() };
    (Subject::Jobs, full.into(), minimal.into())
}

pub fn partition_deleted() -> (Subject, Body, Body) {
    let deleted = PartitionDeleted { name: "gpu".to_string() };
    (Subject::Jobs, deleted.clone().into(), deleted.into())
}

fn plain_partition() -> PartitionDefinition {
    PartitionDefinition {
        name: "main".to_string(),
        nodes: vec![NodeName::from("gpu01"), NodeName::from("node01")],
        nodes_text: "ALL".to_string(),
        default: true,
        state: PartitionState::Up,
        max_time: TimeLimit::Unlimited,
        default_time: None,
        min_nodes: 0,
        max_nodes: None,
        priority_tier: 1,
        priority_job_factor: 1,
        allow_accounts: None,
        deny_accounts: Vec::new(),
        allow_groups: None,
        root_only: false,
        hidden: false,
        exclusive: false,
        default_memory: None,
        ..PartitionDefinition::new("main", Vec::new())
    }
}

pub fn version_barrier() -> (Subject, Body, Body) {
    let full = LogVersionBarrier { format_version: 2, reason: "runs are measured in slices".to_string() };
    let minimal = LogVersionBarrier { format_version: 1, reason: String::new() };
    (Subject::Admin, full.into(), minimal.into())
}

pub fn durability_declared() -> (Subject, Body, Body) {
    let full = LogDurabilityDeclared {
        backend: "nats".to_string(),
        sync: LogSync::Always,
        replicas: 3,
        server_version: Some("2.12.1".to_string()),
    };
    let minimal = LogDurabilityDeclared {
        backend: "embedded".to_string(),
        sync: LogSync::Always,
        replicas: 1,
        server_version: None,
    };
    (Subject::Admin, full.into(), minimal.into())
}

pub fn node_lease_lost() -> (Subject, Body, Body) {
    let lost = NodeLeaseLost { node: NodeName::from("gpu01"), last_heard: instant(-10) };
    (Subject::Plan, lost.clone().into(), lost.into())
}

pub fn node_lease_regained() -> (Subject, Body, Body) {
    let regained = NodeLeaseRegained { node: NodeName::from("gpu01") };
    (Subject::Plan, regained.clone().into(), regained.into())
}

pub fn node_timed_out() -> (Subject, Body, Body) {
    let gone =
        NodeTimedOut { node: NodeName::from("gpu01"), last_evidence: instant(-300), waited: Seconds(300) };
    (Subject::Plan, gone.clone().into(), gone.into())
}

pub fn node_registered() -> (Subject, Body, Body) {
    let full = NodeRegistered {
        node: NodeName::from("gpu01"),
        boot_id: "2f7e9c1a-58b4-4d0e-9a55-6d0f3a1c2b77".to_string(),
        cpus: 8,
        memory: Mebibytes(16_000),
        gpus: vec![full_gpu()],
        agent_version: "0.1.0".to_string(),
        operating_system: "Linux 6.1.0".to_string(),
        architecture: "x86_64".to_string(),
        unconfined: Some("devices cannot be held (cgroup v1)".to_string()),
    };
    let minimal = NodeRegistered {
        node: NodeName::from("node01"),
        boot_id: String::new(),
        cpus: 1,
        gpus: Vec::new(),
        unconfined: None,
        ..full.clone()
    };
    (Subject::Node(NodeName::from("gpu01")), full.into(), minimal.into())
}

pub fn node_updated() -> (Subject, Body, Body) {
    let node = NodeName::from("gpu01");
    let full = NodeUpdated {
        node: node.clone(),
        state: Some(NodeUpdateState::Down),
        reason: Some("fan \"2\" broken, grüße".to_string()),
        weight: Some(7),
        features: Some(vec!["intel".to_string(), "avx512".to_string()]),
        active_features: Some(vec!["avx512".to_string()]),
        comment: Some("hi there".to_string()),
        extra: Some("rack=4".to_string()),
    };
    let minimal = NodeUpdated::new(node, None, None);
    (Subject::Admin, full.into(), minimal.into())
}
