//! Equal requests share one answer per cycle.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use daybook_model::Lifted;
use daybook_model::fit::Demand;
use daybook_schemas::job::{Reason, ResourceRequest, TimeLimit};
use daybook_schemas::{JobId, UtcMicros};

use crate::licenses::Need;
use crate::queue::Turn;
use crate::reservations::Access;

/// A window that has no end.
pub(crate) const FOR_EVER: i64 = i64::MAX;

/// Jobs with one request in one partition, and what is known of them in this cycle.
pub(crate) struct Kind<'a> {
    /// The partition's number; `None`: not configured.
    pub(crate) field: Option<usize>,
    /// In which reservation it is tried.
    pub(crate) access: Access,
    /// What its QOS lifts of the partition's limits.
    pub(crate) lifted: Lifted,
    /// The reservation that alone keeps it from starting, with what that was known for: a window, how many starts and how
    /// many promises there were.
    pub(crate) keeper: Option<((i64, usize, usize), Option<usize>)>,
    /// `None` where the partition is not configured.
    pub(crate) demand: Option<Demand<'a>>,
    /// The partition's longest limit.
    pub(crate) time_max: TimeLimit,
    /// Licences that it takes; empty: none.
    pub(crate) licenses: Vec<Need>,
    /// The nodes that it may use.
    pub(crate) order: Rc<[usize]>,
    /// Those of them that have as many CPUs and GPUs free as any of its nodes must give, as known last: in a cycle they
    /// only become fewer. `None`: not looked at.
    pub(crate) open: Option<Vec<usize>>,
    /// Something other than what is in use keeps it from starting.
    pub(crate) refused: Option<(Reason, Arc<str>)>,
    /// The shortest window, in seconds, that is known not to fit any more: resources only become fewer in a cycle, and
    /// a longer window meets all that a shorter one meets.
    pub(crate) blocked_from: Option<i64>,
    /// Whether it would fit if nothing ran.
    pub(crate) fits_when_empty: Option<bool>,
    /// The window in seconds, and the protected start, of the last one of it that got one: for as long a window nothing
    /// earlier is possible, as resources only become fewer in a cycle.
    pub(crate) promised: Option<(i64, UtcMicros)>,
}

impl Kind<'_> {
    /// The line that its jobs stand in; `None`: the partition is not configured.
    pub(crate) fn line(&self) -> Option<usize> {
        self.field.map(|field| self.access.line(field))
    }

    /// Whether a window of so many seconds is known not to fit.
    pub(crate) fn is_blocked(&self, seconds: i64) -> bool {
        self.blocked_from.is_some_and(|from| from <= seconds)
    }

    /// Before when no window of so many seconds can be promised.
    pub(crate) fn not_before(&self, seconds: i64) -> Option<UtcMicros> {
        self.promised.filter(|(promised, _)| *promised <= seconds).map(|(_, start)| start)
    }

    /// Notes a protected start of one of it (`None`: it has no time limit).
    pub(crate) fn note_promise(&mut self, seconds: Option<i64>, start: UtcMicros) {
        self.promised = Some((seconds.unwrap_or(FOR_EVER), start));
    }

    /// Notes that a window does not fit.
    pub(crate) fn block(&mut self, seconds: i64) {
        self.blocked_from = Some(self.blocked_from.map_or(seconds, |from| from.min(seconds)));
    }
}

/// What beside partition and request makes two kinds of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Variant {
    /// Whether its jobs still wait for few switches.
    pub(crate) is_choosy: bool,
    /// In which reservation they are tried.
    pub(crate) access: Access,
    /// What their QOS lifts of the partition's limits.
    pub(crate) lifted: Lifted,
    /// The record and the place of its planned start, where it is tried in the room that was made for it.
    pub(crate) room: Option<(JobId, usize)>,
}

/// The kinds met in this cycle.
#[derive(Default)]
pub(crate) struct Kinds<'a> {
    all: Vec<Kind<'a>>,
    numbers: BTreeMap<(&'a str, &'a ResourceRequest, Variant), usize>,
    /// By identity, for looking up only and never walked: addresses differ from run to run. The model keeps one copy of
    /// equal requests.
    known: BTreeMap<(*const str, *const ResourceRequest, Variant), usize>,
    /// The last one asked for: a queue is mostly runs of equal jobs.
    last: Option<(*const str, *const ResourceRequest, Variant, usize)>,
}

impl<'a> Kinds<'a> {
    /// The number of a job's kind; `make` makes one that is met for the first time. Equal requests are of one kind as
    /// long as all or none of them still wait for few switches, and they are tried in the same reservation.
    pub(crate) fn number(
        &mut self,
        turn: Turn<'a>,
        variant: Variant,
        make: impl FnOnce() -> Kind<'a>,
    ) -> usize {
        let job = turn.job;
        let (partition, request) = (Arc::as_ptr(turn.partition), Arc::as_ptr(&job.request));
        if let Some((of_partition, of_request, of_variant, number)) = self.last
            && std::ptr::addr_eq(of_partition, partition)
            && of_request == request
            && of_variant == variant
        {
            return number;
        }
        let number = match self.known.get(&(partition, request, variant)) {
            Some(number) => *number,
            None => {
                let key = (turn.partition.as_ref(), job.request.as_ref(), variant);
                let number = match self.numbers.get(&key) {
                    Some(number) => *number,
                    None => {
                        self.all.push(make());
                        self.numbers.insert(key, self.all.len() - 1);
                        self.all.len() - 1
                    }
                };
                self.known.insert((partition, request, variant), number);
                number
            }
        };
        self.last = Some((partition, request, variant, number));
        number
    }

    pub(crate) fn get(&self, number: usize) -> &Kind<'a> {
        &self.all[number]
    }

    pub(crate) fn get_mut(&mut self, number: usize) -> &mut Kind<'a> {
        &mut self.all[number]
    }
}
