use daybook_schemas::job::TimeLimit;
use serde_json::json;

use super::*;

fn order(run: &str, allocated: u64, wish: RunWish) -> Arc<RunOrder> {
    let order = json!({
        "run": run, "allocated": allocated, "allocated_at": "2026-12-02T01:00:00.000000Z", "cluster_name": "tx",
        "nodes": [], "partition": "main", "account": "ml", "qos": "normal", "time_limit": "unlimited", "kill_wait": 30,
        "wish": wish,
        "spec": {
            "name": "j", "partition": "main", "requeue": true, "script": "00", "script_bytes": 1, "environment": "00",
            "request": { "nodes_min": 1, "tasks": 1, "cpus_per_task": 1 },
            "user": { "uid": 1, "gid": 1, "name": "a", "group": "a" },
            "work_dir": "/", "umask": 18, "submit_host": "vm", "submit_line": "sbatch"
        }
    });
    Arc::new(serde_json::from_value(order).unwrap())
}

fn wish(wish: RunWish) -> Wish {
    Wish { wish, ..Wish::run() }
}

fn active(allocated: u64, told: RunWish) -> Known {
    Known::Active { allocated: Seq(allocated), told: wish(told) }
}

fn act(generation: u64, orders: &[Arc<RunOrder>], known: &[(&str, Known)]) -> Vec<String> {
    let desired = DesiredSet { node: "n1".into(), generation: Seq(generation), runs: orders.to_vec() };
    let known = known.iter().map(|(run, known)| (run.parse().unwrap(), known.clone())).collect();
    let said = |action: &Action| match action {
        Action::Begin(order) => format!("begin {}", order.run),
        Action::Tell(run, wish) => format!("tell {run} {:?}", wish.wish),
        Action::Forget(run) => format!("forget {run}"),
    };
    reconcile(&desired, &known).iter().map(said).collect()
}

#[test]
fn what_is_new_is_begun_and_what_has_changed_is_told() {
    use RunWish::{Cancel, Run};
    let orders = [order("1.0", 5, Run), order("2.0", 5, Cancel), order("3.0", 5, Run)];
    let known = [("2.0", active(5, Run)), ("3.0", active(5, Run))];
    assert_eq!(act(9, &orders, &known), ["begin 1.0", "tell 2.0 Cancel"]);
}

#[test]
fn a_run_that_is_over_is_begun_by_no_orders() {
    let orders = [order("1.0", 5, RunWish::Run)];
    for generation in [7, 8, 9] {
        assert!(act(generation, &orders, &[("1.0", Known::Done(Seq(8)))]).is_empty(), "at {generation}");
    }
    assert!(act(7, &[], &[("1.0", Known::Done(Seq(8)))]).is_empty(), "dispatch does not know of the end yet");
    assert_eq!(act(8, &[], &[("1.0", Known::Done(Seq(8)))]), ["forget 1.0"]);
}

#[test]
fn a_run_that_newer_orders_do_not_name_lets_go_once() {
    assert_eq!(act(5, &[], &[("1.0", active(5, RunWish::Run))]), ["tell 1.0 Release"]);
    assert!(act(5, &[], &[("1.0", active(5, RunWish::Release))]).is_empty());
    assert!(
        act(4, &[], &[("1.0", active(5, RunWish::Run))]).is_empty(),
        "orders from before it was allocated"
    );
    assert!(
        act(9, &[], &[("1.0", active(u64::MAX, RunWish::Run))]).is_empty(),
        "nobody knows when it was allocated"
    );
}

#[test]
fn the_next_run_of_a_job_waits_for_the_one_before() {
    let orders = [order("1.1", 9, RunWish::Run), order("2.0", 9, RunWish::Run)];
    assert_eq!(act(9, &orders, &[("1.0", active(5, RunWish::Release))]), ["begin 2.0"]);
    assert_eq!(act(9, &orders, &[("1.0", Known::Done(Seq(9)))]), ["begin 1.1", "begin 2.0", "forget 1.0"]);
}

#[test]
fn a_changed_time_limit_is_told() {
    let mut longer = (*order("1.0", 5, RunWish::Run)).clone();
    longer.time_limit = TimeLimit::minutes(5);
    assert_eq!(act(9, &[Arc::new(longer)], &[("1.0", active(5, RunWish::Run))]), ["tell 1.0 Run"]);
}
