//! Who may suspend and resume what, and what is answered.

use daybook_model::Cluster;
use daybook_schemas::accounts::{Account, AccountUser, AdminLevel, Association};
use daybook_schemas::api::{JobAction, Peer};
use daybook_schemas::events::{
    AccountDefined, ArrayTaskId, AssociationDefined, ClusterConfigured, JobSubmitted, NodeRegistered,
    RunAllocated, RunSuspended, UserDefined,
};
use daybook_schemas::job::{ArrayRequest, JobSpec, TimeLimit};
use daybook_schemas::node::{NodeDefinition, PartitionDefinition};
use daybook_schemas::run::RunNode;
use daybook_schemas::{Actor, Body, Commit, Event, JobId, Mebibytes, RunId, Subject, UtcMicros};
use serde_json::json;

use super::Suspension;
use crate::authority::Authority;

struct Site(Cluster);

impl Site {
    /// One node of 4 CPUs. Job 1 of alice runs on all of them, job 2 waits; of array 3 tasks 0 and 1 are to come.
    fn new() -> Site {
        let mut site = Site(Cluster::new());
        let nodes = vec![NodeDefinition::new("n1", 4, Mebibytes(1000))];
        let main = PartitionDefinition::new("main", vec!["n1".into()]);
        let configured = ClusterConfigured {
            cluster_name: "tx".to_string(),
            nodes,
            partitions: vec![main],
            ..ClusterConfigured::default()
        };
        site.say(Subject::Admin, configured);
        let registered: NodeRegistered = serde_json::from_value(json!({
            "node": "n1", "boot_id": "b", "cpus": 4, "memory": 1000, "gpus": [], "agent_version": "0",
            "operating_system": "Linux", "architecture": "x86_64",
        }))
        .unwrap();
        site.say(Subject::Node("n1".into()), registered);
        for (name, admin_level) in [("op", AdminLevel::Operator), ("coord", AdminLevel::None)] {
            let user = AccountUser { name: name.to_string(), admin_level, ..AccountUser::default() };
            site.say(Subject::Jobs, UserDefined { user });
        }
        let account =
            Account { name: "ml".to_string(), coordinators: vec!["coord".to_string()], ..Account::default() };
        site.say(Subject::Jobs, AccountDefined { account });
        let parent = Some("root".to_string());
        let association = Association { id: 9, account: "ml".to_string(), parent, ..Association::default() };
        site.say(Subject::Jobs, AssociationDefined { association });
        for (job, ids, tasks) in [(1, 1, None), (2, 1, None), (3, 2, Some("0-1"))] {
            let mut spec: JobSpec = serde_json::from_value(json!({
                "name": "job", "partition": "main", "requeue": true, "account": "ml",
                "script": "", "script_bytes": 0, "environment": "",
                "request": { "nodes_min": 1, "tasks": 1, "cpus_per_task": 1 },
                "user": { "uid": 1001, "gid": 100, "name": "alice", "group": "g" },
                "work_dir": "/", "umask": 18, "submit_host": "vm", "submit_line": "sbatch"
            }))
            .unwrap();
            spec.array = tasks.map(|tasks| ArrayRequest { tasks: tasks.parse().unwrap(), running_max: None });
            site.say(Subject::Jobs, JobSubmitted { job: JobId(job), ids, spec });
        }
        site.allocate(1, None, "0-3");
        site
    }

    fn say(&mut self, subject: Subject, body: impl Into<Body>) {
        let seq = self.0.position().next();
        let event = Event {
            id: format!("test/{seq}").into(),
            source: "test".to_string(),
            time: UtcMicros::default(),
            actor: Actor::service("test"),
            cause: None,
            body: body.into(),
        };
        let commit = Commit { seq, time: UtcMicros::default(), subject, events: vec![event] };
        self.0.apply(&commit).expect("a commit that follows");
        self.0.sanity_check().expect("a sound model");
    }

    fn allocate(&mut self, job: u32, array: Option<ArrayTaskId>, cpus: &str) {
        let share = RunNode {
            node: "n1".into(),
            cpus: cpus.parse().unwrap(),
            memory: Mebibytes(10),
            gpus: Vec::new(),
            tasks: 1,
        };
        let data = RunAllocated {
            run: RunId::new(JobId(job), 0),
            array,
            partition: "main".to_string(),
            nodes: vec![share],
            time_limit: TimeLimit::minutes(10),
            reservation: None,
            price_version: None,
            billing: None,
        };
        self.say(Subject::Plan, data);
    }

    fn stopped(&mut self, job: u32) {
        let run = RunId::new(JobId(job), 0);
        let ordered = self.0.runs()[&run].ordered;
        self.say(Subject::Node("n1".into()), RunSuspended { run, node: "n1".into(), ordered });
    }

    /// What is answered, one target after the other; the events are folded.
    fn ask(&mut self, user: &str, resume: bool, jobs: &str) -> String {
        let uid = if user == "alice" { 1001 } else { 2000 };
        let jobs = jobs.split(' ').map(|job| daybook_schemas::grammar::job_id::parse_selector(job).unwrap());
        let action = JobAction { request_id: "r".to_string(), jobs: jobs.collect(), hold: false };
        let authority = Authority::of_daemon(0).asked_by(user);
        let peer = Peer { uid, gid: 100, pid: None };
        let (decided, bodies) = Suspension { resume, action }.decide(&self.0, &authority, peer);
        for body in bodies {
            self.say(Subject::Jobs, body);
        }
        let said = decided.targets.iter().map(|outcome| {
            let error = outcome.error.as_ref();
            format!("{}: {}", outcome.target, error.map_or("ok", |error| error.message.as_str()))
        });
        said.collect::<Vec<_>>().join("; ")
    }
}

const PENDING: &str = "Job is pending execution";

#[test]
fn operators_and_coordinators_may_and_owners_may_not() {
    for (user, expected) in [
        ("alice", "1: Access/permission denied"),
        ("bob", "1: Access/permission denied"),
        ("op", "1: ok"),
        ("coord", "1: ok"),
    ] {
        assert_eq!(Site::new().ask(user, false, "1"), expected, "{user} suspends");
        let mut site = Site::new();
        site.ask("op", false, "1");
        site.stopped(1);
        assert_eq!(site.ask(user, true, "1"), expected, "{user} resumes");
    }
}

#[test]
fn what_is_not_as_it_should_be_is_said_in_slurms_words() {
    let mut site = Site::new();
    assert_eq!(site.ask("op", false, "99 2"), format!("99: Invalid job id specified; 2: {PENDING}"));
    assert_eq!(site.ask("op", true, "1 2"), format!("1: Job is not suspended; 2: {PENDING}"));
    assert_eq!(site.ask("op", false, "1"), "1: ok");
    // Suspended once more: as in Slurm no error, before and after it is stopped.
    assert_eq!(site.ask("op", false, "1"), "1: ok");
    site.stopped(1);
    assert_eq!(site.ask("op", false, "1"), "1: ok");
    site.allocate(2, None, "3");
    assert_eq!(site.ask("op", true, "1"), "1: Requested nodes are busy");
    assert_eq!(site.ask("op", false, "2"), "2: ok");
    site.stopped(2);
    // Of one request only the first gets the CPUs that both had.
    assert_eq!(site.ask("op", true, "1 2"), "1: ok; 2: Requested nodes are busy");
}

#[test]
fn of_an_array_each_task_is_judged() {
    let mut site = Site::new();
    site.ask("op", false, "1");
    site.stopped(1);
    assert_eq!(site.ask("op", false, "3"), format!("3_[0-1]: {PENDING}"));
    site.allocate(4, Some(ArrayTaskId { array_job: JobId(3), task: 0 }), "0");
    assert_eq!(site.ask("op", false, "3_0"), "3_0: ok");
    assert_eq!(site.ask("op", false, "3"), format!("3_1: {PENDING}"));
    assert_eq!(site.ask("op", true, "3_7"), "3_7: Invalid job id specified");
}
