//! Rules about reading, waiting and blobs.

use std::sync::Arc;
use std::time::Duration;

use daybook_schemas::{BlobHash, Seq, Stream, Subject};

use super::{Place, open, read_all, sample};
use crate::Append;

const STATE: Stream = Stream::State;

/// How long a wait that must end may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Reads start where they are told, give at most as many as they are told, and nothing beyond the end.
pub async fn reads_keep_to_their_limits(place: &dyn Place) {
    for session in 0..2 {
        let log = open(place).await;
        if session == 0 {
            assert!(log.read(STATE, Seq(1), 10).await.unwrap().is_empty(), "an empty log");
            for number in 0..100 {
                log.append(sample::one(STATE, &format!("{number}"))).await.unwrap();
            }
        }
        for (from, limit, expected) in [
            (1, 10, 1..=10),
            (0, 3, 1..=3),
            (91, 10, 91..=100),
            (95, 1000, 95..=100),
            (100, 1, 100..=100),
            (40, 50, 40..=89),
        ] {
            let commits = log.read(STATE, Seq(from), limit).await.unwrap();
            let seqs: Vec<u64> = commits.iter().map(|commit| commit.seq.0).collect();
            assert_eq!(seqs, expected.collect::<Vec<u64>>(), "from {from}, at most {limit}");
        }
        assert!(log.read(STATE, Seq(5), 0).await.unwrap().is_empty());
        assert!(log.read(STATE, Seq(101), 10).await.unwrap().is_empty());
        assert!(log.read(STATE, Seq(u64::MAX), 10).await.unwrap().is_empty());
    }
}

/// Waiting ends at once for what is there, with the next commit for what is not, and only for its own stream.
pub async fn waiting_wakes_at_the_next_commit(place: &dyn Place) {
    let log = open(place).await;
    log.append(sample::one(STATE, "first")).await.unwrap();
    assert_eq!(log.wait_past(STATE, Seq::ZERO).await.unwrap(), Seq(1));
    let waiters: Vec<_> = [1, 1, 2]
        .into_iter()
        .map(|seq| {
            let log = log.clone();
            tokio::spawn(async move { log.wait_past(STATE, Seq(seq)).await })
        })
        .collect();
    log.append(sample::one(Stream::Detail, "elsewhere")).await.unwrap();
    tokio::task::yield_now().await;
    assert!(waiters.iter().all(|waiter| !waiter.is_finished()), "nothing came in this stream");
    log.append(sample::one(STATE, "second")).await.unwrap();
    log.append(sample::one(STATE, "third")).await.unwrap();
    for (waiter, least) in waiters.into_iter().zip([2, 2, 3]) {
        let end = tokio::time::timeout(PATIENCE, waiter).await.expect("the waiter wakes").unwrap().unwrap();
        assert!(end >= Seq(least) && end <= Seq(3), "{end}");
    }
}

/// Blobs of every size come back with the commit that brought them, from any later session; unknown ones do not.
pub async fn a_blob_is_readable_whenever_its_commit_is(place: &dyn Place) {
    let blobs: Vec<Arc<[u8]>> = [0, 1, 100, 5_000, 200_000, 3 << 20]
        .into_iter()
        .zip(0..)
        .map(|(length, seed)| sample::blob(seed, length))
        .collect();
    let log = open(place).await;
    let append = Append { blobs: blobs.clone(), ..sample::one(STATE, "with blobs") };
    log.append(append).await.unwrap();
    // The same again, and one new beside it.
    let again =
        Append { blobs: vec![blobs[4].clone(), sample::blob(9, 10)], ..sample::one(Stream::Detail, "again") };
    log.append(again).await.unwrap();
    let many = sample::draft(Subject::Jobs, "many", 1);
    let small: Vec<Arc<[u8]>> = (0..200).map(|seed| sample::blob(seed, 300)).collect();
    log.append(Append { stream: STATE, draft: many, blobs: small.clone() }).await.unwrap();
    let mut log = Some(log);
    for session in 0..2 {
        let log = match log.take() {
            Some(log) => log,
            None => open(place).await,
        };
        for blob in blobs.iter().chain(&small) {
            let found = log.blob(&BlobHash::of(blob)).await.unwrap();
            assert!(found.as_deref() == Some(&**blob), "a blob of {} bytes in session {session}", blob.len());
        }
        assert_eq!(log.blob(&BlobHash::of(b"never stored")).await.unwrap(), None);
        assert_eq!(log.blob(&BlobHash("no address".to_string())).await.unwrap(), None);
        assert_eq!(read_all(log.as_ref(), STATE).await.len(), 2);
    }
}
