//! The one writer of a log: admits waiting appends as a group, writes them with one sync, and answers.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, RwLockReadGuard};

use daybook_schemas::{EventId, Seq, Stream, Subject};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::record;
use super::resume::{Health, Suspended};
use super::shared::Shared;
use super::store::Store;
use super::tail::LogEnd;
use crate::admission::{Admission, Admitted, PerStream, STREAMS, Tail};
use crate::bounds::{GROUP_APPENDS_MAX, GROUP_BYTES_MAX};
use crate::clock::Clock;
use crate::prepared::Prepared;
use crate::{AppendError, Appended};

type Answer = Result<Appended, AppendError>;

/// An append that waits for the writer.
pub(super) struct Request {
    pub(super) prepared: Prepared,
    pub(super) answer: oneshot::Sender<Answer>,
    pub(super) _space: OwnedSemaphorePermit,
}

/// The state of the writer's thread.
pub(super) struct Writer {
    pub(super) shared: Arc<Shared>,
    clock: Arc<dyn Clock>,
    requests: Receiver<Request>,
    pub(super) end: LogEnd,
    pub(super) health: Health,
}

/// Appends that have their place, and what the log looks like once they are written.
struct Admittance {
    admitted: Vec<(Request, Appended, usize)>,
    tails: PerStream<Tail>,
    subjects: BTreeMap<(Stream, Subject), Seq>,
}

/// Marks the log closed when the writer's thread ends, however it ends.
struct Closing(Arc<Shared>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.ends.close();
    }
}

impl Writer {
    pub(super) fn new(
        shared: Arc<Shared>,
        clock: Arc<dyn Clock>,
        end: LogEnd,
        requests: Receiver<Request>,
    ) -> Writer {
        Writer { shared, clock, requests, end, health: Health::Writing }
    }

    /// Runs until every sender of requests is gone and their requests are answered.
    pub(super) fn run(mut self) {
        let _closing = Closing(self.shared.clone());
        loop {
            match self.next_request() {
                Ok(first) => {
                    let group = self.gather(first);
                    self.serve(group);
                }
                Err(RecvTimeoutError::Timeout) => self.resume_if_due(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn next_request(&self) -> Result<Request, RecvTimeoutError> {
        match self.health.wait() {
            None => self.requests.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(wait) => self.requests.recv_timeout(wait),
        }
    }

    /// The request and those that wait behind it.
    fn gather(&self, first: Request) -> Vec<Request> {
        let mut bytes = first.prepared.weight();
        let mut group = vec![first];
        while group.len() < GROUP_APPENDS_MAX && bytes < GROUP_BYTES_MAX {
            let Ok(request) = self.requests.try_recv() else { break };
            bytes += request.prepared.weight();
            group.push(request);
        }
        group
    }

    fn serve(&mut self, group: Vec<Request>) {
        self.resume_if_due();
        if let Some(why) = self.health.refusal() {
            for request in group {
                answer(request.answer, Err(AppendError::Unavailable(why.clone())));
            }
            return;
        }
        let shared = self.shared.clone();
        let store = shared.store();
        let Some((admittance, written)) = self.write(&store, group) else { return };
        drop(store);
        match written {
            Ok(()) => self.acknowledge(admittance),
            Err(why) => self.fail(admittance, why),
        }
    }

    /// Admits what may be admitted, answers the rest, and writes. `None` where there was nothing to write.
    fn write(
        &self,
        store: &RwLockReadGuard<'_, Option<Store>>,
        group: Vec<Request>,
    ) -> Option<(Admittance, Result<(), String>)> {
        let Some(store) = store.as_ref() else {
            for request in group {
                answer(request.answer, Err(AppendError::Unavailable("the log is closed".to_string())));
            }
            return None;
        };
        let index = Index { store, subjects: &self.end.subjects };
        let mut admission = Admission::new(&index, self.end.tails, self.clock.now());
        let mut rows = store.group();
        let mut admitted = Vec::with_capacity(group.len());
        let mut unencodable = None;
        for request in group {
            match admission.admit(&request.prepared) {
                Err(refusal) => answer(request.answer, Err(refusal)),
                Ok(appended) => {
                    let size = put(&mut rows, &request.prepared, appended);
                    admitted.push((request, appended, *size.as_ref().unwrap_or(&0)));
                    unencodable = unencodable.or(size.err());
                }
            }
        }
        let (tails, subjects) = admission.finish();
        if admitted.is_empty() {
            return None;
        }
        // Half a commit may be among the rows: the whole group is given up, unwritten.
        if let Some(why) = unencodable {
            for (request, _, _) in admitted {
                answer(request.answer, Err(AppendError::Unavailable(why.clone())));
            }
            return None;
        }
        let mut moved = STREAMS.into_iter().filter(|stream| tails.get(*stream) != self.end.tails.get(*stream));
        let written = moved
            .try_for_each(|stream| rows.put_end(stream, tails.get(stream).seq))
            .and_then(|()| rows.write().map_err(|error| error.into_string()));
        Some((Admittance { admitted, tails, subjects }, written))
    }

    /// The group is on stable storage: first everybody may see it, then its writers hear of it.
    fn acknowledge(&mut self, admittance: Admittance) {
        let Admittance { admitted, tails, subjects } = admittance;
        self.end.tails = tails;
        self.end.subjects.extend(subjects);
        let mut answers = Vec::with_capacity(admitted.len());
        for (request, appended, size) in admitted {
            let Request { prepared, answer, _space } = request;
            let stream = prepared.stream;
            let commit = prepared.into_commit(appended.seq, appended.time);
            self.shared.remember(stream, Arc::new(commit), size);
            answers.push((answer, appended));
        }
        for stream in STREAMS {
            self.shared.ends.publish(stream, tails.get(stream).seq);
        }
        for (sender, appended) in answers {
            answer(sender, Ok(appended));
        }
    }

    /// The write failed: says whether the group is certainly not in the log, and accepts nothing until the log has
    /// come back.
    fn fail(&mut self, admittance: Admittance, why: String) {
        let places = admittance.admitted.iter().map(|(request, appended, _)| (request.prepared.stream, appended.seq));
        let outcome = self.outcome_of_failed(places.clone().next());
        tracing::error!(
            dir = %self.shared.dir.display(), appends = places.count(), error = %why, ?outcome,
            "the log cannot write; nothing is accepted until it can"
        );
        let certain = outcome == Ok(false);
        if !certain {
            let events = admittance.admitted.iter().flat_map(|(request, _, _)| {
                request.prepared.events.iter().map(|event| (request.prepared.stream, event.id.clone()))
            });
            self.shared.leave_unsettled(events);
        }
        self.health = Health::Suspended(Suspended::new(&self.shared.dir, &self.shared.database_dir(), &why));
        for (request, _, _) in admittance.admitted {
            let refusal = self.health.refusal().unwrap_or_default();
            let error = if certain { AppendError::Unavailable(refusal) } else { AppendError::Unknown(refusal) };
            answer(request.answer, Err(error));
        }
    }
}

/// Adds an append's rows; gives the size of its record.
fn put(rows: &mut super::store::Group<'_>, append: &Prepared, appended: Appended) -> Result<usize, String> {
    let record = record::encode(append, appended.seq, appended.time).map_err(|error| error.to_string())?;
    let events = append.events.iter().map(|event| &event.id);
    rows.put_commit(append.stream, appended.seq, &record, &append.subject, events)?;
    for (hash, bytes) in &append.blobs {
        rows.put_blob(hash, bytes)?;
    }
    Ok(record.len())
}

fn answer(sender: oneshot::Sender<Answer>, answer: Answer) {
    // A caller that no longer waits has its append in the log all the same; it looks it up when it comes back.
    let _ = sender.send(answer);
}

struct Index<'a> {
    store: &'a Store,
    subjects: &'a BTreeMap<(Stream, Subject), Seq>,
}

impl Admitted for Index<'_> {
    fn event(&self, stream: Stream, event: &EventId) -> Result<Option<Seq>, String> {
        self.store.event(stream, event)
    }

    fn subject(&self, stream: Stream, subject: &Subject) -> Seq {
        self.subjects.get(&(stream, subject.clone())).copied().unwrap_or(Seq::ZERO)
    }
}
