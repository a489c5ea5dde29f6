//! For how long a job is given what it gets: its limit, or less down to its `--time-min`.

use daybook_model::fit::Share;
use daybook_schemas::job::TimeLimit;

use crate::kinds::FOR_EVER;
use crate::plan::Planning;
use crate::queue::Turn;

/// The time limits that a job may be started with, as windows in seconds: what it may run beyond its limit is in them.
pub(crate) struct Windows {
    pub(crate) longest: i64,
    pub(crate) shortest: i64,
    longest_limit: TimeLimit,
    /// `OverTimeLimit`, seconds.
    grace: i64,
}

impl Windows {
    /// The time limit of a window.
    pub(crate) fn limit(&self, window: i64) -> TimeLimit {
        if window == self.longest {
            return self.longest_limit;
        }
        TimeLimit::Seconds(u64::try_from(window.saturating_sub(self.grace)).unwrap_or(0))
    }
}

impl Planning<'_, '_> {
    /// How long a job may hold what it gets.
    pub(crate) fn windows(&self, turn: Turn<'_>) -> Windows {
        let grace = i64::from(self.parameters.over_time_limit_minutes) * 60;
        let window = |limit: TimeLimit| {
            let seconds = limit.seconds().and_then(|seconds| i64::try_from(seconds).ok());
            seconds.map_or(FOR_EVER, |seconds| seconds.saturating_add(grace))
        };
        let longest_limit = self.cluster.longest_limit_in(turn.job, turn.partition, self.now);
        let shortest_limit = self.cluster.shortest_limit_in(turn.job, turn.partition);
        let (longest, shortest) = (window(longest_limit), window(shortest_limit));
        Windows { longest, shortest: shortest.min(longest), longest_limit, grace }
    }

    /// Where a job starts now, with the longest window that fits. Slurm's rule for `--time-min`: where the whole limit does
    /// not fit, what is promised to others bounds it, and it gets all up to there. Whole minutes; a longer window meets
    /// all that a shorter one meets, so it is found by halving.
    pub(crate) fn place_longest(&mut self, number: usize, windows: &Windows) -> Option<(i64, Vec<Share>)> {
        if !self.kinds.get(number).is_blocked(windows.longest)
            && let Some(shares) = self.place_now(number, windows.longest)
        {
            return Some((windows.longest, shares));
        }
        if windows.shortest >= windows.longest {
            return None;
        }
        self.kinds.get_mut(number).block(windows.longest);
        let mut found = (windows.shortest, self.place_now(number, windows.shortest)?);
        let promised = self.promises.last_start().map_or(windows.shortest, |start| {
            let seconds = start.0.saturating_sub(self.now.0) / 1_000_000;
            seconds.clamp(windows.shortest, windows.longest)
        });
        // Behind the last promised start a window does not become worse, if no reservation comes.
        let promised = if self.reservations.is_empty() { promised } else { windows.longest };
        let (mut fits, mut fails) = (0, (promised - windows.shortest) / 60 + 1);
        while fails - fits > 1 {
            let minutes = fits + (fails - fits) / 2;
            let window = windows.shortest + minutes * 60;
            if window >= windows.longest {
                fails = minutes;
                continue;
            }
            match self.place_now(number, window) {
                Some(shares) => (fits, found) = (minutes, (window, shares)),
                None => fails = minutes,
            }
        }
        Some(found)
    }
}
