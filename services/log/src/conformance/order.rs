//! Rules about sequence numbers, timestamps and bytes.

use std::sync::Arc;

use daybook_schemas::{Seq, Stream, UtcMicros};

use super::{Place, bytes_of, open, read_all, sample};
use crate::clock::ManualClock;

/// The first commit has 1, each further one the next number, also after reopening; the end follows.
pub async fn sequences_are_contiguous_from_one(place: &dyn Place) {
    let mut expected = Seq::ZERO;
    for session in 0..3 {
        let log = open(place).await;
        assert_eq!(log.end(Stream::State), expected, "session {session}");
        for number in 0..20 {
            expected = expected.next();
            let appended =
                log.append(sample::one(Stream::State, &format!("{session}.{number}"))).await.unwrap();
            assert_eq!(appended.seq, expected);
            assert_eq!(log.end(Stream::State), expected, "what is acknowledged is visible");
        }
        read_all(log.as_ref(), Stream::State).await;
    }
}

/// Each stream has its own sequence, event ids and subjects.
pub async fn streams_are_independent(place: &dyn Place) {
    let log = open(place).await;
    for number in 1..=3 {
        log.append(sample::one(Stream::Detail, &format!("{number}"))).await.unwrap();
    }
    assert_eq!((log.end(Stream::State), log.end(Stream::Detail)), (Seq::ZERO, Seq(3)));
    let appended =
        log.append(sample::one(Stream::State, "1")).await.expect("the id is only in the other stream");
    assert_eq!(appended.seq, Seq(1));
    assert_eq!(log.find(Stream::State, &sample::event_id("1", 0)).await.unwrap(), Some(Seq(1)));
    assert_eq!(log.find(Stream::State, &sample::event_id("2", 0)).await.unwrap(), None);
    assert_eq!(log.find(Stream::Detail, &sample::event_id("2", 0)).await.unwrap(), Some(Seq(2)));
    let subject = daybook_schemas::Subject::Jobs;
    assert_eq!(log.subject_end(Stream::State, &subject).await.unwrap(), Seq(1));
    assert_eq!(log.subject_end(Stream::Detail, &subject).await.unwrap(), Seq(3));
    drop(log);
    let log = open(place).await;
    assert_eq!((log.end(Stream::State), log.end(Stream::Detail)), (Seq(1), Seq(3)));
}

/// A clock that goes back, even while the log is closed, does not take the timestamps back.
pub async fn timestamps_never_go_back(place: &dyn Place) {
    let clock = Arc::new(ManualClock::at(UtcMicros(5_000_000)));
    let log = place.open(clock.clone()).await;
    let mut times = Vec::new();
    for (number, now) in [5_000_000, 9_000_000, 3_000_000, 9_000_001].into_iter().enumerate() {
        clock.set(UtcMicros(now));
        times.push(log.append(sample::one(Stream::State, &format!("{number}"))).await.unwrap().time.0);
    }
    assert_eq!(times, [5_000_000, 9_000_000, 9_000_000, 9_000_001]);
    drop(log);
    clock.set(UtcMicros(1));
    let log = place.open(clock.clone()).await;
    assert_eq!(log.append(sample::one(Stream::State, "later")).await.unwrap().time, UtcMicros(9_000_001));
    let stored: Vec<i64> =
        read_all(log.as_ref(), Stream::State).await.iter().map(|commit| commit.time.0).collect();
    assert_eq!(stored, [5_000_000, 9_000_000, 9_000_000, 9_000_001, 9_000_001]);
}

/// What followers saw is what is read again after reopening, byte for byte.
pub async fn reopening_gives_the_same_bytes(place: &dyn Place) {
    let log = open(place).await;
    for number in 0..50 {
        let text = format!("line\n\"{number}\" \u{1F5D2} {}", "x".repeat(number * 10));
        let draft = sample::draft_with_text(
            daybook_schemas::Subject::Node("n\"1".into()),
            &format!("{number}"),
            1 + number % 3,
            &text,
        );
        let append = crate::Append { stream: Stream::State, draft, blobs: Vec::new() };
        log.append(append).await.unwrap();
    }
    let before = read_all(log.as_ref(), Stream::State).await;
    drop(log);
    let log = open(place).await;
    let after = read_all(log.as_ref(), Stream::State).await;
    assert_eq!(bytes_of(&before), bytes_of(&after));
    assert_eq!(before, after);
}
