//! The invariants, walked.

use std::fmt;

use daybook_schemas::RunId;
use daybook_schemas::accounts::ROOT_ACCOUNT;
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::JobState;
use daybook_schemas::orders::RunWish;

use crate::cluster::Cluster;

/// An invariant that does not hold: a defect of the model, never of a user's input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Cluster {
    /// Walks every invariant. Linear in everything in memory: for tests, replay and the operator's check.
    pub fn sanity_check(&self) -> Result<(), Vec<Violation>> {
        let mut found = Vec::new();
        self.check_nodes(&mut found);
        self.check_runs(&mut found);
        self.check_rooms(&mut found);
        self.check_jobs(&mut found);
        self.check_arrays(&mut found);
        self.check_reservations(&mut found);
        self.check_accounts(&mut found);
        self.check_indexes(&mut found);
        found.extend(self.usual_requests.check().map(Violation));
        if found.is_empty() { Ok(()) } else { Err(found) }
    }

    /// What a node has given away is exactly what its runs hold there, and no CPU or GPU is given twice.
    fn check_nodes(&self, found: &mut Vec<Violation>) {
        for (name, node) in &self.nodes {
            let (mut cpus, mut gpus, mut memory) = (IndexSet::new(), IndexSet::new(), 0u64);
            for id in &node.runs {
                let Some(run) = self.runs.get(id).filter(|run| run.held_on.contains(name)) else {
                    found.push(Violation(format!("node {name} has run {id}, which does not hold it")));
                    continue;
                };
                for share in run.holdings().filter(|share| share.node == *name) {
                    memory += share.memory.0;
                    for cpu in share.cpus.iter().filter(|cpu| !cpus.insert(*cpu)) {
                        found.push(Violation(format!("CPU {cpu} of {name} is given twice")));
                    }
                    for gpu in share.gpus.iter().filter(|gpu| !gpus.insert(gpu.index)) {
                        found.push(Violation(format!("GPU {} of {name} is given twice", gpu.uuid)));
                    }
                }
            }
            if (&cpus, &gpus, memory) != (&node.cpus_allocated, &node.gpus_allocated, node.memory_allocated.0)
            {
                found.push(Violation(format!("node {name} has not given away what its runs hold")));
            }
        }
    }

    /// Room is made for records that wait, by runs that give way to them.
    fn check_rooms(&self, found: &mut Vec<Violation>) {
        for (id, room) in &self.rooms {
            if self.jobs.get(id).is_none_or(|job| job.state != JobState::Pending) || room.takers.is_empty() {
                found.push(Violation(format!("room is made for job {id}, which does not wait for it")));
            }
            if room.runs.is_empty() == room.free_since.is_none() {
                found.push(Violation(format!("the room for job {id} does not know whether it is there")));
            }
            let gives_way = |run: &RunId| self.runs.get(run).is_some_and(|run| run.giving_way.is_some());
            if !room.runs.iter().all(gives_way) {
                found.push(Violation(format!("room for job {id} is made by a run that does not give way")));
            }
        }
    }

    /// A run is known to its nodes and is its job's present run.
    fn check_runs(&self, found: &mut Vec<Violation>) {
        for (id, run) in &self.runs {
            for name in &run.held_on {
                if !self.nodes.get(name).is_some_and(|node| node.runs.contains(id)) {
                    found.push(Violation(format!("run {id} holds {name}, which does not know it")));
                }
            }
            let job = self.jobs.get(&id.job);
            if run.is_given_up() {
                if run.end.is_none()
                    || run.parted_from.is_none()
                    || job.is_some_and(|job| job.run == Some(*id))
                {
                    found.push(Violation(format!("run {id} is given up, but its job has not gone on")));
                }
            } else if job.is_none_or(|job| job.run != Some(*id)) {
                found.push(Violation(format!("run {id} is not its job's present run")));
            }
            let state = if run.is_stopped() { JobState::Suspended } else { JobState::Running };
            if run.end.is_none() && job.is_none_or(|job| job.state != state || job.pauses != run.pauses) {
                found.push(Violation(format!("run {id} goes on, but its job does not run")));
            }
            if run.are_cpus_given_back && run.end.is_none() && (!run.is_stopped() || run.wish == RunWish::Run)
            {
                found.push(Violation(format!("run {id} goes on without its CPUs")));
            }
            if (run.is_kept_stopped || run.is_told_to_stop) && run.wish == RunWish::Run {
                found.push(Violation(format!("run {id} goes on, and nobody has said so")));
            }
            if run.held_on.is_empty() {
                found.push(Violation(format!("run {id} holds nothing and is still there")));
            }
        }
    }

    fn check_jobs(&self, found: &mut Vec<Violation>) {
        for (id, job) in &self.jobs {
            if id.0 >= self.next_job_id {
                found.push(Violation(format!("job {id} has an id that is yet to be given")));
            }
            let runs = job.run.and_then(|run| self.runs.get(&run)).is_some_and(|run| run.end.is_none());
            if matches!(job.state, JobState::Running | JobState::Suspended) != runs {
                found.push(Violation(format!("job {id} is {:?} but its run says otherwise", job.state)));
            }
            if let Some(partitions) = &job.partitions {
                let waits = job.state == JobState::Pending;
                if partitions.len() < 2 || waits && *partitions.join(",") != *job.partition {
                    found.push(Violation(format!("job {id} shows other partitions than it may start in")));
                }
            }
            if job.tasks_waiting.as_ref().is_some_and(IndexSet::is_empty) {
                found.push(Violation(format!("array {id} waits with no task")));
            }
            if job.tasks_waiting.is_some() && job.state != JobState::Pending {
                found.push(Violation(format!("array {id} has waiting tasks and is {:?}", job.state)));
            }
            if job.last_task_waits_for_hopeless().is_some() {
                found.push(Violation(format!("array {id} has a last task that waits for hopeless ones")));
            }
        }
    }

    /// Every task is waiting, running, back in the queue, or over; the records are counted.
    fn check_arrays(&self, found: &mut Vec<Violation>) {
        for (id, array) in &self.arrays {
            let records =
                self.jobs.values().filter(|job| job.task.map_or(job.id, |task| task.array_job) == *id);
            if records.count() != array.records as usize {
                found.push(Violation(format!("array {id} does not count its records")));
            }
            if !array.running.difference(&array.started).is_empty() {
                found.push(Violation(format!("array {id} has a running task that has not started")));
            }
            let overlap = array.succeeded.intersection(&array.failed);
            let over = array.running.intersection(&array.succeeded);
            if !overlap.is_empty() || !over.is_empty() {
                found.push(Violation(format!("array {id} has a task in two states")));
            }
        }
    }

    /// A reservation is known by its name, has a length, sorted nodes, and is noted as used exactly where it is.
    fn check_reservations(&self, found: &mut Vec<Violation>) {
        for (name, reservation) in &self.reservations {
            let definition = &reservation.definition;
            if definition.name != **name || definition.start >= definition.end {
                found.push(Violation(format!("reservation {name} has another name or no length")));
            }
            if !definition.nodes.is_sorted() {
                found.push(Violation(format!("the nodes of reservation {name} are not sorted")));
            }
            let is_of_its_own = definition.cpus.iter().map(|kept| &kept.node).eq(&definition.nodes);
            if definition.is_of_cpus() && !is_of_its_own
                || definition.cpus.iter().any(|kept| kept.cpus.is_empty())
            {
                found.push(Violation(format!("the CPUs of reservation {name} are not of its nodes")));
            }
            if self.reservation_jobs.contains_key(name) == reservation.unused_since.is_some() {
                found.push(Violation(format!("reservation {name} does not know whether it is used")));
            }
        }
    }

    /// The tree of accounts has no loop, no place twice, and nothing that hangs in the air.
    fn check_accounts(&self, found: &mut Vec<Violation>) {
        if self.accounts.derived() != self.accounts {
            found.push(Violation("the indexes of associations are not what the records say".to_string()));
        }
        for (id, association) in self.accounts.associations() {
            let last = self.accounts.line_of(association).last();
            if last.is_none_or(|last| last.account != ROOT_ACCOUNT || last.user.is_some()) {
                found.push(Violation(format!("association {id} does not hang from the root account")));
            }
        }
    }

    /// The indexes are those that the records call for.
    fn check_indexes(&self, found: &mut Vec<Violation>) {
        let mut fresh = self.clone();
        fresh.derive_indexes();
        let same = [
            ("ready", fresh.ready == self.ready),
            ("kinds of ready", fresh.ready_kinds == self.ready_kinds),
            ("delayed", fresh.delayed == self.delayed),
            ("ended", fresh.ended == self.ended),
            ("dependents", fresh.dependents == self.dependents),
            ("active names", fresh.active_names == self.active_names),
            ("singletons", fresh.singletons == self.singletons),
            ("hopeless", fresh.hopeless == self.hopeless),
            ("reserved", fresh.reservation_jobs == self.reservation_jobs),
            ("deadlines of", fresh.deadlines == self.deadlines),
            ("blocked", fresh.blocked == self.blocked),
            ("ageless", fresh.waiting_for_age == self.waiting_for_age),
            ("requests of", fresh.requests == self.requests),
            ("licences of", fresh.licenses == self.licenses),
            ("stopped", fresh.stopped == self.stopped),
            ("scale of", fresh.scale == self.scale),
            ("charges of", fresh.charges == self.charges),
        ];
        if let Some(id) = self.could_accrue() {
            found.push(Violation(format!("job {id} could gain priority by age and does not")));
        }
        for (name, _) in same.iter().filter(|(_, same)| !same) {
            found.push(Violation(format!("the index of {name} jobs is not what the records say")));
        }
    }
}
