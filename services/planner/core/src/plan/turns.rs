//! A job's turn in a partition: it starts there, or waits there, or neither because it starts in another.

use daybook_model::Refusal;
use daybook_schemas::events::CycleBound;
use daybook_schemas::job::Reason;

use super::Planning;
use crate::endings::{is_overdue, is_too_late_in};
use crate::queue::Turn;
use crate::windows::Windows;

/// What keeps a job from being tried in a partition.
enum Hurdle {
    Reason(Reason, String),
    Limit(Refusal),
}

/// How a job is tried in a partition.
struct Trial {
    /// The kind that it waits as.
    number: usize,
    /// Kinds as which it is tried before.
    earlier: Vec<usize>,
    windows: Windows,
    /// How many tasks of an array may start.
    room: u64,
    /// Without backfill: whether a job in front is blocked.
    is_closed: bool,
}

/// A turn in which a job did not fit.
struct Blocked<'a> {
    turn: Turn<'a>,
    number: usize,
    /// The window in seconds.
    seconds: i64,
    is_closed: bool,
}

impl<'a> Planning<'a, '_> {
    pub(crate) fn decide_on(&mut self, turn: Turn<'a>) {
        let job = turn.job;
        if self.several.is_over(job)
            || self.preempting.is_served(job)
            || is_overdue(self.cluster, job, self.now)
        {
            return;
        }
        if turn.has_others() && self.preempting.serving().is_none() {
            self.several.note_turn(turn);
        }
        if let Some(blocked) = self.start_or_block(turn) {
            if self.will_start_elsewhere(turn) {
                self.several.postpone(turn);
                return;
            }
            // The partition that comes first is the first to keep room for it.
            self.resume_postponed(turn);
            if !self.preempting.is_served(job) {
                self.wait_in(blocked);
            }
        }
        self.resume_postponed(turn);
    }

    /// Starts what fits. Where nothing more does for want of resources, that is given back; what else keeps a job back it is
    /// told.
    fn start_or_block(&mut self, turn: Turn<'a>) -> Option<Blocked<'a>> {
        let job = turn.job;
        let Trial { number, earlier, windows, mut room, is_closed } = match self.trial(turn) {
            Ok(trial) => trial,
            Err(Hurdle::Reason(reason, detail)) => {
                self.give_reason(turn, reason, &detail);
                return None;
            }
            Err(Hurdle::Limit(refusal)) => {
                self.wait_for_limit(turn, refusal);
                return None;
            }
        };
        let startable = job.tasks_startable();
        let last_started = self.several.last_task(job).max(self.preempting.last_task(job));
        let mut tasks = startable.iter().flat_map(|tasks| tasks.iter());
        let mut tasks = tasks.by_ref().filter(|task| last_started.is_none_or(|last| *task > last));
        while !is_closed && self.preempting.wants_more() && self.may_fit(number, &earlier, &windows) {
            let run = self.next_run(job, &mut tasks)?;
            if room == 0 {
                self.give_reason(turn, Reason::JobArrayTaskLimit, "");
                return None;
            }
            if self.cycle.starts.len() >= self.policy.starts_max as usize {
                self.meet(CycleBound::Starts);
                return None;
            }
            match self.place_first(&earlier, number, &windows) {
                Some((number, seconds, shares)) => {
                    let limit = windows.limit(seconds);
                    if let Some(refusal) = self.limit_refusal_of(turn, &shares, limit) {
                        self.wait_for_limit(turn, refusal);
                        return None;
                    }
                    self.start(turn, number, (limit, seconds), run, &shares);
                }
                None => self.judge(turn, number, windows.shortest),
            }
            room -= 1;
        }
        if let Some((reason, detail)) = self.kinds.get(number).refused.clone() {
            self.give_reason(turn, reason, &detail);
            return None;
        }
        Some(Blocked { turn, number, seconds: windows.shortest, is_closed })
    }

    /// How a job is tried, if anything but resources lets it start.
    fn trial(&mut self, turn: Turn<'a>) -> Result<Trial, Hurdle> {
        let plain = |reason: Reason| Hurdle::Reason(reason, String::new());
        let job = turn.job;
        if is_too_late_in(self.cluster, turn, self.now) {
            return Err(plain(Reason::DeadLine));
        }
        let (earlier, access) = self.reservations.accesses(job).map_err(plain)?;
        let number = self.kind_of(turn, access);
        let kind = self.kinds.get(number);
        let is_shut = matches!(kind.refused, Some((Reason::PartitionDown | Reason::PartitionInactive, _)));
        // Unlimited is greater than any number of seconds.
        if self.limit_of(turn) > kind.time_max && !is_shut {
            return Err(plain(Reason::PartitionTimeLimit));
        }
        if let Some((reason, detail)) = &kind.refused {
            return Err(Hurdle::Reason(*reason, detail.to_string()));
        }
        if let Some((reason, detail)) = self.admission_refusal(turn) {
            return Err(Hurdle::Reason(reason, detail));
        }
        let room = self.array_room(job);
        if room == 0 {
            return Err(plain(Reason::JobArrayTaskLimit));
        }
        let windows = self.windows(turn);
        if let Some(refusal) = self.limit_refusal(turn, windows.limit(windows.shortest)) {
            return Err(Hurdle::Limit(refusal));
        }
        let is_closed = self.is_closed(self.kinds.get(number).line());
        let earlier = earlier.into_iter().map(|access| self.kind_of(turn, access)).collect();
        Ok(Trial { number, earlier, windows, room, is_closed })
    }

    /// Whether it is not known that nothing of a kind fits.
    fn may_fit(&self, number: usize, earlier: &[usize], windows: &Windows) -> bool {
        let kind = self.kinds.get(number);
        kind.refused.is_none()
            && (!kind.is_blocked(windows.shortest) || self.is_any_open(earlier, windows.shortest))
    }

    /// A job that does not fit here: it gets room by preemption, or waits, in the first places with a protected start.
    fn wait_in(&mut self, blocked: Blocked<'a>) {
        let Blocked { turn, number, seconds, is_closed } = blocked;
        match self.keeper_of(number, seconds).filter(|_| !is_closed) {
            Some(keeper) => self.wait_for_nodes(turn, number, seconds, keeper),
            None => self.wait_its_turn(turn, number, seconds),
        }
    }

    /// Whether a job would start in a partition in which its turn is still to come: then nothing is kept for it here, and
    /// nobody gives way to it.
    fn will_start_elsewhere(&mut self, turn: Turn<'a>) -> bool {
        if !turn.has_others() || self.preempting.serving().is_some() {
            return false;
        }
        (0u32..).zip(turn.job.partitions()).any(|(place, partition)| {
            !self.several.has_had(turn.job, place) && self.would_start(Turn { place, partition, ..turn })
        })
    }

    fn would_start(&mut self, turn: Turn<'a>) -> bool {
        let Ok(Trial { number, earlier, windows, is_closed, .. }) = self.trial(turn) else { return false };
        if is_closed || !self.may_fit(number, &earlier, &windows) {
            return false;
        }
        match self.place_first(&earlier, number, &windows) {
            Some((_, seconds, shares)) => {
                self.limit_refusal_of(turn, &shares, windows.limit(seconds)).is_none()
            }
            None => {
                self.judge(turn, number, windows.shortest);
                false
            }
        }
    }

    /// A job that has not started where that was expected waits where it did not fit before, too.
    fn resume_postponed(&mut self, turn: Turn<'a>) {
        if !self.several.is_postponed(turn.job) || self.will_start_elsewhere(turn) {
            return;
        }
        for before in self.several.take_postponed(turn.job) {
            if self.several.is_over(turn.job) || self.preempting.is_served(turn.job) {
                break;
            }
            // What has started elsewhere counts here too: an array's own limit, or another, may be reached.
            if let Some(blocked) = self.start_or_block(before) {
                self.wait_in(blocked);
            }
        }
    }
}
