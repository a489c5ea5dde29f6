//! Who may do what.

use daybook_model::{Cluster, Job};
use daybook_schemas::api::{ApiError, ErrorCode, Peer};

/// The daemon's own standing on this machine.
#[derive(Clone, Copy, Debug)]
pub struct Authority {
    /// The user that the daemon runs as. Unless it is root, it can serve this user only.
    pub daemon_uid: u32,
}

impl Authority {
    /// Refuses whom this daemon cannot serve.
    pub(crate) fn admit(&self, peer: Peer) -> Result<(), ApiError> {
        if self.daemon_uid == 0 || peer.uid == self.daemon_uid || peer.uid == 0 {
            return Ok(());
        }
        Err(ApiError::new(ErrorCode::PermissionDenied, "Access/permission denied").detail(format!(
            "this daybookd runs without root, as user {}, and serves that user only",
            self.daemon_uid
        )))
    }

    /// Whether this is an administrator: root, the daemon's own user, or one named in the configuration.
    pub(crate) fn is_administrator(&self, cluster: &Cluster, uid: u32) -> bool {
        uid == 0
            || uid == self.daemon_uid
            || cluster.configured().is_some_and(|configured| configured.administrators.contains(&uid))
    }

    /// Whether this user may change that job.
    pub(crate) fn may_change(&self, cluster: &Cluster, uid: u32, job: &Job) -> bool {
        job.spec.user.uid == uid || self.is_administrator(cluster, uid)
    }
}

/// What Slurm says to somebody who may not.
pub(crate) fn denied() -> ApiError {
    ApiError::new(ErrorCode::PermissionDenied, "Access/permission denied")
}

/// What Slurm says to somebody who may not change what is somebody else's.
pub(crate) fn not_the_owner() -> ApiError {
    ApiError::new(ErrorCode::PermissionDenied, "Invalid user id")
}
