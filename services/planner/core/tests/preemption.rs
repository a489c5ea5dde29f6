//! What holds for every preemption: it helps, it is allowed, and each run that gives way is needed.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use daybook_plan::{Cycle, Preemption};
use daybook_schemas::accounts::{PreemptMode, Qos};
use daybook_schemas::events::QosDefined;
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::{ArrayRequest, GpuRequest, GpuScope, JobState};
use daybook_schemas::orders::RunWish;
use daybook_schemas::preemption::{PreemptType, PreemptionParameters};
use daybook_schemas::run::{EndCause, ExitStatus};
use daybook_schemas::{JobId, RunId, Seconds, Subject};
use proptest::prelude::*;
use support::{Simulation, configuration, job, node, parameters, partition};

#[derive(Clone, Debug)]
struct Wish {
    qos: usize,
    partition: usize,
    nodes: u32,
    cpus: u32,
    gpus: u32,
    minutes: u32,
    requeue: bool,
    tasks: u32,
}

#[derive(Clone, Debug)]
enum Act {
    Submit(Wish),
    Tick(i64),
    /// What gives way ends, if there is any.
    GoAway,
    /// The n-th run ends by itself.
    End(usize),
    Cancel(usize),
}

/// How the cluster is set.
#[derive(Clone, Debug)]
struct Setting {
    by_tier: bool,
    cancel: bool,
    exempt: u64,
    grace: u64,
    youngest_first: bool,
    protected: u32,
}

const QOS: [&str; 4] = ["low", "mid", "high", "safe"];
const PARTITIONS: [&str; 3] = ["idle", "day", "urgent"];

fn wishes() -> impl Strategy<Value = Wish> {
    let tasks = prop_oneof![4 => Just(0u32), 1 => 2u32..4];
    (0usize..4, 0usize..3, 1u32..3, 1u32..5, 0u32..3, 1u32..60, any::<bool>(), tasks).prop_map(
        |(qos, partition, nodes, cpus, gpus, minutes, requeue, tasks)| {
            let nodes = if tasks > 0 { 1 } else { nodes };
            Wish { qos, partition, nodes, cpus, gpus, minutes, requeue, tasks }
        },
    )
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        6 => wishes().prop_map(Act::Submit),
        3 => (1i64..400).prop_map(Act::Tick),
        2 => Just(Act::GoAway),
        1 => any::<usize>().prop_map(Act::End),
        1 => any::<usize>().prop_map(Act::Cancel),
    ];
    prop::collection::vec(act, 1..40)
}

fn settings(protected: impl Strategy<Value = u32>) -> impl Strategy<Value = Setting> {
    let seconds = || prop_oneof![2 => Just(0u64), 1 => 1u64..300];
    (any::<bool>(), any::<bool>(), seconds(), seconds(), any::<bool>(), protected).prop_map(
        |(by_tier, cancel, exempt, grace, youngest_first, protected)| Setting {
            by_tier,
            cancel,
            exempt,
            grace,
            youngest_first,
            protected,
        },
    )
}

fn cluster(setting: &Setting) -> Simulation {
    let mut simulation = Simulation::new();
    let nodes = vec![
        node("a", 4, 4000, &[]),
        node("b", 8, 8000, &["a100", "a100"]),
        node("c", 8, 6000, &["h100", "h100"]),
    ];
    let mut partitions: Vec<_> = PARTITIONS.iter().map(|name| partition(name, &["a", "b", "c"])).collect();
    for (tier, partition) in (1..).zip(&mut partitions) {
        partition.priority_tier = tier;
        partition.grace_time = Seconds(setting.grace);
    }
    partitions[1].preempt_mode = setting.cancel.then_some(PreemptMode::Off);
    let by = if setting.by_tier { PreemptType::PartitionPrio } else { PreemptType::Qos };
    let mode = if setting.cancel { PreemptMode::Cancel } else { PreemptMode::Requeue };
    let mut parameters = parameters();
    parameters.backfill_reservations = setting.protected;
    parameters.preemption = Some(PreemptionParameters {
        exempt_time: Seconds(setting.exempt),
        youngest_first: setting.youngest_first,
        ..PreemptionParameters::new(by, mode)
    });
    simulation.configure(configuration(nodes.clone(), partitions, parameters));
    nodes.iter().for_each(|node| simulation.register(node));
    for (id, name) in (10..).zip(QOS) {
        let preempt: &[&str] = match name {
            "mid" => &["low", "safe"],
            "high" => &["low", "mid"],
            _ => &[],
        };
        let qos = Qos {
            priority: id,
            preempt: preempt.iter().map(|name| name.to_string()).collect(),
            preempt_mode: (name == "safe").then_some(PreemptMode::Off),
            grace_time: Seconds(setting.grace),
            ..Qos::new(id, name)
        };
        simulation.say(Subject::Jobs, QosDefined { qos });
    }
    simulation
}

fn submit(simulation: &mut Simulation, wish: &Wish) {
    let mut spec = job("job", PARTITIONS[wish.partition], wish.minutes);
    spec.qos = Some(QOS[wish.qos].to_string());
    spec.requeue = wish.requeue;
    let request = spec.request_mut();
    request.nodes_min = wish.nodes;
    request.nodes_max = Some(wish.nodes);
    request.tasks = wish.nodes;
    request.tasks_given = true;
    request.cpus_per_task = wish.cpus;
    if wish.gpus > 0 {
        request.gpus = vec![GpuRequest { scope: GpuScope::Node, gpu_type: None, count: wish.gpus }];
    }
    if wish.tasks > 0 {
        spec.array = Some(ArrayRequest { tasks: IndexSet::range(0, wish.tasks), running_max: None });
    }
    simulation.submit(spec);
}

/// Runs that were told to end do, as they were told, but for those to `spare`.
fn go_away(simulation: &mut Simulation, spare: &BTreeSet<RunId>) {
    let told = simulation.cluster.runs().values().filter(|run| run.wish != RunWish::Run);
    let told: Vec<(RunId, RunWish)> = told.map(|run| (run.id, run.wish)).collect();
    for (run, wish) in told.into_iter().filter(|(run, _)| !spare.contains(run)) {
        let cause = if wish == RunWish::GiveWay { EndCause::Preempted } else { EndCause::Cancelled };
        simulation.end_by(run, cause, ExitStatus { code: 0, signal: 15 });
        simulation.release(run);
    }
}

fn copy(simulation: &Simulation) -> Simulation {
    Simulation { cluster: simulation.cluster.clone(), commits: Vec::new(), now: simulation.now }
}

fn starts(cycle: &Cycle) -> BTreeSet<JobId> {
    cycle.starts.iter().map(|start| start.run.job).collect()
}

/// Plans, and checks what was decided about runs that give way.
fn plan(simulation: &mut Simulation, are_all_checked: bool) -> Result<(), TestCaseError> {
    let before = copy(simulation);
    let cycle = simulation.plan();
    simulation.cluster.sanity_check().expect("the cluster is sane");
    prop_assert_eq!(simulation.cluster.void_allocations(), before.cluster.void_allocations());
    let mut runs = BTreeSet::new();
    let mut by: BTreeMap<JobId, Vec<&Preemption>> = BTreeMap::new();
    for preemption in &cycle.preemptions {
        prop_assert!(runs.insert(preemption.run), "a run gives way once");
        check_allowed(&before, preemption)?;
        prop_assert_eq!(simulation.cluster.runs()[&preemption.run].wish, RunWish::GiveWay);
        by.entry(preemption.by).or_default().push(preemption);
    }
    // Others may start behind them until they are gone.
    if cycle.preemptions.is_empty() || !cycle.starts.is_empty() {
        return Ok(());
    }
    // Nobody gives way twice for one need.
    let again = copy(simulation).consider();
    let takers: BTreeSet<JobId> = again.preemptions.iter().map(|preemption| preemption.by).collect();
    prop_assert!(takers.is_disjoint(&by.keys().copied().collect()), "{:?} after {:?}", takers, by.keys());
    // Everybody for whom somebody gives way starts as soon as all have.
    let mut after = copy(simulation);
    go_away(&mut after, &BTreeSet::new());
    let then = starts(&after.plan());
    for taker in by.keys() {
        prop_assert!(then.contains(taker), "job {} does not start, but {:?}", taker, then);
    }
    // Without any of them it does not. (Where others wait for their room too, one may take another's place on a node.)
    let is_alone = by.len() == 1 && before.cluster.rooms().is_empty();
    for (taker, given) in by.iter().filter(|_| are_all_checked && is_alone) {
        for spared in given {
            let mut without = copy(simulation);
            go_away(&mut without, &BTreeSet::from([spared.run]));
            let then = starts(&without.plan());
            prop_assert!(!then.contains(taker), "job {} starts without {} going", taker, spared.run);
        }
    }
    Ok(())
}

/// Type, mode and time allow it.
fn check_allowed(before: &Simulation, preemption: &Preemption) -> Result<(), TestCaseError> {
    let cluster = &before.cluster;
    let run = &cluster.runs()[&preemption.run];
    prop_assert!(run.wish == RunWish::Run && run.end.is_none());
    let victim = &cluster.jobs()[&preemption.run.job];
    let taker = &cluster.jobs()[&preemption.array.map_or(preemption.by, |task| task.array_job)];
    prop_assert_eq!(taker.state, JobState::Pending);
    prop_assert!(cluster.is_preemptable_by(run, victim, taker, &taker.partition));
    prop_assert!(cluster.preempt_exempt_until(victim, run.allocated) <= before.now);
    let way = cluster.way_out(victim, &run.partition);
    prop_assert_eq!(way.map(|way| way.mode), Some(preemption.mode));
    prop_assert!(preemption.mode != PreemptMode::Requeue || victim.requeue);
    prop_assert!(&*victim.qos != "safe");
    Ok(())
}

fn history(setting: &Setting, acts: &[Act], are_all_checked: bool) -> Result<(), TestCaseError> {
    let mut simulation = cluster(setting);
    for act in acts {
        match act {
            Act::Submit(wish) => submit(&mut simulation, wish),
            Act::Tick(seconds) => simulation.now = simulation.now.plus_seconds(*seconds),
            Act::GoAway => go_away(&mut simulation, &BTreeSet::new()),
            Act::End(number) => {
                let going: Vec<RunId> = simulation
                    .cluster
                    .runs()
                    .values()
                    .filter(|run| run.end.is_none())
                    .map(|run| run.id)
                    .collect();
                if !going.is_empty() {
                    let run = going[number % going.len()];
                    simulation.end(run, ExitStatus::default());
                    simulation.release(run);
                }
            }
            Act::Cancel(number) => {
                let jobs: Vec<JobId> = simulation.cluster.jobs().keys().copied().collect();
                if !jobs.is_empty() {
                    simulation.cancel(jobs[number % jobs.len()]);
                }
            }
        }
        plan(&mut simulation, are_all_checked)?;
        settle(&mut simulation)?;
    }
    Ok(())
}

/// Nothing has come in between: it comes to an end what cycles decide one after the other.
fn settle(simulation: &mut Simulation) -> Result<(), TestCaseError> {
    const CYCLES_MAX: usize = 8;
    let mut last = None;
    for _ in 0..CYCLES_MAX {
        let cycle = simulation.plan();
        if !cycle.decides() {
            return Ok(());
        }
        last = Some(cycle);
    }
    prop_assert!(false, "it decides for ever, at last {:?}", last);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn whoever_gives_way_may_and_whom_it_is_for_starts(setting in settings(prop_oneof![3 => 1u32..4, 1 => Just(64)]), acts in acts()) {
        history(&setting, &acts, false)?;
    }

    /// Where nothing is promised to others, what fits does not depend on who waits in front.
    #[test]
    fn nobody_gives_way_in_vain(setting in settings(Just(0u32)), acts in acts()) {
        history(&setting, &acts, true)?;
    }
}
