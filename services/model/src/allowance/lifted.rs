//! Limits of a partition that do not hold for the jobs of a QOS.

use std::borrow::Cow;

use daybook_schemas::accounts::QosFlag;
use daybook_schemas::job::TimeLimit;
use daybook_schemas::node::PartitionDefinition;

use crate::cluster::Cluster;

/// Which limits a QOS lifts, by its flags `PartitionTimeLimit`, `PartitionMaxNodes` and `PartitionMinNodes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lifted {
    /// `MaxTime`.
    pub time: bool,
    /// `MaxNodes`.
    pub max_nodes: bool,
    /// `MinNodes`.
    pub min_nodes: bool,
}

impl Lifted {
    /// Whether any is.
    pub fn any(self) -> bool {
        self.time || self.max_nodes || self.min_nodes
    }

    /// The partition as it is for such jobs.
    pub fn of(self, partition: &PartitionDefinition) -> Cow<'_, PartitionDefinition> {
        if !self.any() {
            return Cow::Borrowed(partition);
        }
        let mut partition = partition.clone();
        if self.time {
            // A default that was the limit stays what jobs get that ask for none.
            partition.default_time = Some(partition.default_time.unwrap_or(partition.max_time));
            partition.max_time = TimeLimit::Unlimited;
        }
        if self.max_nodes {
            partition.max_nodes = None;
        }
        if self.min_nodes {
            partition.min_nodes = 0;
        }
        Cow::Owned(partition)
    }
}

impl Cluster {
    /// What a QOS lifts; nothing where limits are not enforced.
    pub fn lifted(&self, qos: &str) -> Lifted {
        let Some(qos) = self.accounts.qos(qos).filter(|_| self.enforces_limits()) else {
            return Lifted::default();
        };
        Lifted {
            time: qos.has(QosFlag::PartitionTimeLimit),
            max_nodes: qos.has(QosFlag::PartitionMaxNodes),
            min_nodes: qos.has(QosFlag::PartitionMinNodes),
        }
    }
}
