//! Arrays: one record until tasks start, and then one for each that has.

mod support;

use daybook_schemas::JobId;
use daybook_schemas::api::{AccountingQuery, JobSelector};
use daybook_schemas::events::JobHeld;
use daybook_schemas::run::EndCause;
use expect_test::expect;
use support::*;

const COLUMNS: [&str; 6] = ["id", "raw", "state", "start", "end", "exit"];

#[test]
fn tasks_become_records_when_they_start_and_the_last_one_takes_the_arrays_id() {
    let mut story = Story::with_cluster();
    story.at(1.0).array(20, "0-3", Some(2));
    expect![[r#"
        20_[0-3%2] 20 PENDING - - 0:0
    "#]]
    .assert_eq(&story.records(&COLUMNS));
    story.at(10.0).allocate_task("21.0", 20, 0, vec![share("node01", "0", &[])]).start("21.0", "node01");
    story.allocate_task("22.0", 20, 1, vec![share("node01", "1", &[])]).start("22.0", "node01");
    story.submit(24, |_| ());
    expect![[r#"
        20_0 21 RUNNING 10 - 0:0
        20_0.batch 21 RUNNING 10 - 0:0
        20_1 22 RUNNING 10 - 0:0
        20_1.batch 22 RUNNING 10 - 0:0
        20_[2-3%2] 20 PENDING - - 0:0
        24 24 PENDING - - 0:0
    "#]]
    .assert_eq(&story.records(&COLUMNS));
    story.at(12.0).end("22.0", "node01", EndCause::Exited, exit(1, 0)).release("22.0", "node01");
    story.allocate_task("23.0", 20, 2, vec![share("node01", "1", &[])]);
    story.allocate_task("20.0", 20, 3, vec![share("node01", "2", &[])]).start("20.0", "node01");
    story.at(15.0).end("20.0", "node01", EndCause::Exited, exit(0, 0));
    expect![[r#"
        20_0 21 RUNNING 10 - 0:0
        20_0.batch 21 RUNNING 10 - 0:0
        20_1 22 FAILED 10 12 1:0
        20_1.batch 22 FAILED 10 12 1:0
        20_2 23 RUNNING 12 - 0:0
        20_3 20 COMPLETED 12 15 0:0
        20_3.batch 20 COMPLETED 12 15 0:0
        24 24 PENDING - - 0:0
    "#]]
    .assert_eq(&story.records(&COLUMNS));
}

#[test]
fn waiting_tasks_that_are_cancelled_leave_the_arrays_record_and_the_last_of_them_end_it() {
    let mut story = Story::with_cluster();
    story.at(1.0).array(13, "1,3,5-9:2,20", Some(2));
    story.at(2.0).allocate_task("17.0", 13, 7, vec![share("node01", "0", &[])]).start("17.0", "node01");
    story.at(3.0).cancel(13, Some("3,5,9"), 1001);
    expect![[r#"
        13_7 17 RUNNING 2 - 0:0
        13_7.batch 17 RUNNING 2 - 0:0
        13_[1,20%2] 13 PENDING - - 0:0
    "#]]
    .assert_eq(&story.records(&COLUMNS));
    story.at(4.0).cancel(13, None, 1001).end("17.0", "node01", EndCause::Cancelled, exit(0, 15));
    expect![[r#"
        13_7 17 CANCELLED by 1001 2 4 0:0
        13_7.batch 17 CANCELLED 2 4 0:15
        13_[1,20%2] 13 CANCELLED by 1001 - 4 0:0
    "#]]
    .assert_eq(&story.records(&COLUMNS));
}

#[test]
fn where_the_last_task_was_cancelled_the_arrays_record_stands_for_it() {
    let mut story = Story::with_cluster();
    story.at(1.0).array(30, "0-1", None).at(2.0).cancel(30, Some("1"), 1001);
    story.at(3.0).allocate_task("31.0", 30, 0, vec![share("node01", "0", &[])]);
    expect![[r#"
        30_0 31 RUNNING 3 - 0:0
        30_1 30 CANCELLED by 1001 - 3 0:0
    "#]]
    .assert_eq(&story.records(&COLUMNS));
}

#[test]
fn a_requeued_task_waits_as_a_record_of_its_own() {
    let mut story = Story::with_cluster();
    story.at(1.0).array(40, "0-2", None);
    story.at(2.0).allocate_task("41.0", 40, 0, vec![share("node01", "0", &[])]).start("41.0", "node01");
    // That other tasks were cancelled is nothing to this one.
    story.at(3.0).cancel(40, Some("2"), 1001);
    story.at(4.0).allocate_task("42.0", 40, 1, vec![share("node01", "1", &[])]).start("42.0", "node01");
    story.at(9.0).end("42.0", "node01", EndCause::NodeFailed, exit(0, 0)).release("42.0", "node01");
    story.at(200.0).allocate("42.1", vec![share("node01", "1", &[])]).start("42.1", "node01");
    story.at(210.0).end("42.1", "node01", EndCause::Exited, exit(0, 0));
    let all = AccountingQuery { duplicates: true, allocations_only: true, ..Default::default() };
    expect![[r#"
        40_0 41 RUNNING 2 - 0:0
        40_1 42 NODE_FAIL 4 9 0:0
        40_2 40 CANCELLED by 1001 - 4 0:0
        40_1 42 COMPLETED 200 210 0:0
    "#]]
    .assert_eq(&story.book().records(&all, &COLUMNS));
}

#[test]
fn selectors_name_arrays_tasks_and_raw_ids() {
    let mut story = Story::with_cluster();
    story.at(1.0).array(20, "0-3", None).submit(24, |_| ());
    story.allocate_task("21.0", 20, 0, vec![share("node01", "0", &[])]);
    story.allocate_task("22.0", 20, 1, vec![share("node01", "1", &[])]);
    let book = story.book();
    let mut text = String::new();
    for (what, selectors) in [
        ("20", vec![(20, None)]),
        ("21", vec![(21, None)]),
        ("20_1", vec![(20, Some("1"))]),
        ("20_[0,3]", vec![(20, Some("0,3"))]),
        ("20_9", vec![(20, Some("9"))]),
        ("21_0", vec![(21, Some("0"))]),
        ("24", vec![(24, None)]),
        ("24_1", vec![(24, Some("1"))]),
        ("99", vec![(99, None)]),
        ("24,20,21", vec![(24, None), (20, None), (21, None)]),
    ] {
        let jobs = selectors
            .into_iter()
            .map(|(job, tasks)| JobSelector {
                job: JobId(job),
                tasks: tasks.map(|tasks: &str| tasks.parse().unwrap()),
            })
            .collect();
        text.push_str(&format!("{what}: {}\n", book.ids(&AccountingQuery { jobs, ..Default::default() })));
    }
    expect![[r#"
        20: 20_0 20_1 20_[2-3]
        21: 20_0
        20_1: 20_1
        20_[0,3]: 20_0 20_[2-3]
        20_9: 
        21_0: 
        24: 24
        24_1: 
        99: 
        24,20,21: 20_0 20_1 20_[2-3] 24
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_held_array_and_a_start_with_a_wrong_id() {
    let mut story = Story::with_cluster();
    story.at(1.0).array(20, "0-3", None).add(JobHeld { target: target(20, None), by_administrator: false });
    // Task 2 has the id 23, and the last one starts last.
    story.at(2.0).allocate_task("22.0", 20, 2, vec![share("node01", "0", &[])]);
    story.allocate_task("20.0", 20, 3, vec![share("node01", "0", &[])]);
    story.at(3.0).allocate_task("23.0", 20, 2, vec![share("node01", "0", &[])]);
    expect![[r#"
        20_2 23 RUNNING JobHeldUser
        20_[0-1,3] 20 PENDING JobHeldUser
    "#]]
    .assert_eq(&story.records(&["id", "raw", "state", "reason"]));
    let void: Vec<String> = story
        .book()
        .book
        .void_allocations()
        .unwrap()
        .iter()
        .map(|void| format!("{} at {}: {}", void.run, since(void.at), void.why))
        .collect();
    expect![[r#"
        22.0 at 2: task 2 cannot start as job 22
        20.0 at 2: task 3 cannot start as job 20
    "#]]
    .assert_eq(&(void.join("\n") + "\n"));
}
