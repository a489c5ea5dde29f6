use daybook_schemas::events::{
    CycleBound, LicenseFigures, LimitFigures, MinuteFigures, NodeFigures, PlannedStart, PlannerCycle,
    PrioritiesCalculated, ReasonChange, ReasonFigures, ResourceFigures, TaskFigures,
};
use daybook_schemas::job::Reason;
use daybook_schemas::limit_reason::{LimitHolder, LimitReason};
use daybook_schemas::limits::TresLimitName;
use daybook_schemas::{Body, JobId, NodeName, RunId, Seq, Subject, UtcMicros};

use super::instant;

pub fn cycle() -> (Subject, Body, Body) {
    let full = PlannerCycle {
        input: Seq(41),
        now: instant(0),
        policy_hash: "1b".repeat(32),
        starts: vec![RunId::new(JobId(123), 0), RunId::new(JobId(120), 2)],
        reasons: vec![
            ReasonChange {
                job: JobId(124),
                reason: Reason::Resources,
                detail: "2 GPUs are short".to_string(),
                figures: Some(ReasonFigures::Resources(ResourceFigures {
                    cpus: 16,
                    cpus_free: 40,
                    gpus: 8,
                    gpus_free: 6,
                })),
            },
            ReasonChange { job: JobId(125), reason: Reason::Priority, detail: String::new(), figures: None },
            ReasonChange {
                job: JobId(126),
                reason: Reason::PartitionTimeLimit,
                detail: String::new(),
                figures: Some(ReasonFigures::Minutes(MinuteFigures { asked: Some(120), most: Some(60) })),
            },
            ReasonChange {
                job: JobId(127),
                reason: Reason::PartitionNodeLimit,
                detail: String::new(),
                figures: Some(ReasonFigures::Nodes(NodeFigures { asked: 4, least: 1, most: 2 })),
            },
            ReasonChange {
                job: JobId(128),
                reason: Reason::JobArrayTaskLimit,
                detail: String::new(),
                figures: Some(ReasonFigures::Tasks(TaskFigures { running: 2, most: 2 })),
            },
            ReasonChange {
                job: JobId(129),
                reason: Reason::Licenses,
                detail: String::new(),
                figures: Some(ReasonFigures::Licenses(LicenseFigures {
                    license: "matlab".to_string(),
                    needs: 2,
                    free: 1,
                    in_all: 10,
                })),
            },
            ReasonChange {
                job: JobId(130),
                reason: Reason::Limit(LimitReason::of_tres(
                    LimitHolder::Qos,
                    TresLimitName::MaxTresPerUser,
                    "gres/gpu",
                )),
                detail: String::new(),
                figures: Some(ReasonFigures::Limit(LimitFigures {
                    limit: "MaxTRESPerUser=gres/gpu".to_string(),
                    of: "QOS dev".to_string(),
                    most: 2,
                    used: Some(2),
                    needs: Some(1),
                })),
            },
        ],
        reservations: vec![PlannedStart {
            job: JobId(124),
            start: instant(600),
            nodes: vec![NodeName::from("gpu01"), NodeName::from("gpu02")],
        }],
        preemptions: vec![RunId::new(JobId(110), 0)],
        resumes: vec![RunId::new(JobId(109), 0)],
        used_up: vec![RunId::new(JobId(111), 0)],
        jobs_considered: 4,
        bounded: true,
        bound: Some(CycleBound::Steps),
        steps: 1_234,
        gpus_free: Some(12_000),
        gpus_unusable: Some(3_250),
        decision_hash: "c4".repeat(32),
    };
    let minimal = PlannerCycle {
        input: Seq(0),
        now: UtcMicros(0),
        policy_hash: "1b".repeat(32),
        starts: Vec::new(),
        reasons: Vec::new(),
        reservations: Vec::new(),
        preemptions: Vec::new(),
        resumes: Vec::new(),
        used_up: Vec::new(),
        jobs_considered: 0,
        bounded: false,
        bound: None,
        steps: 0,
        gpus_free: None,
        gpus_unusable: None,
        decision_hash: "c4".repeat(32),
    };
    (Subject::Plan, full.into(), minimal.into())
}

pub fn priorities_calculated() -> (Subject, Body, Body) {
    let full = PrioritiesCalculated { input: Seq(41), at: instant(300) };
    let minimal = PrioritiesCalculated { input: Seq(0), at: UtcMicros(0) };
    (Subject::Plan, full.into(), minimal.into())
}
