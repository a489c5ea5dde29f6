//! Questions with a large queue, memory, and the restart.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::daemon::{Daemon, submit_many};
use crate::figures::{milliseconds, percentiles};
use crate::running::until_empty;

pub fn measure(root: &Path, scale: usize) -> Result<Value, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let mut figures = Map::new();
    for pending in [10_000 / scale, 50_000 / scale] {
        let root = root.join(pending.to_string());
        let mut daemon = Daemon::start(&root)?;
        // 64 of them run; the others wait, as they would on a busy cluster.
        runtime.block_on(submit_many(&daemon, pending, 64, "exec sleep 3600", false))?;
        let user = nix::unistd::getuid().to_string();
        let time = |arguments: &[&str]| -> Result<Value, String> {
            let times: Result<Vec<_>, String> = (0..7).map(|_| daemon.time("squeue", arguments)).collect();
            Ok(percentiles(times?))
        };
        let whole = time(&[])?;
        let of_user = time(&["-h", "-u", &user])?;
        let one = time(&["-h", "-j", "100"])?;
        let (resident, proportional) = daemon.memory_kib();
        let restart = daemon.kill_and_start()?;
        let (resident_after, _) = daemon.memory_kib();
        figures.insert(
            format!("pending_{pending}"),
            json!({
                "squeue": whole,
                "squeue_of_user": of_user,
                "squeue_one_job": one,
                "resident_kib": resident,
                "proportional_kib": proportional,
                "kill_9_to_ready_ms": milliseconds(restart),
                "resident_after_restart_kib": resident_after,
            }),
        );
        // Those that run outlive the daemon: nothing of them may be left when the measurement is over.
        daemon.time("scancel", &["-u", &user])?;
        runtime.block_on(until_empty(&daemon))?;
    }
    Ok(Value::Object(figures))
}
