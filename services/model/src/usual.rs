//! Which requests for GPUs usually come: counted by what they take of one node.

use std::sync::Arc;

use daybook_schemas::Seq;
use daybook_schemas::events::JobSubmitted;
use imbl::OrdMap;
use serde::{Deserialize, Serialize};

use crate::cluster::Cluster;
use crate::fit::Demand;

/// The most requests that are told apart; the rarest is forgotten first, and of equally rare ones the one that came
/// longest ago.
pub(crate) const USUAL_REQUESTS_MAX: usize = 256;

/// Where all counts together reach this, each is halved: what came long ago fades.
pub(crate) const USUAL_COUNT_MAX: u64 = 65_536;

/// What a request for GPUs takes of one node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UsualRequest {
    /// CPUs.
    pub cpus: u64,
    /// Memory in MiB; 0: none is counted; [`UsualRequest::WHOLE_MEMORY`]: all that the node has.
    pub memory: u64,
    /// GPUs, at least 1.
    pub gpus: u32,
    /// Their types, sorted, any of them; empty: any at all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpu_types: Vec<String>,
    /// It has the node alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclusive: bool,
}

impl UsualRequest {
    /// All the memory of a node.
    pub const WHOLE_MEMORY: u64 = u64::MAX;

    /// What a demand takes of each of its nodes if it gets as few as it may; `None` where it wants no GPU.
    fn of(demand: &Demand<'_>) -> Option<UsualRequest> {
        if !demand.wants_gpus() {
            return None;
        }
        let nodes = demand.nodes_min.max(1);
        let tasks = demand.tasks.div_ceil(nodes);
        let wanted = demand.gpus_per_node.plus(&demand.gpus_per_task, tasks);
        let gpus = wanted.total().saturating_add(demand.gpus_per_job.total().div_ceil(nodes));
        let all = wanted.plus(&demand.gpus_per_job, 1);
        let named = all.typed.iter().filter(|(_, count)| *count > 0).map(|(name, _)| (*name).to_string());
        let gpu_types = if all.any > 0 { Vec::new() } else { named.collect() };
        let cpus = u64::from(tasks) * u64::from(demand.cpus_per_task);
        let memory = demand.memory_on_one(cpus, gpus).unwrap_or(UsualRequest::WHOLE_MEMORY);
        Some(UsualRequest { cpus, memory, gpus, gpu_types, exclusive: demand.exclusive })
    }
}

/// How often a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Frequency {
    /// How often, lately.
    pub(crate) count: u64,
    /// The commit of the last one.
    pub(crate) seq: Seq,
}

/// Requests with how often they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct UsualRequests {
    known: OrdMap<Arc<UsualRequest>, Frequency>,
    total: u64,
}

impl UsualRequests {
    /// Puts a request back that a snapshot has.
    pub(crate) fn restore(&mut self, request: Arc<UsualRequest>, frequency: Frequency) {
        self.total = self.total.saturating_add(frequency.count);
        self.known.insert(request, frequency);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<UsualRequest>, &Frequency)> {
        self.known.iter()
    }

    fn note(&mut self, request: UsualRequest, times: u64, seq: Seq) {
        let times = times.min(USUAL_COUNT_MAX);
        if !self.known.contains_key(&request) && self.known.len() >= USUAL_REQUESTS_MAX {
            let rarest = self.known.iter().min_by_key(|(_, found)| (found.count, found.seq));
            if let Some((rarest, found)) = rarest.map(|(rarest, found)| (rarest.clone(), *found)) {
                self.known.remove(&rarest);
                self.total -= found.count;
            }
        }
        self.total += times;
        match self.known.get_mut(&request) {
            Some(found) => *found = Frequency { count: found.count + times, seq },
            None => drop(self.known.insert(Arc::new(request), Frequency { count: times, seq })),
        }
        while self.total >= USUAL_COUNT_MAX {
            let halved = self.known.iter().map(|(request, found)| {
                (request.clone(), Frequency { count: found.count / 2, seq: found.seq })
            });
            self.known = halved.filter(|(_, found)| found.count > 0).collect();
            self.total = self.known.values().map(|found| found.count).sum();
        }
    }

    /// What does not hold of it, if anything.
    pub(crate) fn check(&self) -> Option<String> {
        let sum: u64 = self.known.values().map(|found| found.count).sum();
        if sum != self.total || sum >= USUAL_COUNT_MAX {
            return Some(format!("usual requests are counted {sum} times, and the sum says {}", self.total));
        }
        if self.known.len() > USUAL_REQUESTS_MAX || self.known.values().any(|found| found.count == 0) {
            return Some(format!("{} usual requests are kept, or some that never came", self.known.len()));
        }
        None
    }
}

impl Cluster {
    /// A submission came, an array's as often as it has tasks.
    pub(crate) fn note_usual_request(&mut self, data: &JobSubmitted) {
        let (Some(configured), request) = (&self.configured, &data.spec.request) else { return };
        let Some(partition) = self.partitions.get(data.spec.partition.as_str()) else { return };
        if request.gpus.is_empty() {
            return;
        }
        let demand = Demand::new(request, partition, &configured.parameters);
        let times = data.spec.array.as_ref().map_or(1, |array| array.tasks.len());
        if let Some(usual) = UsualRequest::of(&demand).filter(|usual| usual.gpus > 0 && times > 0) {
            self.usual_requests.note(usual, times, self.position);
        }
    }

    /// Requests for GPUs by what they take of one node, with how often they were submitted: counted as they were
    /// submitted, the tasks of an array each, at most 256 of them, and what came long ago counts less.
    pub fn usual_requests(&self) -> impl Iterator<Item = (&UsualRequest, u64)> {
        self.usual_requests.iter().map(|(request, found)| (request.as_ref(), found.count))
    }
}

#[cfg(test)]
mod tests {
    use super::{USUAL_COUNT_MAX, USUAL_REQUESTS_MAX, UsualRequest, UsualRequests};
    use daybook_schemas::Seq;

    fn request(cpus: u64) -> UsualRequest {
        UsualRequest { cpus, memory: 0, gpus: 1, gpu_types: Vec::new(), exclusive: false }
    }

    fn counts(usual: &UsualRequests) -> Vec<(u64, u64)> {
        usual.iter().map(|(request, found)| (request.cpus, found.count)).collect()
    }

    #[test]
    fn equal_requests_count_together_and_what_came_long_ago_fades() {
        let mut usual = UsualRequests::default();
        usual.note(request(1), 40_000, Seq(1));
        usual.note(request(2), 1, Seq(2));
        usual.note(request(1), 3, Seq(3));
        assert_eq!(counts(&usual), [(1, 40_003), (2, 1)]);
        // 70,004 is too many: all are halved, and what would be none is forgotten.
        usual.note(request(3), 30_000, Seq(4));
        assert_eq!(counts(&usual), [(1, 20_001), (3, 15_000)]);
        assert_eq!(usual.check(), None);
        // One array cannot drive out all others.
        usual.note(request(4), u64::MAX, Seq(5));
        assert_eq!(counts(&usual), [(1, 10_000), (3, 7_500), (4, USUAL_COUNT_MAX / 2)]);
        assert_eq!(usual.check(), None);
    }

    #[test]
    fn the_rarest_is_forgotten_first_and_of_those_the_oldest() {
        let mut usual = UsualRequests::default();
        let most = USUAL_REQUESTS_MAX as u64;
        (0..most).for_each(|cpus| usual.note(request(cpus), 1, Seq(cpus + 1)));
        usual.note(request(0), 1, Seq(most + 1));
        usual.note(request(most), 1, Seq(most + 2));
        let known: Vec<u64> = counts(&usual).iter().map(|(cpus, _)| *cpus).collect();
        assert_eq!((known.len(), &known[..3]), (USUAL_REQUESTS_MAX, &[0, 2, 3][..]));
        assert_eq!(usual.check(), None);
    }
}
