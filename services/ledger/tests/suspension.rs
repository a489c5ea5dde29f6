//! Runs that are stopped: their CPUs are free, their GPUs and memory are not, and their time stands still.

mod support;

use daybook_schemas::accounts::PreemptMode;
use daybook_schemas::api::AccountingQuery;
use daybook_schemas::events::*;
use daybook_schemas::run::EndCause;
use daybook_schemas::{JobId, Seq, UtcMicros};
use expect_test::expect;
use support::*;

const COLUMNS: [&str; 7] = ["id", "state", "start", "end", "elapsed", "suspended", "gpu_seconds"];

impl Story {
    /// Somebody suspends a job, and its node stops it at the same instant.
    fn suspend(&mut self, job: u32, id: &str, node: &str) -> &mut Story {
        self.add(JobSuspendRequested { job: JobId(job), uid: 0 });
        let ordered = Seq(self.commits.len() as u64);
        self.add(RunSuspended { run: run(id), node: node.into(), ordered })
    }

    fn resume(&mut self, job: u32, id: &str, node: &str) -> &mut Story {
        self.add(JobResumeRequested { job: JobId(job), uid: 0 });
        let ordered = Seq(self.commits.len() as u64);
        self.add(RunResumed { run: run(id), node: node.into(), ordered })
    }
}

#[test]
fn a_stop_is_no_part_of_the_time_and_gpus_are_held() {
    let mut story = Story::with_cluster();
    story.at(1.0).submit(1, |_| ()).submit(2, |_| ());
    story.at(10.0).allocate("1.0", vec![share("gpu01", "0-3", &[0])]).start("1.0", "gpu01");
    story.at(20.0).suspend(1, "1.0", "gpu01");
    story.at(25.0);
    expect![[r#"
        1 SUSPENDED 10 - 10s 5s 15gpus
        1.batch SUSPENDED 10 - 10s 5s 0gpus
        2 PENDING - - 0s 0s 0gpus
    "#]]
    .assert_eq(&story.records(&COLUMNS));
    // The CPUs are another's meanwhile.
    story.at(30.0).allocate("2.0", vec![share("gpu01", "2-5", &[1])]).start("2.0", "gpu01");
    story.at(35.0).resume(1, "1.0", "gpu01");
    story.at(40.0).end("2.0", "gpu01", EndCause::Exited, exit(0, 0)).release("2.0", "gpu01");
    story.at(50.0).resume(1, "1.0", "gpu01");
    story.at(70.0).end("1.0", "gpu01", EndCause::Exited, exit(0, 0)).release("1.0", "gpu01");
    let book = story.book();
    expect![[r#"
        1 COMPLETED 10 70 30s 30s 60gpus
        1.batch COMPLETED 10 70 30s 30s 0gpus
        2 COMPLETED 30 40 10s 0s 10gpus
        2.batch COMPLETED 30 40 10s 0s 0gpus
    "#]]
    .assert_eq(&book.records(&AccountingQuery::default(), &COLUMNS));
    // 10 s and 20 s of 4 CPUs of the first, 10 s of 4 of the second.
    expect![[r#"
        gpu01 cpus: 480 = allocated 160 + idle 320
        gpu01/gpu0: 60 = allocated 60
        gpu01/gpu1: 60 = allocated 10 + idle 50
        gpu01/gpu2: 60 = idle 60
        gpu01/gpu3: 60 = idle 60
        node01 cpus: 480 = idle 480
    "#]]
    .assert_eq(&book.capacity(10.0, 70.0));
}

#[test]
fn what_ends_while_it_is_stopped_had_its_time_before() {
    let mut story = Story::with_cluster();
    story.at(1.0).submit(1, |_| ()).submit(2, |_| ());
    story.at(10.0).allocate("1.0", vec![share("node01", "0", &[])]).start("1.0", "node01");
    story.at(20.0).suspend(1, "1.0", "node01");
    story.at(50.0).cancel(1, None, 7).end("1.0", "node01", EndCause::Cancelled, exit(0, 15));
    story.release("1.0", "node01");
    // Back in the queue it is held; a job that gave way by being stopped goes on, and keeps its record.
    story.at(60.0).allocate("2.0", vec![share("node01", "0", &[])]).start("2.0", "node01");
    let (run, mode) = (run("2.0"), PreemptMode::Suspend);
    story.at(70.0).add(RunPreempted { run, by: JobId(1), array: None, mode, grace_end: UtcMicros(0) });
    let ordered = Seq(story.commits.len() as u64);
    story.at(71.0).add(RunSuspended { run, node: "node01".into(), ordered });
    story.at(75.0).add(RunResumeOrdered { run });
    let ordered = Seq(story.commits.len() as u64);
    story.at(76.0).add(RunResumed { run, node: "node01".into(), ordered });
    story.at(80.0).suspend(2, "2.0", "node01");
    story.at(81.0).add(RunResumeOrdered { run }).requeue(2, false);
    story.at(82.0).end("2.0", "node01", EndCause::Requeued, exit(0, 15)).release("2.0", "node01");
    let book = story.book();
    let columns = ["id", "state", "start", "end", "elapsed", "suspended", "reason"];
    expect![[r#"
        1 CANCELLED by 7 10 50 10s 30s None
        1.batch CANCELLED 10 50 10s 30s None
        2 REQUEUED 60 82 15s 7s None
        2.batch CANCELLED 60 82 15s 7s None
        2 PENDING - - 0s 0s job requeued in held state
    "#]]
    .assert_eq(&book.records(&AccountingQuery { duplicates: true, ..Default::default() }, &columns));
}
