//! Which runs give way to one job: the cheapest that are enough, and none that does not help.

use std::borrow::Cow;
use std::collections::BTreeMap;

use daybook_model::fit::{Share, place};
use daybook_schemas::events::CycleBound;

use super::Gain;
use crate::kinds::FOR_EVER;
use crate::plan::Planning;
use crate::queue::Turn;

/// What is to be done for a job.
pub(super) enum Choice {
    /// These, of the candidates, are to give way; then the job can be placed so.
    Runs(Vec<usize>, Vec<Share>),
    /// None need: it starts when those are gone that are ending anyway.
    Nobody,
    /// All that may would not be enough.
    Hopeless,
}

impl<'a> Planning<'a, '_> {
    /// Chooses who gives way.
    ///
    /// The cheapest that are enough are found by halving; of those, from the dearest to the cheapest, each is left out without
    /// which the job still fits. So nobody dearer goes than must, and each that goes is needed beside the others.
    pub(super) fn choose(&mut self, turn: Turn<'a>, number: usize, seconds: i64) -> Choice {
        let key = (number, &*turn.job.qos);
        if self.preempting.hopeless.get(&key).is_some_and(|from| *from <= seconds) {
            return Choice::Hopeless;
        }
        if self.ground.is_exhausted() {
            return Choice::Hopeless;
        }
        if self.preempting.tried >= self.policy.preemptors_max {
            self.meet(CycleBound::Preemptions);
            return Choice::Hopeless;
        }
        self.preempting.tried += 1;
        let candidates = self.candidates_for(turn, number);
        if candidates.is_empty() || self.fits_without(number, seconds, &candidates).is_none() {
            self.preempting.hopeless.insert(key, seconds);
            return Choice::Hopeless;
        }
        if self.fits_without(number, seconds, &[]).is_some() {
            return Choice::Nobody;
        }
        let (mut fails, mut fits) = (0, candidates.len());
        while fits - fails > 1 {
            let middle = fails + (fits - fails) / 2;
            match self.fits_without(number, seconds, &candidates[..middle]) {
                Some(_) => fits = middle,
                None => fails = middle,
            }
        }
        let enough = &candidates[..fits];
        let mut chosen = self.on_the_place(number, seconds, enough);
        for at in (0..chosen.len()).rev() {
            if self.ground.is_exhausted() {
                return Choice::Hopeless;
            }
            let mut fewer = chosen.clone();
            fewer.remove(at);
            if self.fits_without(number, seconds, &fewer).is_some() {
                chosen = fewer;
            }
        }
        let Some(shares) = self.fits_without(number, seconds, &chosen) else { return Choice::Hopeless };
        // Where it would be given more than a limit lets it have, it would not start there.
        match self.limit_refusal_of(turn, &shares, self.windows(turn).limit(seconds)) {
            Some(_) => Choice::Hopeless,
            None => Choice::Runs(chosen, shares),
        }
    }

    /// Of those that are enough the ones on the nodes where the job would be placed, where these alone are enough too.
    fn on_the_place(&self, number: usize, seconds: i64, enough: &[usize]) -> Vec<usize> {
        let Some(shares) = self.fits_without(number, seconds, enough) else { return enough.to_vec() };
        let Some(known) = &self.preempting.candidates else { return Vec::new() };
        let is_there = |site: usize| shares.iter().any(|share| share.site == site);
        let there = enough.iter().copied();
        let there: Vec<usize> =
            there.filter(|at| known.all[*at].gains.iter().any(|gain| is_there(gain.share.site))).collect();
        match self.fits_without(number, seconds, &there) {
            Some(_) => there,
            None => enough.to_vec(),
        }
    }

    /// Where a job would be placed if these runs, and those that are ending, were gone: for its whole window from whenever
    /// they are, beside all that is promised to others.
    pub(super) fn fits_without(&self, number: usize, seconds: i64, gone: &[usize]) -> Option<Vec<Share>> {
        let known = self.preempting.candidates.as_ref()?;
        let kind = self.kinds.get(number);
        let longest = if seconds == FOR_EVER { seconds } else { seconds.saturating_add(known.wait_max) };
        let until = self.reservations.until(kind.access, self.end_of(longest));
        if !self.licenses.may_take(&kind.licenses, until) {
            return None;
        }
        let mut gains: BTreeMap<usize, Vec<&Gain>> = BTreeMap::new();
        for gain in gone.iter().flat_map(|at| &known.all[*at].gains) {
            gains.entry(gain.share.site).or_default().push(gain);
        }
        let free = |site: usize| {
            self.ground.count_steps(1);
            let free = || {
                let now = self.ground.free(site)?;
                let ending = known.ending.get(&site).into_iter().flatten();
                let gains: Vec<&Gain> =
                    ending.chain(gains.get(&site).into_iter().flatten().copied()).collect();
                let mut free = Cow::Borrowed(now);
                gains.iter().for_each(|gain| free.to_mut().give(&gain.share));
                let window = (self.now, until);
                Some(self.promises.without_gains(&self.ground.sites[site], site, free, window, &gains))
            };
            self.reservations.open(kind.access, site, (self.now, until), free)
        };
        place(kind.demand.as_ref()?, self.ground.terrain(), &kind.order, &free)
    }
}
