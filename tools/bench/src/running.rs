//! Jobs from start to finish.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::baseline::Baseline;
use crate::daemon::{Daemon, post, submit_many};
use crate::figures::{percentiles, rate, rounded};

/// The longest that a round of jobs may take.
const PATIENCE: Duration = Duration::from_secs(300);

pub fn measure(root: &Path, scale: usize, baseline: &Baseline) -> Result<Value, String> {
    let daemon = Daemon::start(root)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let count = 1000 / scale;
    let started = Instant::now();
    runtime.block_on(submit_many(&daemon, count, 16, "exec true", false))?;
    runtime.block_on(until_empty(&daemon))?;
    let per_second = rate(count, started.elapsed());

    let mut waits = Vec::new();
    for _ in 0..(50 / scale).max(5) {
        waits.push(daemon.time("sbatch", &["--wait", "-o", "/dev/null", "--wrap", "true"])?);
    }
    Ok(json!({
        "true_jobs": {
            "count": count,
            "per_second": rounded(per_second),
            "to_fork_exec": rounded(per_second / baseline.processes_per_second),
        },
        "sbatch_wait_true": percentiles(waits),
    }))
}

/// Waits until no job waits or runs.
pub async fn until_empty(daemon: &Daemon) -> Result<(), String> {
    let mut sender = daemon.connect().await?;
    let started = Instant::now();
    let query = json!({ "columns": ["job_id"] });
    while started.elapsed() < PATIENCE {
        let table = post(&mut sender, "/v1/jobs/query", &query).await?;
        if table["rows"].as_array().is_some_and(Vec::is_empty) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Err(format!("jobs are still there after {PATIENCE:?}"))
}
