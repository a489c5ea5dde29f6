//! The site: cluster, nodes, partitions, switches and blocks.

use daybook_schemas::accounts::PreemptMode;
use daybook_schemas::grammar::{billing_weights, license};
use daybook_schemas::job::{MemoryRequest, TimeLimit};
use daybook_schemas::node::{AccountingEnforcement, PartitionDefinition, PartitionState};
use daybook_schemas::preemption::{PreemptType, PreemptionParameters};
use daybook_schemas::topology::{BlockDefinition, SwitchDefinition, Topology};
use daybook_schemas::{Mebibytes, NodeName, Seconds};

use super::super::{node, partition};

use super::accounts::priority_parameters;
use super::{Options, Script};

impl Script {
    pub(super) fn set_cluster(&mut self, options: &mut Options<'_>) -> String {
        self.is_configured = false;
        let parameters = &mut self.parameters;
        if let Some(memory) = options.get("memory") {
            parameters.memory_is_consumed = memory == "on";
        }
        if let Some(order) = options.get("order") {
            parameters.strict_order = order == "strict";
            parameters.backfill_by_expected_time = order == "expected";
        }
        if let Some(weights) = options.get("weights") {
            parameters.priority = Some(priority_parameters(weights, options));
        }
        let enforced = options.list("enforce");
        parameters.accounting_enforced = enforced
            .iter()
            .map(|word| match *word {
                "associations" => AccountingEnforcement::Associations,
                "limits" => AccountingEnforcement::Limits,
                "safe" => AccountingEnforcement::Safe,
                other => panic!("enforce={other}"),
            })
            .collect();
        if let Some(by) = options.get("preempt") {
            let by = if by == "qos" { PreemptType::Qos } else { PreemptType::PartitionPrio };
            let mode = options.get("mode").map_or(PreemptMode::Requeue, preempt_mode);
            parameters.preemption = Some(PreemptionParameters {
                exempt_time: Seconds(options.number("exempt").unwrap_or(0).into()),
                youngest_first: options.get("youngest_first").is_some(),
                exempt_above: options.number("exempt_above"),
                ..PreemptionParameters::new(by, mode)
            });
        }
        parameters.least_loaded |= options.get("lln").is_some();
        if let Some(seconds) = options.number("kill_wait") {
            parameters.kill_wait = Seconds(seconds.into());
        }
        if let Some(licenses) = options.get("licenses") {
            self.licenses = license::parse(licenses).unwrap();
        }
        if let Some(seconds) = options.number("switch_wait") {
            parameters.switch_wait_max = Seconds(seconds.into());
        }
        parameters.kill_invalid_dependency = options.get("kill_invalid_depend").is_some();
        let sizes = options.list("block_sizes");
        self.blocks.sizes = sizes.iter().map(|size| size.parse().unwrap()).collect();
        if let Some(count) = options.number("reservations") {
            parameters.backfill_reservations = count;
        }
        if let Some(count) = options.number("jobs_max") {
            parameters.planner_jobs_max = count;
        }
        if let Some(amount) = options.number("default_mem_per_cpu") {
            parameters.default_memory = Some(MemoryRequest::PerCpu(Mebibytes(amount.into())));
        }
        String::new()
    }

    pub(super) fn set_node(&mut self, name: &str, options: &mut Options<'_>) -> String {
        self.is_configured = false;
        let cpus = options.number("cpus").unwrap_or(8);
        let memory = options.number("mem").unwrap_or(16_000);
        let gpus = options.list("gpus");
        let mut definition = node(name, cpus, memory.into(), &gpus);
        definition.weight = options.number("weight").unwrap_or(1);
        definition.features = options.list("features").into_iter().map(str::to_string).collect();
        definition.sockets = options.number("sockets").unwrap_or(1);
        definition.threads_per_core = options.number("threads").unwrap_or(1);
        definition.cores_per_socket = cpus / definition.sockets / definition.threads_per_core;
        for (gpu, cores) in definition.gpus.iter_mut().zip(options.parts("cores")) {
            gpu.cores = cores.parse().unwrap();
        }
        for (gpu, links) in definition.gpus.iter_mut().zip(options.parts("links")) {
            gpu.links = links.split(',').map(|links| links.parse().unwrap()).collect();
        }
        if options.get("unregistered").is_some() {
            self.unregistered.push(definition.name.clone());
        }
        self.nodes.retain(|node| node.name != definition.name);
        self.nodes.push(definition);
        String::new()
    }

    pub(super) fn set_partition(&mut self, name: &str, options: &mut Options<'_>) -> String {
        self.is_configured = false;
        self.partitions.retain(|partition| partition.name != name);
        self.partitions.push(definition(name, options));
        String::new()
    }

    pub(super) fn connect(&mut self, verb: &str, name: &str, options: &mut Options<'_>) -> String {
        self.is_configured = false;
        let (name, nodes) =
            (name.to_string(), options.list("nodes").into_iter().map(NodeName::from).collect());
        if verb == "block" {
            self.blocks.blocks.push(BlockDefinition { name, nodes });
        } else {
            let switches = options.list("switches").into_iter().map(str::to_string).collect();
            self.switches.push(SwitchDefinition { name, nodes, switches, link_speed: None });
        }
        String::new()
    }

    pub(super) fn topology(&self) -> Option<Topology> {
        let tree = || Topology::Tree(self.switches.clone());
        let is_block = !self.blocks.blocks.is_empty();
        is_block.then(|| Topology::Block(self.blocks.clone())).or((!self.switches.is_empty()).then(tree))
    }
}

/// A partition with the settings given, and the rest as where nothing is said.
pub(super) fn definition(name: &str, options: &mut Options<'_>) -> PartitionDefinition {
    let mut definition = partition(name, &options.list("nodes"));
    if let Some(minutes) = options.number("max_time") {
        definition.max_time = TimeLimit::minutes(minutes);
    }
    definition.default_time = options.number("default_time").map(TimeLimit::minutes);
    definition.min_nodes = options.number("min_nodes").unwrap_or(0);
    definition.max_nodes = options.number("max_nodes");
    definition.priority_tier = options.number("tier").unwrap_or(1);
    definition.exclusive = options.get("exclusive").is_some();
    definition.least_loaded = options.get("lln").is_some();
    definition.preempt_mode = options.get("mode").map(preempt_mode);
    definition.grace_time = Seconds(options.number("grace").unwrap_or(0).into());
    definition.state = match options.get("state") {
        Some("DOWN") => PartitionState::Down,
        Some("DRAIN") => PartitionState::Drain,
        Some("INACTIVE") => PartitionState::Inactive,
        _ => PartitionState::Up,
    };
    let names = |names: Vec<&str>| -> Vec<String> { names.into_iter().map(str::to_string).collect() };
    let allowed = |list: Vec<&str>| (!list.is_empty()).then(|| names(list));
    definition.allow_accounts = allowed(options.list("accounts"));
    definition.deny_accounts = names(options.list("deny_accounts"));
    definition.allow_qos = allowed(options.list("qos"));
    definition.deny_qos = names(options.list("deny_qos"));
    definition.qos = options.get("limits_of").map(str::to_string);
    definition.max_memory_per_node = options.number("max_mem").map(|most| Mebibytes(most.into()));
    definition.billing_weights = options.get("billing").map(|text| billing_weights::parse(text).unwrap());
    definition.default_cpus_per_gpu = options.number("cpus_per_gpu");
    definition
}

pub(super) fn preempt_mode(word: &str) -> PreemptMode {
    match word {
        "off" => PreemptMode::Off,
        "cancel" => PreemptMode::Cancel,
        "suspend" => PreemptMode::Suspend,
        _ => PreemptMode::Requeue,
    }
}
