//! Real faults of a cluster on a bus: processes and servers that die or stand still.

use std::time::Duration;

use daybook_tests::bus::{BusCluster, Member};
use daybook_tests::rounds::{Moments, Round};
use daybook_tests::wait_until;
use nix::sys::signal::Signal;

/// Rounds of each kind here; `DAYBOOK_FAULT_ROUNDS` sets another number.
fn rounds() -> u32 {
    std::env::var("DAYBOOK_FAULT_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Rounds in which `fault` strikes while jobs are submitted and run.
fn rounds_of(what: &str, fault: impl Fn(&mut BusCluster, &mut Moments)) {
    const JOBS: usize = 100;
    const WAVE: usize = 10;
    for number in 0..rounds() {
        let mut bus = BusCluster::start();
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
