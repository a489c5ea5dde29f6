//! Keeps a projection at the end of a stream and hands out snapshots of it.
//!
//! The projection's task ends when nobody holds it any more, when the log is closed, or when it must stop: at a gap,
//! at a commit that cannot be read or folded, or at a log that is shorter than the projection. Until then it waits for
//! commits without polling. A read that the log turns away for the moment is tried again.

use std::sync::Arc;
use std::time::Duration;

use daybook_schemas::{Commit, Fold, Seq, Stream};
use tokio::sync::watch;

use crate::bounds::{FOLD_BATCH, FOLD_RETRY_MAX, FOLD_RETRY_MIN};
use crate::{EventLog, LogHandle, ReadError};

/// Why a projection does not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// It is behind and did not catch up in time.
    #[error("the projection is at {at} and did not reach {wanted} in time")]
    Behind {
        /// Where it is.
        at: Seq,
        /// Where it should be.
        wanted: Seq,
    },
    /// It has stopped at a commit that it cannot fold.
    #[error("the projection has stopped: {0}")]
    Stopped(String),
}

/// A projection that follows a stream in the background.
pub struct Live<F> {
    snapshots: watch::Receiver<Arc<F>>,
    stopped: watch::Receiver<Option<String>>,
    log: LogHandle,
    stream: Stream,
}

impl<F> Clone for Live<F> {
    fn clone(&self) -> Live<F> {
        Live {
            snapshots: self.snapshots.clone(),
            stopped: self.stopped.clone(),
            log: self.log.clone(),
            stream: self.stream,
        }
    }
}

impl<F: Fold> Live<F> {
    /// Starts following at the commit after `initial`'s position. Must be called inside a tokio runtime.
    pub fn start(log: LogHandle, stream: Stream, initial: F) -> Live<F> {
        let initial = Arc::new(initial);
        let (publish, snapshots) = watch::channel(initial.clone());
        let (stop, stopped) = watch::channel(None);
        let follower = log.clone();
        tokio::spawn(async move {
            if let Some(why) = follow(follower.as_ref(), stream, initial, &publish).await {
                tracing::error!(%why, ?stream, "a projection has stopped");
                // Said before the snapshots' sender goes, so that whoever wakes from that finds the reason.
                stop.send_replace(Some(why));
            }
        });
        Live { snapshots, stopped, log, stream }
    }

    /// The newest snapshot, without waiting; the last one for ever once the projection has stopped.
    pub fn now(&self) -> Arc<F> {
        self.snapshots.borrow().clone()
    }

    /// A receiver that wakes with each new snapshot; its sender is gone once the projection has stopped.
    pub fn subscribe(&self) -> watch::Receiver<Arc<F>> {
        self.snapshots.clone()
    }

    /// A snapshot that has at least `seq`; waits for it, without polling, as long as `patience`.
    pub async fn at_least(&self, seq: Seq, patience: Duration) -> Result<Arc<F>, NotReady> {
        let mut snapshots = self.snapshots.clone();
        let mut stopped = self.stopped.clone();
        let found = tokio::time::timeout(patience, async {
            tokio::select! {
                biased;
                found = snapshots.wait_for(|snapshot| snapshot.position() >= seq) => found.map(|s| s.clone()).ok(),
                _ = stopped.wait_for(Option::is_some) => None,
            }
        })
        .await;
        match found {
            Ok(Some(snapshot)) => Ok(snapshot),
            Ok(None) => {
                let why = self.stopped.borrow().clone();
                Err(NotReady::Stopped(why.unwrap_or_else(|| "its task has ended".to_string())))
            }
            Err(_) => Err(NotReady::Behind { at: self.now().position(), wanted: seq }),
        }
    }

    /// A snapshot that has everything that was acknowledged before the call.
    pub async fn current(&self, patience: Duration) -> Result<Arc<F>, NotReady> {
        self.at_least(self.log.end(self.stream), patience).await
    }
}

/// Runs until nobody holds the projection any more or the log is closed (`None`), or it cannot go on (why).
async fn follow<F: Fold>(
    log: &dyn EventLog,
    stream: Stream,
    mut state: Arc<F>,
    publish: &watch::Sender<Arc<F>>,
) -> Option<String> {
    let (at, end) = (state.position(), log.end(stream));
    if end < at {
        return Some(format!("it has folded commit {at}, but the log ends at {end}: it is of another log"));
    }
    let mut retry = FOLD_RETRY_MIN;
    while !publish.is_closed() {
        let commits = match log.read(stream, state.position().next(), FOLD_BATCH).await {
            Ok(commits) => commits,
            Err(ReadError::Unavailable(why)) => {
                tracing::warn!(%why, ?stream, "a projection waits for the log");
                let again = async {
                    tokio::time::sleep(retry).await;
                    // Where the log is closed for good, this says so.
                    log.wait_past(stream, state.position()).await
                };
                tokio::select! {
                    open = again => { open.ok()?; }
                    () = publish.closed() => return None,
                }
                retry = (retry * 2).min(FOLD_RETRY_MAX);
                continue;
            }
            Err(error) => return Some(error.to_string()),
        };
        retry = FOLD_RETRY_MIN;
        if commits.is_empty() {
            tokio::select! {
                // A closed log is the daemon's end, no fault of the projection.
                end = log.wait_past(stream, state.position()) => { end.ok()?; }
                () = publish.closed() => return None,
            }
            continue;
        }
        let (folded, stopped) = fold(state.as_ref(), &commits);
        state = Arc::new(folded);
        publish.send_replace(state.clone());
        if stopped.is_some() {
            return stopped;
        }
        // A long catching-up leaves room for others.
        tokio::task::yield_now().await;
    }
    None
}

/// Folds commits behind `published`; up to the first that does not fit, with the reason, where there is one.
fn fold<F: Fold>(published: &F, commits: &[Arc<Commit>]) -> (F, Option<String>) {
    let mut state = published.clone();
    for (folded, commit) in commits.iter().enumerate() {
        if let Err(why) = step(&mut state, commit) {
            // What a failed step leaves behind is not trusted: the good ones are folded once more.
            let mut good = published.clone();
            let again = commits.iter().take(folded).try_for_each(|commit| step(&mut good, commit));
            return (if again.is_ok() { good } else { published.clone() }, Some(why));
        }
    }
    (state, None)
}

fn step<F: Fold>(state: &mut F, commit: &Commit) -> Result<(), String> {
    let expected = state.position().next();
    if commit.seq != expected {
        return Err(format!("commit {} came where {expected} should have", commit.seq));
    }
    state.apply(commit).map_err(|why| format!("commit {}: {why}", commit.seq))
}

#[cfg(test)]
mod tests;
