//! Runs that were suspended for other jobs, and go on.
//!
//! A run goes on as soon as all of its CPUs are free, and before every waiting job that could not have taken them from it:
//! it has started before them. A job that could is in front of it: it would only stop it again. What is kept for protected
//! starts is kept from these runs too. Each is tried once in a cycle, as what is free only becomes less.

use std::sync::Arc;

use daybook_model::fit::Share;
use daybook_model::{Cluster, Job, Run};
use daybook_schemas::UtcMicros;

use crate::plan::Planning;
use crate::queue::Turn;

/// The runs that wait to go on, and have not been tried.
pub(crate) struct Resuming<'a> {
    waiting: Vec<(&'a Run, &'a Job)>,
    /// Partition and QOS of the job for which they were looked through last: another one like it changes nothing.
    last: Option<(&'a Arc<str>, &'a Arc<str>)>,
}

impl<'a> Resuming<'a> {
    pub(crate) fn new(cluster: &'a Cluster) -> Resuming<'a> {
        let runs = cluster.runs_to_go_on();
        let waiting = runs.filter_map(|run| Some((&**run, &**cluster.jobs().get(&run.id.job)?)));
        Resuming { waiting: waiting.collect(), last: None }
    }
}

impl<'a> Planning<'a, '_> {
    /// Before a job gets its turn: those go on that need not let it pass. Room that is made for jobs comes first of all.
    pub(crate) fn resume_before(&mut self, turn: Turn<'a>) {
        if self.resuming.waiting.is_empty() || self.preempting.serving().is_some() {
            return;
        }
        let like = (turn.partition, &turn.job.qos);
        if self.resuming.last.replace(like) == Some(like) {
            return;
        }
        self.ground.count_steps(self.resuming.waiting.len());
        let cluster = self.cluster;
        let lets_pass =
            |(run, job): &(&Run, &Job)| cluster.is_preemptable_by(run, job, turn.job, turn.partition);
        let (stay, due) = std::mem::take(&mut self.resuming.waiting).into_iter().partition(lets_pass);
        self.resuming.waiting = stay;
        self.try_all(due);
    }

    /// When everybody has had a turn.
    pub(crate) fn resume_all(&mut self) {
        if !self.has_seen_enough() {
            let due = std::mem::take(&mut self.resuming.waiting);
            self.try_all(due);
        }
    }

    fn try_all(&mut self, due: Vec<(&'a Run, &'a Job)>) {
        for (run, _) in due {
            self.try_to_resume(run);
        }
    }

    fn try_to_resume(&mut self, run: &'a Run) {
        if !self.cluster.can_go_on(run) {
            return;
        }
        let left = run.time_left(self.now).map(|left| UtcMicros(self.now.0.saturating_add(left.max(1))));
        let until = left.into_iter().chain(run.ends_by).min();
        let (mut cpus, mut whole) = (Vec::new(), Vec::new());
        for share in run.nodes.iter().filter(|share| run.held_on.contains(&share.node)) {
            self.ground.count_steps(1);
            // On a node that takes no new work nobody else gets them.
            let Some(at) = self.ground.number(&share.node) else { return };
            if self.ground.free(at).is_none() {
                continue;
            }
            let site = &self.ground.sites[at];
            let own = cpus_of(site.share(at, share));
            let is_free =
                self.ground.free(at).is_some_and(|free| own.cpus.iter().all(|cpu| free.cpus.contains(cpu)));
            let room = self.ground.free_until(at, until, &self.promises);
            if !is_free || room.is_none_or(|room| room.cpu_count < own.cpus.count()) {
                return;
            }
            whole.push(site.share(at, share));
            cpus.push(own);
        }
        self.ground.take(&cpus);
        self.releases.add(until, &whole);
        self.promises.charge(&self.ground.sites, &cpus, until);
        self.cycle.resumes.push(run.id);
    }
}

/// The CPUs of a share alone: what a run gives back when it is suspended.
pub(crate) fn cpus_of(share: Share) -> Share {
    Share { memory: 0, gpus: Default::default(), ..share }
}
