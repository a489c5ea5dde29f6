//! How the sums follow jobs, runs, accounts and the configuration.

use std::sync::Arc;

use daybook_schemas::accounts::{FACTOR_ONE, Qos, QosFlag};
use daybook_schemas::job::JobState;
use daybook_schemas::node::AccountingEnforcement;
use daybook_schemas::{JobId, RunId, UtcMicros};

use super::{Charge, Charges, OfJob, OfRun, Scope, amounts};
use crate::cluster::Cluster;
use crate::counts::Counts;
use crate::job::Job;

impl Charge {
    /// For whom a job is counted in a partition.
    pub fn of(job: &Job, partition: &Arc<str>) -> Charge {
        Charge {
            partition: partition.clone(),
            qos: job.qos.clone(),
            account: job.account.clone(),
            user: Arc::from(job.spec.user.name.to_ascii_lowercase()),
        }
    }
}

impl Cluster {
    /// Whether limits of associations and QOS bind jobs.
    pub fn enforces_limits(&self) -> bool {
        let configured = self.configured.as_ref();
        configured.is_some_and(|configured| configured.parameters.enforces(AccountingEnforcement::Limits))
    }

    /// What waits and runs, by whom it is counted for: empty where limits are not enforced.
    pub fn charges(&self) -> &Charges {
        &self.charges
    }

    /// Counts a job as it is now.
    pub(crate) fn charge_job(&mut self, id: JobId) {
        if !self.charges.is_kept {
            return;
        }
        let counted = self.jobs.get(&id).filter(|job| !job.state.is_ended()).map(|job| {
            let count = job.tasks_waiting.as_ref().map_or(1, |tasks| tasks.len());
            let accrual = job.accrual.filter(|_| job.state == JobState::Pending);
            let of_job = OfJob { count, accruing: accrual.map_or(0, |accrual| accrual.count) };
            (Charge::of(job, job.charged_partition()), of_job)
        });
        let mut charges = std::mem::take(&mut self.charges);
        let is_less = charges.set_job(id, counted, |charge| self.scopes_of(charge));
        self.charges = charges;
        if is_less {
            self.note_stale_accrual();
        }
    }

    /// Counts so many waiting jobs for somebody.
    pub(crate) fn charge_waiting(&mut self, id: JobId, charge: Charge, count: u64) {
        if self.charges.is_kept {
            let mut charges = std::mem::take(&mut self.charges);
            let of_job = OfJob { count, accruing: 0 };
            charges.set_job(id, Some((charge, of_job)), |charge| self.scopes_of(charge));
            self.charges = charges;
        }
    }

    /// Counts a waiting job for nobody.
    pub(crate) fn uncharge_waiting(&mut self, id: JobId) {
        let mut charges = std::mem::take(&mut self.charges);
        charges.set_job(id, None, |charge| self.scopes_of(charge));
        self.charges = charges;
    }

    /// Counts a run as it is now, with the factors of its QOS as they are now.
    pub(crate) fn charge_holding(&mut self, id: RunId) {
        if !self.charges.is_kept {
            return;
        }
        let counted = self.runs.get(&id).filter(|run| run.end.is_none()).and_then(|run| {
            let job = run.parted_from.as_ref().or_else(|| self.jobs.get(&id.job))?;
            let from = self.uncounted_since(run);
            let charge = Charge::of(job, &run.partition);
            let mut counted = self.of_run(job, &Counts::of_run(run), run.limit_end(), from);
            if run.is_stopped() {
                counted.from = None;
                counted.left_standing = run.time_left(from).map(|left| left.max(0));
            }
            counted.own_end = self.own_end(&charge, &counted.amounts, run);
            Some((charge, counted))
        });
        let mut charges = std::mem::take(&mut self.charges);
        charges.set_run(id, counted, |charge| self.scopes_of(charge));
        self.charges = charges;
    }

    fn of_run(&self, job: &Job, counts: &Counts, ends: Option<UtcMicros>, from: UtcMicros) -> OfRun {
        let qos = self.accounts.qos(&job.qos);
        let factor = qos.map_or(FACTOR_ONE, |qos| qos.usage_factor);
        let counts_left = qos.is_some_and(|qos| qos.has(QosFlag::UsageFactorSafe));
        OfRun {
            amounts: Arc::new(amounts(counts, &job.request.licenses)),
            ends,
            from: Some(from),
            left_standing: None,
            own_end: None,
            factor,
            factor_left: if counts_left { factor } else { FACTOR_ONE },
        }
    }

    /// These charges with one run more: what a start at `now` makes of them.
    pub fn charge_start(
        &self,
        charges: &mut Charges,
        (id, job, partition): (RunId, &Job, &Arc<str>),
        counts: &Counts,
        (now, ends): (UtcMicros, Option<UtcMicros>),
    ) {
        if charges.is_kept {
            let counted = Some((Charge::of(job, partition), self.of_run(job, counts, ends, now)));
            charges.set_run(id, counted, |charge| self.scopes_of(charge));
        }
    }

    /// The QOS whose limits a charge meets: the partition's before the job's, or the other way where the job's says so.
    pub(crate) fn limiting_qos(&self, charge: &Charge) -> Vec<&Arc<Qos>> {
        let own = self.accounts.qos(&charge.qos);
        let partition = self.partitions.get(&charge.partition).and_then(|partition| partition.qos.as_deref());
        let partition = partition.and_then(|name| self.accounts.qos(name));
        let partition = partition.filter(|qos| own.is_none_or(|own| own.name != qos.name));
        let is_over = own.is_some_and(|own| own.has(QosFlag::OverPartQos));
        let order = if is_over { [own, partition] } else { [partition, own] };
        order.into_iter().flatten().collect()
    }

    /// The associations whose limits it meets: the user's own, then those above.
    pub(crate) fn limiting_line(
        &self,
        charge: &Charge,
    ) -> impl Iterator<Item = &daybook_schemas::accounts::Association> {
        let account = Some(&*charge.account).filter(|account| !account.is_empty());
        let account = account.or_else(|| self.accounts.default_account(&charge.user));
        let own = account.and_then(|account| self.accounts.of_job(&charge.user, account, &charge.partition));
        own.into_iter().flat_map(|own| self.accounts.line_of(own))
    }

    pub(crate) fn scopes_of(&self, charge: &Charge) -> Arc<[Scope]> {
        let of_qos = self.limiting_qos(charge).into_iter().flat_map(|qos| {
            let name: Arc<str> = Arc::from(qos.name.as_str());
            [
                Scope::QosUser(name.clone(), charge.user.clone()),
                Scope::QosAccount(name.clone(), charge.account.clone()),
                Scope::Qos(name),
            ]
        });
        let of_line = self.limiting_line(charge).map(|association| Scope::Association(association.id));
        of_qos.chain(of_line).collect()
    }

    /// What decides whose limits a job meets has changed, or what its usage counts for.
    pub(crate) fn note_stale_charges(&mut self) {
        self.charges.is_stale = self.charges.is_kept;
        self.note_stale_accrual();
    }

    /// Once for all that has changed with a commit.
    pub(crate) fn regroup_charges(&mut self) {
        if !self.charges.is_stale {
            return;
        }
        let mut charges = std::mem::take(&mut self.charges);
        charges.regroup(|charge| self.scopes_of(charge));
        charges.is_stale = false;
        self.charges = charges;
        self.charge_all_runs();
    }

    /// Every running run is counted anew: its usage has been counted up to another instant, or its QOS has other factors.
    pub(crate) fn charge_all_runs(&mut self) {
        if self.charges.is_kept {
            let running = self.runs.values().filter(|run| run.end.is_none()).map(|run| run.id);
            running.collect::<Vec<RunId>>().into_iter().for_each(|id| self.charge_holding(id));
        }
    }

    /// Makes them anew from jobs and runs: after a change of the configuration, and where a state is read.
    pub(crate) fn derive_charges(&mut self) {
        self.charges = Charges { is_kept: self.enforces_limits(), ..Charges::default() };
        self.note_stale_accrual();
        if self.charges.is_kept {
            let jobs: Vec<JobId> = self.active_names.values().flatten().copied().collect();
            jobs.into_iter().for_each(|id| self.charge_job(id));
            self.charge_all_runs();
        }
    }
}
