//! The indexes over the job records, kept by one pair of functions.

use std::sync::Arc;

use daybook_schemas::job::{DependencyKind, JobState, Reason};
use daybook_schemas::reservation::named;
use daybook_schemas::{JobId, Seq, UtcMicros};
use imbl::{OrdMap, OrdSet};

use crate::charges::Charge;
use crate::cluster::Cluster;
use crate::dependency::{evaluate, evaluate_by_task};
use crate::job::Job;

impl Cluster {
    /// Changes a record and everything that is derived from it. Nothing happens where there is no such record.
    pub(crate) fn change_job(&mut self, id: JobId, change: impl FnOnce(&mut Job)) {
        let Some(old) = self.jobs.get(&id).cloned() else { return };
        self.unindex(&old);
        let mut job = Arc::unwrap_or_clone(old);
        let reason = job.shown_reason(self.time);
        change(&mut job);
        if job.shown_reason(self.time) != reason {
            job.reason_since = self.time;
        }
        job.changed = self.position;
        self.settle(&mut job);
        self.index(&job);
        if let Some(old) = self.jobs.get(&id).cloned()
            && old.request != job.request
        {
            self.uncount_request(&old);
            self.count_request(&job);
        }
        self.jobs.insert(id, Arc::new(job));
        self.charge_job(id);
    }

    /// Puts a new record in.
    pub(crate) fn add_job(&mut self, mut job: Job) {
        job.changed = self.position;
        self.share_parts(&mut job);
        self.settle(&mut job);
        self.index(&job);
        self.count_request(&job);
        let id = job.id;
        self.jobs.insert(id, Arc::new(job));
        self.charge_job(id);
    }

    /// Takes a record out.
    pub(crate) fn remove_job(&mut self, id: JobId) -> Option<Arc<Job>> {
        let job = self.jobs.get(&id).cloned()?;
        self.unindex(&job);
        self.uncount_request(&job);
        self.jobs.remove(&id);
        self.charge_job(id);
        Some(job)
    }

    /// Since when it could have started, as its state now says.
    fn settle(&self, job: &mut Job) {
        job.judge_conditions_by_task();
        if job.state == JobState::Pending && !self.is_startable(job) {
            job.eligible = None;
            job.eligible_seq = None;
        } else if job.state == JobState::Pending && job.eligible.is_none() && !self.is_delayed(job) {
            job.eligible = Some(self.time);
            job.eligible_seq = Some(self.position);
        }
        if job.state == JobState::Pending {
            self.settle_accrual(job);
        }
    }

    fn is_startable(&self, job: &Job) -> bool {
        job.is_ready() && !job.run.is_some_and(|run| self.runs.contains_key(&run))
    }

    fn is_delayed(&self, job: &Job) -> bool {
        job.begin.is_some_and(|begin| begin > self.time)
    }

    /// Puts a record into the indexes that its state calls for.
    pub(crate) fn index(&mut self, job: &Job) {
        for entry in self.entries(job) {
            match entry {
                Entry::Ready(key) => {
                    self.ready.insert(key);
                    let kind = self.ready_kind(job, key.place);
                    self.ready_kinds.insert(kind, key);
                }
                Entry::Delayed(key) => drop(self.delayed.insert(key)),
                Entry::Ended(key) => drop(self.ended.insert(key)),
                Entry::Hopeless(id) => drop(self.hopeless.insert(id)),
                Entry::Deadline(key) => drop(self.deadlines.insert(key)),
                Entry::Blocked(partition, key) => insert_into(&mut self.blocked, partition, key),
                Entry::Dependent(other) => insert_into(&mut self.dependents, other, job.id),
                Entry::Active(key) => insert_into(&mut self.active_names, key, job.id),
                Entry::Reserved(name) => insert_into(&mut self.reservation_jobs, name, job.id),
                Entry::Singleton(key) => insert_into(&mut self.singletons, key, job.id),
                Entry::Age(charge, key) => {
                    insert_into(&mut self.waiting_for_age, charge, key);
                    self.note_stale_accrual();
                }
            }
        }
    }

    /// Takes a record out of all indexes.
    pub(crate) fn unindex(&mut self, job: &Job) {
        for entry in self.entries(job) {
            match entry {
                Entry::Ready(key) => {
                    self.ready.remove(&key);
                    let kind = self.ready_kind(job, key.place);
                    self.ready_kinds.remove(kind, key);
                }
                // Time may have passed its begin since it was indexed.
                Entry::Delayed(key) => drop(self.delayed.remove(&key)),
                Entry::Ended(key) => drop(self.ended.remove(&key)),
                Entry::Hopeless(id) => drop(self.hopeless.remove(&id)),
                Entry::Deadline(key) => drop(self.deadlines.remove(&key)),
                Entry::Blocked(partition, key) => remove_from(&mut self.blocked, partition, key),
                Entry::Dependent(other) => remove_from(&mut self.dependents, other, job.id),
                Entry::Active(key) => remove_from(&mut self.active_names, key, job.id),
                Entry::Reserved(name) => remove_from(&mut self.reservation_jobs, name, job.id),
                Entry::Singleton(key) => remove_from(&mut self.singletons, key, job.id),
                Entry::Age(charge, key) => remove_from(&mut self.waiting_for_age, charge, key),
            }
        }
    }

    /// Every index entry that a record has at the present instant.
    fn entries(&self, job: &Job) -> Vec<Entry> {
        let mut entries = Vec::with_capacity(3);
        let name = || (job.spec.user.uid, job.name.clone());
        if job.state.is_ended() {
            if !job.run.is_some_and(|run| self.runs.contains_key(&run)) {
                entries.push(Entry::Ended((job.ended.unwrap_or(job.submitted), job.id)));
            }
            return entries;
        }
        entries.push(Entry::Active(name()));
        if job.state != JobState::Pending {
            let run = job.run.and_then(|run| self.runs.get(&run));
            entries.extend(run.and_then(|run| run.reservation.clone()).map(Entry::Reserved));
            return entries;
        }
        if let Some(names) = &job.reservation {
            entries.extend(named(names).map(|name| Entry::Reserved(Arc::from(name))));
        }
        if self.is_startable(job) {
            match job.begin.filter(|begin| *begin > self.time) {
                Some(begin) => entries.push(Entry::Delayed((begin, job.id))),
                None => {
                    let is_blocked = matches!(job.reason, Reason::Resources | Reason::Licenses);
                    for (partition, key) in job.partitions().iter().zip(self.pending_keys(job)) {
                        if is_blocked {
                            entries.push(Entry::Blocked(partition.clone(), key));
                        }
                        entries.push(Entry::Ready(key));
                    }
                }
            }
        }
        if job.eligible.is_some() && job.accrual.is_none() {
            let since = job.eligible_seq.unwrap_or(job.submitted_seq);
            entries.push(Entry::Age(Charge::of(job, job.charged_partition()), (since, job.id)));
        }
        if self.is_cancelled_when_hopeless(job) && job.dependencies_hopeless() {
            entries.push(Entry::Hopeless(job.id));
        }
        entries.extend(self.latest_start(job).map(|latest| Entry::Deadline((latest, job.id))));
        for state in &job.dependencies {
            match (state.condition.kind, state.condition.job) {
                (DependencyKind::Singleton, _) => entries.push(Entry::Singleton(name())),
                (_, Some(other)) if state.is_open(job.tasks_waiting.as_ref()) => {
                    entries.push(Entry::Dependent(other));
                }
                _ => {}
            }
        }
        entries
    }

    /// Whether a job is cancelled once its dependencies can never hold.
    fn is_cancelled_when_hopeless(&self, job: &Job) -> bool {
        let by_default =
            self.configured.as_ref().is_some_and(|configured| configured.parameters.kill_invalid_dependency);
        job.spec.kill_on_invalid_dependency || by_default && !job.spec.keep_on_invalid_dependency
    }

    /// Moves the clock of the state forward: what was delayed until now is ready.
    pub(crate) fn advance_time(&mut self, time: UtcMicros) {
        let due: Vec<JobId> =
            self.delayed.iter().take_while(|(begin, _)| *begin <= time).map(|(_, job)| *job).collect();
        let due: Vec<Arc<Job>> = due.iter().filter_map(|id| self.jobs.get(id).cloned()).collect();
        due.iter().for_each(|job| self.unindex(job));
        self.time = time;
        for job in due {
            let mut job = Arc::unwrap_or_clone(job);
            let begin = job.begin;
            job.changed = self.position;
            self.settle(&mut job);
            job.eligible = begin.or(job.eligible);
            if let (Some(accrual), Some(since)) = (&mut job.accrual, begin) {
                accrual.since = since;
            }
            job.reason_since = begin.unwrap_or(self.time);
            self.index(&job);
            let id = job.id;
            self.jobs.insert(id, Arc::new(job));
            self.charge_job(id);
        }
    }

    /// Looks again at the conditions of everybody who waits for `other` (a job or an array).
    pub(crate) fn reconsider_dependents(&mut self, other: JobId) {
        let Some(waiting) = self.dependents.get(&other).cloned() else { return };
        waiting.iter().for_each(|id| self.reconsider(*id));
    }

    /// Looks again at the singletons of a user's job name.
    pub(crate) fn reconsider_singletons(&mut self, uid: u32, name: &Arc<str>) {
        let Some(waiting) = self.singletons.get(&(uid, name.clone())).cloned() else { return };
        waiting.iter().for_each(|id| self.reconsider(*id));
    }

    /// Looks again at one record's conditions. What was once satisfied stays so; singletons are judged anew.
    pub(crate) fn reconsider(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id).cloned() else { return };
        if job.state != JobState::Pending || job.dependencies.is_empty() {
            return;
        }
        let mut begin = job.begin;
        let mut dependencies = job.dependencies.clone();
        for state in &mut dependencies {
            if state.is_open(job.tasks_waiting.as_ref()) && !evaluate_by_task(self, &job, state) {
                let (outcome, not_before) = evaluate(self, &job, &state.condition);
                state.outcome = outcome;
                begin = begin.max(not_before);
            }
        }
        if dependencies != job.dependencies || begin != job.begin {
            self.change_job(id, |job| {
                job.dependencies = dependencies;
                job.begin = begin;
            });
            self.part_hopeless_tasks(id);
        }
    }
}

enum Entry {
    Ready(crate::cluster::PendingKey),
    Delayed((UtcMicros, JobId)),
    Ended((UtcMicros, JobId)),
    Hopeless(JobId),
    Deadline((UtcMicros, JobId)),
    Blocked(Arc<str>, crate::cluster::PendingKey),
    Dependent(JobId),
    Active((u32, Arc<str>)),
    Reserved(Arc<str>),
    Singleton((u32, Arc<str>)),
    /// It waits to gain priority by age.
    Age(Charge, (Seq, JobId)),
}

fn insert_into<K: Ord + Clone, V: Ord + Clone>(map: &mut OrdMap<K, OrdSet<V>>, key: K, id: V) {
    match map.get_mut(&key) {
        Some(set) => {
            set.insert(id);
        }
        None => {
            map.insert(key, OrdSet::unit(id));
        }
    }
}

fn remove_from<K: Ord + Clone, V: Ord + Clone>(map: &mut OrdMap<K, OrdSet<V>>, key: K, id: V) {
    if let Some(set) = map.get_mut(&key) {
        set.remove(&id);
        if set.is_empty() {
            map.remove(&key);
        }
    }
}
