//! How long runs of the same user and name took: what a job is expected to take.

use std::sync::Arc;

use daybook_schemas::Seq;
use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};

use crate::cluster::Cluster;
use crate::job::Job;

/// The most users and names that are remembered; the one that ran longest ago is forgotten first.
pub(crate) const RUN_TIMES_MAX: usize = 65_536;

/// A user's runs of a name, or (`None`) all of the user's.
pub(crate) type Whose = (u32, Option<Arc<str>>);

/// The last two run times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunTimes {
    /// Seconds of the last run.
    pub(crate) last: u64,
    /// Seconds of the one before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<u64>,
    /// The commit that told the end of the last one.
    pub(crate) seq: Seq,
}

/// Run times by user and name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AllRunTimes {
    known: OrdMap<Whose, RunTimes>,
    by_age: OrdSet<(Seq, Whose)>,
}

impl AllRunTimes {
    pub(crate) fn insert(&mut self, whose: Whose, times: RunTimes) {
        if let Some(old) = self.known.insert(whose.clone(), times) {
            self.by_age.remove(&(old.seq, whose.clone()));
        }
        self.by_age.insert((times.seq, whose));
        while self.known.len() > RUN_TIMES_MAX {
            let Some((seq, oldest)) = self.by_age.get_min().cloned() else { break };
            self.known.remove(&oldest);
            self.by_age.remove(&(seq, oldest));
        }
    }

    /// All, by user and name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Whose, &RunTimes)> {
        self.known.iter()
    }

    fn note(&mut self, whose: Whose, seconds: u64, seq: Seq) {
        let before = self.known.get(&whose).map(|times| times.last);
        self.insert(whose, RunTimes { last: seconds, before, seq });
    }

    fn mean(&self, whose: &Whose) -> Option<u64> {
        let times = self.known.get(whose)?;
        Some(times.before.map_or(times.last, |before| (before.saturating_add(times.last)).div_ceil(2)))
    }
}

impl Cluster {
    /// A run of this job is over after so many seconds.
    pub(crate) fn note_run_time(&mut self, job: &Job, seconds: u64) {
        let uid = job.spec.user.uid;
        self.run_times.note((uid, Some(job.name.clone())), seconds, self.position);
        self.run_times.note((uid, None), seconds, self.position);
    }

    /// How long a job is expected to run, in seconds: the mean of the last two runs of the same user and name (else of
    /// the same user), at most its time limit, which it is where nothing is known; `None`: it may run for ever.
    pub fn expected_seconds(&self, job: &Job) -> Option<u64> {
        let uid = job.spec.user.uid;
        let mean =
            self.run_times.mean(&(uid, Some(job.name.clone()))).or_else(|| self.run_times.mean(&(uid, None)));
        match (mean, job.time_limit.seconds()) {
            (Some(mean), Some(limit)) => Some(mean.min(limit)),
            (mean, limit) => mean.or(limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AllRunTimes, RUN_TIMES_MAX};
    use daybook_schemas::Seq;

    #[test]
    fn the_mean_is_of_the_last_two_and_rounds_up() {
        let mut times = AllRunTimes::default();
        let whose = (1, None);
        let mut means = Vec::new();
        for (seq, seconds) in [(1, 10), (2, 21), (3, 0)] {
            times.note(whose.clone(), seconds, Seq(seq));
            means.push(times.mean(&whose));
        }
        assert_eq!(means, [Some(10), Some(16), Some(11)]);
        assert_eq!(times.mean(&(2, None)), None);
    }

    #[test]
    fn whoever_ran_longest_ago_is_forgotten_first() {
        let mut times = AllRunTimes::default();
        let most = RUN_TIMES_MAX as u32;
        (0..most).for_each(|uid| times.note((uid, None), 5, Seq(u64::from(uid) + 1)));
        // The first runs again, so the second is now the oldest.
        times.note((0, None), 7, Seq(u64::from(most) + 1));
        times.note((most, None), 9, Seq(u64::from(most) + 2));
        assert_eq!((times.mean(&(0, None)), times.mean(&(1, None))), (Some(6), None));
        assert_eq!((times.mean(&(2, None)), times.iter().count()), (Some(5), RUN_TIMES_MAX));
    }
}
