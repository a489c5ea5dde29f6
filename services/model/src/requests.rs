//! One copy of equal requests: the planner knows them by identity, and a queue of equal jobs is small.

use std::sync::Arc;

use daybook_schemas::job::ResourceRequest;

use crate::cluster::Cluster;
use crate::job::Job;

impl Cluster {
    /// The copy of a request that all records share; `request` itself where it is the first.
    pub(crate) fn shared_request(&self, request: &ResourceRequest) -> Arc<ResourceRequest> {
        match self.requests.get_key_value(request) {
            Some((shared, _)) => shared.clone(),
            None => Arc::new(request.clone()),
        }
    }

    /// The partition's own name, where it is configured.
    pub(crate) fn shared_partition(&self, name: &str) -> Arc<str> {
        self.partitions.get_key_value(name).map_or_else(|| Arc::from(name), |(shared, _)| shared.clone())
    }

    /// A record has this request.
    pub(crate) fn count_request(&mut self, job: &Job) {
        match self.requests.get_mut(&job.request) {
            Some(count) => *count += 1,
            None => drop(self.requests.insert(job.request.clone(), 1)),
        }
    }

    /// A record has this request no longer.
    pub(crate) fn uncount_request(&mut self, job: &Job) {
        match self.requests.get_mut(&job.request) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(self.requests.remove(&job.request)),
        }
    }
}
