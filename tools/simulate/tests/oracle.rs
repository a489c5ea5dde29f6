//! The planner against independent simulators: equal starts, job by job.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use daybook_simulate::machine::Machine;
use daybook_simulate::policy::PolicyName;
use daybook_simulate::simulation::simulate;
use daybook_simulate::trace::{self, Trace, TraceJob, Unit};
use flate2::read::GzDecoder;

/// (id, start) as a recorded schedule says.
fn recorded(name: &str) -> Vec<(String, u64)> {
    let mut text = String::new();
    let file = std::fs::File::open(Path::new("tests/traces").join(name)).expect("the schedule is there");
    GzDecoder::new(file).read_to_string(&mut text).expect("it is gzipped text");
    let lines = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    lines.map(|columns| (columns[1].to_string(), columns[3].parse().expect("a start"))).collect()
}

fn compare(log: &str, policy: PolicyName) {
    let path = format!("tests/traces/{log}.swf.gz");
    let mut trace = trace::read(Path::new(&path)).expect("the log is read");
    let processors = trace.processors.expect("the header says how many");
    trace.drop_larger_than(processors);
    let machine = Machine::pool(processors, Unit::Processor);
    let outcome = simulate(&trace, &machine, &policy.policy(), |_| {}).expect("it ends");
    let starts: Vec<(String, u64)> =
        trace.jobs.iter().map(|job| job.id.clone()).zip(outcome.starts.iter().copied()).collect();
    let expected = recorded(&format!("{log}.{}.csv.gz", policy.word()));
    assert_eq!(starts.len(), expected.len(), "{log}: as many jobs");
    assert!(starts.len() > 1_000, "{log}: the cut has {} jobs", starts.len());
    let first = starts.iter().zip(&expected).find(|(ours, theirs)| ours != theirs);
    assert_eq!(first, None, "{log} under {}", policy.word());
}

#[test]
fn first_come_first_served_starts_every_job_when_the_oracle_does() {
    for log in ["kth-sp2", "llnl-atlas", "hpc2n", "lublin-256"] {
        compare(log, PolicyName::Fcfs);
    }
}

#[test]
fn easy_backfill_starts_every_job_when_the_oracle_does() {
    for log in ["kth-sp2", "llnl-atlas", "hpc2n", "lublin-256"] {
        compare(log, PolicyName::Easy);
    }
}

/// A stream drawn from a seed: bursts, equal instants, zero run times, overestimates.
fn drawn(seed: u64, jobs: usize, processors: u32) -> Trace {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut below = |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % bound
    };
    let mut now = 0;
    let mut all = Vec::new();
    for number in 0..jobs {
        now += [0, 0, 1, 5, 20, 60][below(6) as usize];
        let run = [0, 1, 7, 30, 60, 200, 600][below(7) as usize] + below(3);
        let estimate = run * (1 + below(4)) + below(2) * 30;
        all.push(TraceJob {
            id: number.to_string(),
            submit: now,
            run,
            estimate: estimate.max(run),
            processors: 1 + below(u64::from(processors)) as u32 / (1 + below(4) as u32),
            cpus: 0,
            memory: 0,
            nodes: None,
            gpu_type: String::new(),
            user: below(4).to_string(),
            program: String::new(),
        });
    }
    Trace { jobs: all, unit: Unit::Processor, processors: Some(processors), dropped: BTreeMap::new() }
}

#[test]
fn a_pool_of_gpus_starts_what_a_pool_of_processors_starts() {
    for seed in 1..=20 {
        let mut trace = drawn(seed, 200, 16);
        for policy in [PolicyName::Fcfs, PolicyName::Easy, PolicyName::Conservative, PolicyName::Predict] {
            trace.unit = Unit::Processor;
            let pool =
                simulate(&trace, &Machine::pool(16, trace.unit), &policy.policy(), |_| {}).expect("it ends");
            trace.unit = Unit::Gpu;
            let gpus =
                simulate(&trace, &Machine::pool(16, trace.unit), &policy.policy(), |_| {}).expect("it ends");
            assert_eq!(pool.starts, gpus.starts, "seed {seed}, {}", policy.word());
        }
    }
}

#[test]
fn a_conservative_plan_never_starts_a_job_later_than_without_those_behind_it() {
    for seed in 1..=20 {
        let trace = drawn(seed, 60, 16);
        let machine = Machine::pool(16, trace.unit);
        // With exact limits nothing ends early, and a promise is kept to the second.
        let mut exact = trace.clone();
        exact.jobs.iter_mut().for_each(|job| job.estimate = job.run);
        let policy = PolicyName::Conservative.policy();
        let all = simulate(&exact, &machine, &policy, |_| {}).expect("it ends");
        for count in [10, 25, 40] {
            let mut fewer = exact.clone();
            fewer.cut(count);
            let alone = simulate(&fewer, &machine, &policy, |_| {}).expect("it ends");
            assert_eq!(all.starts[..count], alone.starts[..], "seed {seed}, the first {count}");
        }
    }
}

/// Nothing is used twice, and nobody starts before they arrive.
fn check_use(trace: &Trace, starts: &[u64], processors: u32) {
    let mut changes: Vec<(u64, bool, i64)> = Vec::new();
    for (job, start) in trace.jobs.iter().zip(starts) {
        assert!(*start >= job.submit, "job {} starts before it arrives", job.id);
        if job.run > 0 {
            changes.push((*start, true, i64::from(job.processors)));
            changes.push((start + job.run, false, -i64::from(job.processors)));
        }
    }
    changes.sort_unstable_by_key(|(at, begins, _)| (*at, *begins));
    let mut used = 0;
    for (at, _, change) in changes {
        used += change;
        assert!(used <= i64::from(processors), "{used} of {processors} are in use at {at}");
    }
}

#[test]
fn no_policy_uses_more_than_there_is_and_every_job_starts() {
    for seed in 1..=30 {
        let trace = drawn(seed, 150, 24);
        for machine in [Machine::pool(24, trace.unit), Machine::parse("6x4", trace.unit).expect("nodes")] {
            for policy in PolicyName::ALL {
                let outcome = simulate(&trace, &machine, &policy.policy(), |_| {}).expect("it ends");
                check_use(&trace, &outcome.starts, 24);
            }
        }
    }
}
