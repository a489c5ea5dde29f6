//! Policies by name.

use daybook_plan::priority::Weights;
use daybook_plan::{Order, Policy};

/// What is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum PolicyName {
    /// First come, first served: a blocked job blocks everybody behind it.
    Fcfs,
    /// EASY backfill: the first blocked job is protected.
    Easy,
    /// EASY backfill that tries the shortest limit first.
    Shortest,
    /// Conservative backfill: every blocked job is protected.
    Conservative,
    /// EASY backfill in the order of a priority of age, size and a short time limit.
    Multifactor,
    /// EASY backfill that tries the shortest expected run first, from the user's earlier runs.
    Predict,
}

impl PolicyName {
    /// All, as the tables list them.
    pub const ALL: [PolicyName; 6] = [
        PolicyName::Fcfs,
        PolicyName::Easy,
        PolicyName::Shortest,
        PolicyName::Conservative,
        PolicyName::Multifactor,
        PolicyName::Predict,
    ];

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            PolicyName::Fcfs => "fcfs",
            PolicyName::Easy => "easy",
            PolicyName::Shortest => "shortest",
            PolicyName::Conservative => "conservative",
            PolicyName::Multifactor => "multifactor",
            PolicyName::Predict => "predict",
        }
    }

    /// The planner's policy. It looks at the whole queue, and writes no reasons: nobody asks for them here.
    pub fn policy(self) -> Policy {
        let easy = Policy {
            reasons_max: 0,
            considered_min: 0,
            reservations_max: u32::MAX,
            steps_max: u64::MAX,
            ..Policy::new(1, u32::MAX)
        };
        match self {
            PolicyName::Fcfs => Policy { backfill: false, ..easy },
            PolicyName::Easy => easy,
            PolicyName::Shortest => Policy { order: Order::Limit, ..easy },
            PolicyName::Conservative => Policy { reservations: u32::MAX, ..easy },
            PolicyName::Multifactor => Policy { weights: Some(Weights::USUAL), ..easy },
            PolicyName::Predict => Policy { order: Order::Expected, ..easy },
        }
    }
}
