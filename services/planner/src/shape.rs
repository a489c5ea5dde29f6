//! Equal requests share one answer per cycle.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use daybook_model::Job;
use daybook_model::fit::Demand;
use daybook_schemas::job::{Reason, ResourceRequest, TimeLimit};

/// What is known of a shape in this cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It may fit.
    Open,
    /// It did not fit and cannot any more: resources only become fewer in a cycle.
    Blocked,
    /// Something other than what is in use keeps it from starting.
    Refused(Reason, Rc<str>),
}

/// Jobs with one request, one time limit and one partition.
pub(crate) struct Shape<'a> {
    /// The partition's number; `None`: not configured.
    pub(crate) field: Option<usize>,
    /// `None` where the partition is not configured.
    pub(crate) demand: Option<Demand<'a>>,
    /// How long it runs at most; `None`: no limit.
    pub(crate) seconds: Option<i64>,
    /// The nodes that it may use.
    pub(crate) order: Rc<[usize]>,
    pub(crate) verdict: Verdict,
}

type Key<'a> = (&'a str, TimeLimit, &'a ResourceRequest);

/// The shapes met in this cycle.
#[derive(Default)]
pub(crate) struct Shapes<'a> {
    numbers: BTreeMap<Key<'a>, usize>,
    all: Vec<Shape<'a>>,
    /// Whether a request would fit if nothing ran: a matter of partition and request, not of the time limit.
    when_empty: BTreeMap<(&'a str, &'a ResourceRequest), bool>,
    /// The last one asked for, by identity: a queue is mostly runs of equal jobs.
    last: Option<(&'a Arc<ResourceRequest>, &'a Arc<str>, TimeLimit, usize)>,
}

impl<'a> Shapes<'a> {
    /// The number of a job's shape; `make` makes one that is met for the first time.
    pub(crate) fn number(&mut self, job: &'a Job, make: impl FnOnce() -> Shape<'a>) -> usize {
        if let Some((request, partition, limit, number)) = self.last
            && limit == job.time_limit
            && (Arc::ptr_eq(partition, &job.partition) || partition == &job.partition)
            && (Arc::ptr_eq(request, &job.request) || request == &job.request)
        {
            return number;
        }
        let key = (job.partition.as_ref(), job.time_limit, job.request.as_ref());
        let number = match self.numbers.get(&key) {
            Some(number) => *number,
            None => {
                self.all.push(make());
                self.numbers.insert(key, self.all.len() - 1);
                self.all.len() - 1
            }
        };
        self.last = Some((&job.request, &job.partition, job.time_limit, number));
        number
    }

    /// Whether a job's request would fit if nothing ran, where that is known.
    pub(crate) fn fits_when_empty(&self, job: &Job) -> Option<bool> {
        self.when_empty.get(&(job.partition.as_ref(), job.request.as_ref())).copied()
    }

    pub(crate) fn note_fits_when_empty(&mut self, job: &'a Job, fits: bool) {
        self.when_empty.insert((job.partition.as_ref(), job.request.as_ref()), fits);
    }

    pub(crate) fn get(&self, number: usize) -> &Shape<'a> {
        &self.all[number]
    }

    pub(crate) fn set_verdict(&mut self, number: usize, verdict: Verdict) {
        self.all[number].verdict = verdict;
    }
}
