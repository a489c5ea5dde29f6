use std::collections::BTreeMap;

use daybook_schemas::events::{
    JobCancelRequested, JobFinished, JobHeld, JobParted, JobReleased, JobRequeued, JobResumeRequested,
    JobSubmitted, JobSuspendRequested, JobTarget, JobUpdated,
};
use daybook_schemas::job::{
    ArrayRequest, Dependencies, Dependency, DependencyKind, GpuRequest, GpuScope, JobSpec, JobState, JobUser,
    MemoryRequest, OpenMode, Reason, ResourceRequest, SwitchRequest, TimeLimit,
};
use daybook_schemas::license::License;
use daybook_schemas::{BlobHash, Body, JobId, Mebibytes, NodeName, Seconds, Subject};

use super::instant;

pub fn submitted() -> (Subject, Body, Body) {
    let full = JobSubmitted { job: JobId(123), ids: 6, spec: full_spec() };
    let minimal = JobSubmitted { job: JobId(1), ids: 1, spec: plain_spec() };
    (Subject::Jobs, full.into(), minimal.into())
}

pub fn full_request() -> ResourceRequest {
    ResourceRequest {
        nodes_min: 2,
        nodes_max: Some(4),
        tasks: 8,
        tasks_given: true,
        cpus_per_task: 2,
        cpus_per_task_given: true,
        tasks_per_node: Some(4),
        memory: Some(MemoryRequest::PerNode(Mebibytes(4_096))),
        gpus: vec![GpuRequest { scope: GpuScope::Node, gpu_type: Some("a100".to_string()), count: 2 }],
        exclusive: true,
        contiguous: true,
        switches: Some(SwitchRequest { count: 1, wait: Some(Seconds(600)) }),
        nodes_required: vec![NodeName::from("gpu01")],
        nodes_excluded: vec![NodeName::from("gpu02")],
        features: vec!["avx512".to_string()],
        licenses: vec![License { name: "matlab".to_string(), count: 2 }],
    }
}

pub fn full_dependencies() -> Dependencies {
    Dependencies {
        conditions: vec![
            Dependency {
                kind: DependencyKind::After,
                job: Some(JobId(100)),
                task: Some(3),
                delay_minutes: 5,
            },
            Dependency { kind: DependencyKind::Singleton, job: None, task: None, delay_minutes: 0 },
        ],
        any: true,
    }
}

pub fn user() -> JobUser {
    JobUser { uid: 1001, gid: 1001, name: "alice".to_string(), group: "staff".to_string() }
}

fn full_spec() -> JobSpec {
    let some = |text: &str| Some(text.to_string());
    JobSpec {
        name: "train".to_string(),
        user: user().into(),
        account: some("ml"),
        partition: "gpu".to_string(),
        qos: some("high"),
        wckey: some("*thesis"),
        request: full_request().into(),
        time_limit: Some(TimeLimit::minutes(90)),
        time_min: Some(TimeLimit::minutes(30)),
        deadline: Some(instant(36_000)),
        begin: Some(instant(3_600)),
        dependencies: Some(full_dependencies()),
        kill_on_invalid_dependency: true,
        keep_on_invalid_dependency: true,
        hold: true,
        nice: -10,
        requeue: true,
        array: some_array(),
        reservation: some("course,alice_1"),
        script: BlobHash::of(b"#!/bin/sh\ntrue\n"),
        script_bytes: 15,
        command: some("/home/alice/train.sh"),
        arguments: vec!["--epochs".to_string(), "3".to_string()],
        environment: BlobHash::of(b"PATH=/bin\0"),
        work_dir: "/home/alice".to_string(),
        std_in: some("/home/alice/in.txt"),
        std_out: some("out/%x_%A_%3a.txt"),
        std_err: some("err/%j.txt"),
        open_mode: OpenMode::Append,
        umask: 0o022,
        resource_limits: BTreeMap::from([("NOFILE".to_string(), 1_024), ("STACK".to_string(), u64::MAX)])
            .into(),
        comment: some("first try"),
        submit_host: "login01".to_string(),
        submit_line: "sbatch train.sh --epochs 3".to_string(),
        session: 4_711,
    }
}

fn some_array() -> Option<ArrayRequest> {
    let tasks = "0-8:2,20".parse().expect("a set of numbers");
    Some(ArrayRequest { tasks, running_max: Some(2) })
}

fn plain_spec() -> JobSpec {
    JobSpec {
        name: "wrap".to_string(),
        user: user().into(),
        account: None,
        partition: "main".to_string(),
        qos: None,
        wckey: None,
        request: ResourceRequest::default().into(),
        time_limit: None,
        time_min: None,
        deadline: None,
        begin: None,
        dependencies: None,
        kill_on_invalid_dependency: false,
        keep_on_invalid_dependency: false,
        hold: false,
        nice: 0,
        requeue: false,
        array: None,
        reservation: None,
        script: BlobHash::of(b""),
        script_bytes: 0,
        command: None,
        arguments: Vec::new(),
        environment: BlobHash::of(b""),
        work_dir: "/".to_string(),
        std_in: None,
        std_out: None,
        std_err: None,
        open_mode: OpenMode::Truncate,
        umask: 0,
        resource_limits: Default::default(),
        comment: None,
        submit_host: String::new(),
        submit_line: String::new(),
        session: 0,
    }
}

pub fn updated() -> (Subject, Body, Body) {
    let full = JobUpdated {
        job: JobId(123),
        name: Some("renamed".to_string()),
        comment: Some("second try".to_string()),
        partition: Some("main".to_string()),
        account: Some("bio".to_string()),
        qos: Some("high".to_string()),
        wckey: Some("thesis".to_string()),
        time_limit: Some(TimeLimit::Unlimited),
        begin: Some(instant(7_200)),
        nice: Some(100),
        site_factor: Some(-7),
        requeue: Some(false),
        dependencies: Some(full_dependencies()),
        request: Some(full_request()),
        reservation: Some("course".to_string()),
        priority: Some(99_999),
        time_min: Some(TimeLimit::minutes(5)),
        deadline: Some(instant(72_000)),
        array_running_max: Some(0),
    };
    (Subject::Jobs, full.into(), JobUpdated { job: JobId(1), ..JobUpdated::default() }.into())
}

fn full_target() -> JobTarget {
    JobTarget { job: JobId(123), tasks: Some("1-5,7".parse().expect("a set of numbers")) }
}

fn plain_target() -> JobTarget {
    JobTarget { job: JobId(1), tasks: None }
}

pub fn held() -> (Subject, Body, Body) {
    let full = JobHeld { target: full_target(), by_administrator: true };
    let minimal = JobHeld { target: plain_target(), by_administrator: false };
    (Subject::Jobs, full.into(), minimal.into())
}

pub fn released() -> (Subject, Body, Body) {
    (
        Subject::Jobs,
        JobReleased { target: full_target(), as_owner: true }.into(),
        JobReleased { target: plain_target(), as_owner: false }.into(),
    )
}

pub fn parted() -> (Subject, Body, Body) {
    let tasks = |text: &str| text.parse().expect("a set of numbers");
    let full = JobParted { array: JobId(123), tasks: tasks("1-5,7") };
    (Subject::Jobs, full.into(), JobParted { array: JobId(1), tasks: tasks("0") }.into())
}

pub fn cancel_requested() -> (Subject, Body, Body) {
    let full = JobCancelRequested { target: full_target(), uid: 1001, signal: Some(10), batch: true };
    let minimal = JobCancelRequested { target: plain_target(), uid: 0, signal: None, batch: false };
    (Subject::Jobs, full.into(), minimal.into())
}

pub fn requeued() -> (Subject, Body, Body) {
    let full = JobRequeued { job: JobId(123), hold: true };
    (Subject::Jobs, full.into(), JobRequeued { job: JobId(1), hold: false }.into())
}

pub fn finished() -> (Subject, Body, Body) {
    let full =
        JobFinished { job: JobId(123), state: JobState::Cancelled, reason: Reason::DependencyNeverSatisfied };
    let minimal = JobFinished { job: JobId(1), state: JobState::Deadline, reason: Reason::None };
    (Subject::Plan, full.into(), minimal.into())
}

pub fn suspend_requested() -> (Subject, Body, Body) {
    let of = |job, uid| JobSuspendRequested { job: JobId(job), uid };
    (Subject::Jobs, of(123, 1001).into(), of(1, 0).into())
}

pub fn resume_requested() -> (Subject, Body, Body) {
    let of = |job, uid| JobResumeRequested { job: JobId(job), uid };
    (Subject::Jobs, of(123, 1001).into(), of(1, 0).into())
}
