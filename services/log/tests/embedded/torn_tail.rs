//! A log whose newest file was cut short, as after a power cut.

use daybook_log::conformance::sample;
use daybook_log::{Append, EventLog};
use daybook_schemas::{Seq, Subject};

use super::{STATE, copy_of, files_of, open, quick_directory, read_all};

const COMMITS: usize = 12;
/// Each byte of the last commit is cut away in turn; of those in front of it, each this many bytes.
const STEP: u64 = 13;

#[tokio::test]
async fn a_cut_at_any_byte_leaves_exactly_the_commits_in_front_of_it() {
    let place = quick_directory();
    let dir = place.path().join("log");
    drop(open(&dir));
    let log = open(&dir);
    let wal = files_of(&dir, "log").pop().unwrap();
    let length = || std::fs::metadata(&wal).unwrap().len();
    // The file's length once each commit was acknowledged: synced up to there.
    let mut synced = vec![length()];
    for number in 0..COMMITS {
        let draft = sample::draft(Subject::Jobs, &format!("{number}"), 1 + number % 2);
        let blobs = vec![sample::blob(number as u8, 50)];
        log.append(Append { stream: STATE, draft, blobs }).await.unwrap();
        synced.push(length());
    }
    assert!(
        synced.is_sorted_by(|a, b| a < b),
        "each commit is in the file when it is acknowledged: {synced:?}"
    );
    let whole = read_all(&log).await;
    drop(log);
    assert_eq!(length(), synced[COMMITS]);
    let mut cuts: Vec<u64> = (synced[COMMITS - 1]..=synced[COMMITS]).collect();
    cuts.extend(synced[..COMMITS].iter().flat_map(|length| [length.saturating_sub(1), *length, length + 1]));
    cuts.extend((synced[COMMITS - 3]..synced[COMMITS - 1]).step_by(STEP as usize));
    cuts.retain(|cut| *cut >= synced[0]);
    for cut in cuts {
        let torn = place.path().join("torn");
        copy_of(&dir, &torn);
        let file =
            std::fs::OpenOptions::new().write(true).open(torn.join("rocksdb").join(wal.file_name().unwrap()));
        file.unwrap().set_len(cut).unwrap();
        let log = open(&torn);
        let expected = synced.iter().filter(|length| **length <= cut).count() - 1;
        let commits = read_all(&log).await;
        assert_eq!(commits.len(), expected, "cut at {cut} of {synced:?}");
        assert_eq!(commits, whole[..expected]);
        for commit in &whole[expected..] {
            assert_eq!(log.find(STATE, &commit.events[0].id).await.unwrap(), None, "cut at {cut}");
        }
        let next = log.append(sample::one(STATE, "next")).await.unwrap();
        assert_eq!(next.seq, Seq(expected as u64 + 1));
        drop(log);
        std::fs::remove_dir_all(&torn).unwrap();
    }
}
