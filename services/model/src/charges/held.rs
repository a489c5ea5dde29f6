//! What somebody has waiting and running, as sums that go up and down by single jobs and runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use daybook_schemas::UtcMicros;
use daybook_schemas::accounts::FACTOR_ONE;

use super::tres::{Amounts, Tres};

/// Of a number of runs the sum of their rates, and of each rate times an instant of its own: with both the sum of all
/// lengths of time to or from a common instant is known without looking at the runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    /// Amounts, in millionths.
    rate: i128,
    /// Amounts in millionths times microseconds.
    at: i128,
}

impl Sum {
    fn change(&mut self, rate: i128, instant: UtcMicros, sign: i128) {
        self.rate += sign * rate;
        self.at += sign * rate * i128::from(instant.0);
    }

    /// The same for a length of time, in microseconds, that stands still.
    fn change_standing(&mut self, rate: i128, micros: i64, sign: i128) {
        self.at += sign * rate * i128::from(micros);
    }

    fn merge(&mut self, other: Sum) {
        self.rate += other.rate;
        self.at += other.at;
    }

    /// What has been used from the instants up to `now`, in thousandths of resource-seconds, rounded down.
    pub(crate) fn since(self, now: UtcMicros) -> i128 {
        thousandths(self.rate * i128::from(now.0) - self.at)
    }

    /// What is left from `now` up to the instants, in thousandths of resource-seconds, rounded up.
    pub(crate) fn until(self, now: UtcMicros) -> i128 {
        -thousandths(self.rate * i128::from(now.0) - self.at)
    }

    /// When what has been used from the instants will be so much, in thousandths of resource-seconds, if all goes on;
    /// `None`: never.
    pub(crate) fn reaches(self, amount: i128) -> Option<UtcMicros> {
        let product = amount.checked_mul(i128::from(FACTOR_ONE) * 1_000)?.checked_add(self.at)?;
        let micros = (self.rate > 0).then(|| -(-product).div_euclid(self.rate))?;
        i64::try_from(micros).ok().map(UtcMicros)
    }

    /// Amounts, in millionths.
    pub(crate) fn rate(self) -> i128 {
        self.rate
    }
}

/// From millionths of resource-microseconds.
fn thousandths(product: i128) -> i128 {
    product.div_euclid(i128::from(FACTOR_ONE) * 1_000)
}

/// What a run holds, as it was counted: exactly this is taken off again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OfRun {
    pub(crate) amounts: Arc<Amounts>,
    /// When its limit ends it; `None`: it has none.
    pub(crate) ends: Option<UtcMicros>,
    /// From when on its usage has not been counted yet; `None`: it is stopped, and all has been.
    pub(crate) from: Option<UtcMicros>,
    /// Of one that is stopped: microseconds that its limit leaves it; its end is then not known.
    pub(crate) left_standing: Option<i64>,
    /// When it has used up what one job may use; `None`: not before its limit ends it.
    pub(crate) own_end: Option<UtcMicros>,
    /// What its usage counts for, in millionths.
    pub(crate) factor: u64,
    /// What counts of what it may still use, in millionths.
    pub(crate) factor_left: u64,
}

impl OfRun {
    /// What of a resource it still had to use at `now`, in thousandths of resource-seconds: negative where its limit has
    /// passed.
    pub(crate) fn left(&self, tres: &Tres, now: UtcMicros, factor: u64) -> i128 {
        let amount = i128::from(self.amounts.get(tres).copied().unwrap_or(0)) * i128::from(factor);
        let left = self.ends.map_or(0, |ends| i128::from(ends.0) - i128::from(now.0));
        -thousandths(-(amount * left))
    }
}

/// A resource in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InUse {
    pub(crate) amount: u64,
    /// Of runs that no limit ends.
    pub(crate) endless: u64,
    /// Up to the limits' ends.
    pub(crate) left: Sum,
    /// The same, as far as it counts as usage.
    pub(crate) left_counted: Sum,
    /// From where usage is not counted yet.
    pub(crate) uncounted: Sum,
}

/// What somebody has waiting and running.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// Jobs and tasks that wait or run.
    pub(crate) submitted: u64,
    /// Of these, those that gain priority by age.
    pub(crate) accruing: u64,
    /// Runs.
    pub(crate) running: u64,
    pub(crate) in_use: BTreeMap<Tres, InUse>,
}

impl Held {
    pub(crate) fn is_empty(&self) -> bool {
        self.submitted == 0 && self.running == 0
    }

    pub(crate) fn of(&self, tres: &Tres) -> InUse {
        self.in_use.get(tres).copied().unwrap_or_default()
    }

    pub(crate) fn add(&mut self, run: &OfRun) {
        self.running = self.running.saturating_add(1);
        for (tres, amount) in run.amounts.iter() {
            let in_use = self.in_use.entry(tres.clone()).or_default();
            in_use.amount = in_use.amount.saturating_add(*amount);
            in_use.change(run, *amount, 1);
        }
    }

    pub(crate) fn remove(&mut self, run: &OfRun) {
        self.running = self.running.saturating_sub(1);
        for (tres, amount) in run.amounts.iter() {
            let Some(in_use) = self.in_use.get_mut(tres) else { continue };
            in_use.amount = in_use.amount.saturating_sub(*amount);
            in_use.change(run, *amount, -1);
            if in_use.amount == 0 {
                self.in_use.remove(tres);
            }
        }
    }

    pub(crate) fn merge(&mut self, other: &Held) {
        self.submitted = self.submitted.saturating_add(other.submitted);
        self.accruing = self.accruing.saturating_add(other.accruing);
        self.running = self.running.saturating_add(other.running);
        for (tres, more) in &other.in_use {
            let in_use = self.in_use.entry(tres.clone()).or_default();
            in_use.amount = in_use.amount.saturating_add(more.amount);
            in_use.endless = in_use.endless.saturating_add(more.endless);
            in_use.left.merge(more.left);
            in_use.left_counted.merge(more.left_counted);
            in_use.uncounted.merge(more.uncounted);
        }
    }
}

impl InUse {
    fn change(&mut self, run: &OfRun, amount: u64, sign: i128) {
        let rate = |factor: u64| i128::from(amount) * i128::from(factor);
        if let Some(from) = run.from {
            self.uncounted.change(rate(run.factor), from, sign);
        }
        match (run.ends, run.left_standing) {
            (Some(ends), _) => {
                self.left.change(rate(FACTOR_ONE), ends, sign);
                self.left_counted.change(rate(run.factor_left), ends, sign);
            }
            (None, Some(left)) => {
                self.left.change_standing(rate(FACTOR_ONE), left, sign);
                self.left_counted.change_standing(rate(run.factor_left), left, sign);
            }
            (None, None) if sign > 0 => self.endless = self.endless.saturating_add(amount),
            (None, None) => self.endless = self.endless.saturating_sub(amount),
        }
    }
}
