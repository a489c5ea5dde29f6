//! Limits on what waits, and on what a single job may ask for, as far as they bind at submission.

use daybook_schemas::api::{ErrorCode, JobSubmission};
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::{ArrayRequest, TimeLimit};
use daybook_schemas::node::AccountingEnforcement::{Associations, Limits};
use serde_json::{Value, json};

use super::site::Site;
use super::told;

const POLICY: &str = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)";

fn site(changes: &[Value]) -> Site {
    let mut site = Site::new(&[Associations, Limits]);
    for change in changes {
        site.change("root", change).expect("a good change");
    }
    site
}

fn account(name: &str, settings: Value) -> Value {
    json!({ "modify_accounts": { "which": { "names": [name] }, "settings": settings } })
}

fn qos(name: &str, settings: Value) -> Value {
    json!({ "modify_qos": { "names": [name], "settings": settings } })
}

fn array(tasks: u32) -> impl Fn(&mut JobSubmission) {
    move |asked| {
        let tasks = IndexSet::range(0, tasks - 1);
        asked.array = Some(ArrayRequest { tasks, running_max: None });
    }
}

#[test]
fn so_many_jobs_may_wait_and_no_more() {
    // Changes, who submits how many tasks by which QOS, and what the last one is told.
    let count = |name: &str, most: u32| json!({ "limits": { "counts": { name: { "set": most } } } });
    let table = [
        (vec![account("ml", count("max_submit_jobs", 3))], vec![("alice", 1), ("alice", 2)], None),
        (
            vec![account("ml", count("max_submit_jobs", 3))],
            vec![("alice", 1), ("alice", 3)],
            Some("AssocMaxSubmitJobLimit"),
        ),
        (vec![account("research", count("grp_submit_jobs", 4))], vec![("alice", 2), ("bob", 2)], None),
        (
            vec![account("research", count("grp_submit_jobs", 4))],
            vec![("alice", 2), ("bob", 2), ("bob", 1)],
            Some("AssocGrpSubmitJobsLimit"),
        ),
        (
            vec![qos("normal", count("max_submit_jobs", 2)), account("ml", count("max_submit_jobs", 1))],
            vec![("alice", 2), ("bob", 2), ("alice", 1)],
            Some("QOSMaxSubmitJobPerUserLimit"),
        ),
        (
            vec![qos("normal", count("max_submit_jobs_per_account", 2))],
            vec![("alice", 2), ("bob", 2), ("bob", 1)],
            Some("MaxSubmitJobsPerAccount"),
        ),
        (
            vec![qos("normal", count("grp_submit_jobs", 3))],
            vec![("alice", 2), ("carol", 1), ("bob", 1)],
            Some("QOSGrpSubmitJobsLimit"),
        ),
    ];
    for (changes, submissions, expected) in table {
        let mut site = site(&changes);
        let (last, before) = submissions.split_last().expect("somebody submits");
        for (user, tasks) in before {
            site.submit_job(user, array(*tasks)).expect("there is room");
        }
        let refused = site.submit_job(last.0, array(last.1)).err().map(told);
        let expected = expected.map(|word| (ErrorCode::AccountingPolicy, format!("{POLICY}\n{word}")));
        assert_eq!(refused, expected, "{changes:?} {submissions:?}");
        // What is over makes room.
        site.cancel_all();
        site.submit_job(last.0, array(last.1)).expect("there is room again");
    }
}

#[test]
fn requests_that_are_decided_together_count_for_each_other() {
    let limit = json!({ "limits": { "counts": { "max_submit_jobs": { "set": 3 } } } });
    let mut site = site(&[account("ml", limit)]);
    let first = site.judge_job("alice", array(2)).expect("there is room for two");
    assert!(site.judge_job("alice", array(2)).is_ok(), "nothing is recorded yet");
    first.iter().for_each(|body| site.cluster.anticipate(body));
    let refused = site.judge_job("alice", array(2)).expect_err("together they are four");
    assert_eq!(told(refused).1, format!("{POLICY}\nAssocMaxSubmitJobLimit"));
    assert!(site.judge_job("alice", array(1)).is_ok());
}

#[test]
fn a_qos_may_deny_at_once_what_could_never_start() {
    let wall = json!({ "limits": { "walls": { "max_wall_per_job": { "set": 1800 } } } });
    let long = |asked: &mut JobSubmission| asked.time_limit = Some(TimeLimit::minutes(31));
    let fitting = |asked: &mut JobSubmission| asked.time_limit = Some(TimeLimit::minutes(30));
    let mut waiting = site(&[qos("normal", wall.clone())]);
    waiting.submit_job("alice", long).expect("it waits");
    let deny = json!({ "flags": { "set": ["deny_on_limit"] } });
    let mut denying = site(&[qos("normal", wall), qos("normal", deny)]);
    let refused = denying.submit_job("alice", long).map_err(told).expect_err("it could never start");
    assert_eq!(refused, (ErrorCode::AccountingPolicy, format!("{POLICY}\nQOSMaxWallDurationPerJobLimit")));
    denying.submit_job("alice", fitting).expect("at the limit");
    // Without a limit of its own a job gets the longest that it may have.
    let id = denying.submit_job("alice", |_| {}).expect("it gets the longest");
    assert_eq!(denying.cluster.jobs()[&id].time_limit, TimeLimit::minutes(30));
}
