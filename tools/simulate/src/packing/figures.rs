//! Several orders together.

use serde::Serialize;

use super::experiment::{MARKS, Outcome};

/// Per cent of the GPUs that are given away.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Allocated {
    /// When so many per cent of the GPUs have been asked for.
    pub arrived_percent: u64,
    /// Mean of the orders.
    pub mean: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
    /// Standard deviation of the orders (of a sample; 0 for one order).
    pub deviation: f64,
}

/// What a policy came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PackingFigures {
    /// Orders of arrival.
    pub orders: usize,
    /// Pods that arrived, mean.
    pub pods: f64,
    /// Pods that fitted nowhere, mean.
    pub lost: f64,
    /// GPUs that those wanted, mean.
    pub lost_gpus: f64,
    /// At each mark.
    pub allocated: Vec<Allocated>,
}

impl PackingFigures {
    /// Of at least one outcome; `capacity` in thousandths of a GPU.
    pub fn of(outcomes: &[Outcome], capacity: u64) -> PackingFigures {
        let mean = |value: &dyn Fn(&Outcome) -> f64| {
            outcomes.iter().map(value).sum::<f64>() / outcomes.len().max(1) as f64
        };
        let marks = MARKS.iter().enumerate().map(|(number, mark)| {
            let percent =
                |outcome: &Outcome| outcome.at.get(number).map(|at| *at as f64 * 100.0 / capacity as f64);
            let values: Vec<f64> = outcomes.iter().filter_map(percent).collect();
            let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            Allocated {
                arrived_percent: *mark,
                mean,
                min: values.iter().copied().fold(f64::INFINITY, f64::min),
                max: values.iter().copied().fold(0.0, f64::max),
                deviation: (squares / values.len().saturating_sub(1).max(1) as f64).sqrt(),
            }
        });
        PackingFigures {
            orders: outcomes.len(),
            pods: mean(&|outcome| outcome.arrived as f64),
            lost: mean(&|outcome| outcome.lost as f64),
            lost_gpus: mean(&|outcome| outcome.lost_gpus as f64 / 1_000.0),
            allocated: marks.collect(),
        }
    }
}
