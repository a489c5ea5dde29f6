use daybook_schemas::UtcMicros;
use daybook_schemas::run::{EndCause, ExitStatus};
use serde_json::json;

use super::*;
use crate::records::{Claim, Exit, Started, Trouble, TroubleKind};

fn intent(environment: &[u8]) -> Intent {
    let order = json!({
        "run": "21.0", "allocated": 7, "allocated_at": "2026-12-02T01:00:00.000000Z", "cluster_name": "tx",
        "nodes": [], "partition": "main", "account": "ml", "qos": "normal", "time_limit": "unlimited", "kill_wait": 30,
        "wish": "run",
        "spec": {
            "name": "j", "partition": "main", "requeue": true, "script": "00", "script_bytes": 1, "environment": "00",
            "request": { "nodes_min": 1, "tasks": 1, "cpus_per_task": 1 },
            "user": { "uid": 1, "gid": 1, "name": "a", "group": "a" },
            "work_dir": "/", "umask": 18, "submit_host": "vm", "submit_line": "sbatch"
        }
    });
    let intent = json!({
        "order": order, "node": "n1", "boot_id": "b", "script": "", "environment_bytes": environment.len()
    });
    serde_json::from_value(intent).unwrap()
}

fn files(directory: &tempfile::TempDir) -> RunFiles {
    RunFiles::of(directory.path(), "21.0".parse().unwrap())
}

#[test]
fn an_order_cut_off_anywhere_is_no_order() {
    let directory = tempfile::tempdir().unwrap();
    let files = files(&directory);
    assert_eq!(files.read_order().unwrap(), Order::None);
    let environment = b"A=1\0B=\xff\n\0";
    files.write_order(&intent(environment), environment).unwrap();
    let whole = files.read_order().unwrap();
    assert_eq!(whole, Order::Whole(Box::new(intent(environment)), environment.to_vec()));
    let bytes = std::fs::read(files.order()).unwrap();
    for cut in 0..bytes.len() {
        std::fs::write(files.order(), &bytes[..cut]).unwrap();
        assert_eq!(files.read_order().unwrap(), Order::Torn, "cut at {cut}");
    }
    files.write_order(&intent(environment), environment).unwrap();
    assert_eq!(files.read_order().unwrap(), whole, "written over");
}

#[test]
fn a_record_says_what_its_whole_lines_say() {
    let directory = tempfile::tempdir().unwrap();
    let files = files(&directory);
    files.write_order(&intent(b""), b"").unwrap();
    let lock = files.lock().unwrap().unwrap();
    let mut writer = files.claim(&lock).unwrap().unwrap();
    let claimed = Claim { pid: 10, start_time: 5 };
    let started = Started { pid: 11, start_time: 6, at: UtcMicros(1) };
    let exit = ExitStatus { code: 3, signal: 0 };
    let ended = Exit { at: UtcMicros(2), cause: EndCause::Exited, exit, message: None, usage: None };
    writer.add(&Entry::Claimed(claimed)).unwrap();
    writer.add(&Entry::Started(started)).unwrap();
    let over = ended.clone();
    writer.add(&Entry::Over(over.clone())).unwrap();
    let trouble = Trouble { at: UtcMicros(2), kind: TroubleKind::Epilog, message: "no".to_string() };
    writer.add(&Entry::Troubled(trouble.clone())).unwrap();
    writer.add_synced(&Entry::Ended(ended.clone())).unwrap();
    let whole = Record {
        claimed: Some(claimed),
        started: Some(started),
        over: Some(over),
        troubles: vec![trouble],
        ended: Some(ended),
        ..Record::default()
    };
    assert_eq!(files.read_record().unwrap(), Some(whole));
    let bytes = std::fs::read(files.record()).unwrap();
    let ends: Vec<usize> =
        bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    for cut in 0..bytes.len() {
        let torn = Record::parse(&bytes[..cut]);
        let seen = [
            torn.claimed.is_some(),
            torn.started.is_some(),
            torn.over.is_some(),
            !torn.troubles.is_empty(),
            torn.ended.is_some(),
        ];
        assert_eq!(seen[..], ends.iter().map(|end| cut > *end).collect::<Vec<_>>()[..], "cut at {cut}");
    }
}

#[test]
fn a_run_is_claimed_once_and_not_after_it_was_removed() {
    let directory = tempfile::tempdir().unwrap();
    let files = files(&directory);
    assert!(files.lock().unwrap().is_none(), "without an order there is nothing to lock");
    files.write_order(&intent(b""), b"").unwrap();
    let lock = files.lock().unwrap().unwrap();
    assert!(files.is_locked() && files.lock().unwrap().is_none());
    assert!(files.claim(&lock).unwrap().is_some());
    assert!(files.claim(&lock).unwrap().is_none());
    files.remove(|| Ok(())).unwrap();
    // One who opened the order before it was removed comes late.
    assert!(files.claim(&lock).unwrap().is_none());
    assert!(RunFiles::runs_in(directory.path()).is_empty(), "and leaves nothing");
}
