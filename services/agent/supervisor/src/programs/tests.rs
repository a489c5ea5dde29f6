use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::*;

fn program(directory: &Path, name: &str, script: &str) -> String {
    let path = directory.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn programs(paths: &[String], limit: Option<u64>) -> Programs {
    Programs { paths: paths.to_vec(), limit: limit.map(Seconds) }
}

#[test]
fn what_a_pattern_matches_runs_from_the_last_to_the_first_with_the_environment_given() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    for name in ["10-a", "20-b", "30-c"] {
        program(directory.path(), name, "echo $(basename $0) $WORD $HOME >> $LOG; pwd >> $LOG");
    }
    let environment =
        [("WORD".to_string(), "word".to_string()), ("LOG".to_string(), log.display().to_string())];
    let pattern = directory.path().join("[0-9]*").display().to_string();
    programs(&[pattern], None).run(&environment).unwrap();
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "30-c word\n/\n20-b word\n/\n10-a word\n/\n");
}

#[test]
fn the_first_that_fails_is_the_last_and_it_is_told_how() {
    let directory = tempfile::tempdir().unwrap();
    let mark = directory.path().join("mark");
    let never = program(directory.path(), "never", &format!("touch {}", mark.display()));
    let of = |path: &str| [path.to_string(), never.clone()];
    let fails = |path: &str| programs(&of(path), Some(60)).run(&[]).unwrap_err();
    let bad = program(directory.path(), "bad", "echo one; echo the disk is full >&2; exit 3");
    assert_eq!(fails(&bad), format!("{bad}: exit code 3: one\nthe disk is full"));
    let killed = program(directory.path(), "killed", "kill -9 $$");
    assert_eq!(fails(&killed), format!("{killed}: ended by signal 9"));
    assert_eq!(fails("/nonexistent"), "/nonexistent: No such file or directory (os error 2)");
    let nothing = directory.path().join("*.sh").display().to_string();
    assert_eq!(fails(&nothing), format!("{nothing}: there is no such program"));
    let talkative = program(directory.path(), "talkative", "head -c 2000000 /dev/zero | tr '\\0' x; exit 1");
    assert_eq!(fails(&talkative), format!("{talkative}: exit code 1: {}", "x".repeat(OUTPUT_MAX)));
    assert!(!mark.exists());
}

#[test]
fn who_takes_too_long_is_ended_with_its_children() {
    let directory = tempfile::tempdir().unwrap();
    let pid = directory.path().join("pid");
    let slow = program(directory.path(), "slow", &format!("sleep 1000 & echo $! > {}; wait", pid.display()));
    let why = programs(std::slice::from_ref(&slow), Some(1)).run(&[]).unwrap_err();
    assert_eq!(why, format!("{slow}: ended for it took too long"));
    let pid: i32 = std::fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    let since = Instant::now();
    while crate::processes::status(pid).is_some_and(|status| status.state != 'Z') {
        assert!(since.elapsed() < Duration::from_secs(30), "it lives on");
        std::thread::sleep(LOOK_AGAIN);
    }
}

#[test]
fn what_a_program_leaves_running_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let pid = directory.path().join("pid");
    let daemon = program(directory.path(), "daemon", &format!("sleep 1000 & echo $! > {}", pid.display()));
    programs(&[daemon], None).run(&[]).unwrap();
    let pid: i32 = std::fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    assert!(nix::sys::signal::kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok(), "it lived on");
}
