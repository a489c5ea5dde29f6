//! Simulated nodes.

use daybook_schemas::job::TimeLimit;
use daybook_schemas::orders::RunWish;

use crate::bench::Bench;

#[tokio::test]
async fn a_simulated_run_takes_its_declared_time_from_its_allocation() {
    let mut bench = Bench::unstarted(true).started().await;
    let order = bench.order("#!/bin/sh\ntouch ran\n", "DAYBOOK_SIMULATED_SECONDS=0.25\0").await;
    let allocated = order.allocated_at;
    let run = bench.give(order);
    assert_eq!(bench.start_of(run).await.pid, None);
    assert_eq!(bench.end_of(run).await.text(), "exited 0:0");
    let events = bench.events(run).await;
    let times: Vec<i64> = events.iter().map(|(_, event)| event.time.0 - allocated.0).collect();
    assert_eq!(times, [0, 250_000, 250_000]);
    assert!(!bench.work("ran").exists());
    assert!(!bench.directory.path().join("state").exists(), "it needs no file");
}

#[tokio::test]
async fn without_a_declared_time_it_takes_its_limit_and_beyond_it_the_limit_ends_it() {
    let mut bench = Bench::unstarted(true).started().await;
    for (declared, expected) in [("", "exited 0:0"), ("DAYBOOK_SIMULATED_SECONDS=7200\0", "time_limit 0:0")] {
        let mut order = bench.order("#!/bin/sh\n", declared).await;
        order.time_limit = TimeLimit::minutes(60);
        // An hour ago, as after a long stop of the daemon: it is over at once, at the instant at which it would have been.
        order.allocated_at = order.allocated_at.plus_seconds(-3600);
        let allocated = order.allocated_at;
        let run = bench.give(order);
        assert_eq!(bench.end_of(run).await.text(), expected);
        let events = bench.events(run).await;
        assert_eq!(events.len(), 3);
        assert_eq!(events[1].1.time, allocated.plus_seconds(3600));
    }
}

#[tokio::test]
async fn it_survives_a_restart_and_can_be_ended() {
    let mut bench = Bench::unstarted(true).started().await;
    let mut order = bench.order("#!/bin/sh\n", "").await;
    order.time_limit = TimeLimit::Unlimited;
    let run = bench.give(order);
    bench.start_of(run).await;
    bench.stop().await;
    bench.start();
    bench.wish(run, RunWish::Requeue);
    assert_eq!(bench.end_of(run).await.text(), "requeued 0:0");
    let types: Vec<_> = bench.events(run).await.iter().map(|(_, event)| event.body.type_name()).collect();
    assert_eq!(types, ["run.started.v1", "run.ended.v1", "run.node_released.v1"]);
}

#[tokio::test]
async fn one_that_gives_way_goes_on_until_its_grace_is_over() {
    let mut bench = Bench::unstarted(true).started().await;
    let order = bench.order("#!/bin/sh\n", "").await;
    let run = bench.give(order);
    bench.start_of(run).await;
    let since = std::time::Instant::now();
    bench.change(run, |order| (order.wish, order.grace) = (RunWish::GiveWay, daybook_schemas::Seconds(1)));
    assert_eq!(bench.end_of(run).await.text(), "preempted 0:0");
    assert!(since.elapsed().as_millis() >= 1000, "the grace is kept");
}

#[tokio::test]
async fn thousands_of_simulated_runs_end_at_their_times() {
    let mut bench = Bench::unstarted(true).started().await;
    let mut runs = Vec::new();
    for _ in 0..3000 {
        let order = bench.order("#!/bin/sh\n", "DAYBOOK_SIMULATED_SECONDS=0.5\0").await;
        runs.push(bench.put(order));
    }
    bench.tell();
    bench.all_released(runs.len()).await;
}
