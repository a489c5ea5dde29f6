//! What GPUs and nodes were doing: the rows of the physical book's table in `docs/ledger.md`, with their figures.

mod support;

use daybook_schemas::api::CapacityQuery;
use daybook_schemas::events::NodeUpdated;
use daybook_schemas::node::*;
use daybook_schemas::run::EndCause;
use daybook_schemas::{GpuUuid, NodeName};
use expect_test::expect;
use support::*;

/// One node with one CPU and one GPU, configured at 0 and registered at 100.
fn one_gpu() -> Story {
    let mut story = Story::new();
    story.add(configuration(vec![node("n", 1, 1)])).at(100.0).register("n", 1);
    story
}

#[test]
fn a_gpu_is_unknown_until_its_node_registers_and_then_idle() {
    expect![[r#"
        n cpus: 150 = idle 50 + unknown 100
        n/gpu0: 150 = idle 50 + unknown 100
    "#]]
    .assert_eq(&one_gpu().at(150.0).book().capacity(0.0, 150.0));
}

#[test]
fn a_gpu_is_allocated_from_the_allocation_until_the_nodes_release() {
    let mut story = one_gpu();
    // Allocated at 110.9 (second 110); the script runs from 112 to 140; cleaned up at 145.2 (second 145).
    story
        .submit(1, |_| ())
        .at(110.9)
        .allocate("1.0", vec![share("n", "0", &[0])])
        .at(112.0)
        .start("1.0", "n");
    story
        .at(140.0)
        .end("1.0", "n", EndCause::Exited, exit(0, 0))
        .at(145.2)
        .release("1.0", "n")
        .at(200.0)
        .submit(2, |_| ());
    let book = story.book();
    expect![[r#"
        n cpus: 200 = allocated 35 + idle 65 + unknown 100
        n/gpu0: 200 = allocated 35 + idle 65 + unknown 100
    "#]]
    .assert_eq(&book.capacity(0.0, 200.0));
    expect![[r#"
        1 110.9 140 30s 35gpus
        1.batch 112 140 28s 0gpus
        2 - - 0s 0gpus
    "#]]
    .assert_eq(&book.records(&Default::default(), &["id", "start", "end", "elapsed", "gpu_seconds"]));
}

#[test]
fn a_release_counts_from_when_it_happened_not_from_when_it_was_logged() {
    let mut story = one_gpu();
    story.submit(1, |_| ()).at(110.0).allocate("1.0", vec![share("n", "0", &[0])]).start("1.0", "n");
    story.at(190.0).end_of(140.0, "1.0", "n", EndCause::Exited, exit(0, 0)).release_of(141.0, "1.0", "n");
    expect![[r#"
        n cpus: 100 = allocated 31 + idle 69
        n/gpu0: 100 = allocated 31 + idle 69
    "#]]
    .assert_eq(&story.book().capacity(100.0, 200.0));
}

#[test]
fn a_nodes_book_only_goes_forward() {
    let mut story = one_gpu();
    story.submit(1, |_| ()).at(110.0).allocate("1.0", vec![share("n", "0", &[0])]).start("1.0", "n");
    // Drained at 160 while it runs; a release that says 141 afterwards is one of 160.
    story.at(160.0).set_node("n", NodeUpdateState::Drain);
    story.at(190.0).end_of(140.0, "1.0", "n", EndCause::Exited, exit(0, 0)).release_of(141.0, "1.0", "n");
    // So nothing that was said to be allocated when the drain came is taken back.
    expect![[r#"
        n cpus: 100 = allocated 50 + idle 10 + drained 40
        n/gpu0: 100 = allocated 50 + idle 10 + drained 40
    "#]]
    .assert_eq(&story.book().capacity(100.0, 200.0));
}

#[test]
fn drained_and_down_count_where_nothing_is_allocated() {
    let mut story = one_gpu();
    story.submit(1, |_| ()).at(110.0).allocate("1.0", vec![share("n", "0", &[0])]);
    story.at(120.0).set_node("n", NodeUpdateState::Drain).at(130.0).end(
        "1.0",
        "n",
        EndCause::Exited,
        exit(0, 0),
    );
    story.release("1.0", "n").at(140.0).set_node("n", NodeUpdateState::Down);
    story.at(160.0).set_node("n", NodeUpdateState::Undrain).at(170.0).set_node("n", NodeUpdateState::Resume);
    story.at(180.0).add(NodeUpdated::new("n".into(), None, Some("note".into())));
    let book = story.book();
    expect![[r#"
        n cpus: 100 = allocated 20 + idle 40 + drained 10 + down 30
        n/gpu0: 100 = allocated 20 + idle 40 + drained 10 + down 30
    "#]]
    .assert_eq(&book.capacity(100.0, 200.0));
    let history: Vec<String> = book
        .book
        .node_history(&NodeName::from("n"))
        .unwrap()
        .iter()
        .map(|line| {
            format!("{} {:?} by {}({:?}): {:?}\n", since(line.at), line.act, line.by, line.uid, line.reason)
        })
        .collect();
    expect![[r#"
        0 Added by root(Some(0)): None
        100 Registered by root(Some(0)): None
        120 Set(Drain) by root(Some(0)): Some("why")
        140 Set(Down) by root(Some(0)): Some("why")
        160 Set(Undrain) by root(Some(0)): Some("why")
        170 Set(Resume) by root(Some(0)): Some("why")
        180 Reason by root(Some(0)): Some("note")
    "#]]
    .assert_eq(&history.concat());
}

#[test]
fn a_node_that_is_configured_down_is_down_before_it_registers() {
    let mut down = node("n", 1, 1);
    down.initial = Some(InitialNodeState { state: NodeUpdateState::Down, reason: "new".into() });
    let mut story = Story::new();
    story
        .add(configuration(vec![down]))
        .at(10.0)
        .register("n", 1)
        .at(30.0)
        .set_node("n", NodeUpdateState::Resume);
    expect![[r#"
        n cpus: 40 = idle 10 + down 30
        n/gpu0: 40 = idle 10 + down 30
    "#]]
    .assert_eq(&story.book().capacity(0.0, 40.0));
}

#[test]
fn a_gpu_that_the_agent_does_not_find_is_down() {
    let mut story = Story::new();
    story.add(configuration(vec![node("n", 1, 2)])).at(10.0).register("n", 1);
    expect![[r#"
        n cpus: 30 = idle 20 + unknown 10
        n/gpu0: 30 = idle 20 + unknown 10
        n/gpu1: 30 = down 20 + unknown 10
    "#]]
    .assert_eq(&story.book().capacity(0.0, 30.0));
}

#[test]
fn a_gpu_found_in_the_place_of_a_configured_one_takes_that_place() {
    let mut story = Story::new();
    story.add(configuration(vec![node("n", 1, 1)]));
    let mut found = gpu("n", 0);
    found.uuid = GpuUuid::from("GPU-5ee");
    story.at(10.0).register("n", 0).at(20.0).register("n", 1).at(30.0);
    let mut with_uuid = story.clone();
    with_uuid.commits.pop();
    with_uuid.at(20.0).add(daybook_schemas::events::NodeRegistered {
        node: "n".into(),
        boot_id: "b".into(),
        cpus: 1,
        memory: daybook_schemas::Mebibytes(16_000),
        gpus: vec![found],
        agent_version: "0".into(),
        operating_system: "Linux".into(),
        architecture: "x86_64".into(),
        unconfined: None,
    });
    // The same configuration again changes nothing.
    with_uuid.at(30.0).add(configuration(vec![node("n", 1, 1)]));
    expect![[r#"
        n cpus: 50 = idle 40 + unknown 10
        GPU-5ee: 30 = idle 30
        n/gpu0: 20 = down 10 + unknown 10
    "#]]
    .assert_eq(&with_uuid.book().capacity(0.0, 50.0));
}

#[test]
fn installed_time_ends_when_a_configuration_drops_the_node_at_the_latest_with_its_last_run() {
    let mut story = Story::new();
    story.add(configuration(vec![node("a", 4, 2), node("b", 4, 1)])).register("a", 2).register("b", 1);
    story.submit(1, |_| ()).at(10.0).allocate("1.0", vec![share("a", "0", &[0])]);
    story.at(20.0).add(configuration(vec![node("c", 1, 0)]));
    story
        .at(30.0)
        .end("1.0", "a", EndCause::Exited, exit(0, 0))
        .release("1.0", "a")
        .at(60.0)
        .submit(2, |_| ());
    expect![[r#"
        a cpus: 90 = allocated 20 + idle 70
        a/gpu0: 30 = allocated 20 + idle 10
        a/gpu1: 20 = idle 20
        b cpus: 80 = idle 80
        b/gpu0: 20 = idle 20
        c cpus: 40 = unknown 40
    "#]]
    .assert_eq(&story.book().capacity(0.0, 60.0));
    // Configured again, it is there again; the time between is nobody's.
    story
        .at(70.0)
        .add(configuration(vec![node("a", 4, 2), node("c", 1, 0)]))
        .at(75.0)
        .register("a", 2)
        .at(80.0);
    expect![[r#"
        a cpus: 130 = allocated 20 + idle 90 + unknown 20
        a/gpu0: 40 = allocated 20 + idle 15 + unknown 5
        a/gpu1: 30 = idle 25 + unknown 5
        b cpus: 80 = idle 80
        b/gpu0: 20 = idle 20
        c cpus: 60 = unknown 60
    "#]]
    .assert_eq(&story.book().capacity(0.0, 80.0));
}

#[test]
fn cpus_are_counted_in_cpu_seconds_and_shared_by_runs() {
    let mut story = Story::with_cluster();
    story.submit(1, |_| ()).submit(2, |_| ());
    story.at(10.0).allocate("1.0", vec![share("gpu01", "0-3", &[0]), share("node01", "0-7", &[])]);
    story.at(20.0).allocate("2.0", vec![share("gpu01", "4-5", &[1, 2])]);
    story.at(30.0).end("1.0", "gpu01", EndCause::Exited, exit(0, 0)).release("1.0", "node01");
    story.at(35.0).release("1.0", "gpu01");
    let book = story.book();
    // gpu01: 4 CPUs for 25 s and 2 for 20 s of 8 for 40 s; node01: 8 for 20 s.
    expect![[r#"
        gpu01 cpus: 320 = allocated 140 + idle 180
        gpu01/gpu0: 40 = allocated 25 + idle 15
        gpu01/gpu1: 40 = allocated 20 + idle 20
        gpu01/gpu2: 40 = allocated 20 + idle 20
        gpu01/gpu3: 40 = idle 40
        node01 cpus: 320 = allocated 160 + idle 160
    "#]]
    .assert_eq(&book.capacity(0.0, 40.0));
    // 1 GPU for 25 s; 2 GPUs for 15 s up to now (35).
    expect![[r#"
        1 25gpus
        1.batch 0gpus
        2 30gpus
    "#]]
    .assert_eq(&book.records(&Default::default(), &["id", "gpu_seconds"]));
}

#[test]
fn an_overtaken_allocation_gives_nothing_and_is_kept_as_void() {
    let mut story = Story::with_cluster();
    story.submit(1, |_| ()).submit(2, |_| ()).submit(3, |_| ()).submit(4, |_| ());
    story.at(5.0).cancel(1, None, 0).allocate("1.0", vec![share("gpu01", "0", &[0])]);
    story.allocate("2.0", vec![share("gpu01", "0", &[0])]).allocate("2.1", vec![share("gpu01", "1", &[1])]);
    story.allocate("3.0", vec![share("gpu01", "0", &[1])]).allocate("3.0", vec![share("gpu01", "1", &[0])]);
    story.allocate("3.1", vec![share("gpu01", "1", &[1])]).allocate("3.0", vec![share("gpu01", "1", &[7])]);
    story.allocate("3.0", vec![share("nosuch", "1", &[])]).allocate("3.0", vec![share("gpu01", "8", &[])]);
    story.allocate("9.0", vec![share("gpu01", "1", &[])]).allocate("4.0", vec![]);
    story.set_node("node01", NodeUpdateState::Down).allocate("4.0", vec![share("node01", "1", &[])]);
    story
        .add(configuration(vec![node("gpu01", 8, 4), node("new", 1, 0)]))
        .allocate("4.0", vec![share("new", "0", &[])]);
    let book = story.book();
    let void: Vec<String> = book
        .book
        .void_allocations()
        .unwrap()
        .iter()
        .map(|void| format!("{}: {}\n", void.run, void.why))
        .collect();
    expect![[r#"
        1.0: job 1 has ended
        2.1: job 2 runs already
        3.0: node gpu01 has given CPUs of it to run 2.0
        3.0: node gpu01 has given GPU gpu01/gpu0 to run 2.0
        3.1: the next start of job 3 is 0, not 1
        3.0: node gpu01 has no GPU gpu01/gpu7
        3.0: node nosuch is not configured
        3.0: node gpu01 has no CPU 8
        9.0: there is no job 9
        4.0: it names no node
        4.0: node node01 is down
        4.0: node new has never registered
    "#]]
    .assert_eq(&void.concat());
    expect![[r#"
        1 - CANCELLED by 0
        2 2.0 RUNNING
        3 - PENDING
        4 - PENDING
    "#]]
    .assert_eq(&book.records(&Default::default(), &["id", "run", "state"]));
}

#[test]
fn a_run_starts_again_only_when_nothing_of_its_last_start_is_left() {
    let mut story = Story::with_cluster();
    story
        .submit(1, |_| ())
        .at(5.0)
        .allocate("1.0", vec![share("gpu01", "0", &[0]), share("node01", "0", &[])]);
    story.at(10.0).end("1.0", "gpu01", EndCause::NodeFailed, exit(0, 0)).release("1.0", "gpu01");
    story.at(200.0).allocate("1.1", vec![share("gpu01", "0", &[0])]);
    story
        .at(210.0)
        .release("1.0", "node01")
        .at(211.0)
        .allocate("1.1", vec![share("gpu01", "0", &[0])])
        .at(220.0);
    let all = daybook_schemas::api::AccountingQuery { duplicates: true, ..Default::default() };
    expect![[r#"
        1 1.0 NODE_FAIL 5 5gpus
        1 1.1 RUNNING 211 9gpus
    "#]]
    .assert_eq(&story.book().records(&all, &["id", "run", "state", "start", "gpu_seconds"]));
}

#[test]
fn without_a_window_the_book_goes_from_the_first_registration_to_the_watermark() {
    let mut story = one_gpu();
    story.at(160.0).submit(1, |_| ());
    let book = story.book();
    let answer = book.book.capacity(&CapacityQuery::default(), at(9999.0)).unwrap();
    assert_eq!(
        (since(answer.start), since(answer.end), answer.complete_up_to.0),
        ("100".into(), "160".into(), 3)
    );
    assert_eq!(answer.rows.iter().map(|row| row.installed).collect::<Vec<_>>(), [60, 60]);
    // A window may go on until now, not into the future.
    let later = CapacityQuery { start: Some(at(150.5)), end: Some(at(500.0)), nodes: vec!["n".into()] };
    let answer = book.book.capacity(&later, at(170.9)).unwrap();
    assert_eq!((since(answer.start), since(answer.end)), ("150".into(), "170".into()));
    let none = CapacityQuery { nodes: vec!["other".into()], ..Default::default() };
    assert!(book.book.capacity(&none, at(170.0)).unwrap().rows.is_empty());
    let backwards = CapacityQuery { start: Some(at(2.0)), end: Some(at(1.0)), nodes: vec![] };
    assert!(book.book.capacity(&backwards, at(170.0)).is_err());
}
