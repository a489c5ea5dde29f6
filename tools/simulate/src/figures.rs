//! Waits, slowdown and utilisation.

use serde::Serialize;

use crate::trace::Trace;

/// Runs shorter than this count as this long in the bounded slowdown, in seconds.
pub const TAU_SECONDS: u64 = 10;

/// How well a policy did on a trace. Times in seconds; percentiles by nearest rank.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Jobs.
    pub jobs: usize,
    /// Processors that there are.
    pub processors: u32,
    /// Mean wait.
    pub mean_wait: f64,
    /// Median wait.
    pub median_wait: u64,
    /// The 99th percentile.
    pub p99_wait: u64,
    /// The longest.
    pub longest_wait: u64,
    /// Jobs that waited at all.
    pub waited: usize,
    /// Mean of `max(1, (wait + run) / max(run, 10 s))`.
    pub mean_bounded_slowdown: f64,
    /// Mean of wait and run.
    pub mean_turnaround: f64,
    /// Used processor time of all that there was from the first submission to the last end.
    pub utilisation: f64,
    /// From the first submission to the last end.
    pub makespan: u64,
    /// The sum of all starts: equal only where every start is.
    pub sum_of_starts: u64,
}

impl Figures {
    /// Of the starts of a trace's jobs, in its order.
    pub fn of(trace: &Trace, starts: &[u64], processors: u32) -> Figures {
        let jobs = || trace.jobs.iter().zip(starts);
        let mut waits: Vec<u64> = jobs().map(|(job, start)| start.saturating_sub(job.submit)).collect();
        waits.sort_unstable();
        let count = waits.len().max(1) as f64;
        let slowdown = |(job, start): (&crate::trace::TraceJob, &u64)| {
            let turnaround = (start.saturating_sub(job.submit) + job.run) as f64;
            (turnaround / job.run.max(TAU_SECONDS) as f64).max(1.0)
        };
        let first = trace.jobs.iter().map(|job| job.submit).min().unwrap_or(0);
        let last = jobs().map(|(job, start)| start + job.run).max().unwrap_or(0);
        let makespan = last.saturating_sub(first);
        let used: u128 = trace.jobs.iter().map(|job| u128::from(job.run) * u128::from(job.processors)).sum();
        let offered = u128::from(makespan.max(1)) * u128::from(processors.max(1));
        let run: f64 = trace.jobs.iter().map(|job| job.run as f64).sum();
        let mean_wait = waits.iter().map(|wait| *wait as f64).sum::<f64>() / count;
        Figures {
            jobs: waits.len(),
            processors,
            mean_wait: rounded(mean_wait, 1e3),
            median_wait: rank(&waits, 50),
            p99_wait: rank(&waits, 99),
            longest_wait: waits.last().copied().unwrap_or(0),
            waited: waits.iter().filter(|wait| **wait > 0).count(),
            mean_bounded_slowdown: rounded(jobs().map(slowdown).sum::<f64>() / count, 1e4),
            mean_turnaround: rounded(mean_wait + run / count, 1e3),
            utilisation: rounded(used as f64 / offered as f64, 1e6),
            makespan,
            sum_of_starts: starts.iter().sum(),
        }
    }
}

fn rank(sorted: &[u64], per_cent: usize) -> u64 {
    let at = (sorted.len() * per_cent).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or(0)
}

fn rounded(number: f64, to: f64) -> f64 {
    (number * to).round() / to
}
