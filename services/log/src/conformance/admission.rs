//! Rules about what is let into the log.

use std::sync::Arc;

use daybook_schemas::{Draft, Seq, Stream, Subject};

use super::{Place, open, read_all, sample};
use crate::bounds::{BLOB_BYTES_MAX, EVENT_ID_BYTES_MAX};
use crate::{Append, AppendError};

const STATE: Stream = Stream::State;

/// A second append of an event is refused, with the first one's place, in the same session and in later ones.
pub async fn an_event_id_is_accepted_once_for_ever(place: &dyn Place) {
    for session in 0..3 {
        let log = open(place).await;
        if session == 0 {
            for name in ["a", "b", "c"] {
                log.append(sample::one(STATE, name)).await.unwrap();
            }
        }
        for (name, seq) in [("b", 2), ("a", 1), ("c", 3)] {
            let again = log.append(sample::one(STATE, name)).await;
            assert_eq!(
                again,
                Err(AppendError::Duplicate { event: sample::event_id(name, 0), seq: Seq(seq) })
            );
        }
        // A duplicate is an answer, also to a writer whose expectation no longer holds.
        let again = log.append(sample::expecting(STATE, Subject::Jobs, "a", Seq::ZERO)).await;
        assert!(matches!(again, Err(AppendError::Duplicate { seq: Seq(1), .. })), "{again:?}");
        assert_eq!(log.find(STATE, &sample::event_id("b", 0)).await.unwrap(), Some(Seq(2)));
        assert_eq!(log.find(STATE, &sample::event_id("d", 0)).await.unwrap(), None);
        assert_eq!(log.end(STATE), Seq(3));
    }
}

/// An append that expects another last commit of its subject than there is changes nothing and learns which it is.
pub async fn expectations_fence_a_subject(place: &dyn Place) {
    let log = open(place).await;
    let plan = || Subject::Plan;
    assert_eq!(log.append(sample::expecting(STATE, plan(), "p1", Seq::ZERO)).await.unwrap().seq, Seq(1));
    assert_eq!(log.append(sample::one(STATE, "jobs do not disturb the plan")).await.unwrap().seq, Seq(2));
    assert_eq!(log.append(sample::expecting(STATE, plan(), "p2", Seq(1))).await.unwrap().seq, Seq(3));
    for (name, expected) in [("p3", Seq(1)), ("p4", Seq(2)), ("p5", Seq(4)), ("p6", Seq::ZERO)] {
        let refused = log.append(sample::expecting(STATE, plan(), name, expected)).await;
        assert_eq!(refused, Err(AppendError::Expectation { subject: plan(), expected, actual: Seq(3) }));
        assert_eq!(log.find(STATE, &sample::event_id(name, 0)).await.unwrap(), None);
    }
    assert_eq!(log.subject_end(STATE, &plan()).await.unwrap(), Seq(3));
    assert_eq!(log.subject_end(STATE, &Subject::Node("n1".into())).await.unwrap(), Seq::ZERO);
    drop(log);
    let log = open(place).await;
    assert_eq!(log.subject_end(STATE, &plan()).await.unwrap(), Seq(3));
    let refused = log.append(sample::expecting(STATE, plan(), "p7", Seq(1))).await;
    assert!(matches!(refused, Err(AppendError::Expectation { actual: Seq(3), .. })), "{refused:?}");
    assert_eq!(log.append(sample::expecting(STATE, plan(), "p7", Seq(3))).await.unwrap().seq, Seq(4));
}

/// One event of a draft that is in the log already keeps out all of them, and its blobs do no harm.
pub async fn a_draft_is_appended_whole_or_not_at_all(place: &dyn Place) {
    let log = open(place).await;
    log.append(Append { stream: STATE, draft: sample::draft(Subject::Jobs, "a", 2), blobs: Vec::new() })
        .await
        .unwrap();
    let mut mixed = sample::draft(Subject::Admin, "new", 3);
    mixed.events[2].id = sample::event_id("a", 1);
    let refused = log.append(Append { stream: STATE, draft: mixed, blobs: vec![sample::blob(1, 100)] }).await;
    assert_eq!(refused, Err(AppendError::Duplicate { event: sample::event_id("a", 1), seq: Seq(1) }));
    for number in 0..2 {
        assert_eq!(log.find(STATE, &sample::event_id("new", number)).await.unwrap(), None);
    }
    assert_eq!(log.subject_end(STATE, &Subject::Admin).await.unwrap(), Seq::ZERO);
    let whole = Append { stream: STATE, draft: sample::draft(Subject::Admin, "new", 64), blobs: Vec::new() };
    assert_eq!(log.append(whole).await.unwrap().seq, Seq(2));
    assert_eq!(read_all(log.as_ref(), STATE).await[1].events.len(), 64);
    for number in 0..64 {
        assert_eq!(log.find(STATE, &sample::event_id("new", number)).await.unwrap(), Some(Seq(2)));
    }
}

/// Drafts that cannot be a commit are refused as such, and use up no sequence number.
pub async fn drafts_that_cannot_be_are_refused(place: &dyn Place) {
    let log = open(place).await;
    let mut twice = sample::draft(Subject::Jobs, "a", 2);
    twice.events[1].id = twice.events[0].id.clone();
    let mut nameless = sample::draft(Subject::Jobs, "a", 1);
    nameless.events[0].id = "".into();
    let mut long = sample::draft(Subject::Jobs, "a", 1);
    long.events[0].id = "x".repeat(EVENT_ID_BYTES_MAX + 1).into();
    let cases = [
        ("no events", sample::draft(Subject::Jobs, "a", 0)),
        ("too many events", sample::draft(Subject::Jobs, "a", Draft::EVENTS_MAX + 1)),
        ("an id twice", twice),
        ("an empty id", nameless),
        ("a long id", long),
        ("a subject without a name", sample::draft(Subject::Node("".into()), "a", 1)),
    ];
    for (what, draft) in cases {
        let refused = log.append(Append { stream: STATE, draft, blobs: Vec::new() }).await;
        assert!(matches!(refused, Err(AppendError::Invalid(_))), "{what}: {refused:?}");
    }
    let huge = Append { blobs: vec![Arc::from(vec![0; BLOB_BYTES_MAX + 1])], ..sample::one(STATE, "a") };
    assert!(matches!(log.append(huge).await, Err(AppendError::Invalid(_))), "a huge blob");
    let most = sample::draft(Subject::Jobs, "a", Draft::EVENTS_MAX);
    assert_eq!(
        log.append(Append { stream: STATE, draft: most, blobs: Vec::new() }).await.unwrap().seq,
        Seq(1)
    );
}
