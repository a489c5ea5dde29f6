//! What of a node's free GPUs a mix could not use.

mod support;

use daybook_plan::fragmentation::{
    Memo, Mix, Room, Shape, WHOLE_GPU, WHOLE_MEMORY, least_growth, of_cycle, unusable,
};
use daybook_schemas::Mebibytes;
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::{ArrayRequest, MemoryRequest};
use proptest::prelude::*;
use support::script::Options;
use support::script::jobs::set_request;
use support::{Simulation, configuration, job, node, parameters, partition};

fn shape(cpus: u64, gpus: u32, share: u32) -> Shape {
    Shape { cpus, memory: 0, gpus, share, gpu_types: Vec::new(), exclusive: false }
}

fn typed(name: &str, shape: Shape) -> Shape {
    Shape { gpu_types: vec![name.to_string()], ..shape }
}

fn mix(shapes: &[(Shape, u64)]) -> Mix {
    Mix::of(shapes.to_vec(), 1_000, usize::MAX)
}

/// `a:1000 a:250 b:500`: types with what is free of each.
fn gpus(text: &str) -> Vec<(&str, u32)> {
    let pairs = text.split_whitespace().map(|word| word.split_once(':').expect("type:free"));
    pairs.map(|(name, free)| (name, free.parse().expect("a number"))).collect()
}

#[test]
fn a_request_can_use_what_as_many_of_it_as_fit_leave_nothing_of() {
    let whole = |count: u32| shape(1_000, count, WHOLE_GPU);
    let memory = |amount: u64| Shape { memory: amount, ..whole(1) };
    let alone = Shape { exclusive: true, ..whole(1) };
    // Free GPUs; CPUs and memory free; nobody is there; request; of no use to it.
    let table = [
        // It fits as often as there are GPUs.
        ("a:1000 a:1000", 2_000, 0, false, whole(1), 0),
        // CPUs for one of two, and for none.
        ("a:1000 a:1000", 1_999, 0, false, whole(1), 1_000),
        ("a:1000 a:1000", 999, 0, false, whole(1), 2_000),
        // No GPU wanted: all is of no use. Nothing free: nothing is.
        ("a:1000 a:400", 9_000, 0, false, shape(1_000, 0, 0), 1_400),
        ("", 9_000, 0, false, whole(1), 0),
        // A rest that is too small.
        ("a:1000 a:400", 9_000, 0, false, whole(1), 400),
        ("a:1000 a:400", 9_000, 0, false, shape(1_000, 1, 500), 400),
        // Large enough, though not without a rest: that is for smaller ones.
        ("a:1000 a:400", 9_000, 0, false, shape(1_000, 1, 300), 0),
        // 3 + 1 shares, CPUs for two: half of what they are on.
        ("a:1000 a:400", 2_000, 0, false, shape(1_000, 1, 300), 700),
        // Several GPUs: those beyond a multiple are of no use, and too few are of none.
        ("a:1000 a:1000 a:1000", 9_000, 0, false, whole(2), 1_000),
        ("a:1000 a:1000 a:1000", 9_000, 0, false, whole(4), 3_000),
        // Its shares are on different GPUs: of 2 + 1 shares of 400 two make one request.
        ("a:1000 a:500", 9_000, 0, false, shape(1_000, 2, 400), 500),
        ("a:1000", 9_000, 0, false, shape(1_000, 2, 400), 1_000),
        // Types.
        ("a:1000 b:1000 b:1000", 9_000, 0, false, typed("b", whole(1)), 1_000),
        ("a:1000 b:1000", 9_000, 0, false, typed("c", whole(1)), 2_000),
        // Memory for one of two; all of a node's memory only where nobody has any.
        ("a:1000 a:1000", 9_000, 7_999, false, memory(4_000), 1_000),
        ("a:1000 a:1000", 9_000, 8_000, true, memory(WHOLE_MEMORY), 1_000),
        ("a:1000 a:1000", 9_000, 8_000, false, memory(WHOLE_MEMORY), 2_000),
        // Alone it has all GPUs; beside others it cannot be.
        ("a:1000 a:1000", 9_000, 0, true, alone.clone(), 0),
        ("a:1000 a:1000", 9_000, 0, false, alone, 2_000),
    ];
    for (free, cpus, memory, untouched, request, expected) in table {
        let room = Room::new(cpus, memory, untouched, gpus(free));
        assert_eq!(unusable(&room, &mix(&[(request.clone(), 1)])), expected, "{request:?} on {room:?}");
    }
}

#[test]
fn requests_weigh_as_often_as_they_come() {
    let room = Room::new(2_000, 0, false, gpus("a:1000 a:1000 a:100"));
    let mix = mix(&[(shape(1_000, 1, WHOLE_GPU), 3), (shape(2_000, 1, WHOLE_GPU), 1), (shape(0, 0, 0), 2)]);
    assert_eq!((unusable(&room, &mix), mix.weight()), (3 * 100 + 1_100 + 2 * 2_100, 6));
    // Two such nodes, and two with nothing free.
    let full = Room::new(8_000, 0, false, gpus("a:0"));
    let figure = of_cycle([full.clone(), room.clone(), full, room], &mix);
    assert_eq!((figure.gpus_free, figure.gpus_unusable), (4_200, Some(2 * 5_600 / 6)));
    assert_eq!(figure.steps, 3, "two nodes, alike");
    let nobody = of_cycle([Room::new(0, 0, true, gpus("a:1000"))], &Mix::default());
    assert_eq!((nobody.gpus_free, nobody.gpus_unusable), (1_000, None));
}

#[test]
fn a_mix_has_the_most_frequent_shapes_that_cover_enough() {
    let counts = [(2, 10), (1, 10), (3, 75), (4, 5), (2, 0), (1, 1)]
        .map(|(cpus, count)| (shape(cpus, 1, 1_000), count));
    // 75, 11, 10 and 5 of 101.
    for (per_mille, most, shapes, weight) in [
        (742, 9, 1, 75),
        (743, 9, 2, 86),
        (950, 9, 3, 96),
        (1_000, 9, 4, 101),
        (1_000, 2, 2, 86),
        (0, 9, 0, 0),
    ] {
        let mix = Mix::of(counts.clone(), per_mille, most);
        assert_eq!((mix.len(), mix.weight()), (shapes, weight), "{per_mille} per mille, at most {most}");
    }
}

#[test]
fn an_average_part_weighs_as_much_as_the_mix() {
    // (2 × 3,000 + 4,000) CPUs beside (2 × 500 + 1,500) of GPUs: 4,000 for a whole one, 1,000 for a quarter.
    let asked = mix(&[(shape(3_000, 1, 500), 2), (shape(4_000, 3, 500), 1)]);
    let with_part = asked.clone().with_average_part(250);
    assert_eq!((with_part.len(), with_part.weight()), (3, 6));
    for (cpus, free) in [(999, "a:1000"), (3_000, "a:1000 a:200"), (9_000, "a:249"), (9_000, "a:250")] {
        let room = Room::new(cpus, 0, false, gpus(free));
        let of_part = unusable(&room, &mix(&[(shape(1_000, 1, 250), 1)]));
        assert_eq!(unusable(&room, &with_part), unusable(&room, &asked) + 3 * of_part, "{room:?}");
    }
    let no_gpu = mix(&[(shape(1_000, 0, 0), 2)]);
    assert_eq!(no_gpu.clone().with_average_part(250), no_gpu);
}

#[test]
fn a_placement_grows_it_least_where_nobody_else_could_use_what_is_taken() {
    let mix = mix(&[(shape(1_000, 1, WHOLE_GPU), 1), (shape(1_000, 1, 300), 1)]);
    let room = Room::new(8_000, 0, false, gpus("a:1000 a:500"));
    let (growth, left) = least_growth(&room, &shape(1_000, 1, 400), &mut Memo::new(&mix)).expect("it fits");
    // From the smaller: 500 of no use to one become 100 of no use to both. From the whole one: 600 more of no use to one.
    assert_eq!((growth, left), (2 * 100 - 500, Room::new(7_000, 0, false, gpus("a:100 a:1000"))));
    for too_much in [shape(8_001, 1, 100), shape(0, 2, 501), typed("b", shape(0, 1, 1))] {
        assert_eq!(least_growth(&room, &too_much, &mut Memo::new(&mix)), None, "{too_much:?}");
    }
}

#[test]
fn a_submission_counts_as_what_it_takes_of_one_node() {
    // Options of a submission; memory is counted; CPUs, memory, GPUs, types, alone.
    let table = [
        ("gres=2 c=3", true, Some((3, 3_000, 2, "", false))),
        ("gres=2 c=3", false, Some((3, 0, 2, "", false))),
        ("c=3", true, None),
        ("gres=a100:1,h100:2", true, Some((1, 1_000, 3, "a100,h100", false))),
        ("gres=a100:1 gpt=1", true, Some((1, 1_000, 2, "", false))),
        // Four tasks on two nodes.
        ("N=2 n=4 c=2 gpt=a100:1 mem=700", true, Some((4, 700, 2, "a100", false))),
        ("N=2-3 gpus=5 mem_per_gpu=100", true, Some((1, 300, 3, "", false))),
        ("N=2 gres=1 mem=0 exclusive", true, Some((1, WHOLE_MEMORY, 1, "", true))),
        ("gres=1 tpn=4 mem_per_cpu=10", true, Some((4, 40, 1, "", false))),
    ];
    for (options, memory_is_consumed, expected) in table {
        let mut simulation = Simulation::new();
        let mut parameters = parameters();
        parameters.memory_is_consumed = memory_is_consumed;
        parameters.default_memory = Some(MemoryRequest::PerCpu(Mebibytes(1_000)));
        simulation.configure(configuration(
            vec![node("n", 8, 0, &[])],
            vec![partition("main", &["n"])],
            parameters,
        ));
        let mut spec = job("job", "main", 10);
        let pairs = options.split_whitespace().map(|word| word.split_once('=').unwrap_or((word, "")));
        set_request(&mut spec, &mut Options(pairs.collect()));
        spec.array = Some(ArrayRequest { tasks: IndexSet::range(0, 4), running_max: None });
        simulation.submit(spec);
        let usual: Vec<_> = simulation.cluster.usual_requests().collect();
        let found = usual.first().map(|(request, count)| {
            let types = request.gpu_types.join(",");
            ((request.cpus, request.memory, request.gpus, types, request.exclusive), *count)
        });
        let expected = expected
            .map(|(cpus, memory, gpus, types, alone)| ((cpus, memory, gpus, types.to_string(), alone), 5));
        assert_eq!(found, expected, "{options}, memory counted: {memory_is_consumed}");
    }
}

fn any_shape() -> impl Strategy<Value = Shape> {
    let memory = prop_oneof![4 => 0u64..9_000, 1 => Just(WHOLE_MEMORY)];
    let share = prop_oneof![2 => Just(WHOLE_GPU), 2 => 1..=WHOLE_GPU];
    let types = prop::sample::subsequence(vec!["a", "b"], 0..=2);
    (0u64..9_000, memory, 0u32..5, share, types, prop::bool::weighted(0.1)).prop_map(
        |(cpus, memory, gpus, share, types, exclusive)| {
            let gpu_types = types.into_iter().map(str::to_string).collect();
            Shape { cpus, memory, gpus, share, gpu_types, exclusive }
        },
    )
}

fn any_gpus() -> impl Strategy<Value = Vec<(&'static str, u32)>> {
    let free = prop_oneof![2 => Just(WHOLE_GPU), 2 => 0..=WHOLE_GPU];
    prop::collection::vec((prop::sample::select(vec!["a", "b", "c"]), free), 0..9)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_is_between_nothing_and_all_that_is_free_and_knows_no_order(
        (gpus, shuffled) in any_gpus().prop_flat_map(|gpus| (Just(gpus.clone()), Just(gpus).prop_shuffle())),
        (shapes, mixed) in prop::collection::vec((any_shape(), 1u64..50), 1..9)
            .prop_flat_map(|shapes| (Just(shapes.clone()), Just(shapes).prop_shuffle())),
        (cpus, memory, untouched) in (0u64..30_000, 0u64..30_000, any::<bool>()),
        more in 0u64..10_000,
    ) {
        let of = mix(&shapes);
        let room = Room::new(cpus, memory, untouched, gpus.clone());
        let found = unusable(&room, &of);
        prop_assert!(found <= room.gpu_thousandths() * of.weight());
        prop_assert_eq!(found, unusable(&Room::new(cpus, memory, untouched, shuffled), &mix(&mixed)));
        // More CPUs and memory beside them never make GPUs of less use.
        prop_assert!(unusable(&Room::new(cpus + more, memory + more, untouched, gpus), &of) <= found);
        // What is remembered is what is found.
        let mut memo = Memo::new(&of);
        prop_assert_eq!((memo.unusable(&room), memo.unusable(&room)), (found, found));
    }

    #[test]
    fn where_all_of_the_mix_fits_everywhere_nothing_is_unusable(
        shapes in prop::collection::vec((0u64..9_000, 1..=WHOLE_GPU, 1u64..50), 1..9),
        count in 0usize..9,
    ) {
        let shapes: Vec<(Shape, u64)> =
            shapes.into_iter().map(|(cpus, share, weight)| (shape(cpus, 1, share), weight)).collect();
        // The smallest share is one thousandth: a thousand copies a GPU.
        let room = Room::new(9_000 * 1_000 * 9, 0, false, vec![("a", WHOLE_GPU); count]);
        prop_assert_eq!(unusable(&room, &mix(&shapes)), 0);
    }

    #[test]
    fn a_placement_takes_what_it_asks_and_the_best_is_the_least(
        gpus in any_gpus(),
        (wanted, shapes) in (any_shape(), prop::collection::vec((any_shape(), 1u64..50), 1..5)),
        (cpus, memory) in (0u64..30_000, 0u64..30_000),
    ) {
        let wanted = Shape { exclusive: false, memory: wanted.memory.min(9_000), ..wanted };
        let of = mix(&shapes);
        let room = Room::new(cpus, memory, false, gpus);
        let choices = room.without(&wanted);
        for left in &choices {
            prop_assert_eq!(left.cpus, room.cpus - wanted.cpus);
            prop_assert_eq!(left.memory, room.memory - wanted.memory);
            prop_assert_eq!(left.gpu_thousandths(), room.gpu_thousandths() - wanted.gpu_thousandths());
        }
        let best = choices.iter().map(|left| unusable(left, &of) as i64 - unusable(&room, &of) as i64).min();
        let found = least_growth(&room, &wanted, &mut Memo::new(&of));
        prop_assert_eq!(found.map(|(growth, _)| growth), best);
    }
}
