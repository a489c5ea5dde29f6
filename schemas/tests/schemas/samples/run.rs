use daybook_schemas::accounts::PreemptMode;
use daybook_schemas::events::{
    ArrayTaskId, LimitFigures, RunAllocated, RunEnded, RunLost, RunNodeReleased, RunPreempted,
    RunResumeOrdered, RunResumed, RunStarted, RunSuspended, RunUsage, RunUsedUp,
};
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::TimeLimit;
use daybook_schemas::run::{AllocatedGpu, EndCause, ExitStatus, ProcessUsage, RunNode};
use daybook_schemas::{Body, JobId, Mebibytes, NodeName, RunId, Seq, Subject, UtcMicros};

use super::instant;

fn node() -> NodeName {
    NodeName::from("gpu01")
}

fn from_agent(full: impl Into<Body>, minimal: impl Into<Body>) -> (Subject, Body, Body) {
    (Subject::Node(node()), full.into(), minimal.into())
}

pub fn allocated() -> (Subject, Body, Body) {
    let gpu = AllocatedGpu { index: 1, uuid: "GPU-6f1a7c52-0002".into(), gpu_type: "a100".to_string() };
    let full = RunAllocated {
        run: RunId::new(JobId(124), 0),
        array: Some(ArrayTaskId { array_job: JobId(123), task: 2 }),
        partition: "gpu".to_string(),
        nodes: vec![RunNode {
            node: node(),
            cpus: "0-3,8".parse().expect("a set of numbers"),
            memory: Mebibytes(4_096),
            gpus: vec![gpu],
            tasks: 2,
        }],
        time_limit: TimeLimit::minutes(90),
        reservation: Some("course".to_string()),
        billing: Some(9),
        price_version: Some("2026-12".to_string()),
    };
    let minimal = RunAllocated {
        run: RunId::new(JobId(1), 3),
        array: None,
        partition: "main".to_string(),
        nodes: vec![RunNode {
            node: NodeName::from("node01"),
            cpus: IndexSet::range(0, 0),
            memory: Mebibytes(0),
            gpus: Vec::new(),
            tasks: 1,
        }],
        time_limit: TimeLimit::Unlimited,
        reservation: None,
        billing: None,
        price_version: None,
    };
    (Subject::Plan, full.into(), minimal.into())
}

pub fn started() -> (Subject, Body, Body) {
    let run = RunId::new(JobId(124), 0);
    from_agent(
        RunStarted { run, node: node(), pid: Some(4_711) },
        RunStarted { run: RunId::new(JobId(1), 0), node: node(), pid: None },
    )
}

pub fn ended() -> (Subject, Body, Body) {
    let full = RunEnded {
        run: RunId::new(JobId(124), 0),
        node: node(),
        cause: EndCause::LaunchFailed,
        exit: ExitStatus { code: 0, signal: 53 },
        message: Some("/nonexistent: No such file or directory".to_string()),
        usage: Some(ProcessUsage {
            user_cpu_us: 12_000,
            system_cpu_us: 6_000,
            max_rss_kib: 10_584,
            read_bytes: Some(4096),
            written_bytes: Some(0),
        }),
    };
    let minimal = RunEnded {
        run: RunId::new(JobId(1), 0),
        node: node(),
        cause: EndCause::Exited,
        exit: ExitStatus::default(),
        message: None,
        usage: None,
    };
    from_agent(full, minimal)
}

pub fn lost() -> (Subject, Body, Body) {
    let full = RunLost {
        run: RunId::new(JobId(124), 1),
        node: node(),
        last_evidence: instant(-60),
        message: "the supervisor's process is gone".to_string(),
    };
    let minimal = RunLost {
        run: RunId::new(JobId(1), 0),
        node: node(),
        last_evidence: UtcMicros(-1),
        message: String::new(),
    };
    from_agent(full, minimal)
}

pub fn preempted() -> (Subject, Body, Body) {
    let full = RunPreempted {
        run: RunId::new(JobId(110), 0),
        by: JobId(124),
        array: Some(ArrayTaskId { array_job: JobId(123), task: 2 }),
        mode: PreemptMode::Requeue,
        grace_end: instant(60),
    };
    let minimal = RunPreempted {
        run: RunId::new(JobId(1), 0),
        by: JobId(2),
        array: None,
        mode: PreemptMode::Cancel,
        grace_end: UtcMicros(0),
    };
    (Subject::Plan, full.into(), minimal.into())
}

pub fn usage() -> (Subject, Body, Body) {
    let full = RunUsage {
        run: RunId::new(JobId(124), 0),
        node: node(),
        observed_since: Some(instant(30)),
        user_cpu_us: 59_200_000,
        system_cpu_us: 410_000,
        resident_kib: 1_048_576,
        read_bytes: Some(34_826),
        written_bytes: Some(1_079),
        processes: 3,
    };
    let minimal = RunUsage {
        run: RunId::new(JobId(1), 0),
        observed_since: None,
        read_bytes: None,
        written_bytes: None,
        ..full.clone()
    };
    from_agent(full, minimal)
}

pub fn used_up() -> (Subject, Body, Body) {
    let limit = |limit: &str, of: &str, used, needs| LimitFigures {
        limit: limit.to_string(),
        of: of.to_string(),
        most: 600,
        used,
        needs,
    };
    let full = RunUsedUp {
        run: RunId::new(JobId(124), 0),
        limit: limit("GrpTRESMins=gres/gpu", "account ml", Some(600), Some(1)),
    };
    let minimal = RunUsedUp { run: RunId::new(JobId(1), 0), limit: limit("GrpWall", "QOS dev", None, None) };
    (Subject::Plan, full.into(), minimal.into())
}

pub fn node_released() -> (Subject, Body, Body) {
    let of = |job| RunNodeReleased { run: RunId::new(JobId(job), 0), node: node() };
    from_agent(of(124), of(1))
}

pub fn suspended() -> (Subject, Body, Body) {
    let of =
        |job, ordered| RunSuspended { run: RunId::new(JobId(job), 0), node: node(), ordered: Seq(ordered) };
    from_agent(of(124, 40), of(1, 1))
}

pub fn resumed() -> (Subject, Body, Body) {
    let of =
        |job, ordered| RunResumed { run: RunId::new(JobId(job), 0), node: node(), ordered: Seq(ordered) };
    from_agent(of(124, 41), of(1, 1))
}

pub fn resume_ordered() -> (Subject, Body, Body) {
    let of = |job| RunResumeOrdered { run: RunId::new(JobId(job), 0) };
    (Subject::Plan, of(124).into(), of(1).into())
}
