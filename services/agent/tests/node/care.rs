//! What is done around a run (prolog and epilog, what they say of the node, what cannot be ended), and to see whether a
//! node is well.

use daybook_schemas::orders::RunWish;
use daybook_schemas::{RunId, Seconds};
use daybook_supervisor::health::{HealthCheck, NodeLoad};
use daybook_supervisor::programs::Programs;
use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

use crate::bench::{Bench, End, is_alive, until, until_written};

/// Says that it is there, and goes on until it is let go.
const WAITING: &str = "echo there >> at; while [ ! -e go ]; do sleep 0.01; done";

fn programs(paths: Vec<String>, limit: Option<u64>) -> Programs {
    Programs { paths, limit: limit.map(Seconds) }
}

/// A node with these two, not yet at work.
fn with(prolog: &str, epilog: &str) -> Bench {
    let mut bench = Bench::unstarted(false);
    let of = |name: &str, script: &str| match script {
        "" => Programs::default(),
        script => programs(vec![bench.program(name, script)], None),
    };
    let (prolog, epilog) = (of("prolog", prolog), of("epilog", epilog));
    (bench.care.prolog, bench.care.epilog) = (prolog, epilog);
    bench
}

fn lines(bench: &Bench, file: &str) -> String {
    std::fs::read_to_string(bench.work(file)).unwrap_or_default()
}

async fn types(bench: &Bench, run: RunId) -> Vec<&'static str> {
    bench.events(run).await.iter().map(|(_, event)| event.body.type_name()).collect()
}

fn kill_supervisor(bench: &Bench, run: RunId) {
    let supervisor = bench.record(run).claimed.unwrap().pid;
    kill(Pid::from_raw(supervisor), Signal::SIGKILL).unwrap();
}

#[tokio::test]
async fn prolog_script_and_epilog_run_in_this_order_and_know_the_run() {
    let say = "echo $SLURM_SCRIPT_CONTEXT $SLURM_JOB_ID $SLURM_JOB_USER $SLURM_JOB_PARTITION $SLURMD_NODENAME \
               secret=$SECRET >> order; pwd >> pwd";
    let mut bench = with(say, say).started().await;
    let order = bench.order("#!/bin/sh\necho script $SECRET >> order\n", "SECRET=s\0").await;
    let user = order.spec.user.name.clone();
    let run = bench.give(order);
    assert_eq!(bench.end_of(run).await.text(), "exited 0:0");
    bench.is_settled(run).await;
    assert_eq!(
        lines(&bench, "order"),
        format!("prolog_slurmd 1 {user} main n1 secret=\nscript s\nepilog_slurmd 1 {user} main n1 secret=\n"),
        "nothing from the user's environment reaches what runs as root"
    );
    assert_eq!(bench.withdrawals().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_prolog_that_fails_takes_the_node_out_and_the_script_is_not_started() {
    let mut bench = with("echo no scratch; exit 3", "echo epilog >> order").started().await;
    let run = bench.run("#!/bin/sh\necho script >> order\n").await;
    let end = bench.end_of(run).await;
    assert_eq!(end.text(), "node_unfit 0:53");
    bench.is_settled(run).await;
    let program = bench.directory.path().join("prolog").display().to_string();
    assert_eq!(end.ended().message.unwrap(), format!("Prolog error: {program}: exit code 3: no scratch"));
    let reason = format!("Prolog error: job 1: {program}: exit code 3: no scratch");
    assert_eq!(bench.has_withdrawn(1).await, [reason]);
    assert_eq!(lines(&bench, "order"), "epilog\n", "what a prolog has begun an epilog puts right");
    assert_eq!(types(&bench, run).await, ["run.ended.v1", "run.node_released.v1"]);
}

#[tokio::test]
async fn the_drain_is_told_no_later_than_the_end() {
    let mut bench = with("exit 1", "").started().await;
    let run = bench.run("#!/bin/sh\n").await;
    bench.end_of(run).await;
    // Else a planner would try the same node again in between.
    assert_eq!(bench.withdrawals().await.len(), 1);
}

#[tokio::test]
async fn a_prolog_that_takes_too_long_is_one_that_fails() {
    let mut bench = with("echo $$ > pid; sleep 600", "");
    bench.care.prolog.limit = Some(Seconds(1));
    let mut bench = bench.started().await;
    let run = bench.run("#!/bin/sh\n").await;
    assert_eq!(bench.end_of(run).await.text(), "node_unfit 0:53");
    let [reason] = bench.has_withdrawn(1).await.try_into().unwrap();
    assert!(reason.ends_with("ended for it took too long"), "{reason}");
    assert!(!is_alive(&lines(&bench, "pid")));
}

#[tokio::test]
async fn who_is_cancelled_during_the_prolog_is_not_started() {
    let mut bench = with(WAITING, "echo epilog >> order").started().await;
    let run = bench.run("#!/bin/sh\necho script >> order\n").await;
    until_written(&bench.work("at")).await;
    bench.wish(run, RunWish::Cancel);
    until(|| bench.files(run).read_wish().is_some_and(|wish| wish.wish == RunWish::Cancel)).await;
    std::fs::write(bench.work("go"), "").unwrap();
    assert_eq!(bench.end_of(run).await.text(), "cancelled 0:0");
    bench.is_settled(run).await;
    assert_eq!(lines(&bench, "order"), "epilog\n");
    assert_eq!(bench.withdrawals().await, Vec::<String>::new());
}

#[tokio::test]
async fn the_end_is_told_before_a_long_epilog_and_the_release_after_it() {
    let mut bench = with("", WAITING).started().await;
    let run = bench.run("#!/bin/sh\nexit 4\n").await;
    until_written(&bench.work("at")).await;
    let end = bench.end_of(run).await;
    assert_eq!(end.text(), "exited 4:0");
    assert!(end.ended().usage.is_some());
    assert_eq!(types(&bench, run).await, ["run.started.v1", "run.ended.v1"]);
    // Nobody tells it twice, whoever comes next.
    bench.stop().await;
    bench.start();
    bench.wish(run, RunWish::Run);
    std::fs::write(bench.work("go"), "").unwrap();
    bench.release_of(run).await;
    bench.is_settled(run).await;
    assert_eq!(lines(&bench, "at"), "there\n");
}

#[tokio::test]
async fn an_epilog_that_fails_takes_the_node_out_and_the_run_keeps_its_end() {
    let mut bench = with("", "kill -9 $$").started().await;
    let run = bench.run("#!/bin/sh\n").await;
    assert_eq!(bench.end_of(run).await.text(), "exited 0:0");
    bench.is_settled(run).await;
    let program = bench.directory.path().join("epilog").display().to_string();
    assert_eq!(bench.has_withdrawn(1).await, [format!("Epilog error: job 1: {program}: ended by signal 9")]);
}

#[tokio::test]
async fn a_supervisor_killed_during_the_prolog_takes_it_along_and_the_epilog_is_run() {
    let mut bench =
        with("echo $$ > pid; echo there > at; exec sleep 600", "echo epilog >> order").started().await;
    let run = bench.run("#!/bin/sh\necho script >> order\n").await;
    until_written(&bench.work("at")).await;
    kill_supervisor(&bench, run);
    let End::Lost(_) = bench.end_of(run).await else { panic!("its end was seen by nobody") };
    bench.is_settled(run).await;
    assert!(!is_alive(&lines(&bench, "pid")));
    assert_eq!(lines(&bench, "order"), "epilog\n");
}

#[tokio::test]
async fn a_supervisor_killed_during_the_epilog_has_told_the_end_and_the_epilog_is_run_again() {
    for is_agent_there in [true, false] {
        let mut bench = with("", "echo there >> at; [ -e go ] || exec sleep 600").started().await;
        let run = bench.run("#!/bin/sh\nexit 4\n").await;
        until_written(&bench.work("at")).await;
        if !is_agent_there {
            bench.stop().await;
        }
        std::fs::write(bench.work("go"), "").unwrap();
        kill_supervisor(&bench, run);
        if !is_agent_there {
            bench.start();
        }
        bench.release_of(run).await;
        assert_eq!(bench.end_of(run).await.text(), "exited 4:0");
        bench.is_settled(run).await;
        assert_eq!(lines(&bench, "at"), "there\nthere\n");
    }
}

#[tokio::test]
async fn what_cannot_be_killed_takes_the_node_out_and_holds_it_until_it_is_gone() {
    let mut bench = Bench::unstarted(false);
    bench.care.unkillable_after = Seconds(1);
    let program = bench.program("unkillable", "echo $SLURM_JOB_ID $SLURM_SCRIPT_CONTEXT >> called");
    bench.care.unkillable = programs(vec![program], Some(10));
    let mut bench = bench.started().await;
    let script = "#!/bin/sh\nsleep 600 &\necho $! > child\nwhile [ ! -e go ]; do sleep 0.01; done\n";
    let run = bench.run(script).await;
    let child = until_written(&bench.work("child")).await;
    let child = Pid::from_raw(child.trim().parse().unwrap());
    // What its tracer does not take leave of stays, as what hangs in the kernel does.
    ptrace::seize(child, ptrace::Options::empty()).unwrap();
    std::fs::write(bench.work("go"), "").unwrap();
    assert_eq!(bench.end_of(run).await.text(), "exited 0:0");
    let [reason] = bench.has_withdrawn(1).await.try_into().unwrap();
    assert!(reason.starts_with("Kill task failed: job 1: "), "{reason}");
    until(|| lines(&bench, "called") == "1 unkillable_step\n").await;
    assert_eq!(types(&bench, run).await, ["run.started.v1", "run.ended.v1"], "the node is not free");
    waitpid(child, None).unwrap();
    bench.release_of(run).await;
    bench.is_settled(run).await;
    assert_eq!(bench.withdrawals().await.len(), 1);
}

/// A node whose check says that it was run.
fn checked(interval: Option<u64>, loads: Vec<NodeLoad>) -> Bench {
    let mut bench = Bench::unstarted(false);
    let program = bench.program("check", "echo $SLURMD_NODENAME >> checks; [ ! -e slow ] || exec sleep 600");
    bench.health = HealthCheck {
        programs: programs(vec![program], Some(60)),
        interval: interval.map(Seconds),
        loads,
        is_spread: false,
    };
    bench
}

#[tokio::test]
async fn a_health_check_is_run_before_the_node_is_registered() {
    let bench = checked(None, vec![NodeLoad::Allocated]).started().await;
    bench.seen_registrations(1).await;
    assert_eq!(lines(&bench, "checks"), "n1\n", "also on a node that is not loaded so");
}

#[tokio::test]
async fn a_check_is_run_again_at_every_interval_while_the_node_is_so() {
    let count = |bench: &Bench| lines(bench, "checks").lines().count();
    let bench = checked(Some(1), vec![NodeLoad::Idle]).started().await;
    until(|| count(&bench) >= 3).await;
    let mut bench = checked(Some(1), vec![NodeLoad::Mixed]).started().await;
    bench.seen_registrations(1).await;
    tokio::time::sleep(std::time::Duration::from_millis(1_200)).await;
    assert_eq!(count(&bench), 1, "only the one of the start");
    let run = bench.run("#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.01; done\n").await;
    until(|| count(&bench) >= 3).await;
    std::fs::write(bench.work("go"), "").unwrap();
    bench.is_settled(run).await;
}

#[tokio::test]
async fn an_agent_stops_while_a_check_hangs_and_the_check_does_not_hold_up_runs() {
    let mut bench = checked(Some(1), Vec::new()).started().await;
    bench.seen_registrations(1).await;
    std::fs::write(bench.work("slow"), "").unwrap();
    until(|| lines(&bench, "checks").lines().count() >= 2).await;
    let run = bench.run("#!/bin/sh\n").await;
    assert_eq!(bench.end_of(run).await.text(), "exited 0:0");
    bench.stop().await;
}
