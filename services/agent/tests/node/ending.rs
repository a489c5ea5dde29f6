//! How runs end.

use daybook_schemas::job::TimeLimit;
use daybook_schemas::orders::{RunOrder, RunWish, SignalOrder};
use daybook_schemas::{Seconds, Seq};

use crate::bench::{Bench, is_alive, until, until_written};

#[tokio::test]
async fn a_run_ends_as_its_script_does() {
    let mut bench = Bench::new().await;
    for (script, expected) in [
        ("#!/bin/sh\ntrue\n", "exited 0:0"),
        ("#!/bin/sh\nexit 3\n", "exited 3:0"),
        ("#!/bin/sh\nexit 255\n", "exited 255:0"),
        ("#!/bin/sh\nkill -9 $$\n", "exited 0:9"),
        ("#!/bin/sh\nkill -SEGV $$\n", "exited 0:11"),
        ("#!/bin/sh\nkill -TERM $$\n", "exited 0:15"),
    ] {
        let run = bench.run(script).await;
        assert_eq!(bench.end_of(run).await.text(), expected, "{script}");
        bench.is_settled_at_once(run).await;
        let events = bench.events(run).await;
        assert_eq!(events[0].1.body.type_name(), "run.started.v1");
        assert!(events[0].1.time <= events[1].1.time, "the instants are those of the process");
    }
}

#[tokio::test]
async fn what_the_script_and_its_children_used_is_told() {
    let mut bench = Bench::new().await;
    let run = bench.run("#!/bin/sh\n(i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done) & wait\n").await;
    let usage = bench.end_of(run).await.ended().usage.unwrap();
    assert!(usage.user_cpu_us + usage.system_cpu_us > 1_000, "{usage:?}");
    assert!(usage.max_rss_kib > 100, "{usage:?}");
}

/// Ignores TERM, and says when it does.
const STUBBORN: &str = "#!/bin/sh\ntrap '' TERM\necho ready > ready\nwhile :; do sleep 60; done\n";

#[tokio::test]
async fn a_time_limit_ends_what_ignores_term_after_the_kill_wait() {
    let mut bench = Bench::new().await;
    let run = bench.run(STUBBORN).await;
    until_written(&bench.work("ready")).await;
    let since = std::time::Instant::now();
    // The limit was lowered while it ran, as `scontrol update` does.
    bench.change(run, |order| order.time_limit = TimeLimit::minutes(0));
    assert_eq!(bench.end_of(run).await.text(), "time_limit 0:9");
    assert!(since.elapsed().as_millis() >= 1000, "the kill wait is kept");
    bench.is_settled(run).await;
    let output = std::fs::read_to_string(bench.work("slurm-1.out")).unwrap();
    assert!(output.starts_with("slurmstepd-n1: error: *** JOB 1 ON n1 CANCELLED AT 20"), "{output}");
    assert!(output.ends_with(" DUE TO TIME LIMIT ***\n"), "{output}");
}

#[tokio::test]
async fn who_wants_a_run_to_end_is_its_cause() {
    let mut bench = Bench::new().await;
    for (wish, expected, line) in [
        (RunWish::Cancel, "cancelled 0:15", " ***\n"),
        (RunWish::Requeue, "requeued 0:15", " DUE TO JOB REQUEUE ***\n"),
        (RunWish::GiveWay, "preempted 0:15", " DUE TO PREEMPTION ***\n"),
        (RunWish::UsedUp, "time_limit 0:15", " DUE TO TIME LIMIT ***\n"),
        (RunWish::NodeDown, "node_failed 0:15", " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n"),
    ] {
        let run = bench.run("#!/bin/sh\nexec sleep 600\n").await;
        bench.start_of(run).await;
        bench.wish(run, wish);
        assert_eq!(bench.end_of(run).await.text(), expected);
        bench.is_settled_at_once(run).await;
        let output = std::fs::read_to_string(bench.work(&format!("slurm-{}.out", run.job))).unwrap();
        assert!(output.ends_with(line), "{output}");
    }
}

#[tokio::test]
async fn a_run_that_gives_way_is_warned_and_ended_after_its_grace() {
    let mut bench = Bench::new().await;
    let warn =
        |order: &mut RunOrder, seconds| (order.wish, order.grace) = (RunWish::GiveWay, Seconds(seconds));
    // It does not heed the warning, and not the TERM at its grace's end.
    let run = bench.run(STUBBORN).await;
    until_written(&bench.work("ready")).await;
    let since = std::time::Instant::now();
    bench.change(run, |order| warn(order, 1));
    assert_eq!(bench.end_of(run).await.text(), "preempted 0:9");
    assert!(since.elapsed().as_millis() >= 2000, "grace and kill wait are kept");
    bench.is_settled(run).await;
    // It ends well: its work is done.
    let script = "#!/bin/sh\ntrap 'exit 0' TERM\necho > ready2\nwhile :; do sleep 0.05; done\n";
    let run = bench.run(script).await;
    until_written(&bench.work("ready2")).await;
    bench.change(run, |order| warn(order, 600));
    assert_eq!(bench.end_of(run).await.text(), "exited 0:0");
    // The warning ends it.
    let run = bench.run("#!/bin/sh\nexec sleep 600\n").await;
    bench.start_of(run).await;
    bench.change(run, |order| warn(order, 600));
    assert_eq!(bench.end_of(run).await.text(), "preempted 0:15");
    bench.is_settled(run).await;
    let output = std::fs::read_to_string(bench.work("slurm-3.out")).unwrap();
    assert!(output.ends_with(" DUE TO PREEMPTION ***\n"), "{output}");
    // Somebody cancels what was warned: that is why it ends.
    let run = bench.run("#!/bin/sh\ntrap '' TERM\necho > ready4\nwhile :; do sleep 0.05; done\n").await;
    until_written(&bench.work("ready4")).await;
    bench.change(run, |order| warn(order, 600));
    bench.wish(run, RunWish::Cancel);
    assert_eq!(bench.end_of(run).await.text(), "cancelled 0:9");
}

#[tokio::test]
async fn a_script_that_cleans_up_after_term_has_its_exit_code_and_the_cause() {
    let mut bench = Bench::new().await;
    let run = bench
        .run("#!/bin/sh\ntrap 'echo bye; exit 9' TERM\necho ready > ready\nwhile :; do sleep 0.05; done\n")
        .await;
    until_written(&bench.work("ready")).await;
    bench.wish(run, RunWish::Cancel);
    assert_eq!(bench.end_of(run).await.text(), "cancelled 9:0");
    assert!(std::fs::read_to_string(bench.work("slurm-1.out")).unwrap().ends_with("bye\n"));
}

#[tokio::test]
async fn a_stopped_script_is_ended_too() {
    let mut bench = Bench::new().await;
    let run = bench.run("#!/bin/sh\ntrap 'exit 4' TERM\necho ready > ready\nkill -STOP $$\nwhile :; do sleep 0.05; done\n").await;
    until_written(&bench.work("ready")).await;
    bench.wish(run, RunWish::Cancel);
    assert_eq!(bench.end_of(run).await.text(), "cancelled 4:0");
}

#[tokio::test]
async fn a_run_that_the_orders_do_not_know_any_more_is_ended_and_released() {
    let mut bench = Bench::new().await;
    let run = bench.run("#!/bin/sh\nexec sleep 600\n").await;
    bench.start_of(run).await;
    bench.drop_order(run);
    assert_eq!(bench.end_of(run).await.text(), "cancelled 0:15");
    bench.is_settled(run).await;
}

#[tokio::test]
async fn a_signal_is_sent_once_also_after_a_restart() {
    let mut bench = Bench::new().await;
    let script = "#!/bin/sh\ntrap 'echo usr1 >> got' USR1\ntrap 'echo usr2 >> got' USR2\necho ready > ready\n\
        while [ ! -e done ]; do sleep 0.02; done\n";
    let run = bench.run(script).await;
    until_written(&bench.work("ready")).await;
    let signal = |requested, signal, batch| SignalOrder { requested: Seq(requested), signal, batch };
    bench.change(run, |order| order.signals = vec![signal(50, 10, true)]);
    until_written(&bench.work("got")).await;
    bench.stop().await;
    bench.start();
    // A signal for steps only does not reach the script; the first one is not sent again.
    bench.change(run, |order| order.signals.extend([signal(60, 10, false), signal(70, 12, true)]));
    until(|| std::fs::read_to_string(bench.work("got")).unwrap().ends_with("usr2\n")).await;
    std::fs::write(bench.work("done"), "").unwrap();
    assert_eq!(bench.end_of(run).await.text(), "exited 0:0");
    assert_eq!(std::fs::read_to_string(bench.work("got")).unwrap(), "usr1\nusr2\n");
}

/// A child in a session of its own whose parents are gone, and one in the background.
const DAEMONS: &str = "#!/bin/bash\n( setsid sh -c 'echo $$ > daemon; exec sleep 600' & ) \n\
    sh -c 'echo $$ > background; exec sleep 600' &\n\
    while [ ! -s daemon ] || [ ! -s background ]; do sleep 0.01; done\n";

#[tokio::test]
async fn what_a_script_leaves_running_is_ended_with_it() {
    let mut bench = Bench::new().await;
    let run = bench.run(&format!("{DAEMONS}exit 5\n")).await;
    assert_eq!(bench.end_of(run).await.text(), "exited 5:0");
    for file in ["daemon", "background"] {
        let pid = std::fs::read_to_string(bench.work(file)).unwrap();
        assert!(!is_alive(&pid), "{file}");
    }
    bench.is_settled(run).await;
}

#[tokio::test]
async fn cancelling_reaches_what_has_left_the_session() {
    let mut bench = Bench::new().await;
    let run = bench.run(&format!("{DAEMONS}echo ready > ready\nwait\n")).await;
    until_written(&bench.work("ready")).await;
    bench.wish(run, RunWish::Cancel);
    assert_eq!(bench.end_of(run).await.text(), "cancelled 0:15");
    assert!(!is_alive(&std::fs::read_to_string(bench.work("daemon")).unwrap()));
}
