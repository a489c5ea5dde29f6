//! The rules by which an append is let into the log, the same for every implementation that decides by itself.

use std::collections::BTreeMap;

use daybook_schemas::{EventId, Seq, Stream, Subject, UtcMicros};

use crate::prepared::Prepared;
use crate::{AppendError, Appended};

/// The end of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tail {
    /// The last commit.
    pub(crate) seq: Seq,
    /// Its timestamp.
    pub(crate) time: UtcMicros,
}

/// One value for each stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PerStream<T> {
    pub(crate) state: T,
    pub(crate) detail: T,
}

impl<T> PerStream<T> {
    pub(crate) fn get(&self, stream: Stream) -> &T {
        match stream {
            Stream::State => &self.state,
            Stream::Detail => &self.detail,
        }
    }

    pub(crate) fn get_mut(&mut self, stream: Stream) -> &mut T {
        match stream {
            Stream::State => &mut self.state,
            Stream::Detail => &mut self.detail,
        }
    }
}

/// Both streams, in the order in which they are gone through.
pub(crate) const STREAMS: [Stream; 2] = [Stream::State, Stream::Detail];

/// What is in the log already.
pub(crate) trait Admitted {
    /// The commit that has the event, or why that cannot be told.
    fn event(&self, stream: Stream, event: &EventId) -> Result<Option<Seq>, String>;
    /// The last commit of the subject.
    fn subject(&self, stream: Stream, subject: &Subject) -> Seq;
}

/// Admits the appends of one group: each is judged as if those before it were in the log already.
pub(crate) struct Admission<'a, A> {
    admitted: &'a A,
    now: UtcMicros,
    tails: PerStream<Tail>,
    events: BTreeMap<(Stream, EventId), Seq>,
    subjects: BTreeMap<(Stream, Subject), Seq>,
}

impl<'a, A: Admitted> Admission<'a, A> {
    /// Starts a group behind `tails`.
    pub(crate) fn new(admitted: &'a A, tails: PerStream<Tail>, now: UtcMicros) -> Admission<'a, A> {
        Admission { admitted, now, tails, events: BTreeMap::new(), subjects: BTreeMap::new() }
    }

    /// Gives the append its place and time, or says why it has none. A refusal changes nothing.
    ///
    /// A duplicate is looked for first: a retry of an append that succeeded must learn that, although its
    /// expectation no longer holds.
    pub(crate) fn admit(&mut self, append: &Prepared) -> Result<Appended, AppendError> {
        let stream = append.stream;
        for event in &append.events {
            if let Some(seq) = self.find(stream, &event.id)? {
                return Err(AppendError::Duplicate { event: event.id.clone(), seq });
            }
        }
        if let Some(expected) = append.expect {
            let actual = self.subject_end(stream, &append.subject);
            if actual != expected {
                return Err(AppendError::Expectation { subject: append.subject.clone(), expected, actual });
            }
        }
        let tail = self.tails.get_mut(stream);
        tail.seq = tail.seq.next();
        tail.time = tail.time.max(self.now);
        let appended = Appended { seq: tail.seq, time: tail.time };
        for event in &append.events {
            self.events.insert((stream, event.id.clone()), appended.seq);
        }
        self.subjects.insert((stream, append.subject.clone()), appended.seq);
        Ok(appended)
    }

    /// The ends and the subjects' last commits once the group is written.
    pub(crate) fn finish(self) -> (PerStream<Tail>, BTreeMap<(Stream, Subject), Seq>) {
        (self.tails, self.subjects)
    }

    fn find(&self, stream: Stream, event: &EventId) -> Result<Option<Seq>, AppendError> {
        if !self.events.is_empty()
            && let Some(seq) = self.events.get(&(stream, event.clone()))
        {
            return Ok(Some(*seq));
        }
        self.admitted.event(stream, event).map_err(AppendError::Unavailable)
    }

    fn subject_end(&self, stream: Stream, subject: &Subject) -> Seq {
        let key = (stream, subject.clone());
        self.subjects.get(&key).copied().unwrap_or_else(|| self.admitted.subject(stream, subject))
    }
}
