//! Jobs and planning cycles, counted.

use std::collections::BTreeMap;

use daybook_model::{Cluster, Totals};
use daybook_schemas::api::{BoundCount, CycleFigures, JobCounts, Statistics};
use daybook_schemas::job::JobState;
use daybook_schemas::{Seq, UtcMicros};

/// What had happened when this service started.
#[derive(Debug)]
pub(crate) struct Began {
    at: UtcMicros,
    seq: Seq,
    jobs: JobCounts,
    cycles: u64,
}

impl Began {
    pub(crate) fn of(cluster: &Cluster, now: UtcMicros) -> Began {
        let totals = cluster.totals();
        Began { at: now, seq: cluster.position(), jobs: totals.jobs, cycles: totals.cycles }
    }

    /// What has happened since. Linear in the records in memory.
    pub(crate) fn count(&self, cluster: &Cluster, now: UtcMicros) -> Statistics {
        let totals = cluster.totals();
        let since = |all: u64, before: u64| all.saturating_sub(before);
        let (mut pending, mut running) = (0, 0);
        for job in cluster.jobs().values() {
            match job.state {
                JobState::Pending => pending += job.tasks_waiting.as_ref().map_or(1, |tasks| tasks.len()),
                JobState::Running => running += 1,
                _ => {}
            }
        }
        Statistics {
            seq: cluster.position(),
            now,
            since: self.at,
            since_seq: self.seq,
            jobs: JobCounts {
                submitted: since(totals.jobs.submitted, self.jobs.submitted),
                started: since(totals.jobs.started, self.jobs.started),
                completed: since(totals.jobs.completed, self.jobs.completed),
                canceled: since(totals.jobs.canceled, self.jobs.canceled),
                failed: since(totals.jobs.failed, self.jobs.failed),
            },
            pending,
            running,
            cycles: since(totals.cycles, self.cycles),
            recent: recent(totals),
        }
    }
}

fn recent(totals: &Totals) -> CycleFigures {
    let cycles = &totals.recent;
    let (Some(first), Some(last)) = (cycles.front(), cycles.back()) else { return CycleFigures::default() };
    let count = u64::try_from(cycles.len()).unwrap_or(u64::MAX);
    let mut bounds: BTreeMap<_, u32> = BTreeMap::new();
    for bound in cycles.iter().filter_map(|cycle| cycle.bound) {
        *bounds.entry(bound).or_default() += 1;
    }
    let steps: u64 = cycles.iter().map(|cycle| cycle.steps).fold(0, u64::saturating_add);
    let jobs: u64 = cycles.iter().map(|cycle| u64::from(cycle.jobs)).sum();
    CycleFigures {
        count: u32::try_from(cycles.len()).unwrap_or(u32::MAX),
        seconds: u64::try_from(last.at.seconds() - first.at.seconds()).unwrap_or(0),
        last: Some(*last),
        jobs_mean: jobs / count,
        jobs_max: cycles.iter().map(|cycle| cycle.jobs).max().unwrap_or(0),
        steps_mean: steps / count,
        steps_max: cycles.iter().map(|cycle| cycle.steps).max().unwrap_or(0),
        starts: cycles.iter().map(|cycle| u64::from(cycle.starts)).sum(),
        reasons: cycles.iter().map(|cycle| u64::from(cycle.reasons)).sum(),
        bounds: bounds.into_iter().map(|(bound, cycles)| BoundCount { bound, cycles }).collect(),
    }
}
