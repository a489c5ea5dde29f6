//! What must hold at the end of a log before anything is written behind it.

use std::collections::BTreeMap;

use daybook_schemas::{Seq, Stream, Subject};

use super::store::Store;
use crate::admission::{PerStream, STREAMS, Tail};
use crate::bounds::TAIL_CHECKED;

/// The checked end of a log.
pub(super) struct LogEnd {
    pub(super) tails: PerStream<Tail>,
    /// The last commit of every subject.
    pub(super) subjects: BTreeMap<(Stream, Subject), Seq>,
}

/// Checks the ends of both streams, or says what is wrong with them.
///
/// The whole log is not read: that the last record's number is the number of records is held by a count that is
/// written in the same batch, and the records in between are checked whenever somebody reads them.
pub(super) fn check(store: &Store) -> Result<LogEnd, String> {
    let mut end = LogEnd { tails: PerStream::default(), subjects: BTreeMap::new() };
    for stream in STREAMS {
        for (subject, seq) in store.subjects(stream)? {
            end.subjects.insert((stream, subject), seq);
        }
        *end.tails.get_mut(stream) = check_stream(store, stream, &end.subjects)?;
    }
    Ok(end)
}

fn check_stream(
    store: &Store,
    stream: Stream,
    subjects: &BTreeMap<(Stream, Subject), Seq>,
) -> Result<Tail, String> {
    let counted = store.counted_end(stream)?;
    let Some((first, last)) = store.span(stream)? else {
        return match counted {
            Seq::ZERO => Ok(Tail::default()),
            _ => Err(format!("the {stream:?} stream should have {counted} commits and has none")),
        };
    };
    if first != Seq(1) || last != counted {
        return Err(format!(
            "the {stream:?} stream should have commits 1 to {counted}, and its records go from {first} to {last}"
        ));
    }
    if let Some(((_, subject), seq)) = subjects.iter().find(|((of, _), seq)| *of == stream && **seq > last) {
        return Err(format!(
            "subject {subject} has commit {seq} in its index; the {stream:?} stream ends at {last}"
        ));
    }
    let from = Seq(last.0.saturating_sub(TAIL_CHECKED - 1).max(1));
    let mut tail = Tail::default();
    let mut next = from;
    while next <= last {
        let commits =
            store.read(stream, next, last, TAIL_CHECKED as usize).map_err(|error| error.to_string())?;
        for commit in &commits {
            for event in &commit.events {
                let indexed = store.event(stream, &event.id)?;
                // A copy of a log on a bus may have an event twice; then the first place counts.
                if indexed.is_none_or(|seq| seq > commit.seq) {
                    return Err(format!(
                        "event {} of commit {} is not in the index of events",
                        event.id, commit.seq
                    ));
                }
            }
            let subject_end = subjects.get(&(stream, commit.subject.clone()));
            if subject_end.is_none_or(|seq| *seq < commit.seq) {
                return Err(format!(
                    "commit {} of {} is not in the index of subjects",
                    commit.seq, commit.subject
                ));
            }
            tail = Tail { seq: commit.seq, time: commit.time };
            next = commit.seq.next();
        }
        if commits.is_empty() {
            return Err(format!("commit {next} of the {stream:?} stream cannot be read"));
        }
    }
    Ok(tail)
}
