//! Jobs that would start if a reservation did not keep their nodes.

use std::borrow::Cow;

use daybook_model::Job;
use daybook_model::fit::{Share, place};
use daybook_schemas::job::Reason;

use super::Planning;
use crate::queue::Turn;
use crate::reservations::Access;
use crate::windows::Windows;

impl<'a> Planning<'a, '_> {
    /// In which reservation a job waits, if it does so in one that it may use now.
    pub(crate) fn access_of(&self, job: &Job) -> Access {
        self.reservations.accesses(job).map_or(Access::OUTSIDE, |(_, last)| last)
    }

    /// Whether one of these kinds may still be tried with such a window.
    pub(super) fn is_any_open(&self, numbers: &[usize], seconds: i64) -> bool {
        numbers.iter().any(|number| !self.kinds.get(*number).is_blocked(seconds))
    }

    /// Places a job in the first reservation that has room for it (`earlier`), else as the kind that it waits as. Gives the
    /// kind and the window, too.
    pub(super) fn place_first(
        &mut self,
        earlier: &[usize],
        number: usize,
        windows: &Windows,
    ) -> Option<(usize, i64, Vec<Share>)> {
        for number in earlier {
            if self.kinds.get(*number).is_blocked(windows.shortest) {
                continue;
            }
            if let Some((seconds, shares)) = self.place_longest(*number, windows) {
                return Some((*number, seconds, shares));
            }
            self.kinds.get_mut(*number).block(windows.shortest);
        }
        if self.kinds.get(number).is_blocked(windows.shortest) {
            return None;
        }
        self.place_longest(number, windows).map(|(seconds, shares)| (number, seconds, shares))
    }

    /// The reservation without which a kind would start now; `None`: it would not.
    pub(super) fn keeper_of(&mut self, number: usize, seconds: i64) -> Option<usize> {
        if self.reservations.is_empty() {
            return None;
        }
        let known = (seconds, self.cycle.starts.len(), self.promises.count());
        let kind = self.kinds.get(number);
        if let Some((of, keeper)) = kind.keeper
            && of == known
        {
            return keeper;
        }
        let until = self.reservations.until(kind.access, self.end_of(seconds));
        let free = |site: usize| -> Option<Cow<'_, _>> {
            let free = self.ground.free_until(site, until, &self.promises)?;
            Some(self.reservations.within(kind.access, site, free))
        };
        let shares = kind
            .demand
            .as_ref()
            .filter(|_| self.licenses.may_take(&kind.licenses, until))
            .and_then(|demand| place(demand, self.ground.terrain(), &kind.order, &free))
            .unwrap_or_default();
        let closing = |share: &Share| self.reservations.closing(kind.access, share.site, self.now, until);
        let keeper =
            shares.iter().filter_map(closing).max_by_key(|number| self.reservations.is_maintenance(*number));
        self.kinds.get_mut(number).keeper = Some((known, keeper));
        keeper
    }

    /// Such a job stands in no line: what is behind it does not wait for it, and the first K of a partition get a
    /// protected start of their own.
    pub(super) fn wait_for_nodes(&mut self, turn: Turn<'a>, number: usize, seconds: i64, keeper: usize) {
        let detail = match self.reservations.is_maintenance(keeper) {
            true => "Reserved for maintenance",
            false => "May be reserved for other job",
        };
        self.note_keeper(turn.job, keeper);
        self.give_reason(turn, Reason::ReqNodeNotAvail, detail);
        let Some(line) = self.kinds.get(number).line() else { return };
        let before = self.kept_back.entry(line).or_insert(0);
        let position = *before;
        *before = before.saturating_add(1);
        if self.may_protect(position) {
            self.reserve(turn.job, number, seconds);
        }
    }
}
