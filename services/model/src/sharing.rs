//! One copy of what records have in common: the planner knows equal requests by identity, and a long queue is small.

use std::collections::BTreeMap;
use std::sync::Arc;

use daybook_schemas::job::ResourceRequest;

use crate::cluster::Cluster;
use crate::job::Job;

impl Cluster {
    /// Some other job of the user, if there is one that is not over: of the same name rather than of another.
    fn alike(&self, uid: u32, name: &str) -> Option<&Arc<Job>> {
        let key = (uid, Arc::from(name));
        let same_name = self.active_names.get(&key).and_then(|jobs| jobs.get_max());
        let any_name = || {
            let mut names = self.active_names.range((uid, Arc::from(""))..);
            names.next().filter(|((of, _), _)| *of == uid).and_then(|(_, jobs)| jobs.get_max())
        };
        same_name.or_else(any_name).and_then(|id| self.jobs.get(id))
    }

    /// A new record takes over the copies that another one of the same user has of equal parts.
    pub(crate) fn share_parts(&self, job: &mut Job) {
        if let Some(other) = self.alike(job.spec.user.uid, &job.name) {
            share_with(job, other);
        }
    }

    /// The same for all records.
    pub(crate) fn share_all_parts(&mut self) {
        let ids: Vec<_> = self.jobs.keys().copied().collect();
        let mut last_of_user: BTreeMap<u32, Arc<Job>> = BTreeMap::new();
        for id in ids {
            let Some(job) = self.jobs.remove(&id) else { continue };
            let mut job = Arc::unwrap_or_clone(job);
            if let Some(other) = last_of_user.get(&job.spec.user.uid) {
                share_with(&mut job, other);
            }
            let job = Arc::new(job);
            last_of_user.insert(job.spec.user.uid, job.clone());
            self.jobs.insert(id, job);
        }
    }

    /// The copy of a request that all records share; `request` itself where it is the first.
    pub(crate) fn shared_request(&self, request: &Arc<ResourceRequest>) -> Arc<ResourceRequest> {
        match self.requests.get_key_value(request) {
            Some((shared, _)) => shared.clone(),
            None => request.clone(),
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

fn share<T: PartialEq + ?Sized>(part: &mut Arc<T>, other: &Arc<T>) {
    if *part == *other {
        *part = other.clone();
    }
}

fn share_with(job: &mut Job, other: &Job) {
    for (text, others) in [
        (&mut job.name, &other.name),
        (&mut job.account, &other.account),
        (&mut job.qos, &other.qos),
        (&mut job.reason_detail, &other.reason_detail),
    ] {
        share(text, others);
    }
    // The records of an array's tasks have one specification anyway.
    if let Some(spec) = Arc::get_mut(&mut job.spec) {
        share(&mut spec.user, &other.spec.user);
        share(&mut spec.resource_limits, &other.spec.resource_limits);
    }
}
