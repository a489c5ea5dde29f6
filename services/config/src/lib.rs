//! The configuration of a cluster: `slurm.conf`, `gres.conf`, `topology.conf` and `daybook.toml`, read and checked.
//!
//! [`load`] reads a directory and gives the `cluster.configured` event, the daemon's own settings, and every
//! fault with its place and its remedy. A setting that Slurm knows and Daybook does not support is a warning;
//! one that only Slurm's own daemons need is listed in [`Loaded::not_needed`]; one that nobody knows is an error.
//! Without a `slurm.conf` the machine describes itself as a cluster of one node.
//!
//! Used by the daemon and by `daybook check`. `docs/configuration.md` is the page for people;
//! `docs/slurm-conf.md` is made from the tables here ([`settings`]).

mod catalogue;
mod cgroup_conf;
mod change;
mod daybook_toml;
mod diagnostic;
mod files;
mod gpus;
mod gres_conf;
mod gres_text;
mod keys;
mod lines;
mod local_cluster;
mod machine;
#[cfg(test)]
mod manual;
mod public_nkey;
mod settings;
mod slurm_conf;
mod topology_conf;
mod values;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use daybook_cgroup::Rules;
use daybook_schemas::canonical::{self, CanonicalError};
use daybook_schemas::events::ClusterConfigured;
use daybook_schemas::grammar::hostlist;
use daybook_schemas::license::License;
use daybook_schemas::node::{ClusterParameters, NodeDefinition, PartitionDefinition};
use daybook_schemas::topology::Topology;
use daybook_supervisor::health::HealthCheck;
use daybook_supervisor::records::Care;
use serde::Serialize;

pub use catalogue::{Setting, SettingGroup, SettingStanding, settings};
pub use change::{RefusedSetting, change_partition, is_partition_key};
pub use diagnostic::{Diagnostic, Severity};
pub use machine::{CpuTopology, FoundGpu, LocalMachine, Machine, gpu_type};
use settings::NODE_LEASE;
pub use settings::{DaemonSettings, LogBackend, NatsSettings, RelaySettings, SpoolDir};

use daybook_toml::{DAYBOOK_TOML, DaybookToml};
use diagnostic::{Findings, Place, did_you_mean};
use files::Files;
use gres_conf::GRES_CONF;
use machine::is_here;
use slurm_conf::nodes::Node;
use slurm_conf::parameters::{self, Parameters};
use slurm_conf::{SLURM_CONF, SlurmConf, node_state, nodes, partitions};
use topology_conf::TOPOLOGY_CONF;

/// A configuration that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// The event that puts it in force.
    pub cluster: ClusterConfigured,
    /// What only the daemon needs.
    pub daemon: DaemonSettings,
}

/// What reading a configuration directory gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Absent if there is an error among the diagnostics.
    pub configuration: Option<Configuration>,
    /// Every fault, by file and line.
    pub diagnostics: Vec<Diagnostic>,
    /// Parameters that concern only Slurm's own daemons and were passed over, sorted.
    pub not_needed: Vec<String>,
}

/// Other files of Slurm that a directory may hold, and what they would be for.
const OTHER_FILES: [(&str, &str); 6] = [
    ("acct_gather.conf", "sampling by Slurm's plugins"),
    ("burst_buffer.conf", "burst buffers"),
    ("job_container.conf", "private temporary directories of jobs"),
    ("oci.conf", "OCI containers"),
    ("plugstack.conf", "SPANK plugins"),
    ("topology.yaml", "several topologies in one cluster"),
];

/// Reads the configuration in a directory, for this machine. Reads files and nothing else; never fails: what is
/// wrong is in the diagnostics.
pub fn load(directory: &Path, machine: &dyn Machine) -> Loaded {
    let mut findings = Findings::default();
    let mut files = Files::new(directory);
    let described = match directory.read_dir() {
        Ok(_) => describe(&mut files, machine, &mut findings),
        Err(error) => {
            let place = Place::file(&directory.to_string_lossy());
            let remedy = "give a directory; an empty one describes this machine as a cluster of one node";
            findings.error(&place, format!("the directory cannot be read: {error}"), remedy);
            None
        }
    };
    let names = files.names();
    let configuration = described.and_then(|described| described.finish(files, &mut findings));
    let (diagnostics, not_needed) = findings.finish(&names);
    let usable = diagnostics.iter().all(|fault| fault.severity != Severity::Error);
    Loaded { configuration: configuration.filter(|_| usable), diagnostics, not_needed }
}

/// A cluster without the files that it came from.
struct Described {
    cluster_name: String,
    nodes: Vec<NodeDefinition>,
    partitions: Vec<PartitionDefinition>,
    topology: Option<Topology>,
    licenses: Vec<License>,
    parameters: ClusterParameters,
    administrators: Vec<u32>,
    daemon: DaemonSettings,
}

fn describe(files: &mut Files, machine: &dyn Machine, findings: &mut Findings) -> Option<Described> {
    for (name, about) in OTHER_FILES {
        if files.has(name) {
            findings.without_effect(&Place::file(name), name, about);
        }
    }
    if !files.has(SLURM_CONF) {
        return Some(from_machine(files, machine, findings));
    }
    let conf = slurm_conf::read(files, findings);
    let gres = gres_conf::read(files, findings);
    let toml = daybook_toml::read(files, findings);
    // Without nodes everything else would only seem wrong.
    let conf = conf?;
    let parameters = parameters::parameters(&conf, machine, findings);
    let mut nodes = nodes::nodes(&conf.nodes, findings);
    node_state::apply_down_nodes(&conf.down_nodes, &mut nodes, findings);
    report_absence(&conf, &nodes, findings);
    mark_simulated(&toml, &mut nodes, findings);
    report_coarse_cpus(&parameters, &nodes, findings);
    report_gres_types(&parameters, &nodes, findings);
    gpus::assign(&mut nodes, gres.as_ref(), machine, findings);
    let named = partitions::Named::new(nodes.iter().map(|node| &node.definition), &conf.node_sets, findings);
    let partitions = partitions::partitions(&conf.partitions, &named, parameters.whole_nodes, findings);
    let topology = topology_conf::read(files, &conf, &named, findings);
    let confinement = cgroup_conf::read(files, Some(&conf), &toml, findings);
    let care = Care { slurm_conf: files.absolute(SLURM_CONF), ..slurm_conf::care::care(&conf, findings) };
    let around = Around {
        confinement,
        care,
        health: slurm_conf::health::health_check(&conf, findings),
        usage_interval: slurm_conf::usage::interval(&conf, findings),
    };
    let daemon = daemon_settings(&toml, parameters.spool_dir.as_ref(), around, &nodes, machine, findings);
    Some(Described {
        cluster_name: parameters.cluster_name,
        nodes: nodes.into_iter().map(|node| node.definition).collect(),
        partitions,
        topology,
        licenses: parameters.licenses,
        parameters: with_planner(parameters.cluster, &toml),
        administrators: parameters.administrators,
        daemon,
    })
}

/// The machine as a cluster of one node.
fn from_machine(files: &mut Files, machine: &dyn Machine, findings: &mut Findings) -> Described {
    if files.has(GRES_CONF) {
        let remedy = "the GPUs that the driver finds are used; write a slurm.conf to declare others";
        findings.warning(&Place::file(GRES_CONF), "gres.conf is not read without a slurm.conf", remedy);
    }
    if files.has(TOPOLOGY_CONF) {
        let remedy = "one node has no network; write a slurm.conf to describe several";
        let what = "topology.conf is not read without a slurm.conf";
        findings.warning(&Place::file(TOPOLOGY_CONF), what, remedy);
    }
    let toml = daybook_toml::read(files, findings);
    let place = Place::file(SLURM_CONF);
    let definition = local_cluster::node(machine);
    let mut nodes = vec![Node { definition, place: place.clone(), gres: Vec::new(), gres_place: place }];
    mark_simulated(&toml, &mut nodes, findings);
    let confinement = cgroup_conf::read(files, None, &toml, findings);
    let around = Around {
        confinement,
        care: Care::default(),
        health: HealthCheck::default(),
        usage_interval: Some(settings::USAGE_INTERVAL),
    };
    let daemon = daemon_settings(&toml, None, around, &nodes, machine, findings);
    let nodes: Vec<NodeDefinition> = nodes.into_iter().map(|node| node.definition).collect();
    Described {
        cluster_name: parameters::CLUSTER_NAME.to_string(),
        partitions: nodes.iter().map(|node| local_cluster::partition(&node.name)).collect(),
        nodes,
        topology: None,
        licenses: Vec::new(),
        parameters: with_planner(parameters::defaults(), &toml),
        administrators: Vec::new(),
        daemon,
    }
}

/// `[planner]` goes before what `SchedulerParameters` says.
fn with_planner(mut parameters: ClusterParameters, toml: &DaybookToml) -> ClusterParameters {
    if let Some(reservations) = toml.backfill_reservations {
        parameters.backfill_reservations = reservations;
    }
    if let Some(is_by_expected_time) = toml.backfill_by_expected_time {
        parameters.backfill_by_expected_time = is_by_expected_time;
    }
    if let Some(jobs) = toml.jobs_max {
        parameters.planner_jobs_max = jobs;
    }
    parameters
}

fn report_absence(conf: &SlurmConf, nodes: &[Node], findings: &mut Findings) {
    let place = Place::file(SLURM_CONF);
    if nodes.is_empty() && !conf.nodes.iter().any(|record| !record.name.value.eq_ignore_ascii_case("DEFAULT"))
    {
        let remedy = "add a line such as NodeName=node[01-04] CPUs=64 RealMemory=256000";
        findings.error(&place, "there is no node", remedy);
    }
    if !conf.partitions.iter().any(|record| !record.name.value.eq_ignore_ascii_case("DEFAULT")) {
        let remedy = "add a line such as PartitionName=main Nodes=ALL Default=YES";
        findings.error(&place, "there is no partition", remedy);
    }
}

fn mark_simulated(toml: &DaybookToml, nodes: &mut [Node], findings: &mut Findings) {
    let index: BTreeMap<String, usize> =
        nodes.iter().enumerate().map(|(at, node)| (node.definition.name.to_string(), at)).collect();
    for entry in &toml.simulated {
        let mut unknown: Vec<&str> = Vec::new();
        for name in &entry.nodes {
            match index.get(name) {
                Some(&at) => nodes[at].definition.simulated = entry.simulated,
                None => unknown.push(name),
            }
        }
        if let [first, ..] = unknown.as_slice() {
            let known = index.keys().map(String::as_str).filter(|_| unknown.len() == 1);
            let remedy = did_you_mean(first, known, "add them to slurm.conf, or remove them here");
            let what = format!("the cluster has no such node: {}", hostlist::compress(unknown));
            findings.error(&entry.place, what, remedy);
        }
    }
}

/// CPUs are given out one by one; that differs from `CR_Core` where a core has several of them.
fn report_coarse_cpus(parameters: &Parameters, nodes: &[Node], findings: &mut Findings) {
    let Some(pair) = &parameters.coarse_cpus else { return };
    let by_socket = pair.value.to_ascii_lowercase().contains("socket");
    let differs = |node: &Node| {
        let NodeDefinition { cpus, sockets, cores_per_socket, .. } = node.definition;
        cpus > if by_socket { sockets } else { sockets.saturating_mul(cores_per_socket) }
    };
    if let Some(node) = nodes.iter().find(|node| differs(node)) {
        let unit = if by_socket { "socket" } else { "core" };
        let what = format!("{}: CPUs are given out one by one, not by the {unit}", pair.text());
        let remedy = format!(
            "jobs may share a {unit} of {}, for example; CR_CPU says what happens",
            node.definition.name
        );
        findings.warning(&pair.place, what, remedy);
    }
}

fn report_gres_types(parameters: &Parameters, nodes: &[Node], findings: &mut Findings) {
    let named = parameters.gres_types.iter().flatten().any(|name| name == "gpu");
    if let Some(node) = nodes.iter().find(|node| !node.gres.is_empty() && !named) {
        let what = format!("{} has GPUs, and GresTypes does not name gpu", node.definition.name);
        findings.warning(&node.gres_place, what, "they are used; Slurm itself needs GresTypes=gpu");
    }
}

/// What agents do around each run, and for their nodes.
struct Around {
    confinement: Rules,
    care: Care,
    health: HealthCheck,
    usage_interval: Option<Duration>,
}

fn daemon_settings(
    toml: &DaybookToml,
    slurmd_spool_dir: Option<&lines::Pair>,
    Around { confinement, care, health, usage_interval }: Around,
    nodes: &[Node],
    machine: &dyn Machine,
    findings: &mut Findings,
) -> DaemonSettings {
    let toml_place = Place::file(DAYBOOK_TOML);
    let spool_dir = match (&toml.spool_dir, slurmd_spool_dir) {
        (Some(directory), _) => Some((directory.clone(), "spool_dir", &toml_place)),
        (None, Some(pair)) if !pair.value.starts_with('/') => {
            let what = format!("{} is no absolute path", pair.text());
            findings.error(&pair.place, what, "such as SlurmdSpoolDir=/var/spool/daybook/%n");
            None
        }
        (None, Some(pair)) => Some((SpoolDir::new(&pair.value), "SlurmdSpoolDir", &pair.place)),
        (None, None) => None,
    };
    let here = |node: &&Node| !node.definition.simulated && is_here(machine, &node.definition.hostname);
    if let Some((directory, key, place)) = &spool_dir
        && directory.is_shared()
        && nodes.iter().filter(here).count() > 1
    {
        let what = format!("{key} is the same for several nodes on this machine");
        findings.error(place, what, "put %n, the node's name, into it");
    }
    DaemonSettings {
        spool_dir: spool_dir.map(|(directory, _, _)| directory),
        socket: toml.socket.clone(),
        node_lease: toml.node_lease.map_or(NODE_LEASE, |seconds| Duration::from_secs(seconds.into())),
        log: toml.log,
        nats: toml.nats.clone(),
        relays: toml.relays.clone(),
        confinement,
        care,
        health,
        usage_interval,
    }
}

impl Described {
    /// The configuration with its hash; `None` if it cannot be hashed, with the reason reported.
    fn finish(self, files: Files, findings: &mut Findings) -> Option<Configuration> {
        let mut cluster = ClusterConfigured {
            cluster_name: self.cluster_name,
            config_hash: String::new(),
            nodes: self.nodes,
            partitions: self.partitions,
            parameters: self.parameters,
            administrators: self.administrators,
            topology: self.topology,
            licenses: self.licenses,
            sources: files.into_sources(),
        };
        match config_hash(&cluster) {
            Ok(hash) => cluster.config_hash = hash,
            Err(error) => {
                findings.error(&Place::file(SLURM_CONF), format!("it has no hash: {error}"), "");
                return None;
            }
        }
        Some(Configuration { cluster, daemon: self.daemon })
    }
}

/// The hash of what a configuration means: of the event without `config_hash` and `sources`. Comments, the order
/// of keys, and the files that lines stand in do not change it.
pub fn config_hash(cluster: &ClusterConfigured) -> Result<String, CanonicalError> {
    #[derive(Serialize)]
    struct Meaning<'a> {
        cluster_name: &'a str,
        nodes: &'a [NodeDefinition],
        partitions: &'a [PartitionDefinition],
        parameters: &'a ClusterParameters,
        administrators: &'a [u32],
        #[serde(skip_serializing_if = "Option::is_none")]
        topology: Option<&'a Topology>,
        #[serde(skip_serializing_if = "<[License]>::is_empty")]
        licenses: &'a [License],
    }
    canonical::hash(&Meaning {
        cluster_name: &cluster.cluster_name,
        nodes: &cluster.nodes,
        partitions: &cluster.partitions,
        parameters: &cluster.parameters,
        administrators: &cluster.administrators,
        topology: cluster.topology.as_ref(),
        licenses: &cluster.licenses,
    })
}
