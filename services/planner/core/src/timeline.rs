//! What one node has over time, beside everything planned: steps of amounts, in blocks, so that a question passes over
//! most of them.

use daybook_model::fit::{Amounts, Needed};
use daybook_schemas::UtcMicros;

/// Steps of a block; a block of twice as many is cut in two.
const BLOCK: usize = 48;
/// CPUs and memory stand before the GPUs of each type.
const CPUS: usize = 0;
const MEMORY: usize = 1;
const GPUS: usize = 2;

/// What one node has over time. The first step begins before every question.
#[derive(Clone)]
pub(crate) struct Timeline {
    blocks: Vec<Block>,
    /// Amounts of one step.
    width: usize,
}

/// Neighbouring steps. What is taken from all of them is noted once.
#[derive(Clone)]
struct Block {
    /// When each begins, ascending.
    at: Vec<UtcMicros>,
    /// Whether something comes back at its beginning.
    is_return: Vec<bool>,
    returns: usize,
    /// Amounts of each, without what was taken from all.
    rows: Vec<i64>,
    taken: Vec<i64>,
    /// The smallest and largest of each amount, with what was taken from all.
    least: Vec<i64>,
    most: Vec<i64>,
}

/// A step: block, and place in the block.
type Place = (usize, usize);

/// What a step must have.
pub(crate) struct Need<'n> {
    needed: &'n Needed,
}

impl<'n> Need<'n> {
    pub(crate) fn new(needed: &'n Needed) -> Need<'n> {
        Need { needed }
    }

    fn is_met(&self, row: impl Fn(usize) -> i64) -> bool {
        let least = &self.needed.least;
        row(CPUS) >= i64::from(least.cpus)
            && (least.memory == 0 || row(MEMORY) >= number(least.memory))
            && least.gpus.iter().enumerate().all(|(at, count)| row(GPUS + at) >= i64::from(*count))
            && (least.gpus.len() < 2
                || (0..least.gpus.len()).map(|at| row(GPUS + at).max(0)).fold(0, i64::saturating_add)
                    >= i64::from(self.needed.gpus))
    }
}

fn number(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

fn row_of(amounts: &Amounts) -> Vec<i64> {
    let gpus = amounts.gpus.iter().map(|count| i64::from(*count));
    [i64::from(amounts.cpus), number(amounts.memory)].into_iter().chain(gpus).collect()
}

impl Timeline {
    /// So much for ever.
    pub(crate) fn new(free: &Amounts) -> Timeline {
        let row = row_of(free);
        let width = row.len();
        let (at, is_return, rows) = (vec![UtcMicros(i64::MIN)], vec![false], row);
        Timeline { blocks: vec![Block::new(at, is_return, rows, width)], width }
    }

    /// Something more (or, `is_taken`, less) from one instant to another (`None`: for ever).
    pub(crate) fn change(
        &mut self,
        amounts: &Amounts,
        is_taken: bool,
        from: UtcMicros,
        until: Option<UtcMicros>,
    ) {
        if until.is_some_and(|until| until <= from) {
            return;
        }
        let mut change = row_of(amounts);
        if is_taken {
            change.iter_mut().for_each(|amount| *amount = -*amount);
        }
        self.cut_at(from);
        if let Some(until) = until {
            self.cut_at(until);
        }
        let (mut block, mut place) = self.place_of(from);
        while let Some(steps) = self.blocks.get_mut(block) {
            let end = until.map_or(steps.at.len(), |until| steps.at.partition_point(|at| *at < until));
            if end <= place {
                break;
            }
            steps.change(place..end, &change);
            (block, place) = (block + 1, 0);
        }
    }

    /// Notes that something comes back at an instant.
    pub(crate) fn note_return(&mut self, at: UtcMicros) {
        self.cut_at(at);
        let (block, place) = self.place_of(at);
        let steps = &mut self.blocks[block];
        if !std::mem::replace(&mut steps.is_return[place], true) {
            steps.returns += 1;
        }
    }

    /// At how many instants before this one something comes back.
    pub(crate) fn returns_before(&self, instant: Option<UtcMicros>) -> usize {
        let mut count = 0;
        for block in &self.blocks {
            let end = instant.map_or(block.at.len(), |instant| block.at.partition_point(|at| *at < instant));
            if end < block.at.len() {
                return count + block.is_return[..end].iter().filter(|is_return| **is_return).count();
            }
            count += block.returns;
        }
        count
    }

    /// Whether something comes back at an instant.
    pub(crate) fn returns_at(&self, instant: UtcMicros) -> bool {
        let (block, place) = self.place_of(instant);
        self.blocks[block].at[place] == instant && self.blocks[block].is_return[place]
    }

    /// The least of each amount from one instant to another (`None`: for ever).
    pub(crate) fn least(&self, from: UtcMicros, until: Option<UtcMicros>) -> Amounts {
        let first = self.place_of(from);
        // The step of `from` counts whatever the length.
        let last = match until {
            Some(until) => self.place_of(UtcMicros(until.0.saturating_sub(1))).max(first),
            None => (self.blocks.len() - 1, self.blocks[self.blocks.len() - 1].at.len() - 1),
        };
        let count = |at: usize| u32::try_from(self.least_of(at, first, last).max(0)).unwrap_or(u32::MAX);
        Amounts {
            cpus: count(CPUS),
            memory: u64::try_from(self.least_of(MEMORY, first, last)).unwrap_or(0),
            gpus: (GPUS..self.width).map(count).collect(),
        }
    }

    /// The least of one amount in the steps from `first` to `last`, both of them too.
    fn least_of(&self, at: usize, first: Place, last: Place) -> i64 {
        let mut least = i64::MAX;
        for (number, block) in self.blocks.iter().enumerate().take(last.0 + 1).skip(first.0) {
            let from = if number == first.0 { first.1 } else { 0 };
            let end = if number == last.0 { last.1 + 1 } else { block.at.len() };
            if end - from == block.at.len() {
                least = least.min(block.least[at]);
            } else {
                least = (from..end).map(|step| block.amount(step, at)).fold(least, i64::min);
            }
        }
        least
    }

    /// The first instant from `from` (and not after `latest`) at which something comes back and from which on so much is
    /// there for so long (`None`: for ever).
    pub(crate) fn earliest(
        &self,
        need: &Need<'_>,
        from: UtcMicros,
        latest: Option<UtcMicros>,
        micros: Option<i64>,
    ) -> Option<UtcMicros> {
        let mut place = self.place_of(from);
        if self.blocks[place.0].at[place.1] < from {
            place.1 += 1;
        }
        loop {
            let (block, step) = self.next_able(place, need, latest)?;
            let start = self.blocks[block].at[step];
            let until = micros.map(|micros| UtcMicros(start.0.saturating_add(micros)));
            match self.next_unable((block, step), need, until) {
                None => return Some(start),
                Some(unable) => place = unable,
            }
        }
    }

    /// The first step from a place at whose beginning something comes back and that has what is needed.
    fn next_able(&self, from: Place, need: &Need<'_>, latest: Option<UtcMicros>) -> Option<Place> {
        let mut first = from.1;
        for (number, block) in self.blocks.iter().enumerate().skip(from.0) {
            if latest.is_some_and(|latest| block.at.get(first).is_some_and(|at| *at > latest)) {
                return None;
            }
            if block.returns > 0 && need.is_met(|at| block.most[at]) {
                let is_able =
                    |step: &usize| block.is_return[*step] && need.is_met(|at| block.amount(*step, at));
                if let Some(step) = (first..block.at.len()).find(is_able) {
                    let is_late = latest.is_some_and(|latest| block.at[step] > latest);
                    return (!is_late).then_some((number, step));
                }
            }
            first = 0;
        }
        None
    }

    /// The first step from a place, beginning before `until`, that has not what is needed.
    fn next_unable(&self, from: Place, need: &Need<'_>, until: Option<UtcMicros>) -> Option<Place> {
        let mut first = from.1;
        for (number, block) in self.blocks.iter().enumerate().skip(from.0) {
            if until.is_some_and(|until| block.at.get(first).is_some_and(|at| *at >= until)) {
                return None;
            }
            if !need.is_met(|at| block.least[at]) {
                let is_unable = |step: &usize| !need.is_met(|at| block.amount(*step, at));
                if let Some(step) = (first..block.at.len()).find(is_unable) {
                    let is_late = until.is_some_and(|until| block.at[step] >= until);
                    return (!is_late).then_some((number, step));
                }
            }
            first = 0;
        }
        None
    }

    /// The step that an instant lies in.
    fn place_of(&self, instant: UtcMicros) -> Place {
        let block = match self.blocks.len() {
            1 => 0,
            _ => self.blocks.partition_point(|block| block.at[0] <= instant).saturating_sub(1),
        };
        let step = self.blocks[block].at.partition_point(|at| *at <= instant).saturating_sub(1);
        (block, step)
    }

    /// Makes a step begin at an instant.
    fn cut_at(&mut self, instant: UtcMicros) {
        let (number, step) = self.place_of(instant);
        let block = &mut self.blocks[number];
        if block.at[step] == instant {
            return;
        }
        let row = step * self.width..(step + 1) * self.width;
        block.at.insert(step + 1, instant);
        block.is_return.insert(step + 1, false);
        let copy = block.rows[row.clone()].to_vec();
        block.rows.splice(row.end..row.end, copy);
        if block.at.len() >= 2 * BLOCK {
            let behind = block.split_off(BLOCK, self.width);
            self.blocks.insert(number + 1, behind);
        }
    }
}

impl Block {
    fn new(at: Vec<UtcMicros>, is_return: Vec<bool>, rows: Vec<i64>, width: usize) -> Block {
        let returns = is_return.iter().filter(|is_return| **is_return).count();
        let none = vec![0; width];
        let mut block =
            Block { at, is_return, returns, rows, taken: none.clone(), least: none.clone(), most: none };
        block.measure();
        block
    }

    fn amount(&self, step: usize, at: usize) -> i64 {
        self.rows[step * self.taken.len() + at].saturating_add(self.taken[at])
    }

    /// Finds the smallest and largest amounts.
    fn measure(&mut self) {
        for at in 0..self.taken.len() {
            let amounts = (0..self.at.len()).map(|step| self.amount(step, at));
            let (least, most) = amounts
                .fold((i64::MAX, i64::MIN), |(least, most), amount| (least.min(amount), most.max(amount)));
            (self.least[at], self.most[at]) = (least, most);
        }
    }

    fn change(&mut self, steps: std::ops::Range<usize>, change: &[i64]) {
        if steps.len() == self.at.len() {
            for amounts in [&mut self.taken, &mut self.least, &mut self.most] {
                amounts.iter_mut().zip(change).for_each(|(amount, change)| {
                    *amount = amount.saturating_add(*change);
                });
            }
            return;
        }
        for row in self.rows.chunks_exact_mut(change.len()).skip(steps.start).take(steps.len()) {
            row.iter_mut().zip(change).for_each(|(amount, change)| *amount = amount.saturating_add(*change));
        }
        self.measure();
    }

    fn split_off(&mut self, at: usize, width: usize) -> Block {
        let mut rows = self.rows.split_off(at * width);
        for row in rows.chunks_exact_mut(width) {
            row.iter_mut().zip(&self.taken).for_each(|(amount, taken)| {
                *amount = amount.saturating_add(*taken);
            });
        }
        let behind = Block::new(self.at.split_off(at), self.is_return.split_off(at), rows, width);
        self.returns -= behind.returns;
        self.measure();
        behind
    }
}

#[cfg(test)]
mod tests;
