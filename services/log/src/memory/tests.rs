use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use daybook_schemas::{BlobHash, Seq, Stream, Subject};

use super::{Disk, Fault, MemoryLog};
use crate::clock::Clock;
use crate::conformance::{Place, sample};
use crate::{Append, AppendError, EventLog, LogHandle, ReadError};

const STATE: Stream = Stream::State;

#[derive(Default)]
struct InMemory(Arc<Mutex<Disk>>);

#[async_trait]
impl Place for InMemory {
    async fn open(&self, clock: Arc<dyn Clock>) -> LogHandle {
        MemoryLog::on(self.0.clone(), clock)
    }
}

mod conformance {
    crate::conformance_suite!(super::InMemory::default());
}

#[tokio::test]
async fn the_whole_suite_runs_in_one_call() {
    crate::conformance::run(InMemory::default).await;
}

#[tokio::test]
async fn scripted_faults_come_in_their_order_and_leave_what_they_say() {
    let log = MemoryLog::new();
    log.script([
        None,
        Some(Fault::Unavailable),
        Some(Fault::AcknowledgementLost),
        Some(Fault::AppendLost),
        Some(Fault::DeliveredTwice),
    ]);
    let mut found = Vec::new();
    for name in ["a", "b", "c", "d", "e", "f"] {
        let outcome = log.append(sample::one(STATE, name)).await;
        found.push((
            outcome.map(|appended| appended.seq.0),
            log.find(STATE, &sample::event_id(name, 0)).await.unwrap(),
        ));
    }
    let unknown = || Err(AppendError::Unknown("no answer came".to_string()));
    let expected = [
        (Ok(1), Some(Seq(1))),
        (Err(AppendError::Unavailable("so it was asked for".to_string())), None),
        (unknown(), Some(Seq(2))),
        (unknown(), None),
        (Err(AppendError::Duplicate { event: sample::event_id("e", 0), seq: Seq(3) }), Some(Seq(3))),
        (Ok(4), Some(Seq(4))),
    ];
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_crash_loses_what_was_not_synced_and_nothing_else() {
    let log = MemoryLog::new();
    let blob = sample::blob(1, 10);
    log.append(sample::one(STATE, "synced")).await.unwrap();
    log.hold();
    let waiting: Vec<_> = ["x", "y", "z"]
        .into_iter()
        .enumerate()
        .map(|(number, name)| {
            let appending = log.clone();
            let append = Append { blobs: vec![blob.clone()], ..sample::one(STATE, name) };
            let task = tokio::spawn(async move { appending.append(append).await });
            (number, task)
        })
        .collect();
    log.until_waiting(3).await;
    assert_eq!(log.end(STATE), Seq(1), "not synced is not visible");
    let crashed = log.crash(1);
    for (_, task) in waiting {
        assert!(matches!(task.await.unwrap(), Err(AppendError::Unknown(_))));
    }
    assert_eq!(crashed.end(STATE), Seq(2), "one of the three had reached the disk");
    assert_eq!(crashed.blob(&BlobHash::of(&blob)).await.unwrap(), Some(blob));
    assert!(matches!(log.append(sample::one(STATE, "late")).await, Err(AppendError::Unavailable(_))));
    assert!(matches!(log.read(STATE, Seq(1), 1).await, Err(ReadError::Unavailable(_))));
    assert!(matches!(log.wait_past(STATE, Seq(9)).await, Err(ReadError::Unavailable(_))));
    assert_eq!(crashed.append(sample::one(STATE, "next")).await.unwrap().seq, Seq(3));
}

#[tokio::test]
async fn a_delayed_sync_decides_in_the_order_of_arrival() {
    let log = MemoryLog::new();
    log.hold();
    let mut tasks = Vec::new();
    for number in 0..5 {
        let appending = log.clone();
        let append = sample::expecting(STATE, Subject::Plan, &format!("{number}"), Seq::ZERO);
        tasks.push(tokio::spawn(async move { appending.append(append).await }));
        log.until_waiting(number + 1).await;
    }
    log.sync();
    let mut accepted = Vec::new();
    for task in tasks {
        accepted.push(task.await.unwrap().is_ok());
    }
    assert_eq!(accepted, [true, false, false, false, false]);
    assert_eq!(log.reopen().append(sample::one(STATE, "after")).await.unwrap().seq, Seq(2));
}

#[tokio::test]
async fn read_faults_are_as_many_as_asked_and_damage_stays() {
    let log = MemoryLog::new();
    let blob = sample::blob(1, 10);
    for name in ["a", "b", "c"] {
        log.append(Append { blobs: vec![blob.clone()], ..sample::one(STATE, name) }).await.unwrap();
    }
    log.refuse_reads(2);
    assert!(matches!(log.read(STATE, Seq(1), 9).await, Err(ReadError::Unavailable(_))));
    assert!(matches!(log.find(STATE, &sample::event_id("a", 0)).await, Err(ReadError::Unavailable(_))));
    assert_eq!(log.read(STATE, Seq(1), 9).await.unwrap().len(), 3);
    log.damage(STATE, Seq(2));
    log.damage_blob(&BlobHash::of(&blob));
    let log = log.reopen();
    assert_eq!(log.read(STATE, Seq(1), 9).await.unwrap().len(), 1, "up to the damaged one");
    assert!(matches!(log.read(STATE, Seq(2), 9).await, Err(ReadError::Unreadable { seq: Seq(2), .. })));
    assert_eq!(log.read(STATE, Seq(3), 9).await.unwrap().len(), 1);
    assert_eq!(log.blob(&BlobHash::of(&blob)).await, Err(ReadError::DamagedBlob(BlobHash::of(&blob))));
}
