//! What a run is billed by the weights of its partition (`TRESBillingWeights`).
//!
//! Exact: weights are whole billionths, a weight for a larger unit (`Mem=0.25G`) keeps that unit, and what comes out is
//! rounded down once, at the end.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Billionths in a whole.
pub const BILLIONTHS: u64 = 1_000_000_000;
/// The largest unit that a weight may be for: 2^50 of the resource's own.
pub const POWER_MAX: u32 = 50;

/// `TRESBillingWeights` of a partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BillingWeights {
    /// As written.
    pub text: String,
    /// By resource: `cpu`, `mem` (MiB), `node`, `gres/gpu`, `gres/gpu:TYPE`, `license/NAME`. What is absent is not billed.
    pub weights: BTreeMap<String, BillingWeight>,
}

/// What one resource is billed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BillingWeight {
    /// The weight, in billionths.
    pub billionths: u64,
    /// It is for 2^power of the resource's unit: 10 of `Mem=0.25G`, 0 without a suffix. At most [`POWER_MAX`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub power: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// How weighted amounts become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BillingRule {
    /// Their sum.
    #[default]
    Sum,
    /// `MAX_TRES`: the largest of what nodes give (CPUs, memory, nodes, GPUs), and the sum of all else (licences).
    Largest,
    /// `MAX_TRES_GRES`: the largest of CPUs, memory and nodes, and the sum of all else (GPUs, licences).
    LargestAndGres,
}

impl BillingRule {
    /// Whether only the largest of such resources counts.
    fn compares(self, name: &str) -> bool {
        let is_of_nodes = matches!(name, "cpu" | "mem" | "node");
        match self {
            BillingRule::Sum => false,
            BillingRule::Largest => is_of_nodes || name.starts_with("gres/"),
            BillingRule::LargestAndGres => is_of_nodes,
        }
    }
}

impl BillingWeights {
    /// What is billed for these amounts (memory in MiB), rounded down.
    pub fn bill(&self, rule: BillingRule, amount: impl Fn(&str) -> u64) -> u64 {
        let (mut largest, mut sum) = (Weighted::default(), Weighted::default());
        for (name, weight) in &self.weights {
            let weighted = weight.times(amount(name));
            match rule.compares(name) {
                true => largest = largest.max(weighted),
                false => sum = sum.plus(weighted),
            }
        }
        largest.plus(sum).whole()
    }
}

impl BillingWeight {
    fn times(self, amount: u64) -> Weighted {
        let power = self.power.min(POWER_MAX);
        // 64 bits times 64 bits.
        let product = u128::from(amount) * u128::from(self.billionths);
        let rest = product & ((1 << power) - 1);
        Weighted { billionths: product >> power, parts: rest << (POWER_MAX - power) }
    }
}

/// An exact amount; of two the larger one is the greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Weighted {
    billionths: u128,
    /// Parts of a billionth, 2^[`POWER_MAX`] of which make one; always fewer.
    parts: u128,
}

impl Weighted {
    fn plus(self, other: Weighted) -> Weighted {
        let parts = self.parts + other.parts;
        let carried = parts >> POWER_MAX;
        let billionths = self.billionths.saturating_add(other.billionths).saturating_add(carried);
        Weighted { billionths, parts: parts & ((1 << POWER_MAX) - 1) }
    }

    fn whole(self) -> u64 {
        u64::try_from(self.billionths / u128::from(BILLIONTHS)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::BillingRule::{self, Largest, LargestAndGres, Sum};
    use crate::grammar::billing_weights::parse;

    fn bill(weights: &str, rule: BillingRule, amounts: &[(&str, u64)]) -> u64 {
        let amount = |name: &str| amounts.iter().find(|(known, _)| *known == name).map_or(0, |(_, n)| *n);
        parse(weights).unwrap().bill(rule, amount)
    }

    #[test]
    fn weights_are_summed_or_the_largest_counts() {
        let job = [("cpu", 1), ("mem", 8_192), ("node", 1)];
        let gpus = [
            ("cpu", 8),
            ("mem", 16_384),
            ("node", 1),
            ("gres/gpu", 2),
            ("gres/gpu:a100", 2),
            ("license/x", 3),
        ];
        for (weights, amounts, sum, largest, with_gres) in [
            // The manual's examples.
            ("CPU=1.0,Mem=0.25G,GRES/gpu=2.0", &job[..], 3, 2, 2),
            ("mem=.25", &job, 2_048, 2_048, 2_048),
            ("mem=.25G", &job, 2, 2, 2),
            (
                "CPU=1,Mem=0.25G,GRES/gpu=2,GRES/gpu:a100=4,license/x=1",
                &gpus,
                8 + 4 + 4 + 8 + 3,
                8 + 3,
                8 + 12 + 3,
            ),
            ("node=5", &gpus, 5, 5, 5),
            ("GRES/gpu:h100=5", &gpus, 0, 0, 0),
            ("cpu=0", &gpus, 0, 0, 0),
        ] {
            let billed = [Sum, Largest, LargestAndGres].map(|rule| bill(weights, rule, amounts));
            assert_eq!(billed, [sum, largest, with_gres], "{weights}");
        }
    }

    #[test]
    fn nothing_is_lost_before_the_end() {
        // A third of a unit and so on: only the sum is rounded, and down.
        for (weights, amounts, billed) in [
            ("cpu=0.333333333,mem=0.666666667", [("cpu", 1), ("mem", 1)], 1),
            ("cpu=0.333333333,mem=0.666666666", [("cpu", 1), ("mem", 1)], 0),
            // Seven 1024ths and 1017 1024ths of 1024 GiB each.
            ("cpu=1P,mem=1P", [("cpu", 1 << 49), ("mem", 1 << 29)], 1),
            ("cpu=1P,mem=1P", [("cpu", (1 << 49) - 1), ("mem", 1 << 29)], 0),
            ("cpu=0.000000001,mem=0", [("cpu", 999_999_999), ("mem", 1)], 0),
            ("cpu=0.000000001,mem=0", [("cpu", 1_000_000_000), ("mem", 1)], 1),
            ("mem=1K,cpu=0", [("mem", 1), ("cpu", 1)], 1_024),
        ] {
            assert_eq!(bill(weights, Sum, &amounts), billed, "{weights} {amounts:?}");
        }
    }

    #[test]
    fn the_largest_is_found_exactly() {
        // Both are one billionth and a bit; the bit decides, and is lost in rounding only then.
        let amounts = [("cpu", 1 << 31), ("mem", (1 << 21) + 1)];
        assert_eq!(bill("cpu=1G,mem=1T", Largest, &amounts), 2);
        assert_eq!(bill("cpu=1G,mem=1.5T", Largest, &amounts), 3);
    }

    #[test]
    fn too_much_is_the_most_that_can_be_said() {
        assert_eq!(bill("cpu=1000000000", Sum, &[("cpu", u64::MAX)]), u64::MAX);
    }
}
