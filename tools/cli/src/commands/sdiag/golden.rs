//! The report, character by character.

use daybook_schemas::api::{BoundCount, CycleFigures, JobCounts, RecordedCycle, Statistics};
use daybook_schemas::events::CycleBound;
use daybook_schemas::{Seq, UtcMicros};
use expect_test::expect;

use super::report;
use crate::commands::sample;

/// 2026-12-02T20:00:00Z.
const NOW: i64 = 1_796_241_600;

fn at(seconds: i64) -> UtcMicros {
    UtcMicros::from_seconds(NOW + seconds)
}

fn statistics() -> Statistics {
    Statistics {
        seq: Seq(900),
        now: at(0),
        since: at(-3_600),
        since_seq: Seq(12),
        jobs: JobCounts { submitted: 120, started: 100, completed: 90, canceled: 4, failed: 2 },
        pending: 20,
        running: 4,
        cycles: 0,
        recent: CycleFigures::default(),
    }
}

#[test]
fn without_a_cycle_there_are_no_figures_of_cycles() {
    expect![[r#"
        *******************************************************
        sdiag output at Wed Dec 02 20:00:00 2026 (1796241600)
        Data since      Wed Dec 02 19:00:00 2026 (1796238000)
        *******************************************************
        Jobs submitted: 120
        Jobs started:   100
        Jobs completed: 90
        Jobs canceled:  4
        Jobs failed:    2

        Job states ts:  Wed Dec 02 20:00:00 2026 (1796241600)
        Jobs pending:   20
        Jobs running:   4

        Main schedule statistics (planning cycles in the log: those that decided or changed something):
        	Total cycles:                    0
        	Last cycle:                      none
    "#]]
    .assert_eq(&report::of(&statistics(), &sample::instants()));
}

#[test]
fn cycles_have_their_bounds_and_steps() {
    let last = RecordedCycle {
        seq: Seq(899),
        at: at(-12),
        jobs: 1_000,
        starts: 3,
        reasons: 2,
        protected: 1,
        steps: 45_678,
        bound: Some(CycleBound::Full),
    };
    let recent = CycleFigures {
        count: 100,
        seconds: 1_980,
        last: Some(last),
        jobs_mean: 320,
        jobs_max: 10_000,
        steps_mean: 20_000,
        steps_max: 200_000_000,
        starts: 100,
        reasons: 31,
        bounds: vec![
            BoundCount { bound: CycleBound::Jobs, cycles: 2 },
            BoundCount { bound: CycleBound::Steps, cycles: 1 },
            BoundCount { bound: CycleBound::Full, cycles: 40 },
        ],
    };
    let statistics = Statistics { cycles: 310, recent, ..statistics() };
    expect![[r#"
        *******************************************************
        sdiag output at Wed Dec 02 20:00:00 2026 (1796241600)
        Data since      Wed Dec 02 19:00:00 2026 (1796238000)
        *******************************************************
        Jobs submitted: 120
        Jobs started:   100
        Jobs completed: 90
        Jobs canceled:  4
        Jobs failed:    2

        Job states ts:  Wed Dec 02 20:00:00 2026 (1796241600)
        Jobs pending:   20
        Jobs running:   4

        Main schedule statistics (planning cycles in the log: those that decided or changed something):
        	Total cycles:                    310
        	Last cycle when:                 Wed Dec 02 19:59:48 2026 (1796241588)
        	Last depth cycle:                1000
        	Last steps:                      45678
        	Last starts:                     3
        	Last reasons:                    2
        	Last bound:                      jobs where nothing is free

        Of the last 100 cycles in the log (1980 s from the first to the last):
        	Cycles per minute:               3
        	Mean depth cycle:                320
        	Max depth cycle:                 10000
        	Mean steps:                      20000
        	Max steps:                       200000000
        	Starts:                          100
        	Reasons changed:                 31
        	Met no bound:                    57
        	Met jobs:                        2
        	Met steps:                       1
        	Met jobs where nothing is free:  40

        Backfilling stats
        	Protected starts:                1
    "#]]
    .assert_eq(&report::of(&statistics, &sample::instants()));
}

#[test]
fn what_was_seen_for_less_than_a_minute_is_no_rate() {
    let rate_of = |seconds: u64| {
        let last = RecordedCycle {
            seq: Seq(9),
            at: at(0),
            jobs: 1,
            starts: 0,
            reasons: 1,
            protected: 1,
            steps: 1,
            bound: None,
        };
        let recent = CycleFigures { count: 7, seconds, last: Some(last), ..CycleFigures::default() };
        let statistics = Statistics { cycles: 7, recent, ..statistics() };
        let report = report::of(&statistics, &sample::instants());
        report
            .lines()
            .find_map(|line| line.trim().strip_prefix("Cycles per minute:"))
            .map(|rate| rate.trim().to_string())
    };
    assert_eq!(rate_of(59), None);
    assert_eq!(rate_of(60).as_deref(), Some("6"));
}
