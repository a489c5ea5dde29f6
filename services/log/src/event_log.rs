//! The log's one trait, and what its calls take, give and refuse.

use std::sync::Arc;

use async_trait::async_trait;
use daybook_schemas::{BlobHash, Commit, Draft, EventId, Seq, Stream, Subject, UtcMicros};

/// A log that is shared between services.
pub type LogHandle = Arc<dyn EventLog>;

/// What to append.
#[derive(Clone, Debug)]
pub struct Append {
    /// To which stream.
    pub stream: Stream,
    /// The events.
    pub draft: Draft,
    /// Payload that the events name by hash; durable before the commit is acknowledged. Those that are there
    /// already are not written again.
    pub blobs: Vec<Arc<[u8]>>,
}

/// An append that is on stable storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The commit's position.
    pub seq: Seq,
    /// The log's timestamp.
    pub time: UtcMicros,
}

/// Why nothing was appended, by what the writer does about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// An event of the draft is in the log already: the writer takes that as its answer.
    #[error("event {event} is already in the log, in commit {seq}")]
    Duplicate {
        /// The first such event of the draft.
        event: EventId,
        /// Where it is.
        seq: Seq,
    },
    /// Somebody else wrote to the subject: fold up to `actual` and decide again.
    #[error("the last commit of {subject} is {actual}, not {expected}")]
    Expectation {
        /// Whose subject.
        subject: Subject,
        /// What the draft expected.
        expected: Seq,
        /// What is the case.
        actual: Seq,
    },
    /// The draft itself is no good (no events, too many, an id twice, a fraction in it).
    #[error("the draft cannot be appended: {0}")]
    Invalid(String),
    /// Certainly not appended: disk full, read-only, closed. Accept nothing; try again later.
    #[error("the log cannot append: {0}")]
    Unavailable(String),
    /// Appended or not, nobody knows: look the event ids up with [`EventLog::find`]; never decide again before.
    #[error("the outcome of the append is unknown: {0}")]
    Unknown(String),
}

/// Why nothing could be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// A commit or blob is damaged, or written by a newer program. A reader stops here; it never skips.
    #[error("commit {seq} of the {stream:?} stream is unreadable: {why}")]
    Unreadable {
        /// Which stream.
        stream: Stream,
        /// Where.
        seq: Seq,
        /// Why.
        why: String,
    },
    /// A blob's bytes are not those of its address.
    #[error("blob {0} is damaged")]
    DamagedBlob(BlobHash),
    /// The store does not answer, or was closed.
    #[error("the log cannot be read: {0}")]
    Unavailable(String),
}

/// What an acknowledgement of this log means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// On stable storage: survives a power cut.
    Synced,
    /// Written, but not yet on stable storage: a power cut may take it away.
    Unsynced,
    /// In this process's memory only.
    Volatile,
}

/// An append-only log of commits in two streams, and a store of blobs beside it.
#[async_trait]
pub trait EventLog: Send + Sync + 'static {
    /// Appends a draft as the next commit. Appends that wait together share one sync.
    async fn append(&self, append: Append) -> Result<Appended, AppendError>;

    /// Commits from `from` on, in order and without a gap, at most `limit`; empty where there are none yet (or the
    /// limit is 0). Fewer than `limit` may come before the end is reached: read on from the one after the last.
    async fn read(&self, stream: Stream, from: Seq, limit: usize) -> Result<Vec<Arc<Commit>>, ReadError>;

    /// The last commit on stable storage; [`Seq::ZERO`] where there is none.
    fn end(&self, stream: Stream) -> Seq;

    /// Waits, without polling, until [`EventLog::end`] is greater than `seq`; gives the end. An error: the log
    /// is closed, and nothing more will come.
    async fn wait_past(&self, stream: Stream, seq: Seq) -> Result<Seq, ReadError>;

    /// The commit that has this event.
    async fn find(&self, stream: Stream, event: &EventId) -> Result<Option<Seq>, ReadError>;

    /// The last commit of a subject; [`Seq::ZERO`] where there is none.
    async fn subject_end(&self, stream: Stream, subject: &Subject) -> Result<Seq, ReadError>;

    /// A blob's bytes, checked against its address.
    async fn blob(&self, hash: &BlobHash) -> Result<Option<Arc<[u8]>>, ReadError>;

    /// What an acknowledgement means.
    fn durability(&self) -> Durability;
}
