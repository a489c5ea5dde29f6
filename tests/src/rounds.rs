//! Rounds of short jobs under faults: what was acknowledged runs once and ends right.

use std::collections::BTreeMap;
use std::ops::Range;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::{Cluster, wait_until};

/// A sequence that only its seed decides: when what is killed.
pub struct Moments(u64);

impl Moments {
    /// Starts the sequence of a seed.
    pub fn of(seed: u64) -> Moments {
        Moments(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// The next number below a bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    /// The next moment, in milliseconds below a bound.
    pub fn next_ms(&mut self, bound: u64) -> Duration {
        Duration::from_millis(self.below(bound))
    }
}

/// The jobs of a round, with the state in which each must end.
#[derive(Default)]
pub struct Round {
    expected: BTreeMap<u32, &'static str>,
}

impl Round {
    /// How many were accepted.
    pub fn accepted(&self) -> usize {
        self.expected.len()
    }

    /// Starts a submission for each number: the job leaves one line in a file of its own id; every fifth fails.
    pub fn submit(cluster: &Cluster, numbers: Range<usize>) -> Vec<(i32, Child)> {
        let runs = cluster.work().join("runs");
        std::fs::create_dir_all(&runs).expect("a directory");
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

    /// Waits for submissions. One that a fault interrupted is either retried with the same id or refused, never half.
    pub fn take(&mut self, submissions: Vec<(i32, Child)>) {
        for (code, child) in submissions {
            let output = child.wait_with_output().expect("sbatch ends");
            if output.status.success() {
                let id: u32 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("an id");
                let state = if code == 0 { "COMPLETED" } else { "FAILED" };
                assert_eq!(self.expected.insert(id, state), None, "id {id} was given twice");
            }
        }
    }

    /// Waits until every job has ended, and checks that each ran once and ended as it should.
    pub fn check(&self, cluster: &Cluster, what: &str) {
        wait_until("the queue is empty", || {
            let answer = cluster.run("squeue", &["-h"]);
            answer.code == 0 && answer.out.is_empty()
        });
        for (job, state) in &self.expected {
            assert_eq!(cluster.wait_ended(*job), *state, "job {job} in {what}");
            let lines = std::fs::read_to_string(cluster.work().join("runs").join(job.to_string()))
                .unwrap_or_default();
            assert_eq!(lines, "run\n", "job {job} in {what}");
        }
        cluster.check_conservation();
    }
}
