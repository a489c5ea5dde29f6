//! How fast the embedded log appends, beside a plain write and fdatasync loop on the same disk. Measures, and so is
//! ignored unless asked for: `cargo test --release -p daybook-log --test throughput -- --ignored --nocapture`.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use daybook_log::EventLog;
use daybook_log::conformance::sample;
use daybook_log::embedded::{EmbeddedLog, OpenOptions};
use daybook_schemas::{Seq, Stream};

const TIME: Duration = Duration::from_secs(3);

/// Where to measure: `DAYBOOK_BENCH_DIR`, or the directory for temporary files.
fn directory() -> tempfile::TempDir {
    match std::env::var_os("DAYBOOK_BENCH_DIR") {
        Some(dir) => tempfile::tempdir_in(dir).unwrap(),
        None => tempfile::tempdir().unwrap(),
    }
}

fn plain_loop(dir: &Path) -> f64 {
    let mut file = std::fs::File::create(dir.join("plain")).unwrap();
    let line = [b'x'; 400];
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < TIME {
        file.write_all(&line).unwrap();
        file.sync_data().unwrap();
        count += 1;
    }
    f64::from(count) / start.elapsed().as_secs_f64()
}

async fn appends_per_second(log: &Arc<EmbeddedLog>, writers: usize) -> f64 {
    let start = Instant::now();
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let log = log.clone();
            tokio::spawn(async move {
                let mut count = 0u32;
                while start.elapsed() < TIME {
                    log.append(sample::one(Stream::State, &format!("{writers}.{writer}.{count}")))
                        .await
                        .unwrap();
                    count += 1;
                }
                count
            })
        })
        .collect();
    let mut total = 0;
    for task in tasks {
        total += task.await.unwrap();
    }
    f64::from(total) / start.elapsed().as_secs_f64()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn appends_per_second_by_writers() {
    let dir = directory();
    let plain = plain_loop(dir.path());
    println!("plain write and fdatasync: {plain:.0}/s");
    let log = EmbeddedLog::open(&dir.path().join("log"), OpenOptions::default()).unwrap();
    for writers in [1, 8, 64, 256] {
        let rate = appends_per_second(&log, writers).await;
        println!("{writers} writers: {rate:.0} appends/s, {:.2} of plain", rate / plain);
    }
    let end = log.end(Stream::State);
    drop(log);
    let start = Instant::now();
    let log = EmbeddedLog::open(&dir.path().join("log"), OpenOptions::default()).unwrap();
    println!("opened again in {:?}, {end} commits", start.elapsed());
    for portion in [1, 16, 512] {
        let start = Instant::now();
        let mut next = Seq(1);
        let mut reads = 0u32;
        while next <= end && start.elapsed() < TIME {
            next = log.read(Stream::State, next, portion).await.unwrap().last().unwrap().seq.next();
            reads += 1;
        }
        let rate = (next.0 - 1) as f64 / start.elapsed().as_secs_f64();
        println!("reading {portion} at a time: {rate:.0} commits/s, {:?} a read", start.elapsed() / reads);
    }
    let start = Instant::now();
    for number in 0..20_000 {
        log.find(Stream::State, &sample::event_id(&format!("1.0.{number}"), 0)).await.unwrap();
    }
    println!("find: {:?} each", start.elapsed() / 20_000);
}
