//! Small drafts for tests.

use std::sync::Arc;

use daybook_schemas::events::{FORMAT_VERSION, JobReleased, JobTarget, LogVersionBarrier};
use daybook_schemas::{Actor, Body, Draft, Event, EventId, JobId, Seq, Stream, Subject, UtcMicros};

use crate::Append;

fn event(id: String, body: impl Into<Body>) -> Event {
    Event {
        id: id.into(),
        source: "conformance".to_string(),
        time: UtcMicros(1_700_000_000_000_000),
        actor: Actor::service("conformance"),
        cause: None,
        body: body.into(),
    }
}

/// A draft of `count` events with the ids `NAME-0`, `NAME-1` and so on.
pub fn draft(subject: Subject, name: &str, count: usize) -> Draft {
    let released = |number: usize| JobReleased {
        target: JobTarget { job: JobId(u32::try_from(number).unwrap_or(u32::MAX)), tasks: None },
        as_owner: false,
    };
    let events = (0..count).map(|number| event(format!("{name}-{number}"), released(number))).collect();
    Draft { subject, expect: None, events }
}

/// The same with a text in each event.
pub fn draft_with_text(subject: Subject, name: &str, count: usize, text: &str) -> Draft {
    let barrier = || LogVersionBarrier { format_version: FORMAT_VERSION, reason: text.to_string() };
    let events = (0..count).map(|number| event(format!("{name}-{number}"), barrier())).collect();
    Draft { subject, expect: None, events }
}

/// The id of a draft's event.
pub fn event_id(name: &str, number: usize) -> EventId {
    format!("{name}-{number}").into()
}

/// An append of one event to the subject `jobs`.
pub fn one(stream: Stream, name: &str) -> Append {
    Append { stream, draft: draft(Subject::Jobs, name, 1), blobs: Vec::new() }
}

/// An append of one event that expects the subject's last commit.
pub fn expecting(stream: Stream, subject: Subject, name: &str, expect: Seq) -> Append {
    let draft = Draft { expect: Some(expect), ..draft(subject, name, 1) };
    Append { stream, draft, blobs: Vec::new() }
}

/// A blob of `length` bytes that depends on `seed`, and does not compress to nothing.
pub fn blob(seed: u8, length: usize) -> Arc<[u8]> {
    let mut state = u32::from(seed).wrapping_mul(0x9E37_79B9) | 1;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}
