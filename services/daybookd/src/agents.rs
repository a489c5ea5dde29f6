//! Which nodes have their agents in this process, and how those are started.

use std::path::PathBuf;
use std::sync::Arc;

use daybook_agent::{Agent, AgentConfig, AgentHandle, ConfinementConfig};
use daybook_config::Configuration;
use daybook_log::LogHandle;
use daybook_schemas::events::ClusterConfigured;
use daybook_schemas::grammar::hostlist;
use daybook_schemas::node::NodeDefinition;
use daybook_schemas::orders::DesiredSet;
use tokio::sync::watch;

use crate::paths::Paths;

/// The nodes that were asked for; without a wish those that are on this machine. Where this process is the whole cluster
/// (`is_whole`) those are also the ones that are on no machine, or on the loopback address: elsewhere every machine would
/// take them for its own, and a job would run on each.
pub fn nodes_here(
    cluster: &ClusterConfigured,
    asked: Option<&str>,
    is_whole: bool,
) -> Result<Vec<NodeDefinition>, String> {
    let Some(asked) = asked else { return Ok(on_this_machine(cluster, is_whole)) };
    let names = hostlist::expand(asked).map_err(|error| format!("--nodes {asked}: {error}"))?;
    names
        .iter()
        .map(|name| {
            let found = cluster.nodes.iter().find(|node| node.name.as_str() == name);
            found.cloned().ok_or_else(|| format!("--nodes {asked}: slurm.conf has no node {name}"))
        })
        .collect()
}

fn on_this_machine(cluster: &ClusterConfigured, is_whole: bool) -> Vec<NodeDefinition> {
    let here = nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let short = here.split('.').next().unwrap_or(&here).to_string();
    let is_here = |node: &&NodeDefinition| {
        let names = [node.hostname.as_str(), node.address.as_str()];
        let is_everywhere =
            node.simulated || names.iter().any(|name| *name == "localhost" || name.starts_with("127."));
        is_whole && is_everywhere || names.iter().any(|name| *name == here || *name == short)
    };
    cluster.nodes.iter().filter(is_here).cloned().collect()
}

/// The first of this machine's CPUs that is each node's, where its nodes together have no more than it. Simulated ones
/// have none.
pub fn first_cpus(nodes: &[NodeDefinition]) -> Vec<Option<u32>> {
    let real = |node: &NodeDefinition| if node.simulated { 0 } else { node.cpus };
    let in_all = nodes.iter().map(real).fold(0, u32::saturating_add);
    let are_enough = in_all <= daybook_cgroup::MachineCpus::online().count();
    let mut next = 0;
    let first = nodes.iter().map(|node| {
        let first = next;
        next += if are_enough { real(node) } else { 0 };
        are_enough.then_some(first)
    });
    first.collect()
}

/// Starts a node's agent.
pub fn start(
    paths: &Paths,
    configuration: &Configuration,
    node: &NodeDefinition,
    first_cpu: Option<u32>,
    log: LogHandle,
    orders: watch::Receiver<Arc<DesiredSet>>,
) -> Result<AgentHandle, String> {
    let config = AgentConfig {
        node: node.clone(),
        state_dir: paths.nodes().join(node.name.as_str()),
        spool_dir: spool_directory(paths, configuration, node),
        supervisor_binary: sibling("daybook-supervisor")?,
        allow_other_users: nix::unistd::geteuid().is_root(),
        confinement: ConfinementConfig { rules: configuration.daemon.confinement.clone(), first_cpu },
        care: configuration.daemon.care.clone(),
        health: configuration.daemon.health.clone(),
        usage_interval: configuration.daemon.usage_interval,
    };
    Agent::start(config, log, orders).map_err(|error| error.to_string())
}

/// `SlurmdSpoolDir` (with %n and %h) where it is set, else below the state directory.
fn spool_directory(paths: &Paths, configuration: &Configuration, node: &NodeDefinition) -> PathBuf {
    match &configuration.daemon.spool_dir {
        Some(pattern) => pattern.for_node(node.name.as_str(), &node.hostname),
        None => paths.spool().join(node.name.as_str()),
    }
}

/// A program beside this one.
fn sibling(name: &str) -> Result<PathBuf, String> {
    let here = std::env::current_exe().map_err(|error| format!("cannot find my own path: {error}"))?;
    let path = here.with_file_name(name);
    match path.is_file() {
        true => Ok(path),
        false => Err(format!("{} is missing; install it beside daybookd", path.display())),
    }
}
