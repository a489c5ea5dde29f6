//! Real faults of a cluster on a bus: processes and servers that die or stand still.

use std::time::Duration;

use daybook_tests::bus::{BusCluster, Member, Servers};
use daybook_tests::rounds::{Moments, Round};
use daybook_tests::wait_until;
use nix::sys::signal::Signal;

/// Rounds of each kind here; `DAYBOOK_FAULT_ROUNDS` sets another number.
fn rounds() -> u32 {
    std::env::var("DAYBOOK_FAULT_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Rounds in which `fault` strikes while jobs are submitted and run.
fn rounds_of(what: &str, fault: impl Fn(&mut BusCluster, &mut Moments)) {
    rounds_on(BusCluster::start, what, fault);
}

fn rounds_on(start: impl Fn() -> BusCluster, what: &str, fault: impl Fn(&mut BusCluster, &mut Moments)) {
    const JOBS: usize = 100;
    const WAVE: usize = 10;
    for number in 0..rounds() {
        let mut bus = start();
        let mut moments = Moments::of(u64::from(number) + 1);
        let mut round = Round::default();
        for wave in (0..JOBS).step_by(WAVE) {
            let submissions = Round::submit(&bus.cluster, wave..wave + WAVE);
            if (wave / WAVE) % 3 == 1 {
                std::thread::sleep(moments.next_ms(300));
                fault(&mut bus, &mut moments);
            }
            round.take(submissions);
        }
        assert!(round.accepted() > JOBS / 2, "only {} of {JOBS} were accepted", round.accepted());
        round.check(&bus.cluster, &format!("round {number} of {what}"));
        bus.stop_and_verify();
        eprintln!("{what}: round {} of {} is as it should be", number + 1, rounds());
    }
}

#[test]
fn each_role_killed() {
    rounds_of("kill -9 of one role", |bus, moments| {
        let member = Member::ALL[moments.below(4) as usize];
        bus.kill(member);
        std::thread::sleep(moments.next_ms(500));
        bus.start_member(member);
    });
}

#[test]
fn the_broker_killed() {
    rounds_of("kill -9 of the broker", |bus, moments| {
        bus.nats.kill();
        std::thread::sleep(moments.next_ms(1000));
        bus.nats.restart().expect("the server starts again");
    });
}

/// Each of the three in turn, so that the streams' leaders are among them.
#[test]
fn brokers_of_three_killed() {
    let next = std::cell::Cell::new(0);
    rounds_on(BusCluster::start_on_three, "kill -9 of a broker of three", |bus, moments| {
        let Servers::Three(cluster) = &mut bus.nats else { panic!("three servers") };
        let server = &mut cluster.servers[next.get() % 3];
        next.set(next.get() + 1);
        server.kill();
        std::thread::sleep(moments.next_ms(1500));
        server.restart().expect("the server starts again");
    });
}

#[test]
fn everything_killed_at_once() {
    rounds_of("kill -9 of everything", |bus, _| {
        for member in Member::ALL {
            bus.kill(member);
        }
        bus.nats.kill();
        bus.nats.restart().expect("the server starts again");
        for member in Member::ALL {
            bus.start_member(member);
        }
    });
}

#[test]
fn a_member_that_stands_still_longer_than_every_lease() {
    rounds_of("SIGSTOP of one role", |bus, moments| {
        let member = Member::ALL[moments.below(4) as usize];
        bus.signal(member, Signal::SIGSTOP);
        std::thread::sleep(Duration::from_millis(2500) + moments.next_ms(500));
        bus.signal(member, Signal::SIGCONT);
    });
}

/// The planner that plans stands still; the other takes over within a few seconds, and when the first comes back
/// only one goes on planning.
#[test]
fn a_planner_that_stands_still_is_replaced() {
    let bus = BusCluster::start();
    let plans = |member| bus.log_of(member).matches("this planner plans now").count();
    wait_until("one plans", || plans(Member::Head) + plans(Member::Standby) == 1);
    let (first, second) = match plans(Member::Head) {
        1 => (Member::Head, Member::Standby),
        _ => (Member::Standby, Member::Head),
    };
    bus.signal(first, Signal::SIGSTOP);
    wait_until("the other plans", || plans(second) == 1);
    bus.signal(first, Signal::SIGCONT);
    wait_until("the first hears of it", || bus.log_of(first).contains("another planner has taken over"));
    let job = bus.cluster.submit(&["-o", "/dev/null"], "true");
    assert_eq!(bus.cluster.wait_ended(job), "COMPLETED");
    bus.stop_and_verify();
}

/// An agent that cannot be heard: its node is down for new work, its jobs run on. When `SlurmdTimeout` has passed they end
/// as NODE_FAIL at the last sign of the node, or wait again. What the node tells when it is back corrects the books.
#[test]
fn a_silent_node_is_given_up_and_tells_the_truth_later() {
    let mut bus = BusCluster::start_with("SlurmdTimeout=9\n", "[planner]\nnode_lease = 5\n");
    let cluster = &bus.cluster;
    let script = "echo ran >> once.$SLURM_JOB_ID; sleep 8; exit 3";
    let stays = cluster.submit(&["-w", "n1", "--no-requeue", "-o", "/dev/null"], script);
    let goes = cluster.submit(&["-w", "n1", "--requeue", "-o", "/dev/null"], script);
    let has_run = |job: u32| cluster.work().join(format!("once.{job}")).exists();
    wait_until("both run", || has_run(stays) && has_run(goes));
    bus.kill(Member::Agent("n1"));
    let cluster = &bus.cluster;
    let state = || cluster.run("sinfo", &["-h", "-n", "n1", "-o", "%T"]).out;
    wait_until("the node is down", || state() == "down*\n");
    assert!(cluster.run("sinfo", &["-h", "-R"]).out.contains("Not responding"));
    let elsewhere = cluster.submit(&["-o", "/dev/null"], "true");
    assert_eq!(cluster.wait_ended(elsewhere), "COMPLETED");
    assert_eq!(cluster.wait_ended(stays), "NODE_FAIL");
    let waits = cluster.run("squeue", &["-h", "-j", &goes.to_string(), "-o", "%T %r"]).out;
    assert_eq!(waits, "PENDING BeginTime\n");
    let exit_code = || {
        let arguments = ["-n", "-X", "-P", "-j", &stays.to_string(), "-o", "State,ExitCode"];
        cluster.run("sacct", &arguments).out
    };
    assert_eq!(exit_code(), "NODE_FAIL|0:0\n");
    bus.start_member(Member::Agent("n1"));
    let cluster = &bus.cluster;
    let exit_code = || {
        let arguments = ["-n", "-X", "-P", "-j", &stays.to_string(), "-o", "State,ExitCode"];
        cluster.run("sacct", &arguments).out
    };
    wait_until("the truth is in the books", || exit_code() == "NODE_FAIL|3:0\n");
    wait_until("the node is back", || cluster.run("sinfo", &["-h", "-n", "n1", "-o", "%T"]).out == "idle\n");
    cluster.run("scancel", &[&goes.to_string()]);
    for job in [stays, goes] {
        let lines = std::fs::read_to_string(cluster.work().join(format!("once.{job}"))).unwrap();
        assert_eq!(lines, "ran\n", "job {job} ran once");
    }
    cluster.check_conservation();
    bus.stop_and_verify();
}

/// A planner that cannot hear says nothing about the nodes, however long it was deaf.
#[test]
fn a_broker_that_is_away_longer_than_the_lease_makes_no_node_silent() {
    let mut bus = BusCluster::start_with("SlurmdTimeout=7\n", "[planner]\nnode_lease = 5\n");
    let job = bus.cluster.submit(&["-o", "/dev/null"], "sleep 12");
    bus.nats.kill();
    std::thread::sleep(Duration::from_secs(9));
    bus.nats.restart().expect("the server starts again");
    assert_eq!(bus.cluster.wait_ended(job), "COMPLETED");
    let told = bus.cluster.run("events", &[]).out;
    assert!(told.contains("job.submitted") && !told.contains("node.lease_lost"), "{told}");
    bus.stop_and_verify();
}

/// Daemons, servers and `daybook keys` agree on every name: with keys and TLS everything works, and a node's key opens
/// nothing but its node.
#[test]
fn with_keys_and_certificates_everything_works_and_each_key_is_its_own() {
    let mut bus = BusCluster::start_keyed();
    let mut round = Round::default();
    round.take(Round::submit(&bus.cluster, 0..10));
    let on_both = bus.cluster.submit(&["-N", "2", "-n", "2", "-o", "both.out"], "echo $SLURM_JOB_NODELIST");
    assert_eq!(bus.cluster.wait_ended(on_both), "COMPLETED");
    for _ in 0..5 {
        let job = bus.cluster.submit(&["-w", "n1", "-o", "/dev/null"], "true");
        assert_eq!(bus.cluster.wait_ended(job), "COMPLETED");
    }
    // An agent whose questions nobody may answer still gets on, two seconds later each time: the server's log tells.
    let server = std::fs::read_to_string(bus.nats_log()).expect("the server's log");
    let refused: Vec<&str> = server.lines().filter(|line| line.contains("Violation")).collect();
    assert_eq!(refused, Vec::<&str>::new(), "somebody may not do what it must");
    assert!(!bus.log_of(Member::Agent("n1")).contains("nobody answers"));
    bus.kill(Member::Agent("g1"));
    bus.nats.kill();
    bus.nats.restart().expect("the server starts again");
    round.take(Round::submit(&bus.cluster, 10..20));
    bus.give_key(Member::Agent("g1"), Member::Agent("n1"));
    assert!(!bus.is_started(Member::Agent("g1")), "an agent with another node's key has started");
    let told = bus.log_of(Member::Agent("g1"));
    assert!(told.contains("nkey_file"), "{told}");
    bus.kill(Member::Agent("g1"));
    bus.give_key(Member::Agent("g1"), Member::Agent("g1"));
    bus.start_member(Member::Agent("g1"));
    assert_eq!(round.accepted(), 20);
    round.check(&bus.cluster, "with keys");
    bus.stop_and_verify();
}
