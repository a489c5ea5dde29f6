//! Rules for many writers at once.

use std::collections::BTreeSet;

use daybook_schemas::{Seq, Stream, Subject};

use super::{Place, open, read_all, sample};
use crate::{Append, AppendError};

const STATE: Stream = Stream::State;
const WRITERS: usize = 64;
const APPENDS_EACH: usize = 20;

/// 64 writers at once: every append gets a place of its own, the places are contiguous, and each writer's own appends
/// are in its order.
pub async fn concurrent_writers_get_contiguous_commits(place: &dyn Place) {
    let log = open(place).await;
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let log = log.clone();
            tokio::spawn(async move {
                let mut places = Vec::new();
                for number in 0..APPENDS_EACH {
                    let draft = sample::draft(
                        Subject::Node(format!("n{writer}").into()),
                        &format!("{writer}.{number}"),
                        2,
                    );
                    let append = Append { stream: STATE, draft, blobs: Vec::new() };
                    let appended = log.append(append).await.unwrap();
                    assert!(log.end(STATE) >= appended.seq, "what is acknowledged is visible");
                    places.push(appended);
                }
                places
            })
        })
        .collect();
    let mut seqs = BTreeSet::new();
    for writer in writers {
        let places = writer.await.unwrap();
        assert!(places.is_sorted_by(|a, b| a.seq < b.seq && a.time <= b.time));
        seqs.extend(places.iter().map(|appended| appended.seq));
    }
    let total = (WRITERS * APPENDS_EACH) as u64;
    assert_eq!(seqs.into_iter().collect::<Vec<Seq>>(), (1..=total).map(Seq).collect::<Vec<Seq>>());
    let commits = read_all(log.as_ref(), STATE).await;
    assert!(commits.is_sorted_by(|a, b| a.time <= b.time));
    for commit in &commits {
        let event = &commit.events[1].id;
        assert_eq!(log.find(STATE, event).await.unwrap(), Some(commit.seq));
    }
}

/// Many writers with the same expectation, and many with the same event: one of them wins each time.
pub async fn of_concurrent_expectations_one_wins(place: &dyn Place) {
    let log = open(place).await;
    let mut last = Seq::ZERO;
    for round in 0..10 {
        let rivals: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let log = log.clone();
                let append = sample::expecting(STATE, Subject::Plan, &format!("{round}.{writer}"), last);
                tokio::spawn(async move { log.append(append).await })
            })
            .collect();
        let mut winners = Vec::new();
        let mut losers = 0;
        for rival in rivals {
            match rival.await.unwrap() {
                Ok(appended) => winners.push(appended.seq),
                Err(AppendError::Expectation { expected, actual, .. }) => {
                    assert!(
                        expected == last && actual == last.next(),
                        "expected {expected}, actual {actual}"
                    );
                    losers += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!((winners.len(), losers), (1, WRITERS - 1), "round {round}");
        last = winners[0];
    }
    let again: Vec<_> = (0..WRITERS)
        .map(|_| {
            let log = log.clone();
            tokio::spawn(async move { log.append(sample::one(STATE, "same")).await })
        })
        .collect();
    let mut accepted = 0;
    for attempt in again {
        match attempt.await.unwrap() {
            Ok(appended) => {
                assert_eq!(appended.seq, last.next());
                accepted += 1;
            }
            Err(AppendError::Duplicate { seq, .. }) => assert_eq!(seq, last.next()),
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(accepted, 1);
}
