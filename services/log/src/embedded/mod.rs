//! The log in one directory of this machine, on RocksDB.
//!
//! The directory has `owner` (locked by the process that has the log open, and naming it) and `rocksdb/`.
//! [`EmbeddedLog::open`] opens it; dropping the last handle, or [`EmbeddedLog::close`], gives it back.
//!
//! - An append is checked and encoded in its caller's task. One writer thread admits the waiting appends as a group,
//!   writes them in one batch with one sync, publishes the new ends and answers.
//! - When a write fails (disk full, disk gone read-only) nothing is accepted, reads go on, and the writer tries to
//!   come back by itself; see `resume`. No restart is needed once there is space again.
//! - Recent commits are kept decoded and shared, so projections at the end never touch the disk.

mod open;
mod owner;
mod recent;
mod record;
#[cfg(feature = "jetstream")]
pub(crate) mod replica;
mod resume;
mod shared;
mod store;
mod tail;
mod writer;

use std::sync::{Arc, Mutex, PoisonError, RwLock, mpsc};
use std::thread::JoinHandle;

use async_trait::async_trait;
use daybook_schemas::{BlobHash, Commit, EventId, Seq, Stream, Subject};
use tokio::sync::oneshot;

pub use open::{OpenError, OpenOptions, RecordedPosition};

use crate::bounds::{QUEUE_KIB, QUEUE_KIB_EACH, READ_COMMITS_MAX, READ_INLINE_MAX};
use crate::prepared::Prepared;
use crate::{Append, AppendError, Appended, Durability, EventLog, ReadError};
use shared::Shared;
use writer::Request;

/// A log on RocksDB. Cheap to share by its `Arc`; safe from any task or thread.
pub struct EmbeddedLog {
    shared: Arc<Shared>,
    queue: RwLock<Option<mpsc::Sender<Request>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl EmbeddedLog {
    /// Finishes the appends that wait, then gives the directory back. Later calls answer that the log is closed.
    pub async fn close(self: &Arc<Self>) {
        let log = self.clone();
        // A failure here is the runtime's shutdown; dropping the log then closes it.
        let _ = tokio::task::spawn_blocking(move || log.close_now()).await;
    }

    fn close_now(&self) {
        self.queue.write().unwrap_or_else(PoisonError::into_inner).take();
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer
            && writer.join().is_err()
        {
            tracing::error!(dir = %self.shared.dir.display(), "the log's writer had panicked");
        }
        self.shared.close();
    }

    async fn enqueue(&self, prepared: Prepared) -> Result<Appended, AppendError> {
        let kib = (QUEUE_KIB_EACH + prepared.weight() / 1024).min(QUEUE_KIB);
        let space =
            self.shared.queue_space.clone().acquire_many_owned(u32::try_from(kib).unwrap_or(u32::MAX));
        let closed = || AppendError::Unavailable("the log is closed".to_string());
        let space = space.await.map_err(|_| closed())?;
        let (answer, answered) = oneshot::channel();
        {
            let queue = self.queue.read().unwrap_or_else(PoisonError::into_inner);
            let request = Request { prepared, answer, _space: space };
            queue.as_ref().ok_or_else(closed)?.send(request).map_err(|_| closed())?;
        }
        answered
            .await
            .unwrap_or_else(|_| Err(AppendError::Unknown("the log's writer has stopped".to_string())))
    }

    /// Runs a read here where it is short, else on a thread for blocking work.
    async fn reading<T: Send + 'static>(
        &self,
        short: bool,
        read: impl FnOnce(&Shared) -> Result<T, ReadError> + Send + 'static,
    ) -> Result<T, ReadError> {
        if short {
            return read(&self.shared);
        }
        let shared = self.shared.clone();
        match tokio::task::spawn_blocking(move || read(&shared)).await {
            Ok(result) => result,
            Err(error) => Err(ReadError::Unavailable(error.to_string())),
        }
    }
}

impl Drop for EmbeddedLog {
    fn drop(&mut self) {
        self.close_now();
    }
}

#[async_trait]
impl EventLog for EmbeddedLog {
    async fn append(&self, append: Append) -> Result<Appended, AppendError> {
        let mut prepared = Prepared::new(append)?;
        if !prepared.blobs.is_empty() {
            let blobs = std::mem::take(&mut prepared.blobs);
            let missing = self.reading(false, move |shared| shared.missing_blobs(blobs)).await;
            // What can be read is there for good: blobs are never removed.
            prepared.blobs = missing.map_err(|error| AppendError::Unavailable(error.to_string()))?;
        }
        self.enqueue(prepared).await
    }

    async fn read(&self, stream: Stream, from: Seq, limit: usize) -> Result<Vec<Arc<Commit>>, ReadError> {
        let from = from.max(Seq(1));
        let limit = limit.min(READ_COMMITS_MAX);
        if let Some(commits) = self.shared.recent_from(stream, from, limit)? {
            return Ok(commits);
        }
        self.reading(limit <= READ_INLINE_MAX, move |shared| shared.read_stored(stream, from, limit)).await
    }

    fn end(&self, stream: Stream) -> Seq {
        self.shared.ends.get(stream)
    }

    async fn wait_past(&self, stream: Stream, seq: Seq) -> Result<Seq, ReadError> {
        self.shared.ends.wait_past(stream, seq).await
    }

    async fn find(&self, stream: Stream, event: &EventId) -> Result<Option<Seq>, ReadError> {
        self.shared.find(stream, event)
    }

    async fn subject_end(&self, stream: Stream, subject: &Subject) -> Result<Seq, ReadError> {
        self.shared.subject_end(stream, subject)
    }

    async fn blob(&self, hash: &BlobHash) -> Result<Option<Arc<[u8]>>, ReadError> {
        let hash = hash.clone();
        self.reading(false, move |shared| shared.blob(&hash)).await
    }

    fn durability(&self) -> Durability {
        Durability::Synced
    }
}
