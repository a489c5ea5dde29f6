//! Looking at processes, and ending a run's.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// How long what is left of a run may resist being killed.
const CLEANUP_PATIENCE: Duration = Duration::from_secs(60);

/// A process's start time in clock ticks since boot; `None` where there is no such process.
pub fn start_time(pid: i32) -> Option<u64> {
    fields(pid)?.get(19)?.parse().ok()
}

/// The fields of `/proc/PID/stat` behind the command's name: state is the first, the parent's id the second.
fn fields(pid: i32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_string).collect())
}

/// All living descendants of a process.
pub fn descendants(of: i32) -> Vec<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        if let Some(parent) = fields(pid).and_then(|fields| fields.get(1)?.parse().ok()) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut next = vec![of];
    while let Some(pid) = next.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            found.push(child);
            next.push(child);
        }
    }
    found
}

/// Sends a signal to all descendants of a process.
pub fn signal_descendants(of: i32, signal: Signal) {
    for pid in descendants(of) {
        // One that has ended meanwhile is what was wanted.
        let _ = kill(Pid::from_raw(pid), signal);
    }
}

/// Ends every child that is left (this process is their reaper, so orphans are among them). False: some resisted.
pub fn clear_children() -> bool {
    let own = std::process::id() as i32;
    let started = Instant::now();
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Err(Errno::ECHILD) => return true,
            Ok(WaitStatus::StillAlive) => {
                if started.elapsed() > CLEANUP_PATIENCE {
                    return false;
                }
                signal_descendants(own, Signal::SIGKILL);
                std::thread::sleep(Duration::from_millis(2));
            }
            _ => {}
        }
    }
}

/// The kernel's boot id.
pub fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_string()
}
