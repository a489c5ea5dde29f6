//! Whether a job may be submitted, or changed so.

use std::sync::Arc;

use daybook_schemas::accounts::{NORMAL_QOS, QosFlag};
use daybook_schemas::limits::CountLimitName;
use daybook_schemas::{Body, JobId};

use super::need::Need;
use super::{Holder, Refusal};
use crate::charges::{Charge, Scope};
use crate::cluster::Cluster;

impl Cluster {
    /// The first limit that so many more waiting jobs (tasks of an array each count) would break; `None` where limits are
    /// not enforced. A QOS with the flag `DenyOnLimit` also refuses what could not start if it were alone.
    pub fn submission_refusal(&self, charge: &Charge, count: u64, need: &Need) -> Option<Refusal> {
        let count_refusal = || self.enforces_limits().then(|| self.count_refusal(charge, count))?;
        self.denial(charge, need).or_else(count_refusal)
    }

    /// The same of a job that is counted for already.
    pub fn denial(&self, charge: &Charge, need: &Need) -> Option<Refusal> {
        let denies = || self.limiting_qos(charge).iter().any(|qos| qos.has(QosFlag::DenyOnLimit));
        (self.enforces_limits() && denies()).then(|| self.refusal_alone(charge, need))?
    }

    /// Takes a waiting job out of the counts: whether it may be changed is decided as if it came anew.
    pub fn discount(&mut self, id: JobId) {
        self.uncharge_waiting(id);
    }

    /// Counts what an event will change before it is recorded: where several requests are decided by one state, each meets
    /// the limits with those before it.
    pub fn anticipate(&mut self, body: &Body) {
        match body {
            Body::JobSubmitted(data) => {
                let spec = &data.spec;
                let first = spec.partition.split(',').next().unwrap_or_default();
                let charge = Charge {
                    partition: Arc::from(first),
                    qos: Arc::from(spec.qos.as_deref().unwrap_or(NORMAL_QOS)),
                    account: Arc::from(spec.account.as_deref().unwrap_or("")),
                    user: Arc::from(spec.user.name.to_ascii_lowercase()),
                };
                self.charge_waiting(data.job, charge, data.ids.into());
            }
            Body::JobUpdated(data) => {
                let Some(job) = self.jobs.get(&data.job) else { return };
                let count = job.tasks_waiting.as_ref().map_or(1, |tasks| tasks.len());
                let first = data.partition.as_deref().and_then(|names| names.split(',').next());
                let first = first.map(Arc::from).or_else(|| job.partitions().first().cloned());
                let own = Charge::of(job, &first.unwrap_or_else(|| job.partition.clone()));
                let charge = Charge {
                    qos: data.qos.as_deref().map_or(own.qos, Arc::from),
                    account: data.account.as_deref().map_or(own.account, Arc::from),
                    ..own
                };
                self.charge_waiting(data.job, charge, count);
            }
            _ => {}
        }
    }

    fn count_refusal(&self, charge: &Charge, count: u64) -> Option<Refusal> {
        use CountLimitName::{GrpSubmitJobs, MaxSubmitJobs, MaxSubmitJobsPerAccount};
        let qos = self.limiting_qos(charge);
        let line: Vec<_> = self.limiting_line(charge).collect();
        let check = |holder: Holder<'_>, limit, most: u32, scope: &Scope| {
            let submitted = self.charges.held(scope).map_or(0, |held| held.submitted);
            let is_above = submitted.saturating_add(count) > most.into();
            is_above.then(|| holder.refuse_count(limit, (most.into(), Some(submitted), Some(count))))?
        };
        for limit in [GrpSubmitJobs, MaxSubmitJobsPerAccount, MaxSubmitJobs] {
            let of_qos = qos.iter().find_map(|qos| Some((qos, qos.limits.count(limit)?)));
            let refused = if let Some((qos, most)) = of_qos {
                let name = qos.name.as_str().into();
                let scope = match limit {
                    MaxSubmitJobsPerAccount => Scope::QosAccount(name, charge.account.clone()),
                    MaxSubmitJobs => Scope::QosUser(name, charge.user.clone()),
                    _ => Scope::Qos(name),
                };
                check(Holder::Qos(qos), limit, most, &scope)
            } else if limit == MaxSubmitJobs {
                let set = line.iter().find_map(|above| Some((above, above.limits.count(limit)?)));
                let own = line.first().map(|own| Scope::Association(own.id));
                own.zip(set)
                    .and_then(|(own, (above, most))| check(Holder::Association(above), limit, most, &own))
            } else if limit == GrpSubmitJobs {
                let levels = line.iter().filter_map(|level| Some((level, level.limits.count(limit)?)));
                let mut refused = levels.filter_map(|(level, most)| {
                    check(Holder::Association(level), limit, most, &Scope::Association(level.id))
                });
                refused.next()
            } else {
                None
            };
            if refused.is_some() {
                return refused;
            }
        }
        None
    }
}
