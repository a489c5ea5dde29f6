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

/// One thing that may happen; what does not fit the moment (a start of an ended job, a release twice) is overtaken.
#[derive(Clone, Debug)]
enum Act {
    Submit { array: Option<u32>, hold: bool },
    Allocate { pick: u32, start: u32, node: bool, cpu: u32, gpu: u32, both: bool },
    Start(u32),
    End { pick: u32, cause: EndCause, ago: u32, code: u32 },
    Lost { pick: u32, ago: u32 },
    Release { pick: u32, node: bool, ago: u32 },
    Cancel(u32),
    CancelTask(u32, u32),
    Hold(u32),
    Free(u32),
    Requeue(u32, bool),
    Node { node: bool, state: NodeUpdateState },
    Register { node: bool, gpus: u32 },
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
        EndCause::NodeFailed,
        EndCause::OutOfMemory,
    ]);
    let state = prop::sample::select(vec![
        NodeUpdateState::Drain,
        NodeUpdateState::Resume,
        NodeUpdateState::Undrain,
        NodeUpdateState::Down,
    ]);
    prop_oneof![
        3 => (prop::option::weighted(0.3, 1..4u32), any::<bool>())
            .prop_map(|(array, hold)| Act::Submit { array, hold }),
        8 => (pick.clone(), 0..2u32, any::<bool>(), 0..4u32, 0..5u32, any::<bool>())
            .prop_map(|(pick, start, node, cpu, gpu, both)| Act::Allocate { pick, start, node, cpu, gpu, both }),
        3 => pick.clone().prop_map(Act::Start),
        4 => (pick.clone(), cause, ago.clone(), 0..2u32)
            .prop_map(|(pick, cause, ago, code)| Act::End { pick, cause, ago, code }),
        1 => (pick.clone(), ago.clone()).prop_map(|(pick, ago)| Act::Lost { pick, ago }),
        6 => (pick.clone(), any::<bool>(), ago).prop_map(|(pick, node, ago)| Act::Release { pick, node, ago }),
        1 => pick.clone().prop_map(Act::Cancel),
        1 => (pick.clone(), 0..4u32).prop_map(|(pick, task)| Act::CancelTask(pick, task)),
        1 => pick.clone().prop_map(Act::Hold),
        1 => pick.clone().prop_map(Act::Free),
        2 => (pick, any::<bool>()).prop_map(|(pick, hold)| Act::Requeue(pick, hold)),
        2 => (any::<bool>(), state).prop_map(|(node, state)| Act::Node { node, state }),
        1 => (any::<bool>(), 0..4u32).prop_map(|(node, gpus)| Act::Register { node, gpus }),
        1 => (prop::bool::weighted(0.8), prop::bool::weighted(0.8), 0..4u32)
            .prop_map(|(first, second, gpus)| Act::Configure { first, second, gpus }),
    ]
}

fn name(second: bool) -> &'static str {
    if second { "b" } else { "a" }
}

/// The history that these acts make, with whole and broken seconds between them.
fn history(acts: &[(u32, Act)]) -> Story {
    let mut story = Story::new();
    story.add(configuration(vec![node("a", 4, 3), node("b", 4, 2)])).register("a", 3);
    let mut now = 0.0;
    let mut next_job = 1;
    // The array and task of every job id; a run is picked by job.
    let mut jobs: Vec<(u32, Option<(u32, u32)>)> = vec![];
    let mut runs: Vec<String> = vec![];
    for (gap, act) in acts {
        now += f64::from(*gap) * 0.7;
        story.at(now);
        let job = |pick: u32| jobs.get(pick as usize % jobs.len().max(1)).map_or((99, None), |job| *job);
        let run_of = |pick: u32| runs.get(pick as usize % runs.len().max(1)).cloned().unwrap_or_else(|| "99.0".into());
        match act {
            Act::Submit { array, hold } => {
                let tasks = array.map(|tasks| (0..tasks).collect());
                story.submit(next_job, |spec| {
                    spec.hold = *hold;
                    spec.array = tasks.map(|tasks| daybook_schemas::job::ArrayRequest { tasks, running_max: None });
                });
                match array {
                    None => jobs.push((next_job, None)),
                    Some(tasks) => jobs.extend((0..*tasks).map(|task| {
                        let id = if task + 1 == *tasks { next_job } else { next_job + 1 + task };
                        (id, Some((next_job, task)))
                    })),
                }
                next_job += array.unwrap_or(1);
            }
            Act::Allocate { pick, start, node, cpu, gpu, both } => {
                let (id, task) = job(*pick);
                let gpus: Vec<u32> = if *gpu < 3 { vec![*gpu] } else { vec![] };
                let mut shares = vec![share(name(*node), &cpu.to_string(), &gpus)];
                if *both {
                    shares.push(share(name(!*node), &cpu.to_string(), &[]));
                }
                let id = format!("{id}.{start}");
                let array = task.filter(|_| *start == 0);
                let array = array.map(|(array, task)| ArrayTaskId { array_job: daybook_schemas::JobId(array), task });
                story.add(allocation(&id, array, shares));
                runs.push(id);
            }
            Act::Start(pick) => {
                story.start(&run_of(*pick), "a");
            }
            Act::End { pick, cause, ago, code } => {
                story.end_of(now - f64::from(*ago), &run_of(*pick), "a", *cause, exit(*code, 0));
            }
            Act::Lost { pick, ago } => {
                story.add(RunLost {
                    run: run(&run_of(*pick)),
                    node: "a".into(),
                    last_evidence: at(now - f64::from(*ago)),
                    message: String::new(),
                });
            }
            Act::Release { pick, node, ago } => {
                story.release_of(now - f64::from(*ago), &run_of(*pick), name(*node));
            }
            Act::Cancel(pick) => {
                story.cancel(job(*pick).0, None, 7);
            }
            Act::CancelTask(pick, task) => {
                story.cancel(job(*pick).0, Some(&task.to_string()), 7);
            }
            Act::Hold(pick) => {
                story.add(JobHeld { target: target(job(*pick).0, None), by_administrator: false });
            }
            Act::Free(pick) => {
                story.add(JobReleased { target: target(job(*pick).0, None) });
            }
            Act::Requeue(pick, hold) => {
                story.requeue(job(*pick).0, *hold);
            }
            Act::Node { node, state } => {
                story.set_node(name(*node), *state);
            }
            Act::Register { node, gpus } => {
                story.register(name(*node), *gpus);
            }
            Act::Configure { first, second, gpus } => {
                let nodes = [(*first, node("a", 4, *gpus)), (*second, node("b", 4, 2))];
                story.add(configuration(nodes.into_iter().filter(|(there, _)| *there).map(|(_, node)| node).collect()));
            }
        }
    }
    story
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
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn books_are_conserved_and_do_not_depend_on_how_the_log_was_posted(
        acts in prop::collection::vec((0..40u32, acts()), 1..120),
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
