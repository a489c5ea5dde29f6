//! A process that is killed while it appends.

use std::collections::BTreeMap;

use daybook_log::EventLog;
use daybook_schemas::{BlobHash, EventId, Seq};

use super::{STATE, child, open, read_all};

const ROUNDS: usize = 20;

#[tokio::test]
async fn whatever_was_acknowledged_before_a_kill_is_there_afterwards() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("log");
    let mut acknowledged: BTreeMap<u64, String> = BTreeMap::new();
    for round in 0..ROUNDS {
        let mut writer = child::command("append for ever", &dir).spawn().unwrap();
        let mut lines = child::lines(&mut writer);
        let before = acknowledged.len();
        for line in lines.by_ref().take(1 + round * 17) {
            note(&mut acknowledged, &line);
        }
        writer.kill().unwrap();
        writer.wait().unwrap();
        // What was said before the kill and still lies in the pipe counts too.
        for line in lines {
            note(&mut acknowledged, &line);
        }
        assert!(acknowledged.len() > before, "round {round} appended");
        let log = open(&dir);
        let commits = read_all(&log).await;
        for (seq, event) in &acknowledged {
            let commit =
                commits.get(*seq as usize - 1).unwrap_or_else(|| panic!("round {round}: {seq} is gone"));
            assert_eq!(*commit.events[0].id.0, **event, "round {round}, commit {seq}");
        }
        for commit in &commits[before..] {
            let event = &commit.events[0].id;
            assert_eq!(log.find(STATE, event).await.unwrap(), Some(commit.seq));
            let name = event.0.strip_suffix("-0").unwrap().as_bytes();
            assert_eq!(log.blob(&BlobHash::of(name)).await.unwrap().as_deref(), Some(name));
        }
        assert!(log.find(STATE, &EventId::from("never")).await.unwrap().is_none());
        assert!(log.end(STATE) >= Seq(acknowledged.len() as u64));
    }
}

fn note(acknowledged: &mut BTreeMap<u64, String>, line: &str) {
    // The last line may be torn by the kill.
    let Some((seq, event)) = line.split_once(' ').filter(|(_, event)| event.ends_with("-0")) else { return };
    let twice = acknowledged.insert(seq.parse().unwrap(), event.to_string());
    assert_eq!(twice, None, "commit {seq} was acknowledged twice");
}
