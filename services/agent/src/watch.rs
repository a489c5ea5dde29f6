//! What a run's task waits for, without polling: wishes, the agent's stop, the end of a process.

use std::future::Future;

use daybook_schemas::Seq;
use daybook_supervisor::processes::start_time;
use daybook_supervisor::records::{Claim, Wish};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;

/// A run's wishes, and whether the agent stops.
pub(crate) struct Wishes {
    pub(crate) wish: watch::Receiver<Wish>,
    pub(crate) stopped: watch::Receiver<bool>,
}

impl Wishes {
    /// The newest.
    pub(crate) fn newest(&mut self) -> Wish {
        self.wish.borrow_and_update().clone()
    }

    /// Which order to stop or to go on is the newest, without taking it as seen.
    pub(crate) fn ordered(&self) -> Seq {
        self.wish.borrow().ordered
    }

    /// Waits for a wish of a kind. `None`: the agent stops.
    pub(crate) async fn until(&mut self, is_meant: impl FnMut(&Wish) -> bool) -> Option<Wish> {
        let mut stopped = self.stopped.clone();
        tokio::select! {
            biased;
            () = told_to_stop(&mut stopped) => None,
            wish = self.wish.wait_for(is_meant) => wish.ok().map(|wish| wish.clone()),
        }
    }

    /// Waits for a change. `None`: the agent stops.
    pub(crate) async fn changed(&mut self) -> Option<()> {
        let mut stopped = self.stopped.clone();
        tokio::select! {
            biased;
            () = told_to_stop(&mut stopped) => None,
            changed = self.wish.changed() => changed.ok(),
        }
    }

    /// Waits for something else. `None`: the agent stops.
    pub(crate) async fn unless_stopped<T>(&mut self, other: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = told_to_stop(&mut self.stopped) => None,
            outcome = other => Some(outcome),
        }
    }
}

/// Waits until the agent is told to stop, or its handle is gone, which stops it as well.
pub(crate) async fn told_to_stop(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stop| *stop).await;
}

/// Waits for the end of a supervisor that may be nobody's child here.
pub(crate) async fn wait_for_supervisor(claim: Claim) {
    let Some(pid) = Pid::from_raw(claim.pid) else { return };
    let Ok(descriptor) = pidfd_open(pid, PidfdFlags::NONBLOCK) else { return };
    // Looked at after it was opened: the descriptor is of the process that has this start time.
    if start_time(claim.pid) != Some(claim.start_time) {
        return;
    }
    // SAFETY: `descriptor` is an owned pidfd; it is neither closed nor replaced before `waiting` is dropped.
    if let Ok(waiting) = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) } {
        let _ = waiting.readable().await;
    }
}
