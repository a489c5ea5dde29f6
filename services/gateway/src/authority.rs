//! Who may do what.

use std::sync::Arc;

use daybook_model::{Cluster, Job};
use daybook_schemas::accounts::AdminLevel;
use daybook_schemas::api::{ApiError, ErrorCode, Peer};

/// The daemon's own standing on this machine; while a request is decided also the name of who asks.
#[derive(Clone, Debug)]
pub struct Authority {
    daemon_uid: u32,
    asker: Option<Arc<str>>,
}

impl Authority {
    /// Of a daemon that runs as this user. Unless it is root, it can serve this user only.
    pub fn of_daemon(daemon_uid: u32) -> Authority {
        Authority { daemon_uid, asker: None }
    }

    /// The user that the daemon runs as.
    pub fn daemon_uid(&self) -> u32 {
        self.daemon_uid
    }

    /// The same while this user asks; the accounts know users by name.
    pub(crate) fn asked_by(&self, name: &str) -> Authority {
        Authority { asker: Some(Arc::from(name.to_ascii_lowercase())), ..self.clone() }
    }

    /// The name of who asks, as the accounts write it.
    pub(crate) fn asker(&self) -> Option<&str> {
        self.asker.as_deref()
    }

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

    fn level(&self, cluster: &Cluster) -> AdminLevel {
        self.asker().map_or(AdminLevel::None, |name| cluster.accounts().level_of(name))
    }

    /// Whether this is an administrator: root, the daemon's own user, one named in the configuration, or one of whom the
    /// accounts say so.
    pub(crate) fn is_administrator(&self, cluster: &Cluster, uid: u32) -> bool {
        uid == 0
            || uid == self.daemon_uid
            || cluster.configured().is_some_and(|configured| configured.administrators.contains(&uid))
            || self.level(cluster) == AdminLevel::Administrator
    }

    /// Whether this is an operator or an administrator: who may change everybody's jobs, and the accounts.
    pub(crate) fn is_operator(&self, cluster: &Cluster, uid: u32) -> bool {
        self.level(cluster) >= AdminLevel::Operator || self.is_administrator(cluster, uid)
    }

    /// Whether who asks coordinates the account, or one above it.
    pub(crate) fn coordinates(&self, cluster: &Cluster, account: &str) -> bool {
        self.asker().is_some_and(|name| cluster.accounts().is_coordinator(name, account))
    }

    /// Whether this user may change that job: its owner, an operator, a coordinator of its account.
    pub(crate) fn may_change(&self, cluster: &Cluster, uid: u32, job: &Job) -> bool {
        job.spec.user.uid == uid || self.is_operator(cluster, uid) || self.coordinates(cluster, &job.account)
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
