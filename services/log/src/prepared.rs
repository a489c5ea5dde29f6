//! An append made ready by its caller: checked, encoded, and waiting only for its place and time.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

use daybook_schemas::canonical;
use daybook_schemas::{BlobHash, Commit, Draft, Event, EventId, Seq, Stream, Subject, UtcMicros};

use crate::bounds::{BLOB_BYTES_MAX, BLOBS_MAX, COMMIT_BYTES_MAX, EVENT_ID_BYTES_MAX};
use crate::{Append, AppendError};

/// A draft that can be appended, with the canonical bytes of its events.
///
/// Encoding and checking are done in the caller's task, so that the log's one writer only splices in the sequence
/// number and the time.
pub(crate) struct Prepared {
    pub(crate) stream: Stream,
    pub(crate) subject: Subject,
    pub(crate) expect: Option<Seq>,
    /// The events as a reader will see them: decoded from their bytes, so that a follower in this process and a
    /// replay of the log fold the very same thing.
    pub(crate) events: Vec<Event>,
    pub(crate) blobs: Vec<Blob>,
    events_json: Vec<u8>,
    subject_json: String,
}

/// Payload with its address.
pub(crate) struct Blob {
    pub(crate) hash: BlobHash,
    pub(crate) bytes: Arc<[u8]>,
}

/// What a commit's envelope adds to its events and subject, in bytes, at most.
const ENVELOPE_BYTES: usize = 96;

impl Prepared {
    /// Checks and encodes an append.
    pub(crate) fn new(append: Append) -> Result<Prepared, AppendError> {
        let Append { stream, draft, blobs } = append;
        check_events(&draft)?;
        let blobs = address_blobs(blobs)?;
        let events_json = encode_events(&draft.events)?;
        let subject_json = serde_json::to_string(&draft.subject.to_string()).map_err(invalid)?;
        let mut prepared = Prepared {
            stream,
            subject: draft.subject,
            expect: draft.expect,
            events: Vec::new(),
            blobs,
            events_json,
            subject_json,
        };
        if prepared.size() > COMMIT_BYTES_MAX {
            return Err(AppendError::Invalid(format!(
                "it has {} bytes; a commit has at most {COMMIT_BYTES_MAX}",
                prepared.size()
            )));
        }
        // What cannot be read back would stop every projection for ever; it is refused here instead.
        let mut bytes = Vec::with_capacity(prepared.size());
        prepared.encode(Seq(1), UtcMicros(0), &mut bytes)?;
        let readable = Commit::from_bytes(&bytes)
            .map_err(|error| AppendError::Invalid(format!("it would not be readable: {error}")))?;
        if readable.subject != prepared.subject {
            return Err(AppendError::Invalid(format!("subject {} does not read back", prepared.subject)));
        }
        prepared.events = readable.events;
        Ok(prepared)
    }

    /// The commit's size in its canonical form, in bytes; an upper bound.
    pub(crate) fn size(&self) -> usize {
        self.events_json.len() + self.subject_json.len() + ENVELOPE_BYTES
    }

    /// What the append costs to hold and to write, in bytes.
    #[cfg(feature = "embedded")]
    pub(crate) fn weight(&self) -> usize {
        self.size() + self.blobs.iter().map(|blob| blob.bytes.len()).sum::<usize>()
    }

    /// Appends to `out` exactly the bytes of [`Commit::to_bytes`]: keys in order are `events`, `seq`, `subject`, `time`.
    pub(crate) fn encode(&self, seq: Seq, time: UtcMicros, out: &mut Vec<u8>) -> Result<(), AppendError> {
        splice(&self.events_json, &self.subject_json, seq, time, out).map_err(invalid)
    }

    /// The canonical bytes of the events alone.
    #[cfg(feature = "jetstream")]
    pub(crate) fn events_json(&self) -> &[u8] {
        &self.events_json
    }

    /// The commit that this becomes.
    pub(crate) fn into_commit(self, seq: Seq, time: UtcMicros) -> Commit {
        Commit { seq, time, subject: self.subject, events: self.events }
    }
}

/// Appends a commit's canonical bytes to `out`, from those of its events and its subject.
pub(crate) fn splice(
    events_json: &[u8],
    subject_json: &str,
    seq: Seq,
    time: UtcMicros,
    out: &mut Vec<u8>,
) -> std::io::Result<()> {
    out.extend_from_slice(b"{\"events\":");
    out.extend_from_slice(events_json);
    write!(out, ",\"seq\":{seq},\"subject\":{subject_json},\"time\":\"{time}\"}}")
}

fn invalid(error: impl std::fmt::Display) -> AppendError {
    AppendError::Invalid(error.to_string())
}

fn check_events(draft: &Draft) -> Result<(), AppendError> {
    let count = draft.events.len();
    if count == 0 {
        return Err(AppendError::Invalid("it has no events".to_string()));
    }
    if count > Draft::EVENTS_MAX {
        return Err(AppendError::Invalid(format!(
            "it has {count} events; at most {} are allowed",
            Draft::EVENTS_MAX
        )));
    }
    let mut ids: BTreeSet<&EventId> = BTreeSet::new();
    for event in &draft.events {
        let length = event.id.0.len();
        if length == 0 || length > EVENT_ID_BYTES_MAX {
            return Err(AppendError::Invalid(format!(
                "event id \"{}\" has {length} bytes; 1 to {EVENT_ID_BYTES_MAX} are allowed",
                event.id
            )));
        }
        if !ids.insert(&event.id) {
            return Err(AppendError::Invalid(format!("event id {} is in it twice", event.id)));
        }
    }
    Ok(())
}

fn address_blobs(blobs: Vec<Arc<[u8]>>) -> Result<Vec<Blob>, AppendError> {
    if blobs.len() > BLOBS_MAX {
        return Err(AppendError::Invalid(format!(
            "it brings {} blobs; at most {BLOBS_MAX} are allowed",
            blobs.len()
        )));
    }
    if let Some(blob) = blobs.iter().find(|blob| blob.len() > BLOB_BYTES_MAX) {
        return Err(AppendError::Invalid(format!(
            "a blob has {} bytes; at most {BLOB_BYTES_MAX} are allowed",
            blob.len()
        )));
    }
    Ok(blobs.into_iter().map(|bytes| Blob { hash: BlobHash::of(&bytes), bytes }).collect())
}

/// The canonical bytes of events alone.
pub(crate) fn encode_events(events: &[Event]) -> Result<Vec<u8>, AppendError> {
    let values = events.iter().map(Event::to_value).collect::<Result<Vec<_>, _>>().map_err(invalid)?;
    canonical::value_to_bytes(&values.into()).map_err(invalid)
}

#[cfg(test)]
mod tests {
    use daybook_schemas::{Seq, Stream, Subject, UtcMicros};
    use proptest::prelude::*;

    use super::Prepared;
    use crate::conformance::sample;
    use crate::{Append, AppendError};

    fn prepare(draft: daybook_schemas::Draft) -> Result<Prepared, AppendError> {
        Prepared::new(Append { stream: Stream::State, draft, blobs: Vec::new() })
    }

    proptest! {
        #[test]
        fn spliced_bytes_are_those_of_the_commit(
            seq in any::<u64>(),
            micros in -60_000_000_000_000_000i64..250_000_000_000_000_000,
            node in "[a-z0-9\"\\\\é]{1,20}",
            count in 1usize..5,
            text in "\\PC{0,40}",
        ) {
            let draft = sample::draft_with_text(Subject::Node(node.into()), "t", count, &text);
            let prepared = prepare(draft).unwrap();
            let mut bytes = Vec::new();
            prepared.encode(Seq(seq), UtcMicros(micros), &mut bytes).unwrap();
            prop_assert!(bytes.len() <= prepared.size());
            let commit = prepared.into_commit(Seq(seq), UtcMicros(micros));
            prop_assert_eq!(String::from_utf8(bytes).unwrap(), String::from_utf8(commit.to_bytes().unwrap()).unwrap());
        }
    }

    #[test]
    fn a_draft_that_would_not_read_back_is_refused() {
        let nameless = sample::draft(Subject::Node("".into()), "x", 1);
        assert!(matches!(prepare(nameless), Err(AppendError::Invalid(why)) if why.contains("subject")));
    }
}
