//! Keeps a projection at the end of a stream and hands out snapshots of it.

use std::sync::Arc;
use std::time::Duration;

use daybook_schemas::{Commit, Seq, Stream};
use tokio::sync::watch;

use crate::{EventLog, LogHandle, ReadError};

/// A pure fold over commits. Cloning must be cheap (persistent maps, shared values): a clone is taken for each
/// batch of commits.
pub trait Fold: Clone + Send + Sync + 'static {
    /// The last commit folded.
    fn position(&self) -> Seq;

    /// Folds the next commit. It never fails on a valid commit; an error stops the projection for good.
    fn apply(&mut self, commit: &Commit) -> Result<(), String>;
}

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

/// Commits folded before a snapshot is published, at most.
const BATCH: usize = 512;

impl<F: Fold> Live<F> {
    /// Starts following at the commit after `initial`'s position. Must be called inside a tokio runtime.
    pub fn start(log: LogHandle, stream: Stream, initial: F) -> Live<F> {
        let (publish, snapshots) = watch::channel(Arc::new(initial.clone()));
        let (stop, stopped) = watch::channel(None);
        let follower = log.clone();
        tokio::spawn(async move {
            let why = follow(follower.as_ref(), stream, initial, &publish).await;
            if let Some(why) = why {
                tracing::error!(%why, ?stream, "a projection has stopped");
                stop.send_replace(Some(why));
                // The sender of snapshots is kept open so that the last snapshot stays readable.
                publish.closed().await;
            }
        });
        Live { snapshots, stopped, log, stream }
    }

    /// The newest snapshot, without waiting.
    pub fn now(&self) -> Arc<F> {
        self.snapshots.borrow().clone()
    }

    /// A receiver that wakes with each new snapshot.
    pub fn subscribe(&self) -> watch::Receiver<Arc<F>> {
        self.snapshots.clone()
    }

    /// A snapshot that has at least `seq`.
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

/// Runs until nobody holds the projection any more (`None`) or it cannot go on (why).
async fn follow<F: Fold>(
    log: &dyn EventLog,
    stream: Stream,
    mut state: F,
    publish: &watch::Sender<Arc<F>>,
) -> Option<String> {
    loop {
        let next = state.position().next();
        let commits = match log.read(stream, next, BATCH).await {
            Ok(commits) => commits,
            Err(error) => return Some(error.to_string()),
        };
        if commits.is_empty() {
            let waited = tokio::select! {
                waited = log.wait_past(stream, state.position()) => waited,
                () = publish.closed() => return None,
            };
            match waited {
                Ok(_) => continue,
                // A closed log is the daemon's end, no fault of the projection.
                Err(ReadError::Unavailable(_)) => return None,
                Err(error) => return Some(error.to_string()),
            }
        }
        for commit in &commits {
            let expected = state.position().next();
            if commit.seq != expected {
                return Some(format!("commit {} came where {expected} should have", commit.seq));
            }
            if let Err(why) = state.apply(commit) {
                return Some(format!("commit {}: {why}", commit.seq));
            }
        }
        publish.send_replace(Arc::new(state.clone()));
    }
}
