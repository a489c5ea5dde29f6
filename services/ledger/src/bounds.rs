//! Every limit of the ledger, in one place.

use std::time::Duration;

/// Commits that are posted in one write batch.
pub const POST_COMMITS: usize = 512;
/// The most positions of the log that one record names as its evidence; the last place is that of the newest.
pub const EVIDENCE_MAX: usize = 64;
/// The most records that one answer holds; a question for more is refused, with the advice to ask for less at a time.
pub const RECORDS_MAX: usize = 200_000;
/// How long a question waits until the ledger has posted what was in the log when it came.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// A requeued job does not start again before this many seconds after its end (Slurm's rule).
pub const REQUEUE_DELAY_SECONDS: i64 = 120;
/// A read of the log or a write of rows that failed for the moment is tried again after this long at first.
pub const RETRY_MIN: Duration = Duration::from_millis(50);
/// A read of the log or a write of rows that failed for the moment is tried again after this long at most.
pub const RETRY_MAX: Duration = Duration::from_secs(2);
/// The most faults that a verification lists one by one; more are counted.
pub const FAULTS_MAX: usize = 100;
