//! Many short jobs at once. The figure is printed; what is checked is that each ran once.

use std::time::Instant;

use crate::bench::Bench;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundreds_of_short_jobs_run_once_each() {
    let count: usize =
        std::env::var("DAYBOOK_TEST_JOBS").ok().and_then(|text| text.parse().ok()).unwrap_or(300);
    let mut bench = Bench::new().await;
    bench.seen_registrations(1).await;
    for _ in 0..count {
        let order = bench.order("#!/bin/sh\necho $SLURM_JOB_ID >> ran\n", "").await;
        bench.put(order);
    }
    let since = Instant::now();
    bench.tell();
    bench.all_released(count).await;
    let rate = count as f64 / since.elapsed().as_secs_f64();
    println!("{count} jobs, {rate:.0} per second");
    let ran = std::fs::read_to_string(bench.work("ran")).unwrap();
    let mut jobs: Vec<usize> = ran.lines().map(|line| line.parse().unwrap()).collect();
    jobs.sort_unstable();
    assert_eq!(jobs, (1..=count).collect::<Vec<_>>());
}
