//! When reservations are in force, and what becomes of the jobs that use one.

mod history;

use daybook_model::{Cluster, Hold, Reservation};
use daybook_schemas::events::{ReservationCreated, ReservationDeleted, ReservationUpdated, RunAllocated};
use daybook_schemas::job::{JobState, Reason, TimeLimit};
use daybook_schemas::reservation::{Repeat, ReservationDefinition, ReservationFlags};
use daybook_schemas::run::RunNode;
use daybook_schemas::{JobId, Mebibytes, RunId, Seconds, Seq, Subject, UtcMicros};
use history::History;

/// A Friday, 08:00 UTC.
const FRIDAY: UtcMicros = UtcMicros(1_800_000_000_000_000);
const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

fn reservation(flags: ReservationFlags) -> Reservation {
    let definition = ReservationDefinition {
        name: "r".into(),
        start: FRIDAY.plus_seconds(HOUR),
        end: FRIDAY.plus_seconds(2 * HOUR),
        nodes: vec!["n1".into()],
        flags,
        ..ReservationDefinition::default()
    };
    Reservation { definition: definition.into(), unused_since: None, changed: Seq(1) }
}

fn repeating(repeat: Repeat) -> Reservation {
    reservation(ReservationFlags { repeat: Some(repeat), ..ReservationFlags::default() })
}

/// Start of the window at an instant, in seconds from [`FRIDAY`].
fn start_at(reservation: &Reservation, seconds: i64) -> Option<i64> {
    let window = reservation.window(FRIDAY.plus_seconds(seconds))?;
    assert_eq!(window.end.seconds() - window.start.seconds(), HOUR);
    Some(window.start.seconds() - FRIDAY.seconds())
}

#[test]
fn a_window_comes_again_as_its_flag_says() {
    let once = reservation(ReservationFlags::default());
    assert_eq!((start_at(&once, 0), start_at(&once, 2 * HOUR - 1)), (Some(HOUR), Some(HOUR)));
    assert_eq!(start_at(&once, 2 * HOUR), None);
    for (repeat, at, start) in [
        (Repeat::Hourly, 2 * HOUR, 2 * HOUR),
        (Repeat::Hourly, 30 * DAY, 30 * DAY),
        (Repeat::Daily, 2 * HOUR, DAY + HOUR),
        (Repeat::Daily, 400 * DAY, 400 * DAY + HOUR),
        (Repeat::Weekday, 2 * HOUR, 3 * DAY + HOUR),
        (Repeat::Weekday, 3 * DAY + 2 * HOUR, 4 * DAY + HOUR),
        (Repeat::Weekday, 703 * DAY, 703 * DAY + HOUR),
        (Repeat::Weekend, 2 * HOUR, DAY + HOUR),
        (Repeat::Weekend, 3 * DAY, 8 * DAY + HOUR),
        (Repeat::Weekly, 2 * HOUR, 7 * DAY + HOUR),
        (Repeat::Weekly, 7_001 * DAY, 7_007 * DAY + HOUR),
    ] {
        assert_eq!(start_at(&repeating(repeat), at), Some(start), "{repeat:?} at {at}");
    }
}

#[test]
fn what_reaches_into_any_of_its_times_meets_it() {
    let meets = |found: &Reservation, from: i64, until: Option<i64>| {
        let at = |seconds: i64| FRIDAY.plus_seconds(seconds);
        found.meets(FRIDAY, at(from), until.map(at))
    };
    let once = reservation(ReservationFlags::default());
    let daily = repeating(Repeat::Daily);
    for (from, until, by_once, by_daily) in [
        (0, Some(HOUR), false, false),
        (0, Some(HOUR + 1), true, true),
        (0, None, true, true),
        (2 * HOUR, None, false, true),
        (2 * HOUR, Some(DAY + HOUR), false, false),
        (2 * HOUR, Some(DAY + HOUR + 1), false, true),
        (50 * DAY + 3 * HOUR, Some(50 * DAY + 4 * HOUR), false, false),
    ] {
        assert_eq!((meets(&once, from, until), meets(&daily, from, until)), (by_once, by_daily), "{from}");
    }
    let floating = reservation(ReservationFlags { begins_in: Some(Seconds(600)), ..Default::default() });
    assert_eq!(start_at(&floating, 9 * DAY), Some(9 * DAY + 600));
    assert!(!meets(&floating, 0, Some(600)) && meets(&floating, 5 * DAY, Some(5 * DAY + 601)));
}

#[test]
fn one_that_nobody_uses_ends_early() {
    let flags = ReservationFlags { purge_after: Some(Seconds(300)), ..ReservationFlags::default() };
    let mut found = reservation(flags.clone());
    found.unused_since = Some(FRIDAY);
    assert_eq!(start_at(&found, HOUR + 299), Some(HOUR));
    assert_eq!(start_at(&found, HOUR + 300), None);
    found.unused_since = None;
    assert_eq!(start_at(&found, HOUR + 300), Some(HOUR));
    let mut daily = reservation(ReservationFlags { repeat: Some(Repeat::Daily), ..flags });
    daily.unused_since = Some(FRIDAY.plus_seconds(HOUR + 60));
    assert_eq!(start_at(&daily, HOUR + 360), Some(DAY + HOUR));
}

struct Story {
    history: History,
    start: UtcMicros,
}

impl Story {
    /// A reservation of an hour that begins in a minute, one job that runs in it, and one that waits for it.
    fn begin() -> Story {
        let mut history = History::new();
        let start = history.now().plus_seconds(60);
        history.say(Subject::Jobs, ReservationCreated { reservation: Story::definition(start) });
        for _ in 0..2 {
            history.submit_for("r");
        }
        history.wait(60);
        let share = RunNode {
            node: "n1".into(),
            cpus: [0].into_iter().collect(),
            memory: Mebibytes(1),
            gpus: Vec::new(),
            tasks: 1,
        };
        let allocated = RunAllocated {
            run: RunId::new(JobId(1), 0),
            array: None,
            partition: "main".into(),
            nodes: vec![share],
            time_limit: TimeLimit::minutes(600),
            reservation: Some("r".into()),
            billing: None,
            price_version: None,
        };
        history.say(Subject::Plan, allocated);
        Story { history, start }
    }

    fn definition(start: UtcMicros) -> ReservationDefinition {
        let nodes = vec!["n1".into()];
        let end = start.plus_seconds(HOUR);
        ReservationDefinition { name: "r".into(), start, end, nodes, ..ReservationDefinition::default() }
    }

    fn cluster(&self) -> &Cluster {
        self.history.cluster.sanity_check().expect("the cluster is sane");
        &self.history.cluster
    }

    fn run_end(&self) -> Option<UtcMicros> {
        self.cluster().runs()[&RunId::new(JobId(1), 0)].limit_end()
    }
}

#[test]
fn what_runs_in_a_reservation_ends_with_it_also_when_its_end_is_moved() {
    let mut story = Story::begin();
    assert_eq!(story.cluster().jobs()[&JobId(1)].state, JobState::Running);
    assert_eq!(story.run_end(), Some(story.start.plus_seconds(HOUR)));
    let end = story.start.plus_seconds(3 * HOUR);
    let longer = ReservationDefinition { end, ..Story::definition(story.start) };
    story.history.say(Subject::Jobs, ReservationUpdated { reservation: longer });
    assert_eq!(story.run_end(), Some(end));
    assert_eq!(story.cluster().reservation_jobs("r").map(|jobs| jobs.len()), Some(2));
}

#[test]
fn what_waits_for_a_reservation_that_goes_is_held_and_says_so() {
    for by_time in [true, false] {
        let mut story = Story::begin();
        if by_time {
            story.history.wait(HOUR);
        } else {
            story.history.say(Subject::Jobs, ReservationDeleted { name: "r".into() });
        }
        let cluster = story.cluster();
        assert!(cluster.reservations().is_empty(), "by time: {by_time}");
        let job = &cluster.jobs()[&JobId(2)];
        assert_eq!((job.hold, &job.reservation), (Some(Hold::User), &None));
        assert_eq!(cluster.shown_reason(job, cluster.time()), Reason::ReservationDeleted);
        // What runs goes on to the end that it has been given.
        assert_eq!(story.run_end(), Some(story.start.plus_seconds(HOUR)));
    }
}
