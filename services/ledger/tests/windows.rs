//! Which records a question finds.

mod support;

use daybook_schemas::api::AccountingQuery;
use daybook_schemas::job::JobState;
use daybook_schemas::run::EndCause;
use expect_test::expect;
use support::*;

/// 1: ran 10 to 20. 2: ran from 10 to 100,000. 3: waits. 4: held. 5: begins tomorrow. 6: cancelled at 40 while held. 7: runs.
fn story() -> Story {
    let mut story = Story::with_cluster();
    story.at(1.0).submit(1, |spec| spec.name = "one".into());
    story.submit(2, |spec| {
        std::sync::Arc::make_mut(&mut spec.user).uid = 1002;
        spec.account = Some("bio".into());
    });
    story.at(5.0).submit(3, |_| ()).submit(4, |spec| spec.hold = true);
    story
        .submit(5, |spec| spec.begin = Some(at(86_400.0)))
        .submit(6, |spec| spec.hold = true)
        .submit(7, |_| ());
    story
        .at(10.0)
        .allocate("1.0", vec![share("node01", "0", &[])])
        .allocate("2.0", vec![share("gpu01", "0", &[])]);
    story.at(20.0).end("1.0", "node01", EndCause::Exited, exit(1, 0)).at(40.0).cancel(6, None, 1001);
    story.at(50.0).allocate("7.0", vec![share("gpu01", "1", &[]), share("node01", "1", &[])]);
    story.at(100_000.0).end("2.0", "gpu01", EndCause::TimeLimit, exit(0, 15));
    story
}

fn window(from: f64, to: f64) -> AccountingQuery {
    AccountingQuery { start: Some(at(from)), end: Some(at(to)), ..Default::default() }
}

#[test]
fn a_window_has_what_was_eligible_or_ended_in_it() {
    let book = story().book();
    let mut text = String::new();
    for (from, to) in [
        (-10.0, 0.0),
        (0.0, 4.0),
        (0.0, 30.0),
        (20.0, 20.0),
        (21.0, 30.0),
        (30.0, 60.0),
        (100_001.0, 200_000.0),
    ] {
        text.push_str(&format!("{from} to {to}: {}\n", book.ids(&window(from, to))));
    }
    let from_only = AccountingQuery { start: Some(at(99_000.0)), ..Default::default() };
    let to_only = AccountingQuery { end: Some(at(3.0)), ..Default::default() };
    text.push_str(&format!("from 99000: {}\nto 3: {}\n", book.ids(&from_only), book.ids(&to_only)));
    text.push_str(&format!("everything: {}\n", book.ids(&AccountingQuery::default())));
    expect![[r#"
        -10 to 0: 
        0 to 4: 1 2
        0 to 30: 1 2 3 7
        20 to 20: 1 2 3 7
        21 to 30: 2 3 7
        30 to 60: 2 3 6 7
        100001 to 200000: 3 5 7
        from 99000: 2 3 5 7
        to 3: 1 2
        everything: 1 2 3 4 5 6 7
    "#]]
    .assert_eq(&text);
}

#[test]
fn states_mean_what_happened_in_the_window_and_without_one_what_is() {
    let book = story().book();
    let mut text = String::new();
    for state in
        [JobState::Pending, JobState::Running, JobState::Failed, JobState::Timeout, JobState::Cancelled]
    {
        let states = vec![state];
        let now = book.ids(&AccountingQuery { states: states.clone(), ..Default::default() });
        let early = book.ids(&AccountingQuery { states: states.clone(), ..window(0.0, 30.0) });
        let late = book.ids(&AccountingQuery { states, ..window(30.0, 100_000.0) });
        text.push_str(&format!("{}: now {now} | 0 to 30: {early} | 30 to 100000: {late}\n", state.word()));
    }
    expect![[r#"
        PENDING: now 3 4 5 | 0 to 30: 1 2 3 7 | 30 to 100000: 3 5 7
        RUNNING: now 7 | 0 to 30: 1 2 | 30 to 100000: 2 7
        FAILED: now 1 | 0 to 30: 1 | 30 to 100000: 
        TIMEOUT: now 2 | 0 to 30:  | 30 to 100000: 2
        CANCELLED: now 6 | 0 to 30:  | 30 to 100000: 6
    "#]]
    .assert_eq(&text);
}

#[test]
fn other_restrictions_must_all_hold() {
    let book = story().book();
    let query = AccountingQuery::default();
    let mut text = String::new();
    for (what, query) in [
        ("user", AccountingQuery { uids: vec![1002], ..query.clone() }),
        ("account", AccountingQuery { accounts: vec!["bio".into(), "x".into()], ..query.clone() }),
        ("name", AccountingQuery { names: vec!["one".into()], ..query.clone() }),
        ("partition", AccountingQuery { partitions: vec!["short".into()], ..query.clone() }),
        ("node", AccountingQuery { nodes: vec!["node01".into()], ..query.clone() }),
        (
            "user and node",
            AccountingQuery { uids: vec![1002], nodes: vec!["node01".into()], ..query.clone() },
        ),
    ] {
        text.push_str(&format!("{what}: {}\n", book.ids(&query)));
    }
    expect![[r#"
        user: 2
        account: 2
        name: 1
        partition: 
        node: 1 7
        user and node: 
    "#]]
    .assert_eq(&text);
    assert!(book.book.accounting(&window(2.0, 1.0), book.now).is_err());
}
