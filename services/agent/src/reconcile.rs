//! From the orders and what the agent has to what must be done. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use daybook_schemas::orders::{DesiredSet, RunOrder, RunWish};
use daybook_schemas::{RunId, Seq};
use daybook_supervisor::records::Wish;

/// What the agent has of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// It goes on here (or its end is on the way to the log).
    Active {
        /// The commit that allocated it.
        allocated: Seq,
        /// What it has been told.
        told: Wish,
    },
    /// Its end is in the log, in this commit.
    Done(Seq),
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Take up a run.
    Begin(Arc<RunOrder>),
    /// Tell a run something new.
    Tell(RunId, Wish),
    /// Forget a run that is over.
    Forget(RunId),
}

/// Which actions make what is known into what is desired, in order of the runs.
///
/// A run that is over is not begun again by orders that do not know it yet. A run that newer orders do not name is told
/// to let go. Two runs of one job are never here at once: the later one waits.
pub fn reconcile(desired: &DesiredSet, known: &BTreeMap<RunId, Known>) -> Vec<Action> {
    let ordered: BTreeMap<RunId, &Arc<RunOrder>> =
        desired.runs.iter().map(|order| (order.run, order)).collect();
    let mut actions = Vec::new();
    for (run, order) in &ordered {
        match known.get(run) {
            None if !has_active_run_of_same_job(known, *run) => actions.push(Action::Begin((*order).clone())),
            Some(Known::Active { told, .. }) if *told != Wish::of(order) => {
                actions.push(Action::Tell(*run, Wish::of(order)));
            }
            _ => {}
        }
    }
    for (run, known) in known.iter().filter(|(run, _)| !ordered.contains_key(run)) {
        match known {
            Known::Done(end) if *end <= desired.generation => actions.push(Action::Forget(*run)),
            Known::Active { allocated, told }
                if *allocated <= desired.generation && told.wish != RunWish::Release =>
            {
                actions.push(Action::Tell(*run, Wish { wish: RunWish::Release, ..told.clone() }));
            }
            _ => {}
        }
    }
    actions
}

fn has_active_run_of_same_job(known: &BTreeMap<RunId, Known>, run: RunId) -> bool {
    let (first, last) = (RunId::new(run.job, 0), RunId::new(run.job, u32::MAX));
    known.range(first..=last).any(|(_, known)| matches!(known, Known::Active { .. }))
}

#[cfg(test)]
mod tests;
