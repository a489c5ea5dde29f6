//! Waiting for supervisors, without polling.

use daybook_schemas::{RunId, UtcMicros};
use daybook_supervisor::processes::start_time;
use daybook_supervisor::records::{Claim, Exit, Started};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;

use crate::directory::Directories;

/// What a run has come to.
pub(crate) enum Outcome {
    /// The script's process exists.
    Started(Started),
    /// There is an exit record.
    Ended(Box<Exit>),
    /// There is none, and nobody is left who would write one.
    Lost { last_evidence: UtcMicros, message: String },
    /// No supervisor could be started.
    NotLaunched(String),
}

/// Waits until the supervisor says that the script has started, or has ended without. Gives the child where it goes on.
pub(crate) async fn watch_supervisor(
    mut child: Child,
    directories: &Directories,
    run: RunId,
) -> (Outcome, Option<Child>) {
    if let Some(stdout) = child.stdout.take() {
        let mut line = String::new();
        let _ = BufReader::new(stdout).read_line(&mut line).await;
    }
    if let Some(started) = directories.started(run) {
        return (Outcome::Started(started), Some(child));
    }
    let _ = child.wait().await;
    (directories.outcome(run), None)
}

/// Waits for the end of a process that is not our child.
pub(crate) async fn wait_for_process(claim: Claim) {
    let Some(pid) = Pid::from_raw(claim.pid) else { return };
    let Ok(descriptor) = pidfd_open(pid, PidfdFlags::NONBLOCK) else { return };
    // Looked at after it was opened: the descriptor is of the process that has this start time.
    if start_time(claim.pid) != Some(claim.start_time) {
        return;
    }
    // SAFETY: `descriptor` is an owned pidfd; it is neither closed nor replaced before `waiting` is dropped.
    if let Ok(waiting) = unsafe { AsyncFd::register(descriptor) } {
        let _ = waiting.readable().await;
    }
}
