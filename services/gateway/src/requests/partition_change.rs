use daybook_config::change_partition;
use daybook_model::Cluster;
use daybook_schemas::api::{ApiError, ErrorCode, PartitionChange, PartitionDeletion, Peer};
use daybook_schemas::events::{ClusterConfigured, PartitionDeleted, PartitionUpdated};
use daybook_schemas::job::JobState;
use daybook_schemas::node::PartitionDefinition;

use super::{Decided, Decision};
use crate::authority::Authority;

/// `POST /v1/partitions/create`.
pub(crate) struct CreatePartition(pub(crate) PartitionChange);
/// `POST /v1/partitions/update`.
pub(crate) struct UpdatePartition(pub(crate) PartitionChange);
/// `POST /v1/partitions/delete`.
pub(crate) struct DeletePartition(pub(crate) PartitionDeletion);

impl CreatePartition {
    pub(super) fn decide(&self, cluster: &Cluster, authority: &Authority, peer: Peer) -> Decision {
        let configured = admitted(cluster, authority, peer)?;
        let name = &self.0.name;
        let is_a_word = !name.is_empty() && !name.contains([',', ' ', '"', '/', '=']);
        if !is_a_word || name.eq_ignore_ascii_case("DEFAULT") {
            return Err(
                no_such_partition().detail(format!("\"{name}\" is no name of a partition: use one word"))
            );
        }
        if cluster.partition(name).is_some() {
            return Err(no_such_partition().detail(format!("partition {name} is there already: update it")));
        }
        changed(configured, PartitionDefinition::new(name, Vec::new()), &self.0)
    }
}

impl UpdatePartition {
    pub(super) fn decide(&self, cluster: &Cluster, authority: &Authority, peer: Peer) -> Decision {
        let configured = admitted(cluster, authority, peer)?;
        let partition = cluster.partition(&self.0.name).ok_or_else(no_such_partition)?;
        changed(configured, PartitionDefinition::clone(partition), &self.0)
    }
}

impl DeletePartition {
    pub(super) fn decide(&self, cluster: &Cluster, authority: &Authority, peer: Peer) -> Decision {
        admitted(cluster, authority, peer)?;
        let name = &self.0.name;
        cluster.partition(name).ok_or_else(no_such_partition)?;
        let uses = |job: &daybook_model::Job| match job.state {
            state if state.is_ended() => false,
            JobState::Pending => job.may_start_in(name),
            // As in Slurm only where it runs counts; it may come back to the others that are left then.
            _ => *job.partition == **name,
        };
        if cluster.jobs().values().any(|job| uses(job)) {
            return Err(ApiError::new(ErrorCode::InUse, "Partition is in use"));
        }
        Ok((Decided::default(), vec![PartitionDeleted { name: name.clone() }.into()]))
    }
}

fn admitted<'a>(
    cluster: &'a Cluster,
    authority: &Authority,
    peer: Peer,
) -> Result<&'a ClusterConfigured, ApiError> {
    if !authority.is_administrator(cluster, peer.uid) {
        return Err(ApiError::new(ErrorCode::PermissionDenied, "Invalid user id"));
    }
    let configured = cluster.configured().map(|configured| &**configured);
    configured.ok_or_else(|| ApiError::new(ErrorCode::NotReady, "the cluster is not configured yet"))
}

fn no_such_partition() -> ApiError {
    ApiError::new(ErrorCode::InvalidPartition, "Invalid partition name specified")
}

fn changed(
    configured: &ClusterConfigured,
    partition: PartitionDefinition,
    asked: &PartitionChange,
) -> Decision {
    let settings: Vec<(String, String)> =
        asked.settings.iter().map(|setting| (setting.key.clone(), setting.value.clone())).collect();
    let nodes = configured.nodes.iter();
    match change_partition(partition, &settings, nodes) {
        Ok(partition) => Ok((Decided::default(), vec![PartitionUpdated { partition }.into()])),
        Err(refused) => {
            let error = ApiError::new(ErrorCode::InvalidRequest, "Invalid argument");
            let line = |what: String, remedy: String| match remedy.is_empty() {
                true => what,
                false => format!("{what}; {}", remedy.replace('\n', "; ")),
            };
            let lines = refused.into_iter().map(|fault| line(fault.what, fault.remedy));
            Err(lines.fold(error, ApiError::detail))
        }
    }
}
