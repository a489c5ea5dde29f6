//! Licences: how many there are, and how many running runs hold.

use std::collections::BTreeSet;
use std::sync::Arc;

use daybook_schemas::RunId;
use daybook_schemas::job::ResourceRequest;
use daybook_schemas::license::License;
use imbl::OrdMap;

use crate::cluster::Cluster;

/// What runs hold. As in Slurm a licence comes back at the end of the run, and not only when its nodes are cleaned up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LicensesHeld {
    /// Runs that go on and hold some, with the request that says which.
    runs: OrdMap<RunId, Arc<ResourceRequest>>,
    /// How many of each they hold together; those that nobody holds are not here.
    counts: OrdMap<Arc<str>, u64>,
}

impl LicensesHeld {
    fn hold(&mut self, run: RunId, request: &Arc<ResourceRequest>) {
        for license in &request.licenses {
            let count = self.counts.entry(Arc::from(license.name.as_str())).or_insert(0);
            *count = count.saturating_add(license.count.into());
        }
        self.runs.insert(run, request.clone());
    }

    fn give_back(&mut self, run: RunId) {
        let Some(request) = self.runs.remove(&run) else { return };
        for license in &request.licenses {
            match self.counts.get_mut(license.name.as_str()) {
                Some(count) if *count > u64::from(license.count) => *count -= u64::from(license.count),
                _ => drop(self.counts.remove(license.name.as_str())),
            }
        }
    }
}

impl Cluster {
    /// A run begins to hold what its job needs; a running job's request does not change.
    pub(crate) fn hold_licenses(&mut self, run: RunId) {
        let request = self.jobs.get(&run.job).map(|job| &job.request);
        if let Some(request) = request.filter(|request| !request.licenses.is_empty()).cloned() {
            self.licenses.hold(run, &request);
        }
    }

    /// A run is over.
    pub(crate) fn give_licenses_back(&mut self, run: RunId) {
        self.licenses.give_back(run);
    }

    /// Makes it anew from the runs.
    pub(crate) fn derive_licenses(&mut self) {
        self.licenses = LicensesHeld::default();
        let running: Vec<RunId> =
            self.runs.values().filter(|run| run.end.is_none()).map(|run| run.id).collect();
        running.into_iter().for_each(|run| self.hold_licenses(run));
    }

    /// The runs that hold licences, by id, with what each holds.
    pub fn licensed_runs(&self) -> impl Iterator<Item = (RunId, &[License])> {
        self.licenses.runs.iter().map(|(run, request)| (*run, request.licenses.as_slice()))
    }

    /// How many of a licence are configured; 0: there is no such licence.
    pub fn licenses_in_all(&self, name: &str) -> u32 {
        let configured = self.configured.as_ref().map_or(&[][..], |configured| &configured.licenses);
        configured.iter().find(|license| license.name == name).map_or(0, |license| license.count)
    }

    /// How many of a licence running runs hold: more than there are where fewer have been configured since.
    pub fn licenses_used(&self, name: &str) -> u64 {
        self.licenses.counts.get(name).copied().unwrap_or(0)
    }

    /// How many of a licence may be taken now.
    pub fn licenses_free(&self, name: &str) -> u32 {
        let free = u64::from(self.licenses_in_all(name)).saturating_sub(self.licenses_used(name));
        u32::try_from(free).unwrap_or(u32::MAX)
    }

    /// The licences that are configured or in use, by name.
    pub fn license_names(&self) -> BTreeSet<&str> {
        let configured = self.configured.iter().flat_map(|configured| &configured.licenses);
        let used = self.licenses.counts.keys().map(|name| &**name);
        configured.map(|license| license.name.as_str()).chain(used).collect()
    }

    /// The first licence of which a request needs more than the cluster has: it can never start.
    pub fn missing_license<'r>(&self, request: &'r ResourceRequest) -> Option<&'r License> {
        request.licenses.iter().find(|license| license.count > self.licenses_in_all(&license.name))
    }

    /// Whether all licences of a request may be taken now.
    pub(crate) fn has_licenses(&self, request: &ResourceRequest) -> bool {
        request.licenses.iter().all(|license| license.count <= self.licenses_free(&license.name))
    }
}
