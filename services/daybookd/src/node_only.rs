//! A process with agents alone: what runs on a compute node.

use daybook_config::Configuration;
use daybook_log::jetstream::NodeLog;
use daybook_schemas::node::NodeDefinition;

use crate::cluster::wait_for_stop;
use crate::log::bus;
use crate::orders;
use crate::paths::Paths;
use crate::{agents, leases};

/// Serves these nodes until TERM or INT.
pub async fn run(
    servers: &str,
    configuration: &Configuration,
    paths: &Paths,
    nodes: &[NodeDefinition],
) -> Result<(), String> {
    if nodes.is_empty() {
        return Err(
            "no node of slurm.conf is on this machine by its name (NodeHostname, NodeAddr); name it with --nodes"
                .to_string(),
        );
    }
    let nats = &configuration.daemon.nats;
    let mut running = Vec::with_capacity(nodes.len());
    for (node, first_cpu) in nodes.iter().zip(agents::first_cpus(nodes)) {
        let in_doubt = daybook_agent::reports_in_doubt(&paths.nodes().join(node.name.as_str()), &node.name);
        // One connection for each: on the bus a node may do only what its own key allows.
        let cluster = &configuration.cluster.cluster_name;
        let log = NodeLog::open(&bus(servers, nats), cluster, node.name.clone(), in_doubt)
            .await
            .map_err(|error| format!("node {}: {error}", node.name))?;
        tokio::spawn(leases::beat_of(log.client().clone(), log.names().clone(), node.name.clone()));
        let sets = orders::follow(log.client().clone(), log.names().clone(), node.name.clone());
        running.push(agents::start(paths, configuration, node, first_cpu, log, sets)?);
    }
    tracing::info!(nodes = nodes.len(), "serving nodes");
    crate::say::ready();
    wait_for_stop().await?;
    tracing::info!("stopping; jobs go on");
    for agent in running {
        agent.stop().await;
    }
    Ok(())
}
