//! The one writer of a log: admits waiting appends as a group, writes them with one sync, and answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

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

/// A group that was judged, and what the log looks like once it is written.
struct Admittance {
    /// Those that have their place, with the size of their record.
    admitted: Vec<(Request, Appended, usize)>,
    /// Those that were refused, perhaps because of one in front of them in the same group: so they too are answered
    /// only once that one is on stable storage.
    refused: Vec<(Request, AppendError)>,
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
                self.turn_away(request, &why);
            }
            return;
        }
        let shared = self.shared.clone();
        let store = shared.store();
        let Some(open) = store.as_ref() else { return };
        let (admittance, written) = self.write(open, group);
        drop(store);
        match written {
            Ok(()) => self.acknowledge(admittance),
            Err(why) => self.fail(admittance, why),
        }
    }

    /// Answers an append that was not even tried.
    fn turn_away(&self, request: Request, why: &str) {
        let stream = request.prepared.stream;
        let mut events = request.prepared.events.iter();
        // It may be a retry of one that may be in the files.
        let unsettled = events.any(|event| self.shared.is_unsettled(stream, &event.id));
        let error = if unsettled { AppendError::Unknown } else { AppendError::Unavailable };
        answer(request.answer, Err(error(why.to_string())));
    }

    /// Judges a group and writes what was admitted of it.
    fn write(&self, store: &Store, group: Vec<Request>) -> (Admittance, Result<(), String>) {
        let index = Index { store, subjects: &self.end.subjects };
        let mut admission = Admission::new(&index, self.end.tails, self.clock.now());
        let mut rows = store.group();
        let mut admitted = Vec::with_capacity(group.len());
        let mut refused = Vec::new();
        let mut put_all = Ok(());
        for request in group {
            match admission.admit(&request.prepared) {
                Err(refusal) => refused.push((request, refusal)),
                Ok(appended) => {
                    let size = put(&mut rows, &request.prepared, appended);
                    admitted.push((request, appended, *size.as_ref().unwrap_or(&0)));
                    put_all = put_all.and(size.map(drop));
                }
            }
        }
        let (tails, subjects) = admission.finish();
        let mut moved =
            STREAMS.into_iter().filter(|stream| tails.get(*stream) != self.end.tails.get(*stream));
        // Where a row is missing, nothing of the group is written.
        let written = put_all
            .and_then(|()| moved.try_for_each(|stream| rows.put_end(stream, tails.get(stream).seq)))
            .and_then(|()| match admitted.is_empty() {
                true => Ok(()),
                false => rows.write().map_err(|error| error.into_string()),
            });
        (Admittance { admitted, refused, tails, subjects }, written)
    }

    /// The group is on stable storage: first everybody may see it, then its writers hear of it.
    fn acknowledge(&mut self, admittance: Admittance) {
        let Admittance { admitted, refused, tails, subjects } = admittance;
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
        for (request, refusal) in refused {
            answer(request.answer, Err(refusal));
        }
    }

    /// The write failed: says whether the group is certainly not in the log, and accepts nothing until the log has
    /// come back.
    fn fail(&mut self, admittance: Admittance, why: String) {
        let places =
            admittance.admitted.iter().map(|(request, appended, _)| (request.prepared.stream, appended.seq));
        let outcome = self.outcome_of_failed(places.clone().next());
        tracing::error!(
            dir = %self.shared.dir.display(), appends = places.count(), error = %why, ?outcome,
            "the log cannot write; nothing is accepted until it can"
        );
        if outcome != Ok(false) {
            let events = admittance.admitted.iter().flat_map(|(request, _, _)| {
                request.prepared.events.iter().map(|event| (request.prepared.stream, event.id.clone()))
            });
            self.shared.leave_unsettled(events);
        }
        self.health = Health::Suspended(Suspended::new(&self.shared.dir, &self.shared.database_dir(), &why));
        let Admittance { admitted, refused, .. } = admittance;
        let requests = admitted.into_iter().map(|(request, _, _)| request);
        let why = self.health.refusal().unwrap_or_default();
        for request in requests.chain(refused.into_iter().map(|(request, _)| request)) {
            self.turn_away(request, &why);
        }
    }
}

/// Adds an append's rows; gives the size of its record.
fn put(rows: &mut super::store::Group<'_>, append: &Prepared, appended: Appended) -> Result<usize, String> {
    let record = record::encode(append, appended.seq, appended.time).map_err(|error| error.to_string())?;
    let events = append.events.iter().map(|event| &event.id);
    rows.put_commit(append.stream, appended.seq, &record, &append.subject, events)?;
    for blob in &append.blobs {
        rows.put_blob(&blob.hash, &blob.bytes)?;
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
