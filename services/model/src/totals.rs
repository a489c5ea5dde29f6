//! Counts of what has happened, and the last planning cycles: what `sdiag` shows.

use daybook_schemas::Seq;
use daybook_schemas::api::{JobCounts, RecordedCycle};
use daybook_schemas::events::PlannerCycle;
use imbl::Vector;
use serde::{Deserialize, Serialize};

use crate::cluster::Cluster;

/// How many planning cycles are remembered.
pub const RECENT_CYCLES_MAX: usize = 100;

/// Counts since the log's first commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Of jobs; each task of an array is one.
    pub jobs: JobCounts,
    /// Planning cycles recorded.
    pub cycles: u64,
    /// The last of them, oldest first, at most [`RECENT_CYCLES_MAX`].
    pub recent: Vector<RecordedCycle>,
}

impl Totals {
    pub(crate) fn note_cycle(&mut self, seq: Seq, cycle: &PlannerCycle) {
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        self.cycles += 1;
        self.recent.push_back(RecordedCycle {
            seq,
            at: cycle.now,
            jobs: cycle.jobs_considered,
            starts: count(cycle.starts.len()),
            reasons: count(cycle.reasons.len()),
            protected: count(cycle.reservations.len()),
            steps: cycle.steps,
            bound: cycle.bound,
        });
        if self.recent.len() > RECENT_CYCLES_MAX {
            self.recent.pop_front();
        }
    }
}

impl Cluster {
    /// Counts since the log's first commit.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }
}
