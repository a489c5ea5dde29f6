//! What the machine itself can do: the yardstick of the same run.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use crate::figures::{rate, rounded};

/// Plain loops.
pub struct Baseline {
    /// `write` of 512 bytes and `fdatasync` per second.
    pub syncs_per_second: f64,
    /// `fork`, `exec` of `true` and `wait` per second.
    pub processes_per_second: f64,
}

impl Baseline {
    pub fn to_json(&self) -> Value {
        json!({
            "write_fdatasync_per_second": rounded(self.syncs_per_second),
            "fork_exec_per_second": rounded(self.processes_per_second),
        })
    }
}

pub fn measure(directory: &Path, scale: usize) -> Result<Baseline, String> {
    let fault = |error: std::io::Error| error.to_string();
    let count = 4000 / scale;
    let mut file = std::fs::File::create(directory.join("baseline.data")).map_err(fault)?;
    let block = [b'x'; 512];
    let started = Instant::now();
    for _ in 0..count {
        file.write_all(&block).map_err(fault)?;
        file.sync_data().map_err(fault)?;
    }
    let syncs_per_second = rate(count, started.elapsed());
    let count = 1000 / scale;
    let started = Instant::now();
    for _ in 0..count {
        Command::new("/bin/true").status().map_err(fault)?;
    }
    Ok(Baseline { syncs_per_second, processes_per_second: rate(count, started.elapsed()) })
}
