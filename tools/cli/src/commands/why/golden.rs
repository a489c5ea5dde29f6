//! The sentences, word by word.

use daybook_schemas::accounts::PreemptMode;
use daybook_schemas::api::{
    Amount, Block, ExpectedEnd, Explanation, Figures, GpuAmount, LicenseAmount, NodeTrouble, OpenCondition,
    Outlook, Place, Promise, RunOutline, Shortage, Shortened, Trouble,
};
use daybook_schemas::events::{ArrayTaskId, LimitFigures};
use daybook_schemas::job::{JobState, Reason, TimeLimit};
use daybook_schemas::license::License;
use daybook_schemas::node::PartitionState;
use daybook_schemas::preemption::GivingWay;
use daybook_schemas::run::ExitStatus;
use daybook_schemas::{JobId, Mebibytes, NodeName, RunId, Seq, UtcMicros};
use expect_test::{Expect, expect};

use super::sentences;
use crate::commands::sample;

/// 2026-12-02T20:00:00Z.
const NOW: i64 = 1_796_241_600;

fn at(seconds: i64) -> UtcMicros {
    UtcMicros::from_seconds(NOW + seconds)
}

fn waiting(reason: Reason) -> Explanation {
    Explanation {
        seq: Seq(900),
        now: at(0),
        job: JobId(123),
        display_id: "123".to_string(),
        name: "train".to_string(),
        user: "alice".to_string(),
        partition: "gpu".to_string(),
        state: JobState::Pending,
        submitted: at(-8_000),
        reason,
        since: at(-7_800),
        blocks: Vec::new(),
        figures: None,
        place: None,
        outlook: None,
        ended: None,
        run: None,
        giving_way: Vec::new(),
        gave_way: None,
        used_up: None,
    }
}

fn a100(count: u64) -> Vec<GpuAmount> {
    vec![GpuAmount { gpu_type: Some("a100".to_string()), count }]
}

fn amount(cpus: u64, gpus: u64, memory: u64) -> Amount {
    let memory = Some(Mebibytes(memory));
    Amount { cpus, gpus: if gpus == 0 { Vec::new() } else { a100(gpus) }, memory }
}

fn figures(fits_now: bool) -> Figures {
    Figures {
        nodes_needed: 1,
        on_one_node: true,
        exclusive: false,
        all_memory: false,
        needs: amount(16, 8, 32_000),
        nodes_allowed: 16,
        nodes_usable: 16,
        nodes_with_room: u32::from(fits_now),
        free: amount(200, 41, 900_000),
        free_on_one: amount(60, 5, 200_000),
        in_all: amount(1_024, 128, 4_000_000),
        licenses: Vec::new(),
        fits_now,
    }
}

fn short(what: Shortened, on_one_node: bool, needs: u64, has: u64) -> Shortage {
    let gpu_type = (what == Shortened::Gpus).then(|| "a100".to_string());
    Shortage { what, gpu_type, license: None, on_one_node, needs, has }
}

fn place(in_front: u32, length: u32) -> Place {
    let first = (in_front > 0).then_some(JobId(98));
    Place { in_front, length, more: false, first, first_expected: first.map(|_| at(8_100)) }
}

fn names(names: &[&str]) -> Vec<NodeName> {
    names.iter().map(|name| NodeName::from(*name)).collect()
}

fn protected(after: Vec<ExpectedEnd>) -> Outlook {
    Outlook::Protected { start: at(8_100), nodes: names(&["node07"]), after, shown: Some(at(8_100)) }
}

fn end(job: u32, is_ending: bool) -> ExpectedEnd {
    ExpectedEnd { job: JobId(job), is_ending }
}

/// In the line, with figures.
fn in_line(reason: Reason, block: Block, fits_now: bool, place: Place, outlook: Outlook) -> Explanation {
    Explanation {
        blocks: vec![block],
        figures: Some(figures(fits_now)),
        place: Some(place),
        outlook: Some(outlook),
        ..waiting(reason)
    }
}

/// Out of it.
fn outside(reason: Reason, block: Block) -> Explanation {
    Explanation { blocks: vec![block], outlook: Some(Outlook::NotInLine), ..waiting(reason) }
}

fn check(explanations: &[Explanation], expected: Expect) {
    let instants = sample::instants().at(NOW);
    let texts: Vec<String> =
        explanations.iter().map(|explanation| sentences::of(explanation, &instants)).collect();
    expected.assert_eq(&texts.join("\n"));
}

#[test]
fn what_is_short_is_said_with_figures() {
    let gpus = Block::Resources { short: vec![short(Shortened::Gpus, true, 8, 5)] };
    let first = || place(0, 14);
    let mut many = in_line(
        Reason::Resources,
        Block::Resources {
            short: vec![short(Shortened::Gpus, true, 8, 5), short(Shortened::Memory, true, 32_000, 20_480)],
        },
        false,
        place(0, 1),
        protected(vec![end(98, false), end(99, false)]),
    );
    let mut told = vec![
        in_line(Reason::Resources, gpus.clone(), false, first(), protected(vec![end(98, false)])),
        many.clone(),
        in_line(
            Reason::Resources,
            Block::Resources { short: Vec::new() },
            false,
            first(),
            protected(vec![end(98, true)]),
        ),
        in_line(Reason::Resources, gpus, false, first(), Outlook::NoEndKnown),
    ];
    // The only node, without GPUs, with all its memory, alone.
    if let Some(figures) = &mut many.figures {
        (figures.nodes_allowed, figures.nodes_usable) = (1, 1);
        (figures.exclusive, figures.all_memory) = (true, true);
        figures.needs = Amount { cpus: 1, gpus: Vec::new(), memory: None };
    }
    many.blocks = vec![Block::Resources { short: vec![short(Shortened::Cpus, true, 4, 1)] }];
    told.push(many.clone());
    many.blocks = vec![Block::Resources { short: vec![short(Shortened::Nodes, false, 1, 0)] }];
    told.push(many);
    check(
        &told,
        expect![[r#"
            Job 123 (train, alice) waits in partition gpu: Resources, for 2 h 10 min.
            It needs 8 GPUs (a100), 16 CPUs and 32000M of memory on 1 node; of the 16 nodes that it may use none has more than 5 GPUs (a100) free now (41 free in all).
            It is the first of 14 in the line of its partition; expected to start at 2026-12-02T22:15:00 on node07, when job 98 reaches its time limit.

            Job 123 (train, alice) waits in partition gpu: Resources, for 2 h 10 min.
            It needs 8 GPUs (a100), 16 CPUs and 32000M of memory on 1 node; of the 16 nodes that it may use none has more than 5 GPUs (a100) or 20G of memory free now (41 free in all).
            It is the only one in the line of its partition; expected to start at 2026-12-02T22:15:00 on node07, when jobs 98 and 99 reach their time limits.

            Job 123 (train, alice) waits in partition gpu: Resources, for 2 h 10 min.
            It needs 8 GPUs (a100), 16 CPUs and 32000M of memory on 1 node; on the 16 nodes that it may use each is free now, but not together on one of them.
            It is the first of 14 in the line of its partition; expected to start at 2026-12-02T22:15:00 on node07, when job 98 is cleaned up.

            Job 123 (train, alice) waits in partition gpu: Resources, for 2 h 10 min.
            It needs 8 GPUs (a100), 16 CPUs and 32000M of memory on 1 node; of the 16 nodes that it may use none has more than 5 GPUs (a100) free now (41 free in all).
            It is the first of 14 in the line of its partition; when it starts is not known, as no time limit leads to it.

            Job 123 (train, alice) waits in partition gpu: Resources, for 2 h 10 min.
            It needs 1 CPU and all memory there on 1 node of its own; the one node that it may use has no more than 1 CPU free now.
            It is the only one in the line of its partition; expected to start at 2026-12-02T22:15:00 on node07, when jobs 98 and 99 reach their time limits.

            Job 123 (train, alice) waits in partition gpu: Resources, for 2 h 10 min.
            It needs 1 CPU and all memory there on 1 node of its own; the one node that it may use has no room for it now.
            It is the only one in the line of its partition; expected to start at 2026-12-02T22:15:00 on node07, when jobs 98 and 99 reach their time limits.
        "#]],
    );
}

#[test]
fn several_nodes_are_counted_together() {
    let told = |short: Vec<Shortage>| {
        let mut told =
            in_line(Reason::Resources, Block::Resources { short }, false, place(0, 2), protected(Vec::new()));
        if let Some(figures) = &mut told.figures {
            (figures.on_one_node, figures.nodes_needed) = (false, 4);
            (figures.nodes_usable, figures.nodes_with_room) = (12, 3);
        }
        told
    };
    check(
        &[
            told(vec![short(Shortened::Nodes, false, 4, 3)]),
            told(vec![short(Shortened::Tasks, false, 32, 20)]),
            told(vec![short(Shortened::Gpus, false, 64, 41), short(Shortened::Nodes, false, 4, 3)]),
            told(Vec::new()),
        ],
        expect![[r#"
            Job 123 (train, alice) waits in partition gpu: Resources, for 2 h 10 min.
            It needs 8 GPUs (a100), 16 CPUs and 32000M of memory on 4 nodes; of the 12 nodes in service of 16 that it may use 3 have room for it now.
            It is the first of 2 in the line of its partition; expected to start at 2026-12-02T22:15:00 on node07.

            Job 123 (train, alice) waits in partition gpu: Resources, for 2 h 10 min.
            It needs 8 GPUs (a100), 16 CPUs and 32000M of memory on 4 nodes; the 12 nodes in service of 16 that it may use have room for 20 of its 32 tasks now.
            It is the first of 2 in the line of its partition; expected to start at 2026-12-02T22:15:00 on node07.

            Job 123 (train, alice) waits in partition gpu: Resources, for 2 h 10 min.
            It needs 8 GPUs (a100), 16 CPUs and 32000M of memory on 4 nodes; the 12 nodes in service of 16 that it may use have 41 GPUs (a100) free now.
            It is the first of 2 in the line of its partition; expected to start at 2026-12-02T22:15:00 on node07.

            Job 123 (train, alice) waits in partition gpu: Resources, for 2 h 10 min.
            It needs 8 GPUs (a100), 16 CPUs and 32000M of memory on 4 nodes; on the 12 nodes in service of 16 that it may use each is free now, but not together as it needs them.
            It is the first of 2 in the line of its partition; expected to start at 2026-12-02T22:15:00 on node07.
        "#]],
    );
}

#[test]
fn what_is_short_of_licences() {
    let amount = |in_all, free| LicenseAmount { license: "matlab".to_string(), needs: 3, free, in_all };
    let scarce =
        |has| Shortage { license: Some("matlab".to_string()), ..short(Shortened::Licenses, false, 3, has) };
    let licensed = |free, short| {
        let block = Block::Resources { short };
        let told = in_line(Reason::Licenses, block, false, place(0, 1), protected(vec![end(97, false)]));
        Explanation { figures: Some(Figures { licenses: vec![amount(4, free)], ..figures(false) }), ..told }
    };
    let promise = Promise {
        job: JobId(98),
        start: at(8_100),
        nodes: names(&["node07"]),
        licenses: vec![License { name: "matlab".to_string(), count: 4 }],
    };
    let kept = Block::Promises { promises: vec![promise] };
    check(
        &[
            licensed(1, vec![scarce(1)]),
            licensed(0, vec![short(Shortened::Cpus, true, 16, 12), scarce(0)]),
            in_line(Reason::Priority, kept, true, place(1, 2), Outlook::NotProtected { protected: 1 }),
            outside(Reason::Licenses, Block::NoSuchLicenses { licenses: vec![amount(2, 2), amount(0, 0)] }),
        ],
        expect![[r#"
            Job 123 (train, alice) waits in partition gpu: Licenses, for 2 h 10 min.
            It needs 3 of licence matlab; 1 of 4 is free now.
            It is the only one in the line of its partition; expected to start at 2026-12-02T22:15:00 on node07, when job 97 reaches its time limit.

            Job 123 (train, alice) waits in partition gpu: Licenses, for 2 h 10 min.
            It needs 8 GPUs (a100), 16 CPUs and 32000M of memory on 1 node; of the 16 nodes that it may use none has more than 12 CPUs free now (200 free in all). It needs 3 of licence matlab; 0 of 4 are free now.
            It is the only one in the line of its partition; expected to start at 2026-12-02T22:15:00 on node07, when job 97 reaches its time limit.

            Job 123 (train, alice) waits in partition gpu: Priority, for 2 h 10 min.
            It would fit now, but up to its time limit it would hold what is kept for job 98 (on node07 with matlab:4, from 2026-12-02T22:15:00).
            It is number 2 of 2 in the line of its partition, behind job 98, expected to start at 2026-12-02T22:15:00; no start is promised to it, as only the first of a partition is protected.

            Job 123 (train, alice) waits in partition gpu: Licenses, for 2 h 10 min.
            It needs 3 of licence matlab; there are 2 in all. It needs 3 of licence matlab, which is not configured.
        "#]],
    );
}

#[test]
fn who_waits_behind_whom_and_for_which_promise() {
    let resources = || Block::Resources { short: vec![short(Shortened::Cpus, true, 16, 12)] };
    let nodes = || names(&["node07", "node08"]);
    let promise = |job| Promise { job: JobId(job), start: at(8_100), nodes: nodes(), licenses: Vec::new() };
    let priority = |block, fits, place, outlook| in_line(Reason::Priority, block, fits, place, outlook);
    let beyond = Place { more: true, ..place(10_000, 10_001) };
    check(
        &[
            priority(resources(), false, place(4, 14), Outlook::NotProtected { protected: 1 }),
            priority(resources(), false, place(1, 14), protected(vec![end(97, false)])),
            priority(
                Block::Promises { promises: vec![promise(98)] },
                true,
                Place { first_expected: None, ..place(13, 14) },
                Outlook::NotProtected { protected: 8 },
            ),
            priority(
                Block::Promises { promises: vec![promise(98), promise(99)] },
                true,
                place(2, 14),
                Outlook::NotProtected { protected: 1 },
            ),
            priority(
                Block::StrictOrder { first: JobId(98) },
                true,
                place(1, 2),
                Outlook::NotProtected { protected: 0 },
            ),
            priority(
                Block::FewSwitches { most: 1, until: at(300) },
                true,
                place(1, 2),
                Outlook::NotProtected { protected: 1 },
            ),
            priority(resources(), false, beyond, Outlook::NotLookedAt { jobs_considered: 1_000 }),
            Explanation {
                since: at(-3),
                ..priority(
                    Block::StartsInFront { count: 1 },
                    true,
                    place(1, 2),
                    Outlook::NotProtected { protected: 1 },
                )
            },
            Explanation {
                since: at(0),
                blocks: Vec::new(),
                ..in_line(Reason::None, resources(), true, place(0, 1), Outlook::StartsNext)
            },
        ],
        expect![[r#"
            Job 123 (train, alice) waits in partition gpu: Priority, for 2 h 10 min.
            It needs 8 GPUs (a100), 16 CPUs and 32000M of memory on 1 node; of the 16 nodes that it may use none has more than 12 CPUs free now (200 free in all).
            It is number 5 of 14 in the line of its partition, behind job 98, expected to start at 2026-12-02T22:15:00; no start is promised to it, as only the first of a partition is protected.

            Job 123 (train, alice) waits in partition gpu: Priority, for 2 h 10 min.
            It needs 8 GPUs (a100), 16 CPUs and 32000M of memory on 1 node; of the 16 nodes that it may use none has more than 12 CPUs free now (200 free in all).
            It is number 2 of 14 in the line of its partition, behind job 98, expected to start at 2026-12-02T22:15:00; expected to start at 2026-12-02T22:15:00 on node07, when job 97 reaches its time limit.

            Job 123 (train, alice) waits in partition gpu: Priority, for 2 h 10 min.
            It would fit now, but up to its time limit it would hold what is kept for job 98 (on node[07-08], from 2026-12-02T22:15:00).
            It is number 14 of 14 in the line of its partition, behind job 98; no start is promised to it, as only the first 8 of a partition are protected.

            Job 123 (train, alice) waits in partition gpu: Priority, for 2 h 10 min.
            It would fit now, but up to its time limit it would hold what is kept for job 98 (on node[07-08], from 2026-12-02T22:15:00) and job 99 (on node[07-08], from 2026-12-02T22:15:00).
            It is number 3 of 14 in the line of its partition, behind job 98, expected to start at 2026-12-02T22:15:00; no start is promised to it, as only the first of a partition is protected.

            Job 123 (train, alice) waits in partition gpu: Priority, for 2 h 10 min.
            It would fit now, but job 98 in front of it does not, and this cluster keeps the order (SchedulerType=sched/builtin).
            It is number 2 of 2 in the line of its partition, behind job 98, expected to start at 2026-12-02T22:15:00; no start is promised to it, as this cluster protects none.

            Job 123 (train, alice) waits in partition gpu: Priority, for 2 h 10 min.
            It would fit now, but on more than one leaf switch; it waits for so few (--switches) until 2026-12-02T20:05:00, and then takes any.
            It is number 2 of 2 in the line of its partition, behind job 98, expected to start at 2026-12-02T22:15:00; no start is promised to it, as only the first of a partition is protected.

            Job 123 (train, alice) waits in partition gpu: Priority, for 2 h 10 min.
            It needs 8 GPUs (a100), 16 CPUs and 32000M of memory on 1 node; of the 16 nodes that it may use none has more than 12 CPUs free now (200 free in all).
            It is number 10001 of more than 10001 in the line of its partition, behind job 98, expected to start at 2026-12-02T22:15:00; a planning cycle ends after 1000 jobs of the queue and does not come to it.

            Job 123 (train, alice) waits in partition gpu: Priority, for 3 s.
            It would fit now, but 1 run in front of it takes what is free.
            It is number 2 of 2 in the line of its partition, behind job 98, expected to start at 2026-12-02T22:15:00; no start is promised to it, as only the first of a partition is protected.

            Job 123 (train, alice) waits in partition gpu, for 0 s; no reason is recorded.
            It is the only one in the line of its partition; the next planning cycle starts it.
        "#]],
    );
}

#[test]
fn what_keeps_a_job_out_of_the_line() {
    let held = |by_administrator, after_failed_launch| Block::Held { by_administrator, after_failed_launch };
    let condition = |notation: &str, job, state| OpenCondition { notation: notation.to_string(), job, state };
    let dependencies = |any, never, conditions: Vec<OpenCondition>, count| Block::Dependencies {
        any,
        never,
        conditions,
        count,
    };
    let running = || condition("afterok:7(unfulfilled)", Some(JobId(7)), Some(JobState::Running));
    let alone = || condition("singleton(unfulfilled)", None, None);
    let failed = condition("afterok:7(failed)", Some(JobId(7)), Some(JobState::Failed));
    check(
        &[
            outside(Reason::JobHeldUser, held(false, false)),
            outside(Reason::JobHeldAdmin, held(true, false)),
            outside(Reason::LaunchFailedRequeuedHeld, held(false, true)),
            outside(Reason::Dependency, dependencies(false, false, vec![running()], 1)),
            outside(Reason::Dependency, dependencies(true, false, vec![running(), alone()], 2)),
            outside(Reason::Dependency, dependencies(false, false, vec![running(), alone()], 20)),
            outside(Reason::DependencyNeverSatisfied, dependencies(false, true, vec![failed], 1)),
            outside(Reason::BeginTime, Block::Begin { at: at(3_000) }),
            outside(
                Reason::None,
                Block::EarlierRun { run: RunId::new(JobId(123), 0), nodes: names(&["node07", "node08"]) },
            ),
            outside(Reason::JobArrayTaskLimit, Block::ArrayTasks { running: 2, most: 2 }),
        ],
        expect![[r#"
            Job 123 (train, alice) waits in partition gpu: JobHeldUser, for 2 h 10 min.
            Its owner holds it; "scontrol release 123" lets it go.

            Job 123 (train, alice) waits in partition gpu: JobHeldAdmin, for 2 h 10 min.
            An administrator holds it, and only an administrator can release it (scontrol release 123).

            Job 123 (train, alice) waits in partition gpu: launch_failed_requeued_held, for 2 h 10 min.
            It could not be launched, and another try would fail too; when the cause is gone, "scontrol release 123" lets it go.

            Job 123 (train, alice) waits in partition gpu: Dependency, for 2 h 10 min.
            It depends on afterok:7(unfulfilled) (job 7 is RUNNING).

            Job 123 (train, alice) waits in partition gpu: Dependency, for 2 h 10 min.
            It depends on afterok:7(unfulfilled) (job 7 is RUNNING) or singleton(unfulfilled).

            Job 123 (train, alice) waits in partition gpu: Dependency, for 2 h 10 min.
            It depends on afterok:7(unfulfilled) (job 7 is RUNNING), singleton(unfulfilled) and 18 more.

            Job 123 (train, alice) waits in partition gpu: DependencyNeverSatisfied, for 2 h 10 min.
            What it depends on can never be fulfilled: afterok:7(failed) (job 7 is FAILED). It stays until it is changed or cancelled.

            Job 123 (train, alice) waits in partition gpu: BeginTime, for 2 h 10 min.
            It may not start before 2026-12-02T20:50:00, in 50 min.

            Job 123 (train, alice) waits in partition gpu, for 2 h 10 min; no reason is recorded.
            Its earlier run 123.0 is still being cleaned up on node[07-08].

            Job 123 (train, alice) waits in partition gpu: JobArrayTaskLimit, for 2 h 10 min.
            2 tasks of its array run, and no more than 2 may at once (%2).
        "#]],
    );
}

#[test]
fn limits_are_said_with_what_was_asked() {
    let nodes = |asked, asked_most, least, most| Block::NodeLimit { asked, asked_most, least, most };
    let trouble = |node: &str, trouble, reason: &str| NodeTrouble {
        node: NodeName::from(node),
        trouble,
        reason: reason.to_string(),
    };
    check(
        &[
            outside(
                Reason::PartitionTimeLimit,
                Block::TimeLimit { asked: TimeLimit::minutes(2_880), most: TimeLimit::minutes(1_440) },
            ),
            outside(
                Reason::PartitionTimeLimit,
                Block::TimeLimit { asked: TimeLimit::Unlimited, most: TimeLimit::minutes(60) },
            ),
            outside(Reason::PartitionNodeLimit, nodes(5, None, 0, 4)),
            outside(Reason::PartitionNodeLimit, nodes(1, Some(1), 2, 4)),
            outside(Reason::PartitionConfig, Block::PartitionSize { cpus_needed: 100, cpus_in_all: 32 }),
            outside(Reason::PartitionConfig, Block::Partition { state: None }),
            outside(Reason::PartitionDown, Block::Partition { state: Some(PartitionState::Down) }),
            outside(
                Reason::BadConstraints,
                Block::Impossible { message: "Requested node configuration is not available".to_string() },
            ),
            outside(
                Reason::ReqNodeNotAvail,
                Block::NodesNotUp {
                    nodes: vec![
                        trouble("node07", Trouble::Down, "disk"),
                        trouble("node08", Trouble::Drained, "service"),
                        trouble("node09", Trouble::NotResponding, ""),
                        trouble("node10", Trouble::GpusMissing, ""),
                    ],
                    count: 9,
                },
            ),
            outside(Reason::ReqNodeNotAvail, Block::NodesNotUp { nodes: Vec::new(), count: 0 }),
        ],
        expect![[r#"
            Job 123 (train, alice) waits in partition gpu: PartitionTimeLimit, for 2 h 10 min.
            Its time limit is 2-00:00:00; the partition allows 1-00:00:00 at most.

            Job 123 (train, alice) waits in partition gpu: PartitionTimeLimit, for 2 h 10 min.
            Its time limit is UNLIMITED; the partition allows 01:00:00 at most.

            Job 123 (train, alice) waits in partition gpu: PartitionNodeLimit, for 2 h 10 min.
            It asks for 5 nodes; the partition gives 4 at most.

            Job 123 (train, alice) waits in partition gpu: PartitionNodeLimit, for 2 h 10 min.
            It asks for 1 node at most; the partition gives at least 2.

            Job 123 (train, alice) waits in partition gpu: PartitionConfig, for 2 h 10 min.
            It needs 100 CPUs; the partition has 32 in all.

            Job 123 (train, alice) waits in partition gpu: PartitionConfig, for 2 h 10 min.
            There is no partition gpu any more; the job can be moved or cancelled.

            Job 123 (train, alice) waits in partition gpu: PartitionDown, for 2 h 10 min.
            The partition is DOWN: it starts nothing.

            Job 123 (train, alice) waits in partition gpu: BadConstraints, for 2 h 10 min.
            No choice of the partition's nodes could ever give what it asks for: Requested node configuration is not available.

            Job 123 (train, alice) waits in partition gpu: ReqNodeNotAvail, for 2 h 10 min.
            It would fit if these nodes took work: node07 (down: disk), node08 (drained: service), node09 (not responding), node10 (GPUs missing) and 5 more.

            Job 123 (train, alice) waits in partition gpu: ReqNodeNotAvail, for 2 h 10 min.
            It would fit if nodes that take no work now took work again.
        "#]],
    );
}

#[test]
fn what_does_not_wait_says_what_it_does() {
    let run = |limit_end| RunOutline {
        run: RunId::new(JobId(123), 0),
        started: at(-600),
        node_list: "node07".to_string(),
        limit_end,
        exit: ExitStatus::default(),
    };
    let gave_way = |since, grace_end| {
        let array = Some(ArrayTaskId { array_job: JobId(140), task: 7 });
        let (since, grace_end) = (at(since), at(grace_end));
        Some(GivingWay { by: JobId(147), array, mode: PreemptMode::Requeue, since, grace_end })
    };
    let used_up = |limit: &str, of: &str, most| {
        let (limit, of) = (limit.to_string(), of.to_string());
        Some(LimitFigures { limit, of, most, used: Some(most), needs: None })
    };
    let with = |state, ended, run| Explanation { state, ended, run, ..waiting(Reason::None) };
    check(
        &[
            with(JobState::Running, None, Some(run(Some(at(3_000))))),
            with(JobState::Running, None, Some(run(None))),
            with(JobState::Completing, Some(at(-5)), Some(run(None))),
            with(
                JobState::Failed,
                Some(at(-60)),
                Some(RunOutline { exit: ExitStatus { code: 3, signal: 0 }, ..run(None) }),
            ),
            with(JobState::Cancelled, Some(at(-60)), None),
            Explanation { gave_way: gave_way(-30, 270), ..with(JobState::Running, None, Some(run(None))) },
            with(JobState::Suspended, None, Some(run(None))),
            Explanation {
                gave_way: gave_way(-30, -30).map(|giving| GivingWay { mode: PreemptMode::Suspend, ..giving }),
                ..with(JobState::Suspended, None, Some(run(None)))
            },
            Explanation {
                gave_way: gave_way(-30, -30).map(|giving| GivingWay { mode: PreemptMode::Suspend, ..giving }),
                ..with(JobState::Running, None, Some(run(None)))
            },
            Explanation {
                gave_way: gave_way(-70, -70),
                ..with(JobState::Preempted, Some(at(-60)), Some(run(None)))
            },
            Explanation {
                gave_way: gave_way(-70, -70),
                ..outside(Reason::BeginTime, Block::Begin { at: at(60) })
            },
            Explanation {
                used_up: used_up("GrpTRESMins=cpu", "account ml", 600),
                ..with(JobState::Running, None, Some(run(None)))
            },
            Explanation {
                used_up: used_up("GrpWall", "QOS dev", 60),
                ..with(JobState::Timeout, Some(at(-60)), Some(run(None)))
            },
            Explanation {
                giving_way: vec![JobId(110), JobId(112)],
                ..outside(Reason::Resources, Block::Begin { at: at(60) })
            },
        ],
        expect![[r#"
            Job 123 (train, alice) does not wait: it has been running on node07 for 10 min; its time limit ends it at 2026-12-02T20:50:00.

            Job 123 (train, alice) does not wait: it has been running on node07 for 10 min, without a time limit.

            Job 123 (train, alice) does not wait: it has ended, and is being cleaned up on node07.

            Job 123 (train, alice) does not wait: it ended at 2026-12-02T19:59:00 as FAILED (exit code 3:0), after 9 min on node07.

            Job 123 (train, alice) does not wait: it ended at 2026-12-02T19:59:00 as CANCELLED and never ran.

            Job 123 (train, alice) does not wait: it has been running on node07 for 10 min, without a time limit.
            It gives way to job 140_7: it was told at 2026-12-02T19:59:30, may go on until 2026-12-02T20:04:30, and then waits again.

            Job 123 (train, alice) does not wait: it is suspended on node07, 10 min after its start; its time stands still.

            Job 123 (train, alice) does not wait: it is suspended on node07, 10 min after its start; its time stands still.
            It was told at 2026-12-02T19:59:30 to stop for job 140_7; it goes on by itself when its CPUs are free.

            Job 123 (train, alice) does not wait: it has been running on node07 for 10 min, without a time limit.
            It was told at 2026-12-02T19:59:30 to stop for job 140_7.

            Job 123 (train, alice) does not wait: it ended at 2026-12-02T19:59:00 as PREEMPTED (exit code 0:0), after 9 min on node07.
            Its last run was told at 2026-12-02T19:58:50 to give way to job 140_7.

            Job 123 (train, alice) waits in partition gpu: BeginTime, for 2 h 10 min.
            It may not start before 2026-12-02T20:01:00, in 1 min.
            Its last run was told at 2026-12-02T19:58:50 to give way to job 140_7.

            Job 123 (train, alice) does not wait: it has been running on node07 for 10 min, without a time limit.
            It is being ended because the limit GrpTRESMins=cpu of account ml, 600, is used up.

            Job 123 (train, alice) does not wait: it ended at 2026-12-02T19:59:00 as TIMEOUT (exit code 0:0), after 9 min on node07.
            Its last run was ended because the limit GrpWall of QOS dev, 60 min, is used up.

            Job 123 (train, alice) waits in partition gpu: Resources, for 2 h 10 min.
            It may not start before 2026-12-02T20:01:00, in 1 min.
            Room is being made for it by jobs 110 and 112.
        "#]],
    );
}

#[test]
fn spans_have_two_units_at_most() {
    for (seconds, text) in [
        (-5, "0 s"),
        (0, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (3_599, "59 min"),
        (3_600, "1 h"),
        (7_800, "2 h 10 min"),
        (86_400, "1 d"),
        (90_060, "1 d 1 h"),
        (8_640_000, "100 d"),
    ] {
        assert_eq!(super::words::span(seconds), text, "{seconds}");
    }
}

#[test]
fn reservations_are_named_with_their_times() {
    let wanted = |start, permitted| Block::ReservationWanted { name: "course".to_string(), start, permitted };
    let kept = |maintenance| Block::KeptByReservation {
        name: "works".to_string(),
        start: at(600),
        end: at(4_200),
        maintenance,
    };
    let held = Block::Held { by_administrator: false, after_failed_launch: false };
    check(
        &[
            outside(Reason::Reservation, wanted(Some(at(3_000)), true)),
            outside(Reason::Reservation, wanted(Some(at(3_000)), false)),
            outside(Reason::Reservation, wanted(Some(at(-60)), true)),
            outside(Reason::Reservation, wanted(None, true)),
            outside(Reason::ReservationDeleted, held),
            outside(Reason::ReqNodeNotAvail, kept(true)),
            outside(Reason::ReqNodeNotAvail, kept(false)),
        ],
        expect![[r#"
            Job 123 (train, alice) waits in partition gpu: Reservation, for 2 h 10 min.
            It asks for the reservation course, which begins at 2026-12-02T20:50:00, in 50 min.

            Job 123 (train, alice) waits in partition gpu: Reservation, for 2 h 10 min.
            It asks for the reservation course, which is not for its user and account.

            Job 123 (train, alice) waits in partition gpu: Reservation, for 2 h 10 min.
            It asks for the reservation course, whose nodes are too few or too small for it.

            Job 123 (train, alice) waits in partition gpu: Reservation, for 2 h 10 min.
            The reservation course that it asks for is over; it is held as soon as that is recorded.

            Job 123 (train, alice) waits in partition gpu: ReservationDeleted, for 2 h 10 min.
            The reservation that it asked for is over; "scontrol release 123" lets it go without one.

            Job 123 (train, alice) waits in partition gpu: ReqNodeNotAvail, for 2 h 10 min.
            It would start now, but for the reservation works: it keeps the nodes for maintenance from 2026-12-02T20:10:00 to 2026-12-02T21:10:00.

            Job 123 (train, alice) waits in partition gpu: ReqNodeNotAvail, for 2 h 10 min.
            It would start now, but for the reservation works: it keeps the nodes for others from 2026-12-02T20:10:00 to 2026-12-02T21:10:00.
        "#]],
    );
}
