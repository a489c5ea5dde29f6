//! The rules of [`EventLog`](crate::EventLog), as tests that any implementation can be put to.
//!
//! An implementation describes a [`Place`] where a log can be kept, and calls [`run`], or makes one test of each rule
//! with [`conformance_suite!`](crate::conformance_suite). A rule that is broken panics and says what was expected.

mod admission;
mod contention;
mod order;
mod reading;
pub mod sample;

use std::sync::Arc;

use async_trait::async_trait;
use daybook_schemas::{Commit, Seq, Stream};

use crate::clock::{Clock, SystemClock};
use crate::{EventLog, LogHandle};

pub use admission::{
    a_draft_is_appended_whole_or_not_at_all, an_event_id_is_accepted_once_for_ever,
    drafts_that_cannot_be_are_refused, expectations_fence_a_subject,
};
pub use contention::{concurrent_writers_get_contiguous_commits, of_concurrent_expectations_one_wins};
pub use order::{
    reopening_gives_the_same_bytes, sequences_are_contiguous_from_one, streams_are_independent,
    timestamps_never_go_back,
};
pub use reading::{
    a_blob_is_readable_whenever_its_commit_is, reads_keep_to_their_limits, waiting_wakes_at_the_next_commit,
};

/// Where one log is kept.
#[async_trait]
pub trait Place: Send + Sync {
    /// Opens the log that is kept here, empty at first. It is called again only after every handle of the former
    /// call was dropped, and then gives the same log.
    async fn open(&self, clock: Arc<dyn Clock>) -> LogHandle;
}

/// Makes one asynchronous test of each rule; the argument is a call that gives a fresh [`Place`].
#[macro_export]
macro_rules! conformance_suite {
    ($fresh:expr) => {
        $crate::conformance_suite!($fresh;
            sequences_are_contiguous_from_one,
            streams_are_independent,
            timestamps_never_go_back,
            reopening_gives_the_same_bytes,
            an_event_id_is_accepted_once_for_ever,
            expectations_fence_a_subject,
            a_draft_is_appended_whole_or_not_at_all,
            drafts_that_cannot_be_are_refused,
            a_blob_is_readable_whenever_its_commit_is,
            reads_keep_to_their_limits,
            waiting_wakes_at_the_next_commit,
            concurrent_writers_get_contiguous_commits,
            of_concurrent_expectations_one_wins,
        );
    };
    ($fresh:expr; $($rule:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                $crate::conformance::$rule(&$fresh).await;
            }
        )*
    };
}

/// Puts an implementation to every rule, each in a fresh place.
pub async fn run<P: Place>(fresh: impl Fn() -> P) {
    sequences_are_contiguous_from_one(&fresh()).await;
    streams_are_independent(&fresh()).await;
    timestamps_never_go_back(&fresh()).await;
    reopening_gives_the_same_bytes(&fresh()).await;
    an_event_id_is_accepted_once_for_ever(&fresh()).await;
    expectations_fence_a_subject(&fresh()).await;
    a_draft_is_appended_whole_or_not_at_all(&fresh()).await;
    drafts_that_cannot_be_are_refused(&fresh()).await;
    a_blob_is_readable_whenever_its_commit_is(&fresh()).await;
    reads_keep_to_their_limits(&fresh()).await;
    waiting_wakes_at_the_next_commit(&fresh()).await;
    concurrent_writers_get_contiguous_commits(&fresh()).await;
    of_concurrent_expectations_one_wins(&fresh()).await;
}

async fn open(place: &dyn Place) -> LogHandle {
    place.open(Arc::new(SystemClock)).await
}

/// Every commit of a stream, read in portions, and checked to be contiguous up to the published end.
async fn read_all(log: &dyn EventLog, stream: Stream) -> Vec<Arc<Commit>> {
    let end = log.end(stream);
    let mut commits: Vec<Arc<Commit>> = Vec::new();
    while Seq(commits.len() as u64) < end {
        let from = Seq(commits.len() as u64).next();
        let more = log.read(stream, from, 37).await.expect("a whole log is readable");
        assert!(!more.is_empty(), "commit {from} of {end} is not there");
        commits.extend(more);
    }
    for (number, commit) in commits.iter().enumerate() {
        assert_eq!(commit.seq, Seq(number as u64 + 1), "the commits are contiguous from 1");
    }
    commits
}

fn bytes_of(commits: &[Arc<Commit>]) -> Vec<Vec<u8>> {
    commits.iter().map(|commit| commit.to_bytes().expect("a commit has canonical bytes")).collect()
}
