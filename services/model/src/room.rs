//! Room that running runs make for waiting jobs.

use daybook_schemas::job::JobState;
use daybook_schemas::{JobId, RunId, Seq};
use imbl::OrdSet;
use serde::{Deserialize, Serialize};

use crate::cluster::Cluster;

/// What is being made for a waiting record.
///
/// It lasts until what it was made for has started, and no longer than the first cycle that was decided with all of it
/// there: who did not start then waits like everybody else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Room {
    /// What it is made for: the job, or tasks of the array by their own job ids.
    pub takers: OrdSet<JobId>,
    /// Runs that still hold something of it.
    pub runs: OrdSet<RunId>,
    /// The commit after which none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_since: Option<Seq>,
}

impl Cluster {
    /// Waiting records that runs make room for, by id.
    pub fn rooms(&self) -> &imbl::OrdMap<JobId, Room> {
        &self.rooms
    }

    /// A run begins to give way to a waiting record, for `taker`.
    pub(crate) fn make_room(&mut self, record: JobId, taker: JobId, run: RunId) {
        let room = self.rooms.entry(record).or_default();
        room.takers.insert(taker);
        room.runs.insert(run);
        room.free_since = None;
    }

    /// A run of a record starts: one of those that the room was made for.
    pub(crate) fn take_room(&mut self, record: JobId, taker: JobId) {
        let Some(room) = self.rooms.get_mut(&record) else { return };
        if room.takers.remove(&taker).is_none() {
            // Another task of the array was first: it took the place of one.
            let first = room.takers.get_min().copied();
            if let Some(first) = first {
                room.takers.remove(&first);
            }
        }
        let waits = self.jobs.get(&record).is_some_and(|job| job.state == JobState::Pending);
        if room.takers.is_empty() || !waits {
            self.rooms.remove(&record);
        }
    }

    /// A record waits no more.
    pub(crate) fn give_room_up(&mut self, record: JobId) {
        self.rooms.remove(&record);
    }

    /// Nobody waits any more for what a run holds.
    pub(crate) fn note_way_given(&mut self, run: RunId) {
        let position = self.position;
        let Some(giving) = self.runs.get(&run).and_then(|run| run.giving_way.as_ref()) else { return };
        let record = giving.array.map_or(giving.by, |task| task.array_job);
        if let Some(room) = self.rooms.get_mut(&record)
            && room.runs.remove(&run).is_some()
            && room.runs.is_empty()
        {
            room.free_since = Some(position);
        }
    }

    /// A cycle was decided from the state at `input`.
    pub(crate) fn close_rooms(&mut self, input: Seq) {
        let is_over = |room: &Room| room.free_since.is_some_and(|since| since <= input);
        let over: Vec<JobId> =
            self.rooms.iter().filter(|(_, room)| is_over(room)).map(|(record, _)| *record).collect();
        over.iter().for_each(|record| drop(self.rooms.remove(record)));
    }
}
