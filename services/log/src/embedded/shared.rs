//! What the log's handles and its writer share: the store, the published ends, and the recent commits.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use daybook_schemas::{BlobHash, Commit, EventId, Seq, Stream, Subject};
use tokio::sync::Semaphore;

use super::owner::Owner;
use super::recent::Recent;
use super::store::Store;
use crate::ReadError;
use crate::admission::{PerStream, Tail};
use crate::bounds::QUEUE_KIB;
use crate::ends::Ends;
use crate::prepared::Blob;

pub(super) struct Shared {
    pub(super) dir: PathBuf,
    pub(super) ends: Ends,
    /// Room for waiting appends, in KiB.
    pub(super) queue_space: Arc<Semaphore>,
    // Readers hold this for the length of one read; the writer takes it away only to reopen the database. The
    // store comes first, so that it is closed before the directory is given back.
    store: RwLock<Option<Store>>,
    owner: Mutex<Option<Owner>>,
    recent: RwLock<PerStream<Recent>>,
    /// Events whose append may or may not turn up when the database is opened again.
    unsettled: RwLock<BTreeSet<(Stream, EventId)>>,
}

impl Shared {
    pub(super) fn new(dir: &Path, owner: Owner, store: Store, tails: &PerStream<Tail>) -> Shared {
        Shared {
            dir: dir.to_path_buf(),
            ends: Ends::new(tails.state.seq, tails.detail.seq),
            queue_space: Arc::new(Semaphore::new(QUEUE_KIB)),
            store: RwLock::new(Some(store)),
            owner: Mutex::new(Some(owner)),
            recent: RwLock::default(),
            unsettled: RwLock::default(),
        }
    }

    pub(super) fn database_dir(&self) -> PathBuf {
        self.dir.join("rocksdb")
    }

    pub(super) fn store(&self) -> RwLockReadGuard<'_, Option<Store>> {
        self.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn store_for_exchange(&self) -> RwLockWriteGuard<'_, Option<Store>> {
        self.store.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn reading<T>(&self, read: impl FnOnce(&Store) -> Result<T, ReadError>) -> Result<T, ReadError> {
        match self.store().as_ref() {
            Some(store) => read(store),
            None => Err(ReadError::Unavailable(format!("the log in {} is closed", self.dir.display()))),
        }
    }

    /// Commits out of those kept in memory; empty where there are none yet, `None` where they must be read.
    pub(super) fn recent_from(
        &self,
        stream: Stream,
        from: Seq,
        limit: usize,
    ) -> Result<Option<Vec<Arc<Commit>>>, ReadError> {
        let end = self.ends.get(stream);
        if from > end || limit == 0 {
            return self.reading(|_| Ok(Some(Vec::new())));
        }
        let recent = self.recent.read().unwrap_or_else(PoisonError::into_inner);
        Ok(recent.get(stream).from(from, end, limit))
    }

    pub(super) fn remember(&self, stream: Stream, commit: Arc<Commit>, size: usize) {
        self.recent.write().unwrap_or_else(PoisonError::into_inner).get_mut(stream).push(commit, size);
    }

    pub(super) fn read_stored(
        &self,
        stream: Stream,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Arc<Commit>>, ReadError> {
        let end = self.ends.get(stream);
        self.reading(|store| store.read(stream, from, end, limit))
    }

    pub(super) fn find(&self, stream: Stream, event: &EventId) -> Result<Option<Seq>, ReadError> {
        // Looked up first: once an event is settled it is in the store or never will be.
        if self.is_unsettled(stream, event) {
            return Err(ReadError::Unavailable(format!(
                "whether event {event} was written is known once the log can write again"
            )));
        }
        self.reading(|store| store.event(stream, event).map_err(ReadError::Unavailable))
    }

    /// Whether the event's append has an unknown outcome.
    pub(super) fn is_unsettled(&self, stream: Stream, event: &EventId) -> bool {
        let unsettled = self.unsettled.read().unwrap_or_else(PoisonError::into_inner);
        !unsettled.is_empty() && unsettled.contains(&(stream, event.clone()))
    }

    /// Remembers events whose append has an unknown outcome.
    pub(super) fn leave_unsettled(&self, events: impl Iterator<Item = (Stream, EventId)>) {
        self.unsettled.write().unwrap_or_else(PoisonError::into_inner).extend(events);
    }

    /// Every outcome is known again.
    pub(super) fn settle(&self) {
        self.unsettled.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(super) fn subject_end(&self, stream: Stream, subject: &Subject) -> Result<Seq, ReadError> {
        self.reading(|store| {
            let seq = store.subject(stream, subject).map_err(ReadError::Unavailable)?;
            Ok(seq.unwrap_or(Seq::ZERO))
        })
    }

    pub(super) fn blob(&self, hash: &BlobHash) -> Result<Option<Arc<[u8]>>, ReadError> {
        self.reading(|store| store.blob(hash))
    }

    /// Those of the blobs that are not in the store, or not in order there.
    pub(super) fn missing_blobs(&self, blobs: Vec<Blob>) -> Result<Vec<Blob>, ReadError> {
        self.reading(|store| {
            let mut missing = Vec::new();
            for blob in blobs {
                match store.blob(&blob.hash) {
                    Ok(Some(_)) => {}
                    // A damaged blob is mended by whoever brings its bytes.
                    Ok(None) | Err(ReadError::DamagedBlob(_)) => missing.push(blob),
                    Err(error) => return Err(error),
                }
            }
            Ok(missing)
        })
    }

    /// Closes the database and gives the directory back.
    pub(super) fn close(&self) {
        self.ends.close();
        self.store_for_exchange().take();
        self.owner.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
