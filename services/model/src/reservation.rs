//! Reservations: nodes that are kept for some, from when to when.

use std::sync::Arc;

use daybook_schemas::reservation::{Repeat, ReservationDefinition};
use daybook_schemas::{Seconds, Seq, UtcMicros};
use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};

use crate::cluster::Cluster;
use crate::job::Job;

const DAY_SECONDS: i64 = 86_400;
const WEEK_SECONDS: i64 = 7 * DAY_SECONDS;

/// One time of a reservation: from `start` up to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first instant.
    pub start: UtcMicros,
    /// The first instant after it.
    pub end: UtcMicros,
}

/// A reservation that is not over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reservation {
    /// As it is now; of one that repeats, with the present or next start and end.
    pub definition: Arc<ReservationDefinition>,
    /// Since when no unfinished job names it or runs in it: the log's time. Absent: one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unused_since: Option<UtcMicros>,
    /// The last commit that changed it.
    pub changed: Seq,
}

impl Reservation {
    /// The time that it is in at `now`, or that comes next; `None`: it is over.
    pub fn window(&self, now: UtcMicros) -> Option<Window> {
        let definition = &self.definition;
        if let Some(Seconds(seconds)) = definition.flags.begins_in {
            let start = now.plus_seconds(i64::try_from(seconds).unwrap_or(i64::MAX));
            return Some(Window { start, end: start.plus_seconds(definition.seconds()) });
        }
        let window = Window { start: definition.start, end: definition.end };
        if now < window.end && !self.is_purged(now) {
            return Some(window);
        }
        let next = following(window, definition.flags.repeat?);
        Some(first_behind(next, definition.flags.repeat?, now))
    }

    /// Whether it is in force at `now`.
    pub fn is_active(&self, now: UtcMicros) -> bool {
        self.window(now).is_some_and(|window| window.start <= now)
    }

    /// When it ends early, since nobody uses it; `None`: it does not, as far as is known.
    pub fn purge_at(&self) -> Option<UtcMicros> {
        let Seconds(after) = self.definition.flags.purge_after?;
        let idle = self.unused_since?.max(self.definition.start);
        Some(idle.plus_seconds(i64::try_from(after).unwrap_or(i64::MAX)))
    }

    fn is_purged(&self, now: UtcMicros) -> bool {
        self.purge_at().is_some_and(|at| at <= now)
    }

    /// Whether it is in force at some instant from `from` up to `until` (`None`: for ever), as known at `now`.
    pub fn meets(&self, now: UtcMicros, from: UtcMicros, until: Option<UtcMicros>) -> bool {
        if let Some(Seconds(seconds)) = self.definition.flags.begins_in {
            // It always lies so far ahead: what takes longer would reach it.
            let reach = from.plus_seconds(i64::try_from(seconds).unwrap_or(i64::MAX));
            return until.is_none_or(|until| reach < until);
        }
        let Some(mut window) = self.window(now) else { return false };
        if window.end <= from {
            let Some(repeat) = self.definition.flags.repeat else { return false };
            window = first_behind(window, repeat, from);
        }
        until.is_none_or(|until| window.start < until)
    }

    /// The instants after `now` at which something about it changes: it begins, ends, or is given up.
    pub fn next_change(&self, now: UtcMicros) -> Option<UtcMicros> {
        if self.definition.flags.begins_in.is_some() {
            return None;
        }
        let window = self.window(now)?;
        [Some(window.start), Some(window.end), self.purge_at()]
            .into_iter()
            .flatten()
            .filter(|at| *at > now)
            .min()
    }

    /// Whether a job may run in it.
    pub fn admits(&self, job: &Job) -> bool {
        self.admits_user(job.spec.user.uid, &job.account)
    }

    /// Whether jobs of this user, charged to this account, may run in it.
    pub fn admits_user(&self, uid: u32, account: &str) -> bool {
        let definition = &self.definition;
        (definition.users.is_empty() || definition.users.iter().any(|user| user.uid == uid))
            && (definition.accounts.is_empty() || definition.accounts.iter().any(|name| name == account))
    }
}

/// The time after this one.
fn following(window: Window, repeat: Repeat) -> Window {
    let step = match repeat {
        Repeat::Hourly => 3_600,
        Repeat::Daily => DAY_SECONDS,
        Repeat::Weekly => WEEK_SECONDS,
        Repeat::Weekday => days_to(window.start, |day| day < 5) * DAY_SECONDS,
        Repeat::Weekend => days_to(window.start, |day| day >= 5) * DAY_SECONDS,
    };
    moved(window, step)
}

fn moved(window: Window, seconds: i64) -> Window {
    Window { start: window.start.plus_seconds(seconds), end: window.end.plus_seconds(seconds) }
}

/// Days from this one to the next that counts; Monday is 0.
fn days_to(from: UtcMicros, counts: impl Fn(i64) -> bool) -> i64 {
    // 1970-01-01 was a Thursday.
    let weekday = |day: i64| (day + 3).rem_euclid(7);
    let today = from.seconds().div_euclid(DAY_SECONDS);
    (1..=7).find(|days| counts(weekday(today + days))).unwrap_or(7)
}

/// The first of these times that ends after `at`. Every kind comes the same in each week, so whole weeks are skipped.
fn first_behind(window: Window, repeat: Repeat, at: UtcMicros) -> Window {
    let behind = at.seconds().saturating_sub(window.end.seconds());
    let mut window = moved(window, (behind / WEEK_SECONDS).max(0).saturating_mul(WEEK_SECONDS));
    // The end of what can be told as an instant ends the walk.
    while window.end <= at && window.end.0 < i64::MAX {
        window = following(window, repeat);
    }
    window
}

/// Unfinished jobs by the reservation that they name or run in.
pub(crate) type ReservationJobs = OrdMap<Arc<str>, OrdSet<daybook_schemas::JobId>>;

impl Cluster {
    /// Reservations by name. One that has ended since the last commit is still here: [`Reservation::window`] says so.
    pub fn reservations(&self) -> &OrdMap<Arc<str>, Arc<Reservation>> {
        &self.reservations
    }

    /// Unfinished jobs that name a reservation or run in it.
    pub fn reservation_jobs(&self, name: &str) -> Option<&OrdSet<daybook_schemas::JobId>> {
        self.reservation_jobs.get(name)
    }

    /// The reservation that is in force on a node at `now`: one for maintenance before others. As in Slurm one of CPUs does
    /// not make its nodes reserved.
    pub fn reservation_on(
        &self,
        node: &daybook_schemas::NodeName,
        now: UtcMicros,
    ) -> Option<&Arc<Reservation>> {
        let is_there = |reservation: &&Arc<Reservation>| {
            let definition = &reservation.definition;
            definition.nodes.binary_search(node).is_ok()
                && (definition.flags.maintenance || !definition.is_of_cpus())
                && reservation.is_active(now)
        };
        self.reservations.values().filter(is_there).max_by_key(|found| found.definition.flags.maintenance)
    }

    /// The reservation of a job as people see it: the one that it runs in, else those that it asks for.
    pub fn shown_reservation<'a>(&'a self, job: &'a Job) -> Option<&'a Arc<str>> {
        let run = job.run.and_then(|run| self.runs.get(&run));
        run.and_then(|run| run.reservation.as_ref()).or(job.reservation.as_ref())
    }
}
