//! Which waiting jobs gain priority by age: as many as `GrpJobsAccrue`, `MaxJobsAccrue…` of QOS and associations let, those
//! first that could have started for the longest time.
//!
//! A job that has begun goes on until it starts, is held or is changed so that it could not start; a lower limit takes nothing
//! back. Waiting tasks of an array have one priority and begin together: they count as as many jobs as the limits have room
//! for when they begin, at least one. Without such limits, where limits are not enforced, and with
//! `PriorityFlags=ACCRUE_ALWAYS` every job begins when it could start.

use std::collections::BTreeMap;

use daybook_schemas::limits::CountLimitName;
use daybook_schemas::priority::PriorityFlag;
use daybook_schemas::{JobId, Seq, UtcMicros};
use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};

use crate::charges::{Charge, Scope};
use crate::cluster::Cluster;
use crate::job::Job;

/// That a job gains priority by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accrual {
    /// Since when.
    pub since: UtcMicros,
    /// As how many jobs it counts.
    pub count: u64,
}

/// Jobs that could start and do not gain priority by age yet, by whom they count for, oldest first.
pub(crate) type WaitingForAge = OrdMap<Charge, OrdSet<(Seq, JobId)>>;

impl Cluster {
    /// Whether there are limits on jobs that gain priority by age.
    pub(crate) fn limits_accrual(&self) -> bool {
        let is_always = |parameters: &daybook_schemas::priority::PriorityParameters| {
            parameters.has(PriorityFlag::AccrueAlways)
        };
        self.enforces_limits()
            && self.accounts.limit_accrual()
            && !self.priority_parameters().is_some_and(is_always)
    }

    /// Since when a job gains priority by age at `now`; `None`: it does not.
    pub fn accrues_since(&self, job: &Job, now: UtcMicros) -> Option<UtcMicros> {
        // A begin time may have come since the last commit.
        let begun = || job.begin.filter(|begin| job.is_ready() && *begin <= now && !self.limits_accrual());
        job.accrual.map(|accrual| accrual.since).or_else(begun)
    }

    /// What a record's state says of it, before limits are asked.
    pub(crate) fn settle_accrual(&self, job: &mut Job) {
        let tasks = job.tasks_waiting.as_ref().map_or(1, |tasks| tasks.len());
        job.accrual = match (job.accrual, job.eligible) {
            (_, None) => None,
            (Some(known), Some(_)) => Some(Accrual { count: known.count.min(tasks), ..known }),
            (None, Some(since)) => (!self.limits_accrual()).then_some(Accrual { since, count: tasks }),
        };
    }

    /// How many more jobs may begin; `None`: as many as there are.
    pub(crate) fn accrual_room(&self, charge: &Charge) -> Option<u64> {
        use CountLimitName::{GrpJobsAccrue, MaxJobsAccrue, MaxJobsAccruePerAccount};
        if !self.limits_accrual() {
            return None;
        }
        let qos = self.limiting_qos(charge);
        let line: Vec<_> = self.limiting_line(charge).collect();
        let left = |most: u32, scope: &Scope| {
            let accruing = self.charges.held(scope).map_or(0, |held| held.accruing);
            u64::from(most).saturating_sub(accruing)
        };
        let mut rooms = Vec::new();
        for limit in [GrpJobsAccrue, MaxJobsAccruePerAccount, MaxJobsAccrue] {
            if let Some((qos, most)) = qos.iter().find_map(|qos| Some((qos, qos.limits.count(limit)?))) {
                let name = qos.name.as_str().into();
                let scope = match limit {
                    MaxJobsAccruePerAccount => Scope::QosAccount(name, charge.account.clone()),
                    MaxJobsAccrue => Scope::QosUser(name, charge.user.clone()),
                    _ => Scope::Qos(name),
                };
                rooms.push(left(most, &scope));
            } else if limit == MaxJobsAccrue {
                // As with all that a user has from above: it is the user's own jobs that are counted.
                let most = line.iter().find_map(|level| level.limits.count(limit));
                let own = line.first().map(|own| Scope::Association(own.id));
                rooms.extend(own.zip(most).map(|(own, most)| left(most, &own)));
            } else if limit == GrpJobsAccrue {
                let set = line.iter().filter_map(|level| Some((level.id, level.limits.count(limit)?)));
                rooms.extend(set.map(|(id, most)| left(most, &Scope::Association(id))));
            }
        }
        rooms.into_iter().min()
    }

    /// Something has changed by which others may begin.
    pub(crate) fn note_stale_accrual(&mut self) {
        self.accrual_is_stale = true;
    }

    /// Once for all that has changed with a commit: whoever may begins, the oldest first. Linear in those for whom somebody
    /// waits to begin, and in those who begin.
    pub(crate) fn begin_accruing(&mut self) {
        if !std::mem::take(&mut self.accrual_is_stale) {
            return;
        }
        let first = |waiting: &OrdSet<(Seq, JobId)>| waiting.get_min().copied();
        let heads =
            self.waiting_for_age.iter().filter_map(|(charge, waiting)| Some((first(waiting)?, charge)));
        let mut heads: BTreeMap<(Seq, JobId), Charge> =
            heads.map(|(head, charge)| (head, charge.clone())).collect();
        // All that count for the same meet the same limits: where the first may not begin, none may.
        while let Some(((_, id), charge)) = heads.pop_first() {
            let room = self.accrual_room(&charge);
            if room == Some(0) {
                continue;
            }
            let since = self.time;
            self.change_job(id, |job| {
                let tasks = job.tasks_waiting.as_ref().map_or(1, |tasks| tasks.len());
                job.accrual = Some(Accrual { since, count: room.map_or(tasks, |room| room.min(tasks)) });
            });
            self.prioritise(id, since);
            let next = self.waiting_for_age.get(&charge).and_then(first);
            heads.extend(next.map(|next| (next, charge)));
        }
        // What has just changed are those who began.
        self.accrual_is_stale = false;
    }

    /// Whether anybody waits to begin who may.
    pub(crate) fn could_accrue(&self) -> Option<JobId> {
        let may = |charge: &Charge| self.accrual_room(charge) != Some(0);
        let waiting = self.waiting_for_age.iter().filter(|(charge, _)| may(charge));
        waiting.flat_map(|(_, waiting)| waiting).map(|(_, id)| *id).next()
    }
}
