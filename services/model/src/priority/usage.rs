//! Who has used how much: billed units (CPUs, where a partition weighs nothing) times seconds in thousandths, times the QOS's `UsageFactor`, by association.
//!
//! Each association keeps what was used by it and nobody below; what an account has used is the sum below it. So no sum
//! can come apart. What a removed association has used stays with the account above.

use daybook_schemas::accounts::{Association, FACTOR_ONE};
use daybook_schemas::{RunId, UtcMicros};

use crate::charges::{Charge, amounts};
use crate::cluster::Cluster;
use crate::counts::Counts;
use crate::job::Job;
use crate::run::Run;

impl Cluster {
    /// The association that a job uses the cluster by: its user's in its account (without one: in the user's default
    /// account), for its partition or for all. `None`: there is none.
    pub fn association_of(&self, job: &Job) -> Option<&std::sync::Arc<Association>> {
        let (user, account) = self.charged(job);
        self.accounts.of_job(&user, account?, &job.partition)
    }

    /// The user and the account that a job is counted for.
    fn charged<'a>(&'a self, job: &'a Job) -> (String, Option<&'a str>) {
        let user = job.spec.user.name.to_ascii_lowercase();
        let account = Some(&*job.account).filter(|account| !account.is_empty());
        let account = account.or_else(|| self.accounts.default_account(&user));
        (user, account)
    }

    /// From when on what a run uses has not been counted: its start, the last calculation, or when it went on after it was
    /// stopped. While it is stopped it uses nothing.
    pub(crate) fn uncounted_since(&self, run: &Run) -> UtcMicros {
        let since = run.runs_since();
        self.priorities.calculated.map_or(since, |last| last.max(since))
    }

    /// Counts what a run used up to `to`, from its start or from the last calculation on.
    pub(crate) fn charge_run(&mut self, id: RunId, to: UtcMicros) {
        if self.priority_parameters().is_none() {
            return;
        }
        let (Some(run), Some(job)) = (self.runs.get(&id), self.jobs.get(&id.job)) else { return };
        if run.is_stopped() {
            return;
        }
        let from = self.uncounted_since(run);
        let amount = self.used(run, job, from, to);
        let micros = u128::try_from(to.0.saturating_sub(from.0)).unwrap_or(0);
        let spent = self.enforces_limits().then(|| {
            let counts = Counts::of_run(run);
            (Charge::of(job, &run.partition), amounts(&counts, &job.request.licenses))
        });
        // Whose association is gone is still counted for the account.
        let (_, account) = self.charged(job);
        let own = self.association_of(job).or_else(|| self.accounts.at(account?, None, None));
        let id = own.map(|association| association.id);
        if let Some((charge, amounts)) = spent {
            self.spend(&charge, id, &amounts, micros);
        }
        if let Some(id) = id {
            self.add_usage(id, amount);
        }
    }

    /// What it is billed times time times the QOS's factor, in thousandths of a second, rounded down.
    fn used(&self, run: &Run, job: &Job, from: UtcMicros, to: UtcMicros) -> u64 {
        let micros = u128::try_from(to.0.saturating_sub(from.0)).unwrap_or(0);
        let billed = u128::from(Counts::of_run(run).billed());
        let factor = self.accounts.qos(&job.qos).map_or(FACTOR_ONE, |qos| qos.usage_factor);
        let amount = micros.saturating_mul(billed).saturating_mul(factor.into());
        u64::try_from(amount / (u128::from(FACTOR_ONE) * 1_000)).unwrap_or(u64::MAX)
    }

    fn add_usage(&mut self, association: u32, amount: u64) {
        if amount > 0 {
            let sum = self.priorities.usage.entry(association).or_insert(0);
            *sum = sum.saturating_add(amount);
        }
    }

    /// What an association that is to be removed has used is from now on its account's, or the account above's.
    pub(crate) fn hand_usage_up(&mut self, association: u32) {
        self.priorities.fair_shares.remove(&association);
        let own = self.accounts.associations().get(&association);
        let above = own.and_then(|own| self.accounts.above(own)).map(|above| above.id);
        self.hand_spent_up(association, above);
        let Some(amount) = self.priorities.usage.remove(&association) else { return };
        if let Some(above) = above {
            self.add_usage(above, amount);
        }
    }
}
