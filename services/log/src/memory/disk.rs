//! What a memory log keeps between two handles.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use daybook_schemas::{BlobHash, Commit, EventId, Seq, Stream, Subject, UtcMicros};

use crate::admission::{Admission, Admitted, PerStream, Tail};
use crate::prepared::Prepared;
use crate::{AppendError, Appended, ReadError};

#[derive(Default)]
pub(super) struct Disk {
    commits: PerStream<Vec<Arc<Commit>>>,
    events: BTreeMap<(Stream, EventId), Seq>,
    subjects: BTreeMap<(Stream, Subject), Seq>,
    blobs: BTreeMap<BlobHash, Arc<[u8]>>,
    damaged: BTreeSet<(Stream, Seq)>,
    damaged_blobs: BTreeSet<BlobHash>,
}

impl Disk {
    pub(super) fn tails(&self) -> PerStream<Tail> {
        let tail = |commits: &Vec<Arc<Commit>>| {
            commits.last().map(|commit| Tail { seq: commit.seq, time: commit.time }).unwrap_or_default()
        };
        PerStream { state: tail(&self.commits.state), detail: tail(&self.commits.detail) }
    }

    pub(super) fn append(&mut self, mut prepared: Prepared, now: UtcMicros) -> Result<Appended, AppendError> {
        let mut admission = Admission::new(self, self.tails(), now);
        let appended = admission.admit(&prepared)?;
        let (_, subjects) = admission.finish();
        self.subjects.extend(subjects);
        let stream = prepared.stream;
        let brought = std::mem::take(&mut prepared.blobs);
        self.blobs.extend(brought.into_iter().map(|blob| (blob.hash, blob.bytes)));
        self.events.extend(prepared.events.iter().map(|event| ((stream, event.id.clone()), appended.seq)));
        let commit = prepared.into_commit(appended.seq, appended.time);
        self.commits.get_mut(stream).push(Arc::new(commit));
        Ok(appended)
    }

    pub(super) fn read(
        &self,
        stream: Stream,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Arc<Commit>>, ReadError> {
        let skip = usize::try_from(from.0 - 1).unwrap_or(usize::MAX);
        let wanted = self.commits.get(stream).iter().skip(skip).take(limit);
        let whole = |commit: &&Arc<Commit>| !self.damaged.contains(&(stream, commit.seq));
        let commits: Vec<Arc<Commit>> = wanted.clone().take_while(whole).cloned().collect();
        match wanted.clone().next() {
            Some(first) if commits.is_empty() => {
                let why = "so it was asked for".to_string();
                Err(ReadError::Unreadable { stream, seq: first.seq, why })
            }
            _ => Ok(commits),
        }
    }

    pub(super) fn find(&self, stream: Stream, event: &EventId) -> Option<Seq> {
        self.events.get(&(stream, event.clone())).copied()
    }

    pub(super) fn subject_end(&self, stream: Stream, subject: &Subject) -> Seq {
        self.subjects.get(&(stream, subject.clone())).copied().unwrap_or(Seq::ZERO)
    }

    pub(super) fn blob(&self, hash: &BlobHash) -> Result<Option<Arc<[u8]>>, ReadError> {
        if self.damaged_blobs.contains(hash) {
            return Err(ReadError::DamagedBlob(hash.clone()));
        }
        Ok(self.blobs.get(hash).cloned())
    }

    pub(super) fn damage(&mut self, stream: Stream, seq: Seq) {
        self.damaged.insert((stream, seq));
    }

    pub(super) fn damage_blob(&mut self, hash: &BlobHash) {
        self.damaged_blobs.insert(hash.clone());
    }
}

impl Admitted for Disk {
    fn event(&self, stream: Stream, event: &EventId) -> Result<Option<Seq>, String> {
        Ok(self.find(stream, event))
    }

    fn subject(&self, stream: Stream, subject: &Subject) -> Seq {
        self.subject_end(stream, subject)
    }
}
