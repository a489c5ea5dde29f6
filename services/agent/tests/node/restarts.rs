//! Agents and supervisors that die: every script runs once, and every run comes to its end in the log.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use daybook_log::EventLog as _;
use daybook_schemas::orders::RunWish;
use daybook_schemas::{RunId, Seq, Stream};
use daybook_supervisor::records::{Claim, Entry, Started};
use daybook_supervisor::run_files::Order;

use crate::bench::{Bench, End, is_alive, until, until_written};

/// Counts its starts, and goes on until it is let go.
const COUNTED: &str = "#!/bin/sh\necho start >> starts\nwhile [ ! -e go ]; do sleep 0.01; done\nexit 7\n";

fn starts(bench: &Bench) -> String {
    std::fs::read_to_string(bench.work("starts")).unwrap_or_default()
}

fn claim_of(bench: &Bench, run: RunId) -> Claim {
    bench.record(run).claimed.unwrap()
}

#[tokio::test]
async fn a_run_goes_on_without_its_agent_and_its_end_is_told_by_the_next() {
    let mut bench = Bench::new().await;
    let run = bench.run(COUNTED).await;
    bench.start_of(run).await;
    bench.stop().await;
    bench.start();
    bench.wish(run, RunWish::Run);
    std::fs::write(bench.work("go"), "").unwrap();
    assert_eq!(bench.end_of(run).await.text(), "exited 7:0");
    bench.is_settled(run).await;
    assert_eq!(starts(&bench), "start\n");
}

#[tokio::test]
async fn an_end_while_no_agent_is_there_is_told_later_with_its_own_time() {
    let mut bench = Bench::new().await;
    let run = bench.run(COUNTED).await;
    bench.start_of(run).await;
    bench.stop().await;
    std::fs::write(bench.work("go"), "").unwrap();
    until(|| bench.record(run).ended.is_some()).await;
    let away = bench.now();
    bench.start();
    assert_eq!(bench.end_of(run).await.text(), "exited 7:0");
    bench.is_settled(run).await;
    let events = bench.events(run).await;
    assert!(
        events.iter().find(|(_, event)| event.body.type_name() == "run.ended.v1").unwrap().1.time <= away
    );
    assert_eq!(starts(&bench), "start\n");
}

#[tokio::test]
async fn an_adopted_run_can_be_cancelled() {
    let mut bench = Bench::new().await;
    let run = bench.run(COUNTED).await;
    bench.start_of(run).await;
    bench.stop().await;
    bench.start();
    bench.wish(run, RunWish::Cancel);
    assert_eq!(bench.end_of(run).await.text(), "cancelled 0:15");
    bench.is_settled(run).await;
}

#[tokio::test]
async fn a_killed_supervisor_takes_its_script_along_and_the_run_is_lost() {
    let mut bench = Bench::new().await;
    let run = bench.run("#!/bin/sh\nsleep 600 &\necho $! > child\necho $$ > script\nwait\n").await;
    until_written(&bench.work("script")).await;
    bench.start_of(run).await;
    let before = bench.now();
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(claim_of(&bench, run).pid),
        nix::sys::signal::Signal::SIGKILL,
    )
    .unwrap();
    let End::Lost(lost) = bench.end_of(run).await else { panic!("it is lost") };
    assert!(lost.last_evidence <= bench.now() && lost.last_evidence.0 > before.0 - 60_000_000, "{lost:?}");
    for file in ["script", "child"] {
        assert!(!is_alive(&std::fs::read_to_string(bench.work(file)).unwrap()), "{file}");
    }
    bench.is_settled(run).await;
}

#[tokio::test]
async fn a_supervisor_killed_while_no_agent_is_there_is_found_out() {
    let mut bench = Bench::new().await;
    let run = bench.run("#!/bin/sh\nsleep 600 &\necho $! > child\necho $$ > script\nwait\n").await;
    let script = until_written(&bench.work("script")).await;
    bench.start_of(run).await;
    bench.stop().await;
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(claim_of(&bench, run).pid),
        nix::sys::signal::Signal::SIGKILL,
    )
    .unwrap();
    // Nobody would end it at its limit: it dies with its supervisor.
    until(|| !is_alive(&script)).await;
    bench.start();
    assert_eq!(bench.end_of(run).await.text(), "lost");
    assert!(!is_alive(&std::fs::read_to_string(bench.work("child")).unwrap()));
    bench.is_settled(run).await;
}

#[tokio::test]
async fn a_supervisor_that_is_told_to_end_ends_its_run_as_the_node_s_failure() {
    let mut bench = Bench::new().await;
    let run = bench.run(COUNTED).await;
    bench.start_of(run).await;
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(claim_of(&bench, run).pid),
        nix::sys::signal::Signal::SIGTERM,
    )
    .unwrap();
    assert_eq!(bench.end_of(run).await.text(), "node_failed 0:15");
}

/// An intent that no supervisor has claimed: the program that the first agent starts does nothing.
async fn unclaimed(script: &str) -> (Bench, RunId, PathBuf) {
    let mut bench = Bench::unstarted(false);
    let real = std::mem::replace(&mut bench.supervisor, "/bin/true".into());
    let mut bench = bench.started().await;
    let run = bench.run(script).await;
    until(|| bench.files(run).order().exists()).await;
    bench.stop().await;
    assert!(!bench.files(run).record().exists());
    (bench, run, real)
}

#[tokio::test]
async fn an_intent_that_nobody_has_claimed_is_started_once() {
    let (mut bench, run, real) = unclaimed("#!/bin/sh\necho start >> starts\n").await;
    bench.supervisor = real;
    bench.start();
    assert_eq!(bench.end_of(run).await.text(), "exited 0:0");
    bench.is_settled(run).await;
    assert_eq!(starts(&bench), "start\n");
}

#[tokio::test]
async fn an_intent_that_nobody_has_claimed_can_be_cancelled() {
    let (mut bench, run, _) = unclaimed("#!/bin/sh\necho start >> starts\n").await;
    bench.wish(run, RunWish::Cancel);
    bench.start();
    assert_eq!(bench.end_of(run).await.text(), "cancelled 0:0");
    bench.is_settled(run).await;
    assert_eq!(starts(&bench), "");
}

#[tokio::test]
async fn of_supervisors_that_race_one_runs_the_script() {
    let (mut bench, run, real) = unclaimed("#!/bin/sh\necho start >> starts\n").await;
    let supervise = || {
        let mut supervisor = Command::new(&real);
        supervisor.arg(bench.files(run).base()).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
    };
    let mut racing: Vec<_> = (0..12).map(|_| supervise()).collect();
    racing.iter_mut().for_each(|supervisor| assert!(supervisor.wait().unwrap().success()));
    assert_eq!(starts(&bench), "start\n");
    bench.supervisor = real.clone();
    bench.start();
    assert_eq!(bench.end_of(run).await.text(), "exited 0:0");
    bench.is_settled(run).await;
}

#[tokio::test]
async fn a_run_that_a_supervisor_is_about_to_claim_is_not_lost() {
    let (mut bench, run, real) = unclaimed(COUNTED).await;
    // As if the agent had been killed right after it started this one.
    let mut earlier = Command::new(&real)
        .arg(bench.files(run).base())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    bench.supervisor = real;
    bench.start();
    bench.start_of(run).await;
    std::fs::write(bench.work("go"), "").unwrap();
    assert_eq!(bench.end_of(run).await.text(), "exited 7:0");
    earlier.wait().unwrap();
    bench.is_settled(run).await;
    assert_eq!(starts(&bench), "start\n");
}

#[tokio::test]
async fn a_run_of_an_earlier_boot_is_lost_and_not_started() {
    for claimed in [false, true] {
        let (mut bench, run, real) = unclaimed("#!/bin/sh\necho start >> starts\n").await;
        let Order::Whole(mut intent, environment) = bench.files(run).read_order().unwrap() else { panic!() };
        intent.boot_id = "another boot".into();
        bench.files(run).write_order(&intent, &environment).unwrap();
        if claimed {
            let lock = bench.files(run).lock().unwrap().unwrap();
            let mut record = bench.files(run).claim(&lock).unwrap().unwrap();
            record.add(&Entry::Claimed(Claim { pid: 1, start_time: 1 })).unwrap();
            record.add(&Entry::Started(Started { pid: 1, start_time: 1, at: bench.now() })).unwrap();
        }
        bench.supervisor = real;
        bench.start();
        let End::Lost(lost) = bench.end_of(run).await else { panic!("it is lost") };
        assert_eq!(lost.message, "the machine was restarted while it ran");
        let up = std::fs::read_to_string("/proc/uptime").unwrap();
        let up: f64 = up.split(' ').next().unwrap().parse().unwrap();
        assert!(
            lost.last_evidence.0 <= bench.now().0 - (up * 1e6) as i64 + 2_000_000,
            "not after the restart"
        );
        bench.is_settled(run).await;
        assert_eq!(starts(&bench), "");
    }
}

#[tokio::test]
async fn what_is_there_without_an_order_holds_nothing() {
    let (mut bench, run, real) = unclaimed("#!/bin/sh\necho start >> starts\n").await;
    std::fs::remove_file(bench.files(run).order()).unwrap();
    std::fs::write(bench.files(run).record(), "").unwrap();
    bench.drop_order(run);
    bench.supervisor = real;
    bench.start();
    until(|| !bench.has_files(run) && !bench.spooled(run).exists()).await;
    let other = bench.run("#!/bin/sh\n").await;
    bench.is_settled(other).await;
    assert!(bench.events(run).await.is_empty());
    assert_eq!(starts(&bench), "");
}

#[tokio::test]
async fn an_order_that_was_not_written_to_its_end_is_written_again() {
    let (mut bench, run, real) = unclaimed("#!/bin/sh\necho start >> starts\n").await;
    let order = std::fs::read(bench.files(run).order()).unwrap();
    std::fs::write(bench.files(run).order(), &order[..order.len() - 1]).unwrap();
    bench.supervisor = real;
    bench.start();
    assert_eq!(bench.end_of(run).await.text(), "exited 0:0");
    bench.is_settled(run).await;
    assert_eq!(starts(&bench), "start\n");
}

#[tokio::test]
async fn orders_from_before_the_agent_s_registration_start_nothing() {
    let mut bench = Bench::unstarted(false);
    // Dispatch has not read the log to its end: this run may have come to its own under an earlier agent.
    let order = bench.order("#!/bin/sh\necho start >> starts\n", "").await;
    let run = bench.put(order);
    bench.publish_as_of(bench.log.end(Stream::State));
    bench.start();
    bench.seen_registrations(1).await;
    bench.publish_as_of(Seq(1));
    bench.forget_quietly(run);
    for _ in 0..3 {
        let other = bench.run("#!/bin/sh\n").await;
        bench.is_settled(other).await;
    }
    assert!(bench.events(run).await.is_empty());
    assert_eq!(starts(&bench), "");
}

#[tokio::test]
async fn a_run_that_is_over_is_not_begun_by_orders_that_lag_behind() {
    let mut bench = Bench::new().await;
    let run = bench.run("#!/bin/sh\necho start >> starts\n").await;
    bench.is_settled(run).await;
    // Its order is still there, again and again.
    for _ in 0..3 {
        let other = bench.run("#!/bin/sh\n").await;
        bench.is_settled(other).await;
    }
    assert_eq!(starts(&bench), "start\n");
}
