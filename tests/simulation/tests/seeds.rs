//! Seeds: a fixed set; one with `DAYBOOK_SEED`, many that no run before has simulated with `DAYBOOK_SEEDS`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use daybook_simulation::{Broken, Failure, Options, Summary, run};

/// Seeds that every test run simulates: the same ones, so that a red run was made red by a change.
const FIXED: u64 = 120;
/// Where a deliberately broken cluster must have been noticed.
const NOTICED_WITHIN: u64 = 1_000;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

/// Runs seeds on all cores; the failures, by seed.
fn run_all(seeds: &[u64]) -> (Vec<Summary>, Vec<Failure>) {
    let (next, outcomes) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                    let outcome = run(*seed, Options::default());
                    if let Err(failure) = &outcome {
                        println!("{failure}");
                    }
                    outcomes.lock().unwrap().push(outcome);
                }
            });
        }
    });
    let (good, bad): (Vec<_>, Vec<_>) = outcomes.into_inner().unwrap().into_iter().partition(Result::is_ok);
    (good.into_iter().flatten().collect(), bad.into_iter().filter_map(Result::err).collect())
}

#[test]
fn every_seed_comes_to_rest_with_every_invariant_whole() {
    if let Some(seed) = number("DAYBOOK_SEED") {
        let summary = run(seed, Options { trace: true, ..Options::default() });
        println!("{}", summary.as_ref().map_or_else(Failure::to_string, |summary| format!("{summary:?}")));
        return assert!(summary.is_ok());
    }
    let first =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    let seeds: Vec<u64> = match number("DAYBOOK_SEEDS") {
        Some(count) => (first..first + count).collect(),
        None => (0..FIXED).collect(),
    };
    println!("seeds from {}", seeds.first().copied().unwrap_or_default());
    let began = Instant::now();
    let (good, bad) = run_all(&seeds);
    let sum = |part: fn(&Summary) -> u64| good.iter().map(part).sum::<u64>();
    println!(
        "{} seeds in {:.1} s: {} commits, {} jobs, {} runs, {} cycles, {} void allocations, {} ledgers",
        seeds.len(),
        began.elapsed().as_secs_f64(),
        sum(|one| one.commits),
        sum(|one| one.jobs),
        sum(|one| one.runs),
        sum(|one| one.cycles),
        sum(|one| one.void_allocations),
        sum(|one| one.ledgers),
    );
    let words: Vec<String> = bad.iter().map(Failure::to_string).collect();
    assert!(bad.is_empty(), "{} of {} seeds fail:\n{}", bad.len(), seeds.len(), words.join("\n"));
}

#[test]
fn one_seed_is_one_log() {
    for seed in 0..5 {
        let hash = || run(seed, Options::default()).map(|summary| summary.log_hash);
        assert_eq!(hash(), hash(), "seed {seed}");
    }
}

/// The first seeds' failures of a cluster that is broken on purpose; there must be one that says `what`.
#[track_caller]
fn assert_noticed(broken: Broken, what: &str) {
    let options = Options { broken: Some(broken), ..Options::default() };
    let failures = (0..NOTICED_WITHIN).filter_map(|seed| run(seed, options).err());
    let mut others = Vec::new();
    for failure in failures {
        if failure.what.contains(what) {
            return;
        }
        others.push(failure.what);
    }
    panic!("{broken:?} was not noticed as \"{what}\" in {NOTICED_WITHIN} seeds, but as {others:?}");
}

#[test]
fn an_agent_that_forgets_its_intents_is_noticed() {
    assert_noticed(Broken::AgentForgetsIntents, "is executed 2 times");
}

#[test]
fn an_agent_that_forgets_ends_too_early_is_noticed() {
    assert_noticed(Broken::AgentForgetsEnds, "is executed 2 times");
}

#[test]
fn an_agent_that_takes_old_orders_is_noticed() {
    assert_noticed(Broken::AgentTakesOldOrders, "is executed 2 times");
}

#[test]
fn a_planner_that_is_not_fenced_is_noticed() {
    assert_noticed(Broken::UnfencedPlanner, "decided already");
}

#[test]
fn a_log_that_acknowledges_falsely_is_noticed() {
    assert_noticed(Broken::LogAcknowledgesFalsely, "was accepted as job");
}
