//! Durable submissions.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::baseline::Baseline;
use crate::daemon::{Daemon, submit_many};
use crate::figures::{percentiles, rate, rounded};

pub fn measure(root: &Path, scale: usize, baseline: &Baseline) -> Result<Value, String> {
    let daemon = Daemon::start(root)?;
    let count = 1000 / scale;
    let mut times = Vec::with_capacity(count);
    let started = Instant::now();
    for _ in 0..count {
        times.push(daemon.time("sbatch", &["--hold", "-o", "/dev/null", "--wrap", "true"])?);
    }
    let processes = rate(count, started.elapsed());

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let count = 20_000 / scale;
    let started = Instant::now();
    runtime.block_on(submit_many(&daemon, count, 64, "true", true))?;
    let in_flight = rate(count, started.elapsed());
    let count = 2_000 / scale;
    let started = Instant::now();
    runtime.block_on(submit_many(&daemon, count, 1, "true", true))?;
    let one_connection = rate(count, started.elapsed());
    Ok(json!({
        "sbatch_one_after_another": {
            "per_second": rounded(processes),
            "to_fork_exec": rounded(processes / baseline.processes_per_second),
            "latency": percentiles(times),
        },
        "one_process_one_in_flight": {
            "per_second": rounded(one_connection),
            "to_write_fdatasync": rounded(one_connection / baseline.syncs_per_second),
        },
        "one_process_64_in_flight": {
            "per_second": rounded(in_flight),
            "to_write_fdatasync": rounded(in_flight / baseline.syncs_per_second),
        },
    }))
}
