//! What runs use, reported while they run.

use std::time::Duration;

use daybook_agent::ConfinementConfig;
use daybook_cgroup::Confining;
use daybook_log::EventLog;
use daybook_schemas::events::RunUsage;
use daybook_schemas::{Body, RunId, Seq, Stream};

use crate::bench::Bench;

/// Uses CPU time and holds memory in a process that is not the script itself, and one that the script has forgotten.
const BUSY: &str = "#!/bin/sh\n\
    (setsid sh -c 'exec sleep 600' &)\n\
    sh -c 'held=$(head -c 30000000 /dev/zero | tr \"\\0\" x); while [ ! -e go ]; do :; done'\n";

async fn observations(bench: &Bench, run: RunId) -> Vec<RunUsage> {
    let commits = bench.log.read(Stream::Detail, Seq(1), 10_000).await.unwrap();
    let events = commits.iter().flat_map(|commit| &commit.events);
    let of_run = events.filter_map(|event| match &event.body {
        Body::RunUsage(data) if data.run == run => Some((**data).clone()),
        _ => None,
    });
    of_run.collect()
}

/// What is said of the run behind the first `known`, as soon as the last of it is enough.
async fn observed(
    bench: &Bench,
    run: RunId,
    known: usize,
    is_enough: impl Fn(&RunUsage) -> bool,
) -> Vec<RunUsage> {
    loop {
        let new = observations(bench, run).await.split_off(known);
        if new.last().is_some_and(&is_enough) {
            return new;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn is_observed(mut bench: Bench) {
    bench.usage_interval = Some(Duration::from_millis(50));
    let mut bench = bench.started().await;
    let run = bench.run(BUSY).await;
    let is_enough = |seen: &RunUsage| {
        seen.user_cpu_us + seen.system_cpu_us >= 200_000 && seen.resident_kib >= 20_000 && seen.processes >= 3
    };
    let before = observed(&bench, run, 0, is_enough).await;
    assert_eq!(before[0].observed_since, None);
    assert!(before[1..].iter().all(|seen| seen.observed_since.is_some()));
    assert!(before.windows(2).all(|two| two[0].user_cpu_us <= two[1].user_cpu_us));
    // An agent that was away does not know what it has missed, and counts on from the run's begin.
    bench.stop().await;
    let count = observations(&bench, run).await.len();
    bench.start();
    let last = before.last().unwrap().user_cpu_us;
    let goes_on = |seen: &RunUsage| seen.observed_since.is_some() && seen.user_cpu_us >= last;
    let after = observed(&bench, run, count, goes_on).await;
    assert_eq!(after[0].observed_since, None);
    std::fs::write(bench.work("go"), "").unwrap();
    bench.is_settled(run).await;
    // Nothing is said of it any more.
    let count = observations(&bench, run).await.len();
    let other = bench.run("#!/bin/sh\nwhile [ ! -e stop ]; do sleep 0.01; done\n").await;
    observed(&bench, other, 0, |seen| seen.processes > 0).await;
    assert_eq!(observations(&bench, run).await.len(), count);
    std::fs::write(bench.work("stop"), "").unwrap();
    bench.is_settled(other).await;
}

#[tokio::test]
async fn what_a_run_uses_is_reported_while_it_runs() {
    let mut bench = Bench::unstarted(false);
    bench.confinement.rules.confining = Confining::Off;
    is_observed(bench).await;
}

#[tokio::test]
async fn the_same_where_it_has_a_control_group() {
    let mut bench = Bench::unstarted(false);
    bench.confinement = ConfinementConfig { first_cpu: Some(0), ..ConfinementConfig::default() };
    is_observed(bench).await;
}

#[tokio::test]
async fn nothing_is_reported_where_nobody_wants_it() {
    let mut bench = Bench::unstarted(false).started().await;
    let run = bench.run("#!/bin/sh\nsleep 0.3\n").await;
    bench.is_settled(run).await;
    assert_eq!(observations(&bench, run).await.len(), 0);
}
