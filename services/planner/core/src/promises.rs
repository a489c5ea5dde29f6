//! Protected starts, and what they keep of each node.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use daybook_model::fit::{Amounts, Free, Share, Site};
use daybook_schemas::UtcMicros;

use crate::named::Named;
use crate::preemption::Gain;
use crate::releases::{Found, Part};
use crate::timeline::Timeline;

/// From so many on, what is kept is drawn over time: a list is walked once for each question.
pub(crate) const DRAWN_FROM: usize = 8;

/// What is kept of one node for one blocked job.
#[derive(Clone, Debug)]
struct Kept {
    start: UtcMicros,
    /// `None`: it has no time limit.
    end: Option<UtcMicros>,
    taken: Amounts,
    /// What is left on the node at `start`, beside everything planned so far.
    left: Amounts,
}

impl Kept {
    /// Whether it holds something at some time from `from` (`None`: the beginning of time) to `until` (`None`: its end).
    fn overlaps(&self, from: Option<UtcMicros>, until: Option<UtcMicros>) -> bool {
        until.is_none_or(|until| self.start < until)
            && match (self.end, from) {
                (Some(end), Some(from)) => from < end,
                _ => true,
            }
    }

    /// Whether it begins between `from` (`None`: now) and `until`.
    fn begins_within(&self, from: Option<UtcMicros>, until: Option<UtcMicros>) -> bool {
        from.is_none_or(|from| from < self.start) && until.is_none_or(|until| self.start < until)
    }
}

/// Everything that is kept for blocked jobs.
pub(crate) struct Promises {
    by_site: Vec<Vec<Kept>>,
    /// Whether something is kept of each.
    is_kept: Vec<bool>,
    /// Ends of what is kept, with the site.
    ends: BTreeSet<(UtcMicros, usize)>,
    count: usize,
    /// The last start that is promised.
    last_start: Option<UtcMicros>,
    /// Room of each node that is made for others, with when it is there at the latest: who it is for takes it as soon as it is.
    rooms: BTreeMap<usize, Vec<(Amounts, UtcMicros)>>,
    /// What of each node is coming free by runs that are ending.
    ending: BTreeMap<usize, Amounts>,
    /// CPUs that are kept by name, beside their numbers.
    named: Named,
    /// What each node has over time, where that is drawn; then nothing more is put into the lists.
    drawn: Option<Drawn>,
}

/// By site; `None`: the node is not to be used.
pub(crate) type Timelines = Vec<Option<Timeline>>;

struct Drawn {
    now: UtcMicros,
    timelines: Timelines,
}

impl Promises {
    pub(crate) fn new(sites: usize) -> Promises {
        Promises {
            by_site: vec![Vec::new(); sites],
            is_kept: vec![false; sites],
            ends: BTreeSet::new(),
            count: 0,
            last_start: None,
            rooms: BTreeMap::new(),
            ending: BTreeMap::new(),
            named: Named::default(),
            drawn: None,
        }
    }

    /// Whether so much is kept that it should be drawn over time, and is not.
    pub(crate) fn should_be_drawn(&self) -> bool {
        self.drawn.is_none() && self.count >= DRAWN_FROM
    }

    /// Draws what is kept on what each node has over time beside it.
    pub(crate) fn draw(&mut self, now: UtcMicros, mut timelines: Timelines) {
        for (kept, timeline) in self.by_site.iter().zip(&mut timelines) {
            let Some(timeline) = timeline else { continue };
            for kept in kept {
                timeline.change(&kept.taken, true, kept.start, kept.end);
                kept.end.into_iter().for_each(|end| timeline.note_return(end));
            }
        }
        self.drawn = Some(Drawn { now, timelines });
    }

    /// What each node has over time, where that is drawn.
    pub(crate) fn timelines(&self) -> Option<&Timelines> {
        self.drawn.as_ref().map(|drawn| &drawn.timelines)
    }

    /// How many jobs something is kept for.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The last start that is promised.
    pub(crate) fn last_start(&self) -> Option<UtcMicros> {
        self.last_start
    }

    /// When something that is kept comes back, and where, ascending.
    pub(crate) fn ends(&self) -> &BTreeSet<(UtcMicros, usize)> {
        &self.ends
    }

    /// Notes that shares are in use from now to `until`.
    pub(crate) fn charge(&mut self, sites: &[Site<'_>], shares: &[Share], until: Option<UtcMicros>) {
        if let Some(Drawn { now, timelines }) = &mut self.drawn {
            for share in shares {
                let Some(timeline) = &mut timelines[share.site] else { continue };
                timeline.change(&sites[share.site].amounts_taken(share), true, *now, until);
                until.into_iter().for_each(|until| timeline.note_return(until));
            }
            return;
        }
        for share in shares {
            let mut taken = None;
            for kept in self.by_site[share.site].iter_mut().filter(|kept| kept.begins_within(None, until)) {
                kept.left.take(taken.get_or_insert_with(|| sites[share.site].amounts_taken(share)));
            }
        }
    }

    /// Notes that the parts of a start to come are room that is being made.
    pub(crate) fn note_room(&mut self, found: &Found) {
        for part in &found.parts {
            self.rooms.entry(part.site).or_default().push((part.taken.clone(), found.start));
        }
    }

    /// Notes what a run holds that is ending.
    pub(crate) fn note_ending(&mut self, gain: &Gain) {
        match self.ending.get_mut(&gain.share.site) {
            Some(amounts) => amounts.give(&gain.amounts),
            None => drop(self.ending.insert(gain.share.site, gain.amounts.clone())),
        }
    }

    /// What may be taken now of a node's free amounts: room that is being made is not there yet, but what of it is free
    /// already is not for others.
    fn beside_rooms(&self, at: usize, mut free: Amounts) -> Amounts {
        let mut held: Option<Amounts> = None;
        for (taken, _) in self.rooms.get(&at).into_iter().flatten() {
            match &mut held {
                Some(held) => held.give(taken),
                None => held = Some(taken.clone()),
            }
        }
        if let Some(mut held) = held {
            self.ending.get(&at).into_iter().for_each(|ending| held.take(ending));
            free.take(&held);
        }
        free
    }

    /// Keeps the parts of a start to come.
    pub(crate) fn keep(&mut self, found: Found) {
        let Found { start, end, parts } = found;
        for Part { site, taken, cpus, free } in parts {
            self.is_kept[site] = true;
            cpus.into_iter().for_each(|cpus| self.named.keep(site, (start, end), cpus));
            if let Some(end) = end {
                self.ends.insert((end, site));
            }
            if let Some(drawn) = &mut self.drawn {
                if let Some(timeline) = &mut drawn.timelines[site] {
                    timeline.change(&taken, true, start, end);
                    end.into_iter().for_each(|end| timeline.note_return(end));
                }
                continue;
            }
            let kept = &mut self.by_site[site];
            for before in kept.iter_mut().filter(|kept| kept.begins_within(Some(start), end)) {
                before.left.take(&taken);
            }
            let mut left = free;
            let held = |kept: &&Kept| kept.start <= start && kept.end.is_none_or(|end| start < end);
            kept.iter().filter(held).for_each(|kept| left.take(&kept.taken));
            left.take(&taken);
            kept.push(Kept { start, end, taken, left });
        }
        self.count += 1;
        self.last_start = self.last_start.max(Some(start));
    }

    /// `free` of a node without what is kept there at some time from `from` (`None`: now) to `until`.
    pub(crate) fn without<'f>(
        &self,
        site: &Site<'_>,
        at: usize,
        free: Cow<'f, Free>,
        from: Option<UtcMicros>,
        until: Option<UtcMicros>,
    ) -> Cow<'f, Free> {
        if self.is_untouched(at) {
            return free;
        }
        let free = self.without_amounts(site, at, free, from, until);
        self.named.without(at, free, from, until)
    }

    /// The same by numbers.
    fn without_amounts<'f>(
        &self,
        site: &Site<'_>,
        at: usize,
        free: Cow<'f, Free>,
        from: Option<UtcMicros>,
        until: Option<UtcMicros>,
    ) -> Cow<'f, Free> {
        if let Some(Drawn { now, timelines }) = &self.drawn {
            let Some(timeline) = &timelines[at] else { return free };
            let mut there = timeline.least(from.unwrap_or(*now), until);
            if from.is_none() {
                there.at_most(&self.beside_rooms(at, site.amounts_free(&free)));
            }
            let mut free = free;
            if there != site.amounts_free(&free) {
                site.limit(free.to_mut(), &there);
            }
            return free;
        }
        let mut there: Option<Amounts> = None;
        let overlapping = self.by_site[at].iter().filter(|kept| kept.overlaps(from, until));
        // First what is held at the beginning, then what is left at each later start.
        for kept in overlapping.clone().filter(|kept| !kept.begins_within(from, until)) {
            there.get_or_insert_with(|| site.amounts_free(&free)).take(&kept.taken);
        }
        for kept in overlapping.filter(|kept| kept.begins_within(from, until)) {
            there.get_or_insert_with(|| site.amounts_free(&free)).at_most(&kept.left);
        }
        if from.is_none() && self.rooms.contains_key(&at) {
            let beside = self.beside_rooms(at, site.amounts_free(&free));
            there.get_or_insert_with(|| site.amounts_free(&free)).at_most(&beside);
        }
        let Some(there) = there else { return free };
        let mut free = free;
        if there != site.amounts_free(&free) {
            site.limit(free.to_mut(), &there);
        }
        free
    }

    /// `free` of a node, from now to `until`, without what is kept there; `gains` are in `free` and come back later, if ever,
    /// as far as was known when it was kept.
    pub(crate) fn without_gains<'f>(
        &self,
        site: &Site<'_>,
        at: usize,
        free: Cow<'f, Free>,
        (now, until): (UtcMicros, Option<UtcMicros>),
        gains: &[&Gain],
    ) -> Cow<'f, Free> {
        let free = self.amounts_without_gains(site, at, free, (now, until), gains);
        self.named.without(at, free, None, until)
    }

    fn amounts_without_gains<'f>(
        &self,
        site: &Site<'_>,
        at: usize,
        free: Cow<'f, Free>,
        (now, until): (UtcMicros, Option<UtcMicros>),
        gains: &[&Gain],
    ) -> Cow<'f, Free> {
        if self.is_untouched(at) || gains.is_empty() && !self.rooms.contains_key(&at) {
            return self.without(site, at, free, None, until);
        }
        let mut there = site.amounts_free(&free);
        let rooms = self.rooms.get(&at).into_iter().flatten();
        rooms.clone().for_each(|(taken, _)| there.take(taken));
        if let Some(Drawn { timelines, .. }) = &self.drawn {
            let Some(mut timeline) = timelines[at].clone() else { return free };
            for gain in gains {
                timeline.change(&gain.amounts, false, now, gain.otherwise);
            }
            for (taken, start) in rooms {
                timeline.change(taken, true, now, Some(*start));
            }
            there = timeline.least(now, until);
        }
        for kept in self.by_site[at].iter().filter(|kept| self.drawn.is_none() && kept.overlaps(None, until))
        {
            if !kept.begins_within(None, until) {
                there.take(&kept.taken);
                continue;
            }
            let mut left = kept.left.clone();
            let is_news = |gain: &&&Gain| gain.otherwise.is_none_or(|otherwise| otherwise > kept.start);
            gains.iter().filter(is_news).for_each(|gain| left.give(&gain.amounts));
            there.at_most(&left);
        }
        let mut free = free;
        if there != site.amounts_free(&free) {
            site.limit(free.to_mut(), &there);
        }
        free
    }

    /// What was to come back at `gain.otherwise` comes back at `at`.
    pub(crate) fn give_way(&mut self, gain: &Gain, at: UtcMicros) {
        let Some(Drawn { timelines, .. }) = &mut self.drawn else {
            for kept in &mut self.by_site[gain.share.site] {
                let is_news = gain.otherwise.is_none_or(|otherwise| otherwise > kept.start);
                if is_news && at <= kept.start {
                    kept.left.give(&gain.amounts);
                }
            }
            return;
        };
        if let Some(timeline) = &mut timelines[gain.share.site] {
            timeline.change(&gain.amounts, false, at, gain.otherwise);
            timeline.note_return(at);
        }
    }

    /// Whether nothing is kept of a node.
    pub(crate) fn is_untouched(&self, at: usize) -> bool {
        !self.is_kept[at]
    }
}
