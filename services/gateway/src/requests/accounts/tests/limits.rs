//! Limits on what waits, and on what a single job may ask for, as far as they bind at submission.

use daybook_schemas::api::{ErrorCode, JobSubmission};
use daybook_schemas::events::JobUpdated;
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::{ArrayRequest, GpuRequest, GpuScope, MemoryRequest, TimeLimit};
use daybook_schemas::node::AccountingEnforcement::{Associations, Limits};
use daybook_schemas::{JobId, Mebibytes};
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

#[test]
fn a_job_that_is_changed_meets_the_limits_of_whom_it_comes_to() {
    let count = |name: &str, most: u32| json!({ "limits": { "counts": { name: { "set": most } } } });
    let mut site =
        site(&[account("ml", count("grp_submit_jobs", 3)), qos("low", count("max_submit_jobs", 1))]);
    let jobs: Vec<JobId> = (0..3).map(|_| site.submit_job("alice", |_| {}).expect("there is room")).collect();
    let to_low = |job| JobUpdated { job, qos: Some("low".to_string()), ..JobUpdated::default() };
    // The account is full, and the job is one of those in it.
    site.update_job("alice", to_low(jobs[0])).expect("it stays in its account");
    let refused = site.update_job("alice", to_low(jobs[1])).map_err(told);
    let words = format!("{POLICY}\nQOSMaxSubmitJobPerUserLimit");
    assert_eq!(refused, Err((ErrorCode::AccountingPolicy, words)));
    // What it has already, and what has nothing to do with it, may be said again and changed.
    site.update_job("alice", to_low(jobs[0])).expect("it is there");
    let named = JobUpdated { job: jobs[1], name: Some("other".to_string()), ..JobUpdated::default() };
    site.update_job("alice", named).expect("a name is not limited");
    site.update_job("root", to_low(jobs[1])).expect("an administrator may");
    assert_eq!(&*site.cluster.jobs()[&jobs[1]].qos, "low");
}

/// A job on hold may ask for more than there is; what it would use is more than can be counted, and no less.
#[test]
fn absurd_amounts_are_above_every_limit() {
    let minutes = json!({ "limits": { "tres": { "max_tres_mins_per_job": { "amounts": { "mem": { "set": 1_000_000 } } } } } });
    let deny = json!({ "flags": { "set": ["deny_on_limit"] } });
    let site = site(&[qos("normal", minutes), qos("normal", deny)]);
    let refused = site.judge_job("alice", |asked| {
        asked.request.memory = Some(MemoryRequest::PerNode(Mebibytes(u64::MAX)));
        asked.time_limit = Some(TimeLimit::Seconds(u64::MAX));
    });
    let words = format!("{POLICY}\nQOSMaxMemoryMinutesPerJob");
    assert_eq!(refused.map_err(told), Err((ErrorCode::AccountingPolicy, words)));
    let gpus = GpuRequest { scope: GpuScope::Node, gpu_type: None, count: u32::MAX };
    let asked = site.judge_job("alice", |asked| asked.request.gpus = vec![gpus.clone(), gpus.clone()]);
    assert!(asked.is_ok(), "no limit is on GPUs, and it waits on hold");
}
