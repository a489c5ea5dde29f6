//! Coming back after a failed write, without a restart.
//!
//! A database whose write-ahead file could not be written is stopped for good (see `store`): it serves reads and
//! refuses writes, and never touches that file again. So what is in its files now is what there will be:
//!
//! 1. The failed group is looked for in a second, read-only view of those files. Not there: it certainly never will
//!    be, and its writers are told `Unavailable`. There (written, but the sync failed), or the view cannot be had: its
//!    writers are told `Unknown`, and its events are unsettled: [`find`](crate::EventLog::find) does not answer.
//! 2. From time to time the writer looks whether there is space again: for the write-ahead files to be moved
//!    into tables, and a little more. If so the database is closed and opened again, which recovers from its files.
//! 3. Its end is checked as at a start, and taken from what is there: a group that turned up is published now, and
//!    the outcome of every append is settled.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use daybook_schemas::{Seq, Stream};

use super::store::{Access, Store};
use super::tail;
use super::writer::Writer;
use crate::admission::STREAMS;
use crate::bounds::{RESUME_DELAY_MAX, RESUME_DELAY_MIN, RESUME_SPACE};

/// Whether the writer writes.
pub(super) enum Health {
    /// It does.
    Writing,
    /// A write failed; it will try again.
    Suspended(Suspended),
    /// Acknowledged commits are gone from the files: nothing is ever written behind that hole.
    Lost(String),
}

/// Why the writer does not write, and when it tries again.
pub(super) struct Suspended {
    why: String,
    delay: Duration,
    next_try: Instant,
}

impl Suspended {
    pub(super) fn new(dir: &Path, database: &Path, why: &str) -> Suspended {
        let needed = space_needed(database).unwrap_or(RESUME_SPACE).div_ceil(1 << 20);
        let why = format!(
            "writing to {} failed: {why}; it goes on by itself once that directory can be written and has {needed} MiB \
             of free space",
            dir.display()
        );
        Suspended { why, delay: RESUME_DELAY_MIN, next_try: Instant::now() + RESUME_DELAY_MIN }
    }

    fn again(&mut self) {
        self.delay = (self.delay * 2).min(RESUME_DELAY_MAX);
        self.next_try = Instant::now() + self.delay;
    }
}

impl Health {
    /// How long to wait for requests before the next try; `None`: for ever.
    pub(super) fn wait(&self) -> Option<Duration> {
        match self {
            Health::Suspended(suspended) => {
                Some(suspended.next_try.saturating_duration_since(Instant::now()))
            }
            Health::Writing | Health::Lost(_) => None,
        }
    }

    /// What an append is told, unless it may be written.
    pub(super) fn refusal(&self) -> Option<String> {
        match self {
            Health::Writing => None,
            Health::Suspended(suspended) => Some(suspended.why.clone()),
            Health::Lost(why) => Some(why.clone()),
        }
    }
}

/// Why the log did not come back.
enum NotResumed {
    /// Not yet.
    Later(String),
    /// Never.
    Lost(String),
}

impl Writer {
    /// Whether the group that begins at this place is in the files.
    pub(super) fn outcome_of_failed(&self, place: Option<(Stream, Seq)>) -> Result<bool, String> {
        let Some((stream, seq)) = place else { return Ok(false) };
        let view = Store::open(&self.shared.database_dir(), Access::ReadOnly)
            .map_err(|error| error.into_string())?;
        view.has_commit(stream, seq)
    }

    /// Tries to come back, if the writer is suspended and the time has come.
    pub(super) fn resume_if_due(&mut self) {
        let Health::Suspended(suspended) = &self.health else { return };
        if suspended.next_try > Instant::now() {
            return;
        }
        match self.resume() {
            Ok(()) => {
                self.shared.settle();
                self.health = Health::Writing;
                tracing::warn!(
                    dir = %self.shared.dir.display(), state = %self.end.tails.state.seq,
                    detail = %self.end.tails.detail.seq, "the log writes again"
                );
            }
            Err(NotResumed::Later(why)) => {
                tracing::debug!(dir = %self.shared.dir.display(), %why, "the log cannot write yet");
                if let Health::Suspended(suspended) = &mut self.health {
                    suspended.again();
                }
            }
            Err(NotResumed::Lost(why)) => {
                tracing::error!(dir = %self.shared.dir.display(), %why, "the log has lost commits");
                self.health = Health::Lost(why);
            }
        }
    }

    fn resume(&mut self) -> Result<(), NotResumed> {
        let database = self.shared.database_dir();
        look_for_space(&self.shared.dir, &database).map_err(|error| NotResumed::Later(error.to_string()))?;
        let shared = self.shared.clone();
        let mut place = shared.store_for_exchange();
        // The old database is closed first; its directory has one owner.
        *place = None;
        let store = match Store::open(&database, Access::ReadWrite) {
            Ok(store) => store,
            Err(error) => {
                // Readers go on with what is in the files.
                *place = Store::open(&database, Access::ReadOnly).ok();
                return Err(NotResumed::Later(error.into_string()));
            }
        };
        let end = tail::check(&store);
        *place = Some(store);
        drop(place);
        let end = end.map_err(NotResumed::Later)?;
        for stream in STREAMS {
            let (found, acknowledged) = (end.tails.get(stream).seq, self.shared.ends.get(stream));
            if found < acknowledged {
                return Err(NotResumed::Lost(format!(
                    "the {stream:?} stream in {} ends at commit {found} after recovery, but {acknowledged} was \
                     acknowledged: bring the log back from a backup",
                    self.shared.dir.display()
                )));
            }
        }
        for stream in STREAMS {
            self.shared.ends.publish(stream, end.tails.get(stream).seq);
        }
        self.end = end;
        Ok(())
    }
}

/// The free space that recovery wants: it moves what is in the write-ahead files into tables before it removes them.
fn space_needed(database: &Path) -> std::io::Result<u64> {
    let mut needed = RESUME_SPACE;
    for entry in std::fs::read_dir(database)? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|extension| extension == "log") {
            needed += entry.metadata()?.len();
        }
    }
    Ok(needed)
}

/// Writes a file as large as the recovery will need, syncs it and removes it again.
fn look_for_space(dir: &Path, database: &Path) -> std::io::Result<()> {
    let path = dir.join("probe");
    let written = write_zeros(&path, space_needed(database)?);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => written.and(Err(error)),
        _ => written,
    }
}

fn write_zeros(path: &Path, length: u64) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    let zeros = [0; 64 << 10];
    let mut left = length;
    while left > 0 {
        let step = left.min(zeros.len() as u64);
        file.write_all(&zeros[..step as usize])?;
        left -= step;
    }
    file.sync_data()
}
