//! What becomes of a job, and what its records say: the rows of the tables in `docs/ledger.md`.

mod support;

use daybook_schemas::accounts::PreemptMode;
use daybook_schemas::api::AccountingQuery;
use daybook_schemas::events::*;
use daybook_schemas::job::*;
use daybook_schemas::node::AccountingEnforcement;
use daybook_schemas::run::{EndCause, ExitStatus};
use daybook_schemas::{JobId, UtcMicros};
use expect_test::expect;
use support::*;

/// A job that starts at 10 and whose run ends at 20 in this way.
fn ended(cause: EndCause, exit: ExitStatus) -> Story {
    let mut story = Story::with_cluster();
    story.at(5.0).submit(1, |spec| spec.requeue = false);
    story.at(10.0).allocate("1.0", vec![share("node01", "0", &[])]);
    if !matches!(cause, EndCause::LaunchFailed | EndCause::NodeUnfit) {
        story.at(11.0).start("1.0", "node01");
    }
    if matches!(cause, EndCause::Cancelled) {
        story.at(19.0).cancel(1, None, 1001);
    }
    story.at(20.0).end("1.0", "node01", cause, exit).release("1.0", "node01");
    story
}

#[test]
fn a_runs_end_gives_the_state_and_exit_code_that_slurm_shows() {
    let mut text = String::new();
    for (what, cause, status) in [
        ("exit 0", EndCause::Exited, exit(0, 0)),
        ("exit 3", EndCause::Exited, exit(3, 0)),
        ("signal 11", EndCause::Exited, exit(0, 11)),
        ("time limit", EndCause::TimeLimit, exit(0, 15)),
        ("time limit, script ends well", EndCause::TimeLimit, exit(0, 0)),
        ("cancelled", EndCause::Cancelled, exit(0, 15)),
        ("cancelled, script says 9", EndCause::Cancelled, exit(9, 0)),
        ("launch failed", EndCause::LaunchFailed, exit(0, 53)),
        ("node unfit", EndCause::NodeUnfit, exit(0, 53)),
        ("node failed", EndCause::NodeFailed, exit(0, 0)),
        ("out of memory", EndCause::OutOfMemory, exit(0, 9)),
    ] {
        let records = ended(cause, status).records(&["id", "state", "exit"]);
        text.push_str(&format!("{what}: {}\n", records.trim_end().replace('\n', "; ")));
    }
    expect![[r#"
        exit 0: 1 COMPLETED 0:0; 1.batch COMPLETED 0:0
        exit 3: 1 FAILED 3:0; 1.batch FAILED 3:0
        signal 11: 1 FAILED 0:11; 1.batch CANCELLED 0:11
        time limit: 1 TIMEOUT 0:0; 1.batch CANCELLED 0:15
        time limit, script ends well: 1 TIMEOUT 0:0; 1.batch COMPLETED 0:0
        cancelled: 1 CANCELLED by 1001 0:0; 1.batch CANCELLED 0:15
        cancelled, script says 9: 1 CANCELLED by 1001 0:0; 1.batch FAILED 9:0
        launch failed: 1 FAILED 0:53
        node unfit: 1 FAILED 0:53
        node failed: 1 NODE_FAIL 0:0; 1.batch CANCELLED 0:0
        out of memory: 1 OUT_OF_MEMORY 0:125; 1.batch OUT_OF_MEMORY 0:125
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_script_without_a_process_has_got_the_term_that_it_would_have_got() {
    let mut story = Story::with_cluster();
    story.submit(1, |_| ()).at(10.0).allocate("1.0", vec![share("node01", "0", &[])]).start("1.0", "node01");
    story.at(20.0).add(RunEnded {
        run: run("1.0"),
        node: "node01".into(),
        cause: EndCause::TimeLimit,
        exit: exit(0, 0),
        message: None,
        usage: None,
    });
    expect![[r#"
        1 TIMEOUT 0:0
        1.batch CANCELLED 0:15
    "#]]
    .assert_eq(&story.records(&["id", "state", "exit"]));
}

#[test]
fn times_are_clamped_into_the_run_and_the_log() {
    let mut story = Story::with_cluster();
    // The node's clock is 100 seconds behind at the start and far ahead at the end.
    story.at(5.0).submit(1, |_| ()).at(10.5).allocate("1.0", vec![share("node01", "0", &[])]);
    story.at(11.0).add_of(-90.0, RunStarted { run: run("1.0"), node: "node01".into(), pid: None });
    story.at(20.25).end_of(9000.0, "1.0", "node01", EndCause::Exited, exit(0, 0));
    expect![[r#"
        1 10.5 20.2 10s
        1.batch 10.5 20.2 10s
    "#]]
    .assert_eq(&story.records(&["id", "start", "end", "elapsed"]));
}

#[test]
fn only_the_first_end_of_a_run_counts() {
    let mut story = ended(EndCause::Exited, exit(0, 0));
    story.at(30.0).end("1.0", "node01", EndCause::Exited, exit(1, 0));
    expect![[r#"
        1 COMPLETED 0:0 20
        1.batch COMPLETED 0:0 20
    "#]]
    .assert_eq(&story.records(&["id", "state", "exit", "end"]));
}

#[test]
fn a_lost_run_ends_at_the_last_evidence_and_says_so() {
    let mut story = Story::with_cluster();
    story
        .submit(1, |_| ())
        .at(10.0)
        .allocate("1.0", vec![share("gpu01", "0", &[0, 1])])
        .start("1.0", "gpu01");
    story.at(500.0).add(RunLost {
        run: run("1.0"),
        node: "gpu01".into(),
        last_evidence: at(70.0),
        message: "restarted".into(),
    });
    story.at(501.0).release("1.0", "gpu01");
    expect![[r#"
        1 NODE_FAIL 0:0 10 70? 60s 982gpus
        1.batch CANCELLED 0:0 10 70? 60s 0gpus
    "#]]
    .assert_eq(&story.records(&["id", "state", "exit", "start", "end", "elapsed", "gpu_seconds"]));
}

#[test]
fn a_node_that_lets_go_of_a_run_without_an_end_ends_it_there() {
    let mut story = Story::with_cluster();
    story.submit(1, |_| ()).at(10.0).allocate("1.0", vec![share("gpu01", "0", &[0])]).start("1.0", "gpu01");
    story.at(40.0).release("1.0", "gpu01");
    expect![[r#"
        1 NODE_FAIL 40? 30gpus
        1.batch CANCELLED 40? 0gpus
    "#]]
    .assert_eq(&story.records(&["id", "state", "end", "gpu_seconds"]));
}

/// A run with two GPUs from 10 on, whose node is heard last at 70; at 400 it is given up. `requeue`: the job may run again.
fn given_up(requeue: bool) -> Story {
    let mut story = Story::with_cluster();
    story.at(5.0).submit(1, |spec| spec.requeue = requeue);
    story.at(10.0).allocate("1.0", vec![share("gpu01", "0", &[0, 1])]);
    story.at(11.0).start("1.0", "gpu01");
    story.at(80.0).lease_lost("gpu01", 70.0);
    story.at(370.0).timed_out("gpu01", 70.0);
    story
}

const GIVEN_UP: [&str; 8] = ["id", "run", "state", "exit", "end", "elapsed", "gpu_seconds", "unseen"];

#[test]
fn a_run_on_a_silent_node_ends_at_the_last_sign_once_the_timeout_has_passed() {
    let mut story = given_up(false);
    expect![[r#"
        1 1.0 NODE_FAIL 0:0 70? 60s 120gpus 0unseen
        1.batch 1.0 CANCELLED 0:0 70? 59s 0gpus 0unseen
    "#]]
    .assert_eq(&story.records(&GIVEN_UP));
    // Only one that is silent can time out, and only once.
    story.at(380.0).lease_regained("gpu01").timed_out("gpu01", 379.0);
    assert!(story.records(&GIVEN_UP).starts_with("1 1.0 NODE_FAIL 0:0 70? "));
}

#[test]
fn what_the_node_says_later_corrects_the_record_and_not_its_state() {
    let mut story = given_up(false);
    story.at(500.0).lease_regained("gpu01");
    story.end_of(200.0, "1.0", "gpu01", EndCause::Exited, exit(3, 0)).release_of(205.0, "1.0", "gpu01");
    expect![[r#"
        1 1.0 NODE_FAIL 3:0 200! 190s 120gpus 260unseen
        1.batch 1.0 FAILED 3:0 200! 189s 0gpus 0unseen
    "#]]
    .assert_eq(&story.records(&GIVEN_UP));
}

#[test]
fn a_node_that_does_not_know_the_end_either_moves_the_bound() {
    let mut story = given_up(false);
    story.at(500.0).register("gpu01", 2);
    let last_evidence = at(130.0);
    let lost = RunLost { run: run("1.0"), node: "gpu01".into(), last_evidence, message: "reboot".into() };
    story.add(lost).release("1.0", "gpu01");
    expect![[r#"
        1 1.0 NODE_FAIL 0:0 130?! 120s 120gpus 120unseen
        1.batch 1.0 CANCELLED 0:0 130?! 119s 0gpus 0unseen
    "#]]
    .assert_eq(&story.records(&GIVEN_UP));
}

#[test]
fn a_job_goes_on_elsewhere_and_the_late_end_is_its_first_runs() {
    let mut story = given_up(true);
    story.at(371.0).allocate("1.1", vec![share("node01", "0", &[])]);
    story.at(372.0).start("1.1", "node01");
    story.at(400.0).lease_regained("gpu01");
    // Taken until the node has let go of it.
    story.submit(2, |_| {}).at(401.0).allocate("2.0", vec![share("gpu01", "0", &[])]);
    story.at(410.0).end_of(300.0, "1.0", "gpu01", EndCause::Exited, exit(0, 0));
    story.release("1.0", "gpu01").at(411.0).allocate("2.0", vec![share("gpu01", "0", &[])]);
    story.at(450.0).end("1.1", "node01", EndCause::Exited, exit(0, 0)).release("1.1", "node01");
    let query = AccountingQuery { duplicates: true, allocations_only: true, ..AccountingQuery::default() };
    expect![[r#"
        1 1.0 NODE_FAIL 0:0 300! 290s 120gpus 460unseen
        1 1.1 COMPLETED 0:0 450 79s 0gpus 0unseen
        2 2.0 RUNNING 0:0 - 39s 0gpus 0unseen
    "#]]
    .assert_eq(&story.book().records(&query, &GIVEN_UP));
    expect![[r#"
        gpu01 cpus: 3920 = allocated 139 + idle 1141 + down 2640
        gpu01/gpu0: 490 = allocated 60 + idle 100 + down 330
        gpu01/gpu1: 490 = allocated 60 + idle 100 + down 330
        gpu01/gpu2: 490 = idle 160 + down 330
        gpu01/gpu3: 490 = idle 160 + down 330
        node01 cpus: 3920 = allocated 79 + idle 3841
    "#]]
    .assert_eq(&story.book().capacity(0.0, 490.0));
}

#[test]
fn a_node_that_holds_a_run_no_more_or_never_did_says_nothing_about_it() {
    let mut story = Story::with_cluster();
    story.at(5.0).submit(1, |_| {});
    story.at(10.0).allocate("1.0", vec![share("gpu01", "0", &[0])]);
    story.at(11.0).start("1.0", "node01").end("1.0", "node01", EndCause::Exited, exit(0, 0));
    story.add(RunLost {
        run: run("1.0"),
        node: "node01".into(),
        last_evidence: at(10.0),
        message: String::new(),
    });
    assert_eq!(story.records(&["id", "state"]), "1 RUNNING\n");
}

#[test]
fn what_was_cancelled_before_it_ran_never_started() {
    let mut story = Story::with_cluster();
    story.at(5.0).submit(1, |spec| spec.hold = true).submit(2, |_| ());
    story.at(9.0).cancel(1, None, 1001).cancel(2, None, 0).cancel(2, None, 1001);
    expect![[r#"
        1 CANCELLED by 1001 0:0 - - 9 None_assigned 0/1 - None
        2 CANCELLED by 0 0:0 5 - 9 None_assigned 0/1 - None
    "#]]
    .assert_eq(
        &story.records(&[
            "id", "state", "exit", "eligible", "start", "end", "nodes", "cpus", "alloc", "reason",
        ]),
    );
}

#[test]
fn a_signal_cancels_nothing() {
    let mut story = Story::with_cluster();
    story.submit(1, |_| ()).at(10.0).allocate("1.0", vec![share("node01", "0", &[])]).start("1.0", "node01");
    story.add(JobCancelRequested { target: target(1, None), uid: 1001, signal: Some(15), batch: true });
    story.at(12.0).end("1.0", "node01", EndCause::Exited, exit(9, 0));
    expect![[r#"
        1 FAILED 9:0
        1.batch FAILED 9:0
    "#]]
    .assert_eq(&story.records(&["id", "state", "exit"]));
}

#[test]
fn a_job_that_ends_by_itself_after_a_cancellation_was_asked_for_has_its_own_end() {
    let mut story = Story::with_cluster();
    story.submit(1, |_| ()).at(10.0).allocate("1.0", vec![share("node01", "0", &[])]).start("1.0", "node01");
    story.at(11.0).cancel(1, None, 1001).end("1.0", "node01", EndCause::Exited, exit(0, 0));
    expect![[r#"
        1 COMPLETED 0:0
        1.batch COMPLETED 0:0
    "#]]
    .assert_eq(&story.records(&["id", "state", "exit"]));
}

#[test]
fn a_run_that_gave_way_is_preempted_and_its_job_waits_again_where_the_event_says_so() {
    let mut story = Story::with_cluster();
    story.at(1.0).submit(1, |_| ()).submit(2, |_| ()).submit(3, |_| ());
    for (run, cpus) in [("1.0", "0"), ("2.0", "1")] {
        story.at(10.0).allocate(run, vec![share("gpu01", cpus, &[])]).start(run, "gpu01");
    }
    for (run, mode) in [("1.0", PreemptMode::Requeue), ("2.0", PreemptMode::Cancel)] {
        let run = run.parse().unwrap();
        story.at(15.0).add(RunPreempted { run, by: JobId(3), array: None, mode, grace_end: UtcMicros(0) });
    }
    for run in ["1.0", "2.0"] {
        story.at(20.0).end(run, "gpu01", EndCause::Preempted, exit(0, 15)).release(run, "gpu01");
    }
    let book = story.book();
    let columns = ["id", "run", "state", "submit", "start", "end", "exit"];
    expect![[r#"
        1 1.0 PREEMPTED 1 10 20 0:0
        1.batch 1.0 CANCELLED 10 10 20 0:15
        2 2.0 PREEMPTED 1 10 20 0:0
        2.batch 2.0 CANCELLED 10 10 20 0:15
        3 - PENDING 1 - - 0:0
        1 - PENDING 20 - - 0:0
    "#]]
    .assert_eq(&book.records(&AccountingQuery { duplicates: true, ..Default::default() }, &columns));
}

#[test]
fn workload_keys_are_those_of_the_submission_as_changed_while_it_waited() {
    let mut story = Story::with_cluster();
    let key = |key: &str| Some(key.to_string());
    story.submit(1, |spec| spec.wckey = key("*thesis")).submit(2, |spec| spec.wckey = key("grant"));
    story.submit(3, |_| ());
    let change = |job, wckey| JobUpdated { job: JobId(job), wckey, ..JobUpdated::default() };
    story.at(5.0).add(change(3, key("thesis"))).at(10.0);
    story.allocate("1.0", vec![share("node01", "0", &[])]).start("1.0", "node01");
    story.at(11.0).add(change(1, key("grant")));
    expect![[r#"
        1 *thesis
        1.batch 
        2 grant
        3 thesis
    "#]]
    .assert_eq(&story.records(&["id", "wckey"]));
    let of = |name: &str| AccountingQuery { wckeys: vec![name.to_string()], ..Default::default() };
    let book = story.book();
    expect![[r#"
        1
        1.batch
        3
    "#]]
    .assert_eq(&book.records(&of("thesis"), &["id"]));
}

#[test]
fn nojobs_and_nosteps_leave_out_what_is_submitted_while_they_hold() {
    let mut story = Story::with_cluster();
    let enforce = |enforced: &[AccountingEnforcement]| {
        let mut configured = configuration(vec![node("node01", 8, 0)]);
        configured.parameters.accounting_enforced = enforced.to_vec();
        configured
    };
    story.submit(1, |_| ());
    story.add(enforce(&[AccountingEnforcement::NoSteps])).submit(2, |_| ());
    story.add(enforce(&[AccountingEnforcement::NoJobs, AccountingEnforcement::NoSteps])).submit(3, |_| ());
    story.add(enforce(&[])).submit(4, |_| ());
    for job in 1..=4 {
        let run = format!("{job}.0");
        story.at(10.0).allocate(&run, vec![share("node01", &job.to_string(), &[])]).start(&run, "node01");
        story.at(20.0).end(&run, "node01", EndCause::Exited, exit(0, 0)).release(&run, "node01");
    }
    expect![[r#"
        1 COMPLETED
        1.batch COMPLETED
        2 COMPLETED
        4 COMPLETED
        4.batch COMPLETED
    "#]]
    .assert_eq(&story.records(&["id", "state"]));
}

#[test]
fn each_attempt_of_a_requeued_job_is_a_record_and_only_the_last_one_is_shown_unless_asked() {
    let mut story = Story::with_cluster();
    story.at(1.0).submit(1, |_| ()).submit(2, |_| ());
    story.at(10.0).allocate("1.0", vec![share("gpu01", "0", &[0])]).start("1.0", "gpu01");
    story.at(15.0).requeue(1, false);
    story.at(20.0).end("1.0", "gpu01", EndCause::Requeued, exit(0, 15)).release("1.0", "gpu01");
    story.at(150.0).allocate("1.1", vec![share("gpu01", "0", &[0])]).start("1.1", "gpu01");
    story.at(160.0).end("1.1", "gpu01", EndCause::NodeFailed, exit(0, 0)).release("1.1", "gpu01");
    story.at(170.0).cancel(1, None, 0);
    let book = story.book();
    let columns =
        ["id", "run", "state", "submit", "eligible", "start", "end", "reason", "restarts", "gpu_seconds"];
    expect![[r#"
        1 1.0 REQUEUED 1 1 10 20 None 0 10gpus
        1.batch 1.0 CANCELLED 10 10 10 20 None 0 0gpus
        2 - PENDING 1 1 - - None 0 0gpus
        1 1.1 NODE_FAIL 20 140 150 160 BeginTime 1 10gpus
        1.batch 1.1 CANCELLED 150 150 150 160 None 1 0gpus
        1 - CANCELLED by 0 160 280 - 170 BeginTime 2 0gpus
    "#]]
    .assert_eq(&book.records(&AccountingQuery { duplicates: true, ..Default::default() }, &columns));
    expect![[r#"
        2 - PENDING 1 1 - - None 0 0gpus
        1 - CANCELLED by 0 160 280 - 170 BeginTime 2 0gpus
    "#]]
    .assert_eq(&book.records(&AccountingQuery::default(), &columns));
}

#[test]
fn a_job_that_may_not_run_again_stays_node_fail() {
    let mut story = Story::with_cluster();
    story.submit(1, |spec| spec.requeue = false).submit(2, |_| ());
    for id in ["1.0", "2.0"] {
        let cpu = &id[..1];
        story.at(10.0).allocate(id, vec![share("node01", cpu, &[])]).start(id, "node01");
        story.at(12.0).end(id, "node01", EndCause::NodeFailed, exit(0, 0));
    }
    let all = AccountingQuery { duplicates: true, allocations_only: true, ..Default::default() };
    expect![[r#"
        1 NODE_FAIL None
        2 NODE_FAIL None
        2 PENDING BeginTime
    "#]]
    .assert_eq(&story.book().records(&all, &["id", "state", "reason"]));
}

#[test]
fn what_an_unfit_node_sends_back_is_held() {
    let mut story = Story::with_cluster();
    story.submit(1, |_| ()).at(10.0).allocate("1.0", vec![share("gpu01", "0", &[0])]);
    story.at(12.0).end("1.0", "gpu01", EndCause::NodeUnfit, exit(0, 53)).release("1.0", "gpu01");
    let all = AccountingQuery { duplicates: true, ..Default::default() };
    expect![[r#"
        1 REQUEUED 0 None 2gpus
        1 PENDING - launch_failed_requeued_held 0gpus
    "#]]
    .assert_eq(&story.book().records(&all, &["id", "state", "eligible", "reason", "gpu_seconds"]));
}

#[test]
fn an_ended_job_comes_back_only_while_the_queue_remembers_it() {
    let mut story = ended(EndCause::Exited, exit(0, 0));
    let mut late = story.clone();
    story.at(310.0).requeue(1, true);
    late.at(321.0).submit(2, |_| ()).requeue(1, false);
    let all = AccountingQuery { duplicates: true, allocations_only: true, ..Default::default() };
    expect![[r#"
        1 COMPLETED 5 None
        1 PENDING - job requeued in held state
    "#]]
    .assert_eq(&story.book().records(&all, &["id", "state", "eligible", "reason"]));
    expect![[r#"
        1 COMPLETED
        2 PENDING
    "#]]
    .assert_eq(&late.book().records(&all, &["id", "state"]));
}

#[test]
fn eligibility_and_reasons_follow_holds_begin_and_conditions() {
    let condition =
        Dependency { kind: DependencyKind::AfterOk, job: Some(JobId(1)), task: None, delay_minutes: 0 };
    let dependencies = Some(Dependencies { conditions: vec![condition], any: false });
    let mut story = Story::with_cluster();
    story.at(1.0).submit(1, |_| ()).submit(2, |spec| spec.hold = true);
    story.submit(3, |spec| spec.begin = Some(at(100.0))).submit(4, |spec| spec.dependencies = dependencies);
    let columns = ["id", "state", "eligible", "reason"];
    expect![[r#"
        1 PENDING 1 None
        2 PENDING - JobHeldUser
        3 PENDING 100 BeginTime
        4 PENDING - Dependency
    "#]]
    .assert_eq(&story.records(&columns));

    let mut reasons = |seconds: f64, reasons: &[(u32, Reason)]| {
        story.at(seconds).add(PlannerCycle {
            input: daybook_schemas::Seq(1),
            now: at(seconds),
            policy_hash: String::new(),
            starts: vec![],
            reasons: reasons
                .iter()
                .map(|(job, reason)| ReasonChange {
                    job: JobId(*job),
                    reason: *reason,
                    detail: String::new(),
                    figures: None,
                })
                .collect(),
            reservations: vec![],
            preemptions: Vec::new(),
            resumes: Vec::new(),
            used_up: Vec::new(),
            jobs_considered: 4,
            bounded: false,
            bound: None,
            steps: 0,
            gpus_free: None,
            gpus_unusable: None,
            decision_hash: String::new(),
        });
    };
    reasons(2.0, &[(1, Reason::Resources), (3, Reason::BeginTime), (4, Reason::Dependency)]);
    reasons(50.0, &[(4, Reason::Priority)]);
    story.at(60.0).add(JobReleased { target: target(2, None), as_owner: false });
    story.at(61.0).add(JobHeld { target: target(1, None), by_administrator: true });
    expect![[r#"
        1 PENDING 1 JobHeldAdmin
        2 PENDING 60 None
        3 PENDING 100 BeginTime
        4 PENDING 50 Priority
    "#]]
    .assert_eq(&story.records(&columns));

    for (id, cpu) in [("2.0", "0"), ("3.0", "1"), ("4.0", "2")] {
        story.at(110.0).allocate(id, vec![share("node01", cpu, &[])]);
    }
    expect![[r#"
        1 PENDING 1 JobHeldAdmin
        2 RUNNING 60 JobHeldUser
        3 RUNNING 100 BeginTime
        4 RUNNING 50 Dependency
    "#]]
    .assert_eq(&story.records(&columns));
}

#[test]
fn changes_show_from_the_attempt_on_in_which_they_were_made() {
    let mut story = Story::with_cluster();
    story.at(1.0).submit(1, |_| ()).at(2.0).add(JobUpdated {
        job: JobId(1),
        name: Some("renamed".into()),
        time_limit: Some(TimeLimit::minutes(5)),
        ..Default::default()
    });
    story.at(10.0).allocate("1.0", vec![share("node01", "0", &[])]).start("1.0", "node01").requeue(1, false);
    story.at(20.0).end("1.0", "node01", EndCause::Requeued, exit(0, 15));
    story.at(21.0).add(JobUpdated { job: JobId(1), comment: Some("again".into()), ..Default::default() });
    story.at(22.0).cancel(1, None, 0).add(JobUpdated {
        job: JobId(1),
        name: Some("late".into()),
        ..Default::default()
    });
    let all = AccountingQuery { duplicates: true, allocations_only: true, ..Default::default() };
    expect![[r#"
        1 REQUEUED renamed - Seconds(3600)
        1 CANCELLED by 0 renamed again Seconds(3600)
    "#]]
    .assert_eq(&story.book().records(&all, &["id", "state", "name", "comment", "limit"]));
}

#[test]
fn a_job_that_the_planner_ends_says_why() {
    let mut story = Story::with_cluster();
    story.submit(1, |_| ()).at(9.0).add(JobFinished {
        job: JobId(1),
        state: JobState::Cancelled,
        reason: Reason::DependencyNeverSatisfied,
    });
    expect![[r#"
        1 CANCELLED 9 DependencyNeverSatisfied
    "#]]
    .assert_eq(&story.records(&["id", "state", "end", "reason"]));
}

#[test]
fn resources_are_counted_as_slurm_counts_them() {
    let gpus = |scope, gpu_type: Option<&str>, count| GpuRequest {
        scope,
        gpu_type: gpu_type.map(Into::into),
        count,
    };
    let mut story = Story::with_cluster();
    story.submit(1, |spec| {
        (spec.request_mut().tasks, spec.request_mut().cpus_per_task) = (2, 2);
        spec.request_mut().memory = Some(MemoryRequest::PerNode(daybook_schemas::Mebibytes(1024)));
        spec.request_mut().gpus = vec![gpus(GpuScope::Job, None, 2)];
    });
    story.submit(2, |spec| spec.request_mut().gpus = vec![gpus(GpuScope::Node, Some("a100"), 1)]);
    story.submit(3, |spec| (spec.request_mut().nodes_min, spec.request_mut().tasks) = (2, 4));
    story.submit(4, |spec| {
        spec.request_mut().tasks = 3;
        spec.request_mut().gpus = vec![gpus(GpuScope::Task, None, 1)];
    });
    story.at(10.0).allocate("1.0", vec![share("gpu01", "0-3", &[0, 1])]).start("1.0", "gpu01");
    story.allocate("2.0", vec![share("gpu01", "4", &[2])]);
    story.allocate("3.0", vec![share("gpu01", "5-7", &[]), share("node01", "0", &[])]).start("3.0", "gpu01");
    story.at(14.0);
    expect![[r#"
        1 gpu01 4/4 1G billing=4,cpu=4,gres/gpu=2,mem=1G,node=1 billing=4,cpu=4,gres/gpu=2,mem=2000M,node=1 4s 8gpus
        1.batch gpu01 4/4 - - cpu=4,gres/gpu=2,mem=2000M,node=1 4s 0gpus
        2 gpu01 1/1 500M billing=1,cpu=1,gres/gpu=1,gres/gpu:a100=1,mem=500M,node=1 billing=1,cpu=1,gres/gpu=1,gres/gpu:a100=1,mem=500M,node=1 4s 4gpus
        3 gpu01,node01 4/4 2000M billing=4,cpu=4,mem=2000M,node=2 billing=4,cpu=4,mem=2000M,node=2 4s 0gpus
        3.batch gpu01 3/3 - - cpu=3,mem=1500M,node=1 4s 0gpus
        4 None_assigned 0/3 1500M billing=3,cpu=3,gres/gpu=3,mem=1500M,node=1 - 0s 0gpus
    "#]]
    .assert_eq(&story.records(&["id", "nodes", "cpus", "mem", "req", "alloc", "elapsed", "gpu_seconds"]));
}

#[test]
fn what_is_billed_is_what_the_start_says_and_what_is_asked_is_weighed() {
    use daybook_schemas::grammar::billing_weights;
    let mut story = Story::new();
    let mut configured = configuration(vec![node("gpu01", 8, 4)]);
    configured.partitions[0].billing_weights =
        Some(billing_weights::parse("CPU=1,GRES/gpu=2.5,Mem=1G").unwrap());
    story.add(configured).register("gpu01", 4);
    let gpu = GpuRequest { scope: GpuScope::Node, gpu_type: None, count: 3 };
    // 1 and 7.5 and, for 500 MiB, 0.49 are asked for: 8.
    story.submit(1, |spec| spec.request_mut().gpus = vec![gpu]);
    // The weights may have changed until it starts.
    story.add(RunAllocated {
        billing: Some(42),
        ..allocation("1.0", None, vec![share("gpu01", "0", &[0, 1, 2])])
    });
    // Nothing is weighed any more.
    story.add(configuration(vec![node("gpu01", 8, 4)]));
    story.submit(2, |_| {}).allocate("2.0", vec![share("gpu01", "1", &[])]);
    expect![[r#"
        1 billing=8,cpu=1,gres/gpu=3,mem=500M,node=1 billing=42,cpu=1,gres/gpu=3,mem=500M,node=1
        2 billing=1,cpu=1,mem=500M,node=1 billing=1,cpu=1,mem=500M,node=1
    "#]]
    .assert_eq(&story.records(&["id", "req", "alloc"]));
}

#[test]
fn a_record_names_the_commits_that_it_rests_on() {
    let story = ended(EndCause::Exited, exit(0, 0));
    expect![[r#"
        1 4,5,6,7,8
        1.batch 4,5,6,7,8
    "#]]
    .assert_eq(&story.records(&["id", "evidence"]));
}
