//! A log in this process's memory, with faults on demand: for tests and simulation.
//!
//! What it keeps outlives its handles: [`MemoryLog::crash`] and [`MemoryLog::reopen`] end one
//! handle and give the next. Everything is deterministic: faults come from a script, one entry for each append, and
//! appends are decided in the order in which they came. A simulation makes the script from its own seed.

mod disk;
mod faults;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use daybook_schemas::{BlobHash, Commit, EventId, Seq, Stream, Subject};
use tokio::sync::{oneshot, watch};

use crate::admission::STREAMS;
use crate::bounds::READ_COMMITS_MAX;
use crate::clock::{Clock, SystemClock};
use crate::ends::Ends;
use crate::prepared::Prepared;
use crate::{Append, AppendError, Appended, Durability, EventLog, ReadError};
use disk::Disk;
pub use faults::Fault;

type Answer = Result<Appended, AppendError>;

/// A log in memory.
pub struct MemoryLog {
    inner: Mutex<Inner>,
    ends: Ends,
    waiting: watch::Sender<usize>,
    clock: Arc<dyn Clock>,
}

struct Inner {
    disk: Arc<Mutex<Disk>>,
    script: VecDeque<Option<Fault>>,
    reads_to_fail: usize,
    held: bool,
    queue: Vec<(Prepared, oneshot::Sender<Answer>)>,
    closed: Option<String>,
}

impl MemoryLog {
    /// An empty log with the machine's clock.
    pub fn new() -> Arc<MemoryLog> {
        MemoryLog::with_clock(Arc::new(SystemClock))
    }

    /// An empty log.
    pub fn with_clock(clock: Arc<dyn Clock>) -> Arc<MemoryLog> {
        MemoryLog::on(Arc::default(), clock)
    }

    fn on(disk: Arc<Mutex<Disk>>, clock: Arc<dyn Clock>) -> Arc<MemoryLog> {
        let tails = locked(&disk).tails();
        let inner = Inner {
            disk,
            script: VecDeque::new(),
            reads_to_fail: 0,
            held: false,
            queue: Vec::new(),
            closed: None,
        };
        Arc::new(MemoryLog {
            inner: Mutex::new(inner),
            ends: Ends::new(tails.state.seq, tails.detail.seq),
            waiting: watch::Sender::new(0),
            clock,
        })
    }

    /// Adds to the script: the next appends that are decided suffer these faults, one entry each; `None` is none.
    pub fn script(&self, faults: impl IntoIterator<Item = Option<Fault>>) {
        self.inner().script.extend(faults);
    }

    /// The next `count` appends are [`AppendError::Unavailable`].
    pub fn refuse_appends(&self, count: usize) {
        self.script(std::iter::repeat_n(Some(Fault::Unavailable), count));
    }

    /// The next `count` calls of `read`, `find`, `subject_end` and `blob` are [`ReadError::Unavailable`].
    pub fn refuse_reads(&self, count: usize) {
        self.inner().reads_to_fail += count;
    }

    /// Damages a commit: from now on it is [`ReadError::Unreadable`], also after reopening.
    pub fn damage(&self, stream: Stream, seq: Seq) {
        let disk = self.inner().disk.clone();
        locked(&disk).damage(stream, seq);
    }

    /// Damages a blob: from now on it is [`ReadError::DamagedBlob`].
    pub fn damage_blob(&self, hash: &BlobHash) {
        let disk = self.inner().disk.clone();
        locked(&disk).damage_blob(hash);
    }

    /// From now on appends wait, as for a slow sync, until [`MemoryLog::sync`].
    pub fn hold(&self) {
        self.inner().held = true;
    }

    /// Waits until at least `count` appends wait for a sync.
    pub async fn until_waiting(&self, count: usize) {
        // The sender is this log's own, so the channel stays open.
        let _ = self.waiting.subscribe().wait_for(|waiting| *waiting >= count).await;
    }

    /// Ends [`MemoryLog::hold`]: the waiting appends are decided, in the order in which they came.
    pub fn sync(&self) {
        let mut inner = self.inner();
        inner.held = false;
        let queue = std::mem::take(&mut inner.queue);
        for (prepared, answer) in queue {
            let outcome = self.decide(&mut inner, prepared);
            let _ = answer.send(outcome);
        }
        self.waiting.send_replace(0);
    }

    /// The process dies. Of the appends that wait for a sync, the first `kept` had reached the disk and the others are
    /// lost; none was acknowledged. Gives the log as it is opened afterwards.
    pub fn crash(&self, kept: usize) -> Arc<MemoryLog> {
        let mut inner = self.inner();
        let queue = std::mem::take(&mut inner.queue);
        for (number, (prepared, answer)) in queue.into_iter().enumerate() {
            if number < kept {
                // Refusals were never answered either.
                let _ = locked(&inner.disk).append(prepared, self.clock.now());
            }
            let _ = answer.send(Err(AppendError::Unknown("the log's process died".to_string())));
        }
        self.retire(&mut inner, "the log's process died")
    }

    /// Closes this handle in good order, and gives the next.
    pub fn reopen(&self) -> Arc<MemoryLog> {
        self.sync();
        self.retire(&mut self.inner(), "the log is closed")
    }

    fn retire(&self, inner: &mut Inner, why: &str) -> Arc<MemoryLog> {
        inner.closed = Some(why.to_string());
        self.waiting.send_replace(0);
        self.ends.close();
        MemoryLog::on(inner.disk.clone(), self.clock.clone())
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        locked(&self.inner)
    }

    fn decide(&self, inner: &mut Inner, prepared: Prepared) -> Answer {
        let fault = inner.script.pop_front().flatten();
        let mut disk = locked(&inner.disk);
        let now = self.clock.now();
        let outcome = match fault {
            None => disk.append(prepared, now),
            Some(Fault::Unavailable) => Err(AppendError::Unavailable("so it was asked for".to_string())),
            Some(Fault::AppendLost) => Err(AppendError::Unknown("no answer came".to_string())),
            Some(Fault::AcknowledgementLost) => {
                // Only an acknowledgement can be lost; a refusal changed nothing and is not of interest.
                disk.append(prepared, now).and(Err(AppendError::Unknown("no answer came".to_string())))
            }
            Some(Fault::DeliveredTwice) => {
                let first = prepared.events.first().map(|event| event.id.clone());
                match (disk.append(prepared, now), first) {
                    (Ok(Appended { seq, .. }), Some(event)) => Err(AppendError::Duplicate { event, seq }),
                    (outcome, _) => outcome,
                }
            }
        };
        let tails = disk.tails();
        drop(disk);
        for stream in STREAMS {
            self.ends.publish(stream, tails.get(stream).seq);
        }
        outcome
    }

    fn reading<T>(&self, read: impl FnOnce(&Disk) -> Result<T, ReadError>) -> Result<T, ReadError> {
        let mut inner = self.inner();
        if let Some(why) = &inner.closed {
            return Err(ReadError::Unavailable(why.clone()));
        }
        if inner.reads_to_fail > 0 {
            inner.reads_to_fail -= 1;
            return Err(ReadError::Unavailable("so it was asked for".to_string()));
        }
        read(&locked(&inner.disk))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl EventLog for MemoryLog {
    async fn append(&self, append: Append) -> Answer {
        let prepared = Prepared::new(append)?;
        let answered = {
            let mut inner = self.inner();
            if let Some(why) = &inner.closed {
                return Err(AppendError::Unavailable(why.clone()));
            }
            if !inner.held {
                return self.decide(&mut inner, prepared);
            }
            let (answer, answered) = oneshot::channel();
            inner.queue.push((prepared, answer));
            self.waiting.send_replace(inner.queue.len());
            answered
        };
        answered.await.unwrap_or_else(|_| Err(AppendError::Unknown("the log is gone".to_string())))
    }

    async fn read(&self, stream: Stream, from: Seq, limit: usize) -> Result<Vec<Arc<Commit>>, ReadError> {
        self.reading(|disk| disk.read(stream, from.max(Seq(1)), limit.min(READ_COMMITS_MAX)))
    }

    fn end(&self, stream: Stream) -> Seq {
        self.ends.get(stream)
    }

    async fn wait_past(&self, stream: Stream, seq: Seq) -> Result<Seq, ReadError> {
        self.ends.wait_past(stream, seq).await
    }

    async fn find(&self, stream: Stream, event: &EventId) -> Result<Option<Seq>, ReadError> {
        self.reading(|disk| Ok(disk.find(stream, event)))
    }

    async fn subject_end(&self, stream: Stream, subject: &Subject) -> Result<Seq, ReadError> {
        self.reading(|disk| Ok(disk.subject_end(stream, subject)))
    }

    async fn blob(&self, hash: &BlobHash) -> Result<Option<Arc<[u8]>>, ReadError> {
        self.reading(|disk| disk.blob(hash))
    }

    fn durability(&self) -> Durability {
        Durability::Volatile
    }
}

#[cfg(test)]
mod tests;
