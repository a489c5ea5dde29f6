//! Whatever comes, in whatever order: the invariants hold, and the same commits give the same state.

mod history;

use daybook_model::{Cluster, read_snapshot, state_hash, write_snapshot};
use daybook_schemas::Commit;
use history::{History, Step};
use proptest::prelude::*;

fn folded(commits: &[Commit]) -> Cluster {
    let mut cluster = Cluster::new();
    for commit in commits {
        cluster.apply(commit).expect("a valid successor");
    }
    cluster
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(
        (0u8..29, any::<u16>(), any::<u16>()).prop_map(|(kind, a, b)| Step { kind, a, b }),
        1..120,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_invariant_holds_after_every_commit(steps in steps()) {
        let mut history = History::new();
        for step in steps {
            history.step(step);
            if let Err(violations) = history.cluster.sanity_check() {
                let log = history.commits.iter().map(|c| format!("{:?}", c.events[0].body)).collect::<Vec<_>>().join("\n");
                panic!("{violations:?} after\n{log}");
            }
        }
    }

    #[test]
    fn the_state_is_the_same_from_zero_from_a_snapshot_and_incrementally(steps in steps(), cut in 0usize..200) {
        let mut history = History::new();
        steps.into_iter().for_each(|step| history.step(step));
        let incremental = state_hash(&history.cluster).unwrap();
        prop_assert_eq!(&state_hash(&folded(&history.commits)).unwrap(), &incremental);

        let cut = cut % (history.commits.len() + 1);
        let mut bytes = Vec::new();
        write_snapshot(&folded(&history.commits[..cut]), &mut bytes).unwrap();
        let mut resumed = read_snapshot(&bytes[..]).unwrap();
        for commit in &history.commits[cut..] {
            resumed.apply(commit).unwrap();
        }
        prop_assert_eq!(&state_hash(&resumed).unwrap(), &incremental);
        prop_assert!(resumed.usual_requests().eq(history.cluster.usual_requests()));
        prop_assert!(resumed.sanity_check().is_ok());
    }

    /// Each run counts from its start to its end, or to the last calculation, without its stops, whatever came between,
    /// and once.
    #[test]
    fn usage_is_that_of_all_runs_of_history(steps in steps()) {
        let mut history = History::new();
        history.count_usage();
        // Microseconds that count, what it is billed, and the run as it was last.
        type Known = (i64, u64, std::sync::Arc<daybook_model::Run>);
        let mut runs: std::collections::BTreeMap<daybook_schemas::RunId, Known> = Default::default();
        for step in steps {
            let kind = if step.kind == 21 || step.kind == 23 { 22 } else { step.kind };
            history.step(Step { kind, ..step });
        }
        let (mut cluster, mut open) = (Cluster::new(), std::collections::BTreeSet::new());
        for commit in &history.commits {
            cluster.apply(commit).expect("a valid successor");
            let calculated = cluster.priorities_calculated().unwrap_or(daybook_schemas::UtcMicros(0));
            for run in cluster.runs().values() {
                let cpus: u64 = run.nodes.iter().map(|share| share.cpus.len()).sum();
                let known = runs.entry(run.id).or_insert((0, run.billing.unwrap_or(cpus), run.clone()));
                known.0 = known.0.max(run.ran(run.end.as_ref().map_or(calculated, |end| end.at)));
                known.2 = run.clone();
                match run.end {
                    Some(_) => open.remove(&run.id),
                    None => open.insert(run.id),
                };
            }
            // A node that lets go of a run whose end nobody told ends it there and then.
            for gone in open.clone().difference(&cluster.runs().keys().copied().collect()) {
                runs.entry(*gone).and_modify(|known| known.0 = known.0.max(known.2.ran(cluster.time())));
                open.remove(gone);
            }
        }
        let of_all: u64 = runs.values().map(|(micros, billed, _)| *micros as u64 / 1_000 * billed).sum();
        let standings = history.cluster.standings();
        prop_assert_eq!(standings[&1].usage, of_all);
    }

    #[test]
    fn commits_survive_their_bytes(steps in steps()) {
        let mut history = History::new();
        steps.into_iter().for_each(|step| history.step(step));
        for commit in &history.commits {
            let bytes = commit.to_bytes().unwrap();
            prop_assert_eq!(&Commit::from_bytes(&bytes).unwrap(), commit);
        }
    }
}

#[test]
fn a_snapshot_that_was_cut_off_or_changed_is_refused() {
    let mut history = History::new();
    for number in 0..40 {
        history.step(Step { kind: (number % 21) as u8, a: number * 7, b: number * 13 });
    }
    let mut bytes = Vec::new();
    write_snapshot(&history.cluster, &mut bytes).unwrap();
    for cut in (0..bytes.len()).step_by(97) {
        assert!(read_snapshot(&bytes[..cut]).is_err(), "cut at {cut}");
    }
    let at = bytes.windows(13).position(|window| window == b"\"next_job_id\"").unwrap() + 14;
    bytes[at] = if bytes[at] == b'9' { b'8' } else { b'9' };
    assert!(read_snapshot(&bytes[..]).is_err());
}

#[test]
fn equal_parts_of_a_users_jobs_are_one_copy_also_after_a_restart() {
    let mut history = History::new();
    // Submissions of users 1 and 2, of plain jobs.
    for a in [1, 2, 7, 10, 13, 14] {
        history.step(Step { kind: 0, a, b: 1 });
    }
    let mut bytes = Vec::new();
    write_snapshot(&history.cluster, &mut bytes).unwrap();
    let resumed = read_snapshot(&bytes[..]).unwrap();
    for (from, cluster) in [("commits", &history.cluster), ("a snapshot", &resumed)] {
        let jobs: Vec<_> = cluster.jobs().values().collect();
        assert_eq!(jobs.len(), 6);
        for uid in [1, 2] {
            let of_user: Vec<_> = jobs.iter().filter(|job| job.spec.user.uid == uid).collect();
            let copies = |part: fn(&daybook_model::Job) -> *const ()| {
                of_user.iter().map(|job| part(job)).collect::<std::collections::BTreeSet<_>>().len()
            };
            assert!(of_user.len() >= 2);
            assert_eq!(copies(|job| std::sync::Arc::as_ptr(&job.spec.user).cast()), 1, "from {from}");
            assert_eq!(
                copies(|job| std::sync::Arc::as_ptr(&job.spec.resource_limits).cast()),
                1,
                "from {from}"
            );
            assert_eq!(copies(|job| std::sync::Arc::as_ptr(&job.qos).cast::<()>()), 1, "from {from}");
            assert_eq!(copies(|job| std::sync::Arc::as_ptr(&job.request).cast()), 1, "from {from}");
        }
    }
}
