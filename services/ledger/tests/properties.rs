//! Whatever happens: the classes of every GPU add up, adjacent windows add up, and the books are the same however the log
//! was posted: at once, commit by commit, or after a crash between two batches.

mod support;

use std::collections::BTreeMap;

use daybook_ledger::Book;
use daybook_schemas::api::{AccountingQuery, CapacityClass, CapacityQuery};
use daybook_schemas::events::*;
use daybook_schemas::node::NodeUpdateState;
use daybook_schemas::run::EndCause;
use daybook_schemas::{GpuUuid, NodeName};
use proptest::prelude::*;
use support::*;

/// One thing that may happen. Most are chosen to fit the moment (see [`Shadow`]), some are not (an allocation of what is
/// taken, a second end, a task that is not its turn): those have been overtaken.
#[derive(Clone, Debug)]
enum Act {
    Submit { array: Option<u32>, hold: bool },
    Start { pick: u32, second: bool, gpu: bool, both: bool },
    Overtaken { job: u32, start: u32, second: bool, cpu: u32, gpu: u32 },
    Started(u32),
    Suspend(u32),
    Unsuspend { pick: u32, by_planner: bool },
    Turned { pick: u32, stops: bool, ago: u32, overtaken: bool },
    End { pick: u32, cause: EndCause, ago: u32, code: u32 },
    Lost { pick: u32, ago: u32 },
    Release { pick: u32, ago: u32 },
    Cancel(u32),
    CancelTask(u32, u32),
    Hold(u32, bool),
    Requeue(u32, bool),
    Node { second: bool, state: NodeUpdateState },
    Resume(bool),
    Silent { second: bool, ago: u32 },
    TimedOut { second: bool, ago: u32 },
    Heard(bool),
    Register { second: bool, gpus: u32 },
    Configure { first: bool, second: bool, gpus: u32 },
}

fn acts() -> impl Strategy<Value = Act> {
    let pick = 0..24u32;
    let ago = prop_oneof![Just(0u32), 0..30u32, 0..5000u32];
    let cause = prop::sample::select(vec![
        EndCause::Exited,
        EndCause::TimeLimit,
        EndCause::Cancelled,
        EndCause::Requeued,
        EndCause::LaunchFailed,
        EndCause::NodeUnfit,
        EndCause::NodeFailed,
        EndCause::NodeFailed,
        EndCause::OutOfMemory,
    ]);
    let state =
        prop::sample::select(vec![NodeUpdateState::Drain, NodeUpdateState::Undrain, NodeUpdateState::Down]);
    prop_oneof![
        6 => (prop::option::weighted(0.3, 1..4u32), prop::bool::weighted(0.2))
            .prop_map(|(array, hold)| Act::Submit { array, hold }),
        15 => (pick.clone(), any::<bool>(), any::<bool>(), prop::bool::weighted(0.3))
            .prop_map(|(pick, second, gpu, both)| Act::Start { pick, second, gpu, both }),
        2 => (pick.clone(), 0..2u32, any::<bool>(), 0..5u32, 0..4u32)
            .prop_map(|(job, start, second, cpu, gpu)| Act::Overtaken { job, start, second, cpu, gpu }),
        6 => pick.clone().prop_map(Act::Started),
        2 => pick.clone().prop_map(Act::Suspend),
        2 => (pick.clone(), any::<bool>())
            .prop_map(|(pick, by_planner)| Act::Unsuspend { pick, by_planner }),
        5 => (pick.clone(), any::<bool>(), 0..9u32, prop::bool::weighted(0.1))
            .prop_map(|(pick, stops, ago, overtaken)| Act::Turned { pick, stops, ago, overtaken }),
        6 => (pick.clone(), cause, ago.clone(), 0..2u32)
            .prop_map(|(pick, cause, ago, code)| Act::End { pick, cause, ago, code }),
        1 => (pick.clone(), ago.clone()).prop_map(|(pick, ago)| Act::Lost { pick, ago }),
        10 => (pick.clone(), ago).prop_map(|(pick, ago)| Act::Release { pick, ago }),
        1 => pick.clone().prop_map(Act::Cancel),
        1 => (pick.clone(), 0..4u32).prop_map(|(pick, task)| Act::CancelTask(pick, task)),
        2 => (pick.clone(), any::<bool>()).prop_map(|(pick, hold)| Act::Hold(pick, hold)),
        2 => (pick, prop::bool::weighted(0.3)).prop_map(|(pick, hold)| Act::Requeue(pick, hold)),
        1 => (any::<bool>(), state).prop_map(|(second, state)| Act::Node { second, state }),
        2 => any::<bool>().prop_map(Act::Resume),
        1 => (any::<bool>(), 0..30u32).prop_map(|(second, ago)| Act::Silent { second, ago }),
        1 => (any::<bool>(), 0..30u32).prop_map(|(second, ago)| Act::TimedOut { second, ago }),
        2 => any::<bool>().prop_map(Act::Heard),
        1 => (any::<bool>(), 0..4u32).prop_map(|(second, gpus)| Act::Register { second, gpus }),
        1 => (prop::bool::weighted(0.9), prop::bool::weighted(0.9), 0..4u32)
            .prop_map(|(first, second, gpus)| Act::Configure { first, second, gpus }),
    ]
}

fn name(second: bool) -> &'static str {
    if second { "b" } else { "a" }
}

/// A job as the generator remembers it.
struct Job {
    id: u32,
    task: Option<(u32, u32)>,
    waits: bool,
    starts: u32,
}

/// A run that still holds something, and where.
struct Run {
    id: String,
    job: usize,
    held: Vec<(bool, u32, Option<u32>)>,
    /// The last order to stop or to go on.
    ordered: u64,
    /// Its CPUs may be others'.
    is_stopped: bool,
}

/// Roughly what is the case, so that most acts fit: it may be wrong (a node may be down), which is then overtaken.
#[derive(Default)]
struct Shadow {
    next_job: u32,
    jobs: Vec<Job>,
    runs: Vec<Run>,
}

impl Shadow {
    fn job(&self, pick: u32) -> u32 {
        self.jobs.get(pick as usize % self.jobs.len().max(1)).map_or(99, |job| job.id)
    }

    fn run(&self, pick: u32) -> Option<usize> {
        (!self.runs.is_empty()).then(|| pick as usize % self.runs.len())
    }

    fn is_free(&self, second: bool, cpu: u32, gpu: Option<u32>) -> bool {
        let taken = |run: &Run, held: &(bool, u32, Option<u32>)| {
            held.0 == second && (held.1 == cpu && !run.is_stopped || gpu.is_some() && held.2 == gpu)
        };
        !self.runs.iter().any(|run| run.held.iter().any(|held| taken(run, held)))
    }

    fn submit(&mut self, array: Option<u32>) -> u32 {
        let first = self.next_job.max(1);
        let tasks = array.unwrap_or(1);
        for task in 0..tasks {
            let id = if task + 1 == tasks { first } else { first + 1 + task };
            self.jobs.push(Job { id, task: array.map(|_| (first, task)), waits: true, starts: 0 });
        }
        self.next_job = first + tasks;
        first
    }

    /// An allocation that fits, if anything waits and is free.
    fn start(&mut self, pick: u32, second: bool, gpu: bool, both: bool) -> Option<RunAllocated> {
        let waiting: Vec<usize> = (0..self.jobs.len()).filter(|at| self.jobs[*at].waits).collect();
        let at = *waiting.get(pick as usize % waiting.len().max(1))?;
        let gpus = || if gpu { (0..2).map(Some).collect() } else { vec![None] };
        let (cpu, gpu) =
            (0..4).flat_map(|cpu| gpus().into_iter().map(move |gpu| (cpu, gpu))).find(|(cpu, gpu)| {
                self.is_free(second, *cpu, *gpu) && (!both || self.is_free(!second, *cpu, None))
            })?;
        let mut held = vec![(second, cpu, gpu)];
        if both {
            held.push((!second, cpu, None));
        }
        let shares = held
            .iter()
            .map(|(second, cpu, gpu)| {
                share(name(*second), &cpu.to_string(), &gpu.iter().copied().collect::<Vec<_>>())
            })
            .collect();
        let job = &mut self.jobs[at];
        let id = format!("{}.{}", job.id, job.starts);
        let array = job.task.filter(|_| job.starts == 0);
        let array = array.map(|(array, task)| ArrayTaskId { array_job: daybook_schemas::JobId(array), task });
        (job.waits, job.starts) = (false, job.starts + 1);
        let allocated = allocation(&id, array, shares);
        self.runs.push(Run { id, job: at, held, ordered: 0, is_stopped: false });
        Some(allocated)
    }
}

/// The history that these acts make, with whole and broken seconds between them.
fn history(acts: &[(u32, Act)]) -> Story {
    let mut story = Story::new();
    story.add(configuration(vec![node("a", 4, 3), node("b", 4, 2)])).register("a", 3).register("b", 2);
    let mut shadow = Shadow::default();
    let mut now = 0.0;
    for (gap, act) in acts {
        now += f64::from(*gap) * 0.7;
        story.at(now);
        happens(&mut story, &mut shadow, now, act);
    }
    story
}

fn happens(story: &mut Story, shadow: &mut Shadow, now: f64, act: &Act) {
    match act {
        Act::Submit { array, hold } => {
            let first = shadow.submit(*array);
            let tasks = array.map(|tasks| (0..tasks).collect());
            story.submit(first, |spec| {
                spec.hold = *hold;
                spec.array =
                    tasks.map(|tasks| daybook_schemas::job::ArrayRequest { tasks, running_max: None });
            });
        }
        Act::Start { pick, second, gpu, both } => {
            if let Some(allocated) = shadow.start(*pick, *second, *gpu, *both) {
                story.add(allocated);
            }
        }
        Act::Overtaken { job, start, second, cpu, gpu } => {
            let id = format!("{}.{start}", shadow.job(*job));
            story.allocate(&id, vec![share(name(*second), &cpu.to_string(), &[*gpu])]);
        }
        Act::Started(pick) => {
            if let Some(at) = shadow.run(*pick) {
                story.start(&shadow.runs[at].id, "a");
            }
        }
        Act::Suspend(pick) => {
            if let Some(at) = shadow.run(*pick) {
                let job = run(&shadow.runs[at].id).job;
                story.add(JobSuspendRequested { job, uid: 0 });
                shadow.runs[at].ordered = story.commits.len() as u64;
            }
        }
        Act::Unsuspend { pick, by_planner } => {
            if let Some(at) = shadow.run(*pick) {
                let run = run(&shadow.runs[at].id);
                match by_planner {
                    true => story.add(RunResumeOrdered { run }),
                    false => story.add(JobResumeRequested { job: run.job, uid: 0 }),
                };
                (shadow.runs[at].ordered, shadow.runs[at].is_stopped) = (story.commits.len() as u64, false);
            }
        }
        Act::Turned { pick, stops, ago, overtaken } => {
            if let Some(at) = shadow.run(*pick) {
                let told = &mut shadow.runs[at];
                let ordered = daybook_schemas::Seq(told.ordered.saturating_sub(u64::from(*overtaken)));
                let (run, node) = (run(&told.id), name(told.held[0].0).into());
                told.is_stopped = *stops;
                let happened = now - f64::from(*ago);
                match stops {
                    true => story.add_of(happened, RunSuspended { run, node, ordered }),
                    false => story.add_of(happened, RunResumed { run, node, ordered }),
                };
            }
        }
        Act::End { pick, cause, ago, code } => {
            if let Some(at) = shadow.run(*pick) {
                let run = &shadow.runs[at];
                shadow.jobs[run.job].waits = *cause == EndCause::NodeFailed;
                story.end_of(now - f64::from(*ago), &run.id, "a", *cause, exit(*code, 0));
            }
        }
        Act::Lost { pick, ago } => {
            if let Some(at) = shadow.run(*pick) {
                let (run, last_evidence) = (run(&shadow.runs[at].id), support::at(now - f64::from(*ago)));
                story.add(RunLost { run, node: "a".into(), last_evidence, message: String::new() });
            }
        }
        Act::Release { pick, ago } => {
            if let Some(at) = shadow.run(*pick) {
                let run = &mut shadow.runs[at];
                if let Some((second, ..)) = run.held.pop() {
                    story.release_of(now - f64::from(*ago), &run.id, name(second));
                }
                if run.held.is_empty() {
                    shadow.runs.remove(at);
                }
            }
        }
        Act::Cancel(pick) => {
            story.cancel(shadow.job(*pick), None, 7);
        }
        Act::CancelTask(pick, task) => {
            story.cancel(shadow.job(*pick), Some(&task.to_string()), 7);
        }
        Act::Hold(pick, true) => {
            story.add(JobHeld { target: target(shadow.job(*pick), None), by_administrator: false });
        }
        Act::Hold(pick, false) => {
            story.add(JobReleased { target: target(shadow.job(*pick), None), as_owner: false });
        }
        Act::Requeue(pick, hold) => {
            let at = *pick as usize % shadow.jobs.len().max(1);
            if let Some(job) = shadow.jobs.get_mut(at) {
                job.waits = true;
                story.requeue(job.id, *hold);
            }
        }
        Act::Node { second, state } => {
            story.set_node(name(*second), *state);
        }
        Act::Resume(second) => {
            story.set_node(name(*second), NodeUpdateState::Resume);
        }
        Act::Silent { second, ago } => {
            let last_heard = support::at(now - f64::from(*ago));
            story.add(NodeLeaseLost { node: name(*second).into(), last_heard });
        }
        Act::TimedOut { second, ago } => {
            let (node, last_evidence) = (name(*second).into(), support::at(now - f64::from(*ago)));
            story.add(NodeTimedOut { node, last_evidence, waited: daybook_schemas::Seconds(30) });
        }
        Act::Heard(second) => {
            story.add(NodeLeaseRegained { node: name(*second).into() });
        }
        Act::Register { second, gpus } => {
            story.register(name(*second), *gpus);
        }
        Act::Configure { first, second, gpus } => {
            let nodes = [(*first, node("a", 4, *gpus)), (*second, node("b", 4, 2))];
            story.add(configuration(
                nodes.into_iter().filter(|(there, _)| *there).map(|(_, node)| node).collect(),
            ));
            story.register("a", 3).register("b", 2);
        }
    }
}

type Sums = BTreeMap<(NodeName, Option<GpuUuid>, CapacityClass), u64>;

fn sums(book: &Book, from: i64, to: i64) -> Sums {
    let query = CapacityQuery { start: Some(at(from as f64)), end: Some(at(to as f64)), nodes: vec![] };
    let answer = book.capacity(&query, at(1e9)).unwrap();
    let mut sums = Sums::new();
    for row in answer.rows {
        assert_eq!(row.seconds.values().sum::<u64>(), row.installed, "{row:?}");
        for (class, seconds) in row.seconds {
            *sums.entry((row.node.clone(), row.gpu.clone(), class)).or_default() += seconds;
        }
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn books_are_conserved_and_do_not_depend_on_how_the_log_was_posted(
        acts in prop::collection::vec((0..40u32, acts()), 1..160),
        cuts in prop::collection::vec(-50..3000i64, 3),
        batches in prop::collection::vec(1..9usize, 1..6),
    ) {
        let story = history(&acts);
        let whole = story.book();
        prop_assert_eq!(whole.book.faults().unwrap(), Vec::<String>::new());

        // Any window, cut anywhere, is the sum of its parts.
        let mut cuts = cuts;
        cuts.sort_unstable();
        let mut parts = sums(&whole.book, cuts[0], cuts[1]);
        for (key, seconds) in sums(&whole.book, cuts[1], cuts[2]) {
            *parts.entry(key).or_default() += seconds;
        }
        prop_assert_eq!(parts, sums(&whole.book, cuts[0], cuts[2]));

        // What runs had is what the GPUs were allocated for, up to the present.
        let now = whole.now;
        let all = AccountingQuery { duplicates: true, ..Default::default() };
        let records = whole.book.accounting(&all, now).unwrap().records;
        let held: u64 = records.iter().map(|record| record.gpu_seconds).sum();
        let end = (now.seconds() - BASE).max(0);
        let allocated: u64 = sums(&whole.book, -10, end)
            .into_iter()
            .filter(|((_, gpu, class), _)| gpu.is_some() && *class == CapacityClass::Allocated)
            .map(|(_, seconds)| seconds)
            .sum();
        prop_assert_eq!(held, allocated);

        // A day of records, asked for by window, is what a look at all of them finds.
        let window = AccountingQuery { start: Some(at(cuts[0] as f64)), end: Some(at(cuts[1] as f64)), ..all.clone() };
        let by_index = whole.book.accounting(&window, now).unwrap().records;
        let overlapping = |record: &&daybook_schemas::api::AccountingRecord| {
            let from = record.eligible.or(record.ended).map(|from| record.ended.map_or(from, |end| from.min(end)));
            from.is_some_and(|from| from.seconds() - BASE <= cuts[1])
                && record.ended.is_none_or(|end| end.seconds() - BASE >= cuts[0])
        };
        let jobs = |records: &[daybook_schemas::api::AccountingRecord]| -> Vec<_> {
            records.iter().filter(|record| record.kind == daybook_schemas::api::RecordKind::Job).cloned().collect()
        };
        let expected: Vec<_> = jobs(&records).iter().filter(overlapping).cloned().collect();
        prop_assert_eq!(jobs(&by_index), expected);

        // In other batches, with the database closed and opened between them as after a crash.
        let dir = tempfile::tempdir().unwrap();
        let mut at = 0;
        for size in batches.iter().cycle() {
            let book = Book::open(dir.path()).unwrap();
            prop_assert_eq!(book.position().unwrap().0, at as u64);
            let next = (at + size * 7).min(story.commits.len());
            book.post(&story.commits[at..next]).unwrap();
            at = next;
            if at == story.commits.len() {
                prop_assert_eq!(book.hash().unwrap(), whole.book.hash().unwrap());
                break;
            }
        }
    }
}

/// The property above says something only of histories in which things happen.
#[test]
fn histories_of_the_generator_run_jobs_and_overtake_some() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = prop::collection::vec((0..40u32, acts()), 90..180);
    let (mut runs, mut ended, mut requeued, mut void) = (0, 0, 0, 0);
    for _ in 0..30 {
        let acts = strategy.new_tree(&mut runner).unwrap().current();
        let book = history(&acts).book();
        let query = AccountingQuery { duplicates: true, allocations_only: true, ..Default::default() };
        let records = book.book.accounting(&query, book.now).unwrap().records;
        runs += records.iter().filter(|record| record.run.is_some()).count();
        ended += records.iter().filter(|record| record.run.is_some() && record.ended.is_some()).count();
        requeued += records.iter().filter(|record| record.run.is_some_and(|run| run.start > 0)).count();
        void += book.book.void_allocations().unwrap().len();
    }
    println!("{runs} runs, {ended} ended, {requeued} later starts, {void} void");
    assert!(runs > 150 && ended > 60 && requeued > 5 && void > 100, "{runs} {ended} {requeued} {void}");
}
