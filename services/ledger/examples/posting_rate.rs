//! How fast the ledger posts and answers: `cargo run --release -p daybook-ledger --example posting_rate -- JOBS`.
//!
//! Each job is submitted, allocated, started, ended and released: five commits of one event. Prints JSON.

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Instant;

use daybook_ledger::Book;
use daybook_schemas::JobId;
use daybook_schemas::api::{AccountingQuery, CapacityQuery, JobSelector};
use daybook_schemas::run::EndCause;
use support::*;

fn main() {
    let jobs: u32 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let dir = tempfile::tempdir().unwrap();
    let book = Book::open(dir.path()).unwrap();
    let mut story = Story::new();
    story.add(configuration((0..64).map(|index| node(&format!("n{index}"), 8, 8)).collect()));
    for index in 0..64 {
        story.register(&format!("n{index}"), 8);
    }
    // 512 runs at once, each on its own GPU; the user changes every 100 jobs.
    for job in 1..=jobs {
        let second = f64::from(job) * 2.0;
        let slot = (job - 1) % 512;
        let name = format!("n{}", slot / 8);
        if job > 512 {
            let old = format!("{}.0", job - 512);
            story.at(second).end(&old, &name, EndCause::Exited, exit(0, 0)).release(&old, &name);
        }
        let id = format!("{job}.0");
        story.at(second).submit(job, |spec| {
            std::sync::Arc::make_mut(&mut spec.user).uid = 1000 + job / 100 % 50;
        });
        story.allocate(&id, vec![share(&name, &(slot % 8).to_string(), &[slot % 8])]).start(&id, &name);
    }
    let begun = Instant::now();
    for batch in story.commits.chunks(512) {
        book.post(batch).unwrap();
    }
    let posted = begun.elapsed();
    let timed = |query: &AccountingQuery| {
        let begun = Instant::now();
        let records = book.accounting(query, at(1e9)).unwrap().records.len();
        (begun.elapsed().as_micros(), records)
    };
    let one = timed(&AccountingQuery {
        jobs: vec![JobSelector { job: JobId(jobs / 2), tasks: None }],
        ..Default::default()
    });
    let middle = f64::from(jobs);
    let window =
        AccountingQuery { start: Some(at(middle)), end: Some(at(middle + 600.0)), ..Default::default() };
    let (user, hour) = (timed(&AccountingQuery { uids: vec![1003], ..window.clone() }), timed(&window));
    let everything = timed(&AccountingQuery { allocations_only: true, ..Default::default() });
    let begun = Instant::now();
    let rows = book.capacity(&CapacityQuery::default(), at(1e9)).unwrap().rows.len();
    let capacity = begun.elapsed().as_micros();
    let begun = Instant::now();
    let faults = book.faults().unwrap().len();
    let verified = begun.elapsed().as_millis();
    let bytes: u64 = std::fs::read_dir(dir.path().join("rows"))
        .unwrap()
        .filter_map(|file| Some(file.ok()?.metadata().ok()?.len()))
        .sum();
    println!(
        "{{\"jobs\":{jobs},\"events\":{},\"events_per_second\":{:.0},\"one_job_us\":{},\"user_window_us\":{},\
         \"window_us\":{},\"window_records\":{},\"everything_us\":{},\"capacity_us\":{capacity},\"capacity_rows\":{rows},\
         \"verify_ms\":{verified},\"faults\":{faults},\"bytes_per_job\":{}}}",
        story.commits.len(),
        story.commits.len() as f64 / posted.as_secs_f64(),
        one.0,
        user.0,
        hour.0,
        hour.1,
        everything.0,
        bytes / u64::from(jobs),
    );
}
