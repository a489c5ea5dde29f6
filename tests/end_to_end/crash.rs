//! `kill -9` of the daemon at arbitrary moments: nothing acknowledged is lost, nothing runs twice.

use daybook_tests::rounds::{Moments, Round};
use daybook_tests::{Cluster, TWO_NODES};

/// Rounds here; `DAYBOOK_CRASH_ROUNDS` sets another number.
fn rounds() -> u32 {
    std::env::var("DAYBOOK_CRASH_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3)
}

#[test]
fn every_acknowledged_job_runs_exactly_once_whenever_the_daemon_is_killed() {
    for round in 0..rounds() {
        one_round(u64::from(round) + 1, 300);
        eprintln!("round {} of {} is as it should be", round + 1, rounds());
    }
}

fn one_round(seed: u64, jobs: usize) {
    let mut cluster = Cluster::new(TWO_NODES);
    cluster.start();
    let mut moments = Moments::of(seed);
    let mut round = Round::default();
    for wave in (0..jobs).step_by(20) {
        let submissions = Round::submit(&cluster, wave..wave + 20);
        if (wave / 20) % 2 == 1 {
            std::thread::sleep(moments.next_ms(120));
            cluster.kill();
            cluster.start();
        }
        round.take(submissions);
    }
    assert!(round.accepted() > jobs / 2, "only {} of {jobs} were accepted", round.accepted());
    round.check(&cluster, &format!("round {seed}"));
    assert!(cluster.stop());
    cluster.verify();
}
