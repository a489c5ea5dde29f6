//! `kill -9` of the daemon at arbitrary moments: nothing acknowledged is lost, nothing runs twice.

use std::collections::BTreeMap;
use std::ops::Range;
use std::process::{Child, Stdio};
use std::time::Duration;

use daybook_tests::{Cluster, TWO_NODES, wait_until};

/// Rounds here; `DAYBOOK_CRASH_ROUNDS` sets another number.
fn rounds() -> u32 {
    std::env::var("DAYBOOK_CRASH_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3)
}

/// A sequence that only its seed decides: when the daemon is killed.
struct Moments(u64);

impl Moments {
    fn next_ms(&mut self, below: u64) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Duration::from_millis(self.0 % below)
    }
}

#[test]
fn every_acknowledged_job_runs_exactly_once_whenever_the_daemon_is_killed() {
    for round in 0..rounds() {
        one_round(u64::from(round) + 1, 300);
        eprintln!("round {} of {} is as it should be", round + 1, rounds());
    }
}

fn one_round(seed: u64, jobs: usize) {
    let mut cluster = Cluster::new(TWO_NODES);
    cluster.start();
    let runs = cluster.work().join("runs");
    std::fs::create_dir_all(&runs).expect("a directory");
    let mut moments = Moments(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut expected: BTreeMap<u32, &str> = BTreeMap::new();
    let mut children = Vec::new();
    let mut submitted = 0;
    let mut pending_kill = false;
    while submitted < jobs {
        children.extend(submit(&cluster, submitted..submitted + 20));
        submitted += 20;
        if pending_kill {
            std::thread::sleep(moments.next_ms(120));
            cluster.kill();
            cluster.start();
        }
        pending_kill = !pending_kill;
        for (code, child) in children.drain(..) {
            let output = child.wait_with_output().expect("sbatch ends");
            // A submission that the kill interrupted is either retried with the same id or refused, never half.
            if output.status.success() {
                let id: u32 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("an id");
                let state = if code == 0 { "COMPLETED" } else { "FAILED" };
                assert_eq!(expected.insert(id, state), None, "id {id} was given twice");
            }
        }
    }
    assert!(expected.len() > jobs / 2, "only {} of {jobs} were accepted", expected.len());
    wait_until("the queue is empty", || cluster.run("squeue", &["-h"]).ok().is_empty());
    for (job, state) in &expected {
        assert_eq!(cluster.wait_ended(*job), *state, "job {job} in round {seed}");
        let lines = std::fs::read_to_string(runs.join(job.to_string())).unwrap_or_default();
        assert_eq!(lines, "run\n", "job {job} in round {seed}");
    }
    cluster.check_conservation();
    assert!(cluster.stop());
    cluster.verify();
}

/// Starts a submission for each number: the job leaves one line in a file of its own id; every fifth fails.
fn submit(cluster: &Cluster, numbers: Range<usize>) -> Vec<(i32, Child)> {
    let runs = cluster.work().join("runs");
    let one = |number: usize| {
        let code = i32::from(number.is_multiple_of(5));
        let script = format!("--wrap=echo run >> {}/$SLURM_JOB_ID; exit {code}", runs.display());
        let mut command = cluster
            .command("sbatch", &["--parsable", "-o", "/dev/null", "--gres=gpu:1", "-p", "gpu", &script]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        (code, command.spawn().expect("sbatch"))
    };
    numbers.map(one).collect()
}
