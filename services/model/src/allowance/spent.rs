//! What has been used of each resource: what limits on resource-minutes and wall time are measured by.
//!
//! Like the usage that fair share counts it fades, and each association keeps what was used by it and nobody below. A QOS
//! keeps what its jobs used, and what was used in partitions that it limits; with `NoDecay` it does not fade.

use daybook_schemas::accounts::{Association, FACTOR_ONE, QosFlag};
use daybook_schemas::priority::PRIORITY_FACTOR_ONE;
use serde::{Deserialize, Serialize};

use crate::accounts::TREE_DEPTH_MAX;
use crate::charges::{Amounts, Charge, Tres};
use crate::cluster::Cluster;
use crate::priority::fade;

/// Who has used something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Spender {
    Association(u32),
    Qos(u32),
}

/// A line of a snapshot.
#[derive(Serialize, Deserialize)]
pub(crate) struct KnownSpent {
    spender: Spender,
    tres: Tres,
    /// In thousandths of resource-seconds.
    amount: u64,
}

impl Cluster {
    /// Counts what was used in so many microseconds by whoever it is for.
    pub(crate) fn spend(&mut self, charge: &Charge, own: Option<u32>, amounts: &Amounts, micros: u128) {
        let factor = self.accounts.qos(&charge.qos).map_or(FACTOR_ONE, |qos| qos.usage_factor);
        let qos = self.limiting_qos(charge).into_iter().map(|qos| Spender::Qos(qos.id));
        let spenders: Vec<Spender> = own.map(Spender::Association).into_iter().chain(qos).collect();
        for (tres, amount) in amounts {
            let product = micros.saturating_mul(u128::from(*amount)).saturating_mul(factor.into());
            let used = u64::try_from(product / (u128::from(FACTOR_ONE) * 1_000)).unwrap_or(u64::MAX);
            for spender in spenders.iter().filter(|_| used > 0) {
                let sum = self.priorities.spent.entry((*spender, tres.clone())).or_insert(0);
                *sum = sum.saturating_add(used);
            }
        }
    }

    /// What has been used becomes less with time; `left` parts of [`crate::priority::WHOLE`] stay.
    pub(crate) fn fade_spent(&mut self, left: u128) {
        self.keep_spent(|amount| fade(amount, left));
    }

    /// A new period begins.
    pub(crate) fn forget_spent(&mut self) {
        self.keep_spent(|_| 0);
    }

    fn keep_spent(&mut self, change: impl Fn(u64) -> u64) {
        let lasting: Vec<u32> = self
            .accounts
            .all_qos()
            .values()
            .filter(|qos| qos.has(QosFlag::NoDecay))
            .map(|qos| qos.id)
            .collect();
        let lasts = |spender: &Spender| matches!(spender, Spender::Qos(id) if lasting.contains(id));
        let kept = self.priorities.spent.iter().map(|((spender, tres), amount)| {
            let amount = if lasts(spender) { *amount } else { change(*amount) };
            ((*spender, tres.clone()), amount)
        });
        self.priorities.spent = kept.filter(|(_, amount)| *amount > 0).collect();
    }

    /// What an association that is to be removed has used goes to the one above.
    pub(crate) fn hand_spent_up(&mut self, association: u32, above: Option<u32>) {
        let from = Spender::Association(association);
        let own: Vec<(Tres, u64)> = self
            .priorities
            .spent
            .range((from, Tres::Cpu)..)
            .take_while(|((spender, _), _)| *spender == from)
            .map(|((_, tres), amount)| (tres.clone(), *amount))
            .collect();
        for (tres, amount) in own {
            self.priorities.spent.remove(&(from, tres.clone()));
            if let Some(above) = above {
                let sum = self.priorities.spent.entry((Spender::Association(above), tres)).or_insert(0);
                *sum = sum.saturating_add(amount);
            }
        }
    }

    /// In thousandths of resource-seconds.
    pub(super) fn spent_by_qos(&self, qos: u32, tres: &Tres) -> u64 {
        self.priorities.spent.get(&(Spender::Qos(qos), tres.clone())).copied().unwrap_or(0)
    }

    /// By an association and all below it, in thousandths of resource-seconds. Linear in the associations below.
    pub(super) fn spent_below(&self, association: &Association, tres: &Tres) -> u64 {
        self.spent_down_to(association, tres, 0)
    }

    fn spent_down_to(&self, association: &Association, tres: &Tres, depth: usize) -> u64 {
        let own = (Spender::Association(association.id), tres.clone());
        let own = self.priorities.spent.get(&own).copied().unwrap_or(0);
        if association.user.is_some() || depth >= TREE_DEPTH_MAX {
            return own;
        }
        let below = self.accounts.below(&association.account);
        let below = below.map(|below| self.spent_down_to(below, tres, depth + 1));
        below.fold(own, u64::saturating_add)
    }

    /// A user association's fair-share factor of the last calculation, in millionths.
    pub(super) fn fair_share_millionths(&self, association: u32) -> Option<u64> {
        let parts = u128::from(*self.priorities.fair_shares.get(&association)?);
        u64::try_from(parts * u128::from(FACTOR_ONE) / u128::from(PRIORITY_FACTOR_ONE)).ok()
    }

    /// Lines of a snapshot.
    pub(crate) fn known_spent(&self) -> impl Iterator<Item = KnownSpent> + '_ {
        self.priorities.spent.iter().map(|((spender, tres), amount)| KnownSpent {
            spender: *spender,
            tres: tres.clone(),
            amount: *amount,
        })
    }

    pub(crate) fn restore_spent(&mut self, known: KnownSpent) {
        self.priorities.spent.insert((known.spender, known.tres), known.amount);
    }
}
