//! A copy of a log that lives elsewhere: commits that have their places already, in the embedded log's store.
//!
//! It is not synced: what a crash takes away is read again from where the log lives. Everything else is as in the
//! embedded log, so a copy is read, searched and checked by the same code.

use std::path::Path;
use std::sync::Arc;

use daybook_schemas::{BlobHash, Commit, EventId, Seq, Stream, Subject, UtcMicros};

use super::open::{OpenError, RecordedPosition, check_recorded, open_store};
use super::record;
use super::shared::Shared;
use crate::ReadError;
use crate::admission::{PerStream, Tail};
use crate::ends::Ends;
use crate::prepared::splice;

/// The note that marks an unfinished copy.
pub(super) const UNFINISHED: &str = "unfinished-copy";
pub(super) const YES: &str = "yes";
const NO: &str = "no";

/// A copy, shared by those who read it and the tasks (one for each stream) that write it.
pub(crate) struct Replica {
    shared: Arc<Shared>,
    tails: std::sync::Mutex<PerStream<Tail>>,
}

/// A commit as it came from where the log lives.
pub(crate) struct Copied {
    /// Its place.
    pub(crate) seq: Seq,
    /// When it came into the log, by the clock there.
    pub(crate) time: UtcMicros,
    /// Who wrote it.
    pub(crate) subject: Subject,
    /// The canonical bytes of its events.
    pub(crate) events_json: Vec<u8>,
}

impl Replica {
    /// Opens the copy in `dir`, or starts one there.
    pub(crate) fn open(dir: &Path) -> Result<Replica, OpenError> {
        let (shared, end) = open_store(dir)?;
        Ok(Replica { shared, tails: std::sync::Mutex::new(end.tails) })
    }

    fn tails(&self) -> std::sync::MutexGuard<'_, PerStream<Tail>> {
        self.tails.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Where a stream's copy ends.
    pub(crate) fn tail(&self, stream: Stream) -> Tail {
        *self.tails().get(stream)
    }

    /// Whether the copy has everything that others say they have read.
    pub(crate) fn check_recorded(&self, recorded: &[RecordedPosition]) -> Result<(), OpenError> {
        check_recorded(&self.shared.dir, &self.tails(), recorded)
    }

    /// Adds commits behind the copy's end. They must be contiguous; a commit's time is never earlier than that of the
    /// one before it. An error leaves the copy as it was.
    pub(crate) fn extend(&self, stream: Stream, commits: Vec<Copied>) -> Result<(), String> {
        let store = self.shared.store();
        let store = store.as_ref().ok_or("the copy of the log is closed")?;
        let mut rows = store.group();
        let mut tail = self.tail(stream);
        let mut decoded = Vec::with_capacity(commits.len());
        for copied in commits {
            if copied.seq != tail.seq.next() {
                return Err(format!("commit {} came where {} should have", copied.seq, tail.seq.next()));
            }
            tail = Tail { seq: copied.seq, time: copied.time.max(tail.time) };
            let (commit, bytes) = commit_of(copied, tail.time)?;
            // An event's first place counts, should a writer ever have got one in twice.
            let mut fresh = Vec::with_capacity(commit.events.len());
            for event in &commit.events {
                if store.event(stream, &event.id)?.is_none() {
                    fresh.push(&event.id);
                }
            }
            let record = record::of_bytes(&bytes);
            rows.put_commit(stream, tail.seq, &record, &commit.subject, fresh.into_iter())?;
            decoded.push((Arc::new(commit), record.len()));
        }
        rows.put_end(stream, tail.seq)?;
        rows.write_unsynced().map_err(|error| error.into_string())?;
        *self.tails().get_mut(stream) = tail;
        for (commit, size) in decoded {
            self.shared.remember(stream, commit, size);
        }
        self.shared.ends.publish(stream, tail.seq);
        Ok(())
    }

    /// The published ends.
    pub(crate) fn ends(&self) -> &Ends {
        &self.shared.ends
    }

    pub(crate) fn recent_from(
        &self,
        stream: Stream,
        from: Seq,
        limit: usize,
    ) -> Result<Option<Vec<Arc<Commit>>>, ReadError> {
        self.shared.recent_from(stream, from, limit)
    }

    pub(crate) fn read_stored(
        &self,
        stream: Stream,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Arc<Commit>>, ReadError> {
        self.shared.read_stored(stream, from, limit)
    }

    pub(crate) fn find(&self, stream: Stream, event: &EventId) -> Result<Option<Seq>, ReadError> {
        self.shared.find(stream, event)
    }

    pub(crate) fn subject_end(&self, stream: Stream, subject: &Subject) -> Result<Seq, ReadError> {
        self.shared.subject_end(stream, subject)
    }

    pub(crate) fn blob(&self, hash: &BlobHash) -> Result<Option<Arc<[u8]>>, ReadError> {
        self.shared.blob(hash)
    }

    /// Keeps a blob that is safe where the log lives.
    pub(crate) fn keep_blob(&self, hash: &BlobHash, bytes: &[u8]) -> Result<(), String> {
        let store = self.shared.store();
        let store = store.as_ref().ok_or("the copy of the log is closed")?;
        let mut rows = store.group();
        rows.put_blob(hash, bytes)?;
        rows.write_unsynced().map_err(|error| error.into_string())
    }

    /// A text that was kept with the copy.
    pub(crate) fn note(&self, name: &str) -> Result<Option<String>, String> {
        self.shared.store().as_ref().ok_or("the copy of the log is closed")?.note(name)
    }

    /// Keeps a text with the copy.
    pub(crate) fn keep_note(&self, name: &str, text: &str) -> Result<(), String> {
        let store = self.shared.store();
        let store = store.as_ref().ok_or("the copy of the log is closed")?;
        let mut rows = store.group();
        rows.put_note(name, text)?;
        rows.write().map_err(|error| error.into_string())
    }

    /// Whether this is a copy that is to become a log of its own and was not finished.
    pub(crate) fn is_unfinished(&self) -> Result<bool, String> {
        Ok(self.note(UNFINISHED)?.as_deref() == Some(YES))
    }

    /// Marks it so, or takes the mark away; synced, and with it all that was written before.
    pub(crate) fn mark_unfinished(&self, unfinished: bool) -> Result<(), String> {
        self.keep_note(UNFINISHED, if unfinished { YES } else { NO })
    }

    /// Gives the directory back; nothing more will come.
    pub(crate) fn close(&self) {
        self.shared.close();
    }
}

/// The commit that it is with this time, and its canonical bytes.
pub(crate) fn commit_of(copied: Copied, time: UtcMicros) -> Result<(Commit, Vec<u8>), String> {
    let unreadable = |why: String| format!("commit {} is unreadable: {why}", copied.seq);
    let subject =
        serde_json::to_string(&copied.subject.to_string()).map_err(|error| unreadable(error.to_string()))?;
    let mut bytes = Vec::with_capacity(copied.events_json.len() + subject.len() + 96);
    splice(&copied.events_json, &subject, copied.seq, time, &mut bytes)
        .map_err(|error| unreadable(error.to_string()))?;
    let commit = Commit::from_bytes(&bytes).map_err(|error| unreadable(error.to_string()))?;
    Ok((commit, bytes))
}
