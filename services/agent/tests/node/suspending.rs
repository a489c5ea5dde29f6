//! Runs that are stopped, and go on: with real processes, and over restarts.

use daybook_schemas::events::{RunResumed, RunSuspended};
use daybook_schemas::job::TimeLimit;
use daybook_schemas::orders::RunWish;
use daybook_schemas::{Body, RunId, Seconds, Seq};
use daybook_supervisor::processes::is_stopped;

use crate::bench::{Bench, until, until_written};

/// Writes its id and that of a child that has left the session, and counts.
const COUNTING: &str = "#!/bin/bash\n( setsid sh -c 'echo $$ > child; exec sleep 600' & )\n\
    echo $$ > script\ni=0; while [ ! -e done ]; do i=$((i+1)); echo $i > count; sleep 0.02; done\nexit 3\n";

impl Bench {
    /// Tells a run to stop or to go on.
    fn turn(&mut self, run: RunId, wish: RunWish, ordered: u64) {
        self.change(run, |order| {
            (order.wish, order.ordered, order.suspend_grace) = (wish, Seq(ordered), Seconds(0));
        });
    }

    async fn stop_of(&self, run: RunId, ordered: u64) -> RunSuspended {
        self.seen(run, |body| match body {
            Body::RunSuspended(data) if data.ordered == Seq(ordered) => Some((**data).clone()),
            _ => None,
        })
        .await
    }

    async fn going_on_of(&self, run: RunId, ordered: u64) -> RunResumed {
        self.seen(run, |body| match body {
            Body::RunResumed(data) if data.ordered == Seq(ordered) => Some((**data).clone()),
            _ => None,
        })
        .await
    }

    fn pid(&self, file: &str) -> i32 {
        std::fs::read_to_string(self.work(file)).unwrap().trim().parse().unwrap()
    }

    fn is_stopped(&self) -> bool {
        is_stopped(self.pid("script")) && is_stopped(self.pid("child"))
    }

    async fn counts(&self) {
        let before = std::fs::read_to_string(self.work("count")).unwrap_or_default();
        until(|| {
            std::fs::read_to_string(self.work("count")).is_ok_and(|now| !now.is_empty() && now != before)
        })
        .await;
    }
}

async fn counting() -> (Bench, RunId) {
    let mut bench = Bench::new().await;
    let run = bench.run(COUNTING).await;
    until_written(&bench.work("child")).await;
    bench.counts().await;
    (bench, run)
}

async fn turns(bench: &Bench, run: RunId) -> Vec<&'static str> {
    bench.events(run).await.iter().map(|(_, event)| event.body.type_name()).collect()
}

#[tokio::test]
async fn every_process_stops_and_goes_on() {
    let (mut bench, run) = counting().await;
    bench.turn(run, RunWish::Suspend, 50);
    bench.stop_of(run, 50).await;
    assert!(bench.is_stopped(), "what has left the session too");
    bench.turn(run, RunWish::Run, 60);
    bench.going_on_of(run, 60).await;
    bench.counts().await;
    std::fs::write(bench.work("done"), "").unwrap();
    assert_eq!(bench.end_of(run).await.text(), "exited 3:0");
    bench.is_settled(run).await;
    let expected =
        ["run.started.v1", "run.suspended.v1", "run.resumed.v1", "run.ended.v1", "run.node_released.v1"];
    assert_eq!(turns(&bench, run).await, expected);
}

#[tokio::test]
async fn a_stopped_run_stays_so_while_the_agent_is_away_and_turns_are_told_once() {
    let (mut bench, run) = counting().await;
    bench.turn(run, RunWish::Suspend, 50);
    bench.stop_of(run, 50).await;
    bench.stop().await;
    bench.start();
    // Nobody told anything new: it is still stopped. A newer order of the same kind is answered too.
    bench.turn(run, RunWish::Suspend, 55);
    bench.stop_of(run, 55).await;
    assert!(bench.is_stopped());
    bench.stop().await;
    // It is told while nobody is there to hear it.
    bench.turn(run, RunWish::Run, 60);
    bench.start();
    bench.going_on_of(run, 60).await;
    bench.counts().await;
    bench.wish(run, RunWish::Cancel);
    assert_eq!(bench.end_of(run).await.text(), "cancelled 0:15");
    let told = turns(&bench, run).await;
    assert_eq!(told.iter().filter(|told| **told == "run.suspended.v1").count(), 2, "{told:?}");
    assert_eq!(told.iter().filter(|told| **told == "run.resumed.v1").count(), 1, "{told:?}");
}

#[tokio::test]
async fn a_stopped_run_can_be_ended() {
    for (wish, expected) in [(RunWish::Cancel, "cancelled 0:15"), (RunWish::Requeue, "requeued 0:15")] {
        let (mut bench, run) = counting().await;
        bench.turn(run, RunWish::Suspend, 50);
        bench.stop_of(run, 50).await;
        bench.wish(run, wish);
        assert_eq!(bench.end_of(run).await.text(), expected);
        bench.is_settled(run).await;
    }
}

#[tokio::test]
async fn its_time_limit_stands_still() {
    let mut bench = Bench::new().await;
    let run = bench.run("#!/bin/sh\necho > ready\nexec sleep 600\n").await;
    until_written(&bench.work("ready")).await;
    let since = std::time::Instant::now();
    bench.turn(run, RunWish::Suspend, 50);
    bench.stop_of(run, 50).await;
    // A limit that would have ended it: it is looked at when it goes on.
    bench.change(run, |order| order.time_limit = TimeLimit::Seconds(1));
    tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
    bench.turn(run, RunWish::Run, 60);
    bench.going_on_of(run, 60).await;
    assert_eq!(bench.end_of(run).await.text(), "time_limit 0:15");
    assert!(since.elapsed().as_millis() >= 2_400, "1.5 s were no part of its second: {:?}", since.elapsed());
}

#[tokio::test]
async fn a_run_that_is_to_be_stopped_before_it_has_started_stops_at_once() {
    let mut bench = Bench::new().await;
    let mut order = bench.order("#!/bin/sh\nsleep 0.2\necho > after\n", "").await;
    (order.wish, order.ordered) = (RunWish::Suspend, Seq(50));
    let run = bench.give(order);
    bench.stop_of(run, 50).await;
    bench.turn(run, RunWish::Run, 60);
    assert_eq!(bench.end_of(run).await.text(), "exited 0:0");
}

#[tokio::test]
async fn a_simulated_run_takes_its_time_without_its_stops() {
    let mut bench = Bench::unstarted(true).started().await;
    let order = bench.order("#!/bin/sh\n", "DAYBOOK_SIMULATED_SECONDS=0.6\0").await;
    let allocated = order.allocated_at;
    let run = bench.give(order);
    bench.start_of(run).await;
    bench.turn(run, RunWish::Suspend, 50);
    bench.stop_of(run, 50).await;
    // A restart: what the log knows comes with the orders.
    let stopped = bench.events(run).await.last().unwrap().1.time;
    bench.stop().await;
    bench.change(run, |order| order.stopped = Some(stopped));
    bench.start();
    tokio::time::sleep(std::time::Duration::from_millis(900)).await;
    bench.turn(run, RunWish::Run, 60);
    bench.going_on_of(run, 60).await;
    assert_eq!(bench.end_of(run).await.text(), "exited 0:0");
    let events = bench.events(run).await;
    let time = |name: &str| events.iter().find(|(_, event)| event.body.type_name() == name).unwrap().1.time.0;
    let paused = time("run.resumed.v1") - time("run.suspended.v1");
    assert!(paused >= 900_000);
    assert_eq!(time("run.ended.v1") - allocated.0, 600_000 + paused);
}
