//! Who has what waiting and running: counted for every association, account and QOS that may limit it.
//!
//! It is kept only where limits are enforced. The truth is in `jobs` and `runs`: what each was counted with, by whom it is
//! counted. `lines` are the sums by who it is for; `scopes` the sums by whose limits they meet, made anew from the lines
//! when the tree of accounts or a partition's QOS changes.

mod held;
mod keep;
mod tres;

use std::sync::Arc;

use daybook_schemas::{JobId, RunId, UtcMicros};
use imbl::{OrdMap, OrdSet};

pub(crate) use held::{Held, InUse, OfRun};
pub(crate) use tres::amounts;
pub use tres::{Amounts, Tres};

/// For whom a job or run is counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Charge {
    /// The partition; while a job waits for several, the first.
    pub partition: Arc<str>,
    /// The QOS.
    pub qos: Arc<str>,
    /// The account; empty: none.
    pub account: Arc<str>,
    /// The user, in lower case.
    pub user: Arc<str>,
}

/// Whose sums they are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// An association and all below it.
    Association(u32),
    Qos(Arc<str>),
    /// A user's jobs of a QOS.
    QosUser(Arc<str>, Arc<str>),
    /// An account's jobs of a QOS, without those of accounts below.
    QosAccount(Arc<str>, Arc<str>),
}

/// Sums of one charge, with whose limits they meet.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    held: Held,
    scopes: Arc<[Scope]>,
    /// Those that run.
    runs: OrdSet<RunId>,
}

/// What a job that waits or runs was counted as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OfJob {
    /// Jobs, or tasks.
    pub(crate) count: u64,
    /// How many of them gain priority by age.
    pub(crate) accruing: u64,
}

/// All that waits and runs, by whom it is counted for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Charges {
    is_kept: bool,
    /// Whose limits a line meets may have changed with this commit.
    is_stale: bool,
    jobs: OrdMap<JobId, (Arc<Charge>, OfJob)>,
    runs: OrdMap<RunId, (Arc<Charge>, Arc<OfRun>)>,
    /// When running runs reach their limits.
    endings: OrdSet<(UtcMicros, RunId)>,
    /// When runs have used up what one job may use, where that is before they reach their limits.
    own_ends: OrdSet<(UtcMicros, RunId)>,
    lines: OrdMap<Arc<Charge>, Arc<Line>>,
    scopes: OrdMap<Scope, Arc<Held>>,
}

impl Charges {
    pub(crate) fn held(&self, scope: &Scope) -> Option<&Held> {
        self.scopes.get(scope).map(|held| &**held)
    }

    /// Runs whose limit passed before `now`, with whose limits they meet. Few: they are being ended.
    pub(crate) fn overdue(&self, now: UtcMicros) -> impl Iterator<Item = (&[Scope], &OfRun)> {
        let late = self.endings.iter().take_while(move |(ends, _)| *ends < now);
        late.filter_map(|(_, id)| {
            let (charge, run) = self.runs.get(id)?;
            Some((&*self.lines.get(charge)?.scopes, &**run))
        })
    }

    /// The lines of which something runs, each with its runs.
    pub(crate) fn running_lines(&self) -> impl Iterator<Item = (&Charge, &OrdSet<RunId>)> {
        let running = self.lines.iter().filter(|(_, line)| !line.runs.is_empty());
        running.map(|(charge, line)| (&**charge, &line.runs))
    }

    /// What a run was counted with, and for whom.
    pub(crate) fn run(&self, id: RunId) -> Option<(&Charge, &OfRun)> {
        self.runs.get(&id).map(|(charge, run)| (&**charge, &**run))
    }

    /// When runs have used up what one job may use, soonest first.
    pub(crate) fn own_ends(&self) -> &OrdSet<(UtcMicros, RunId)> {
        &self.own_ends
    }

    /// Changes the sums of a charge; `scopes` are looked up where it is new.
    fn change(
        &mut self,
        charge: &Arc<Charge>,
        scopes: impl FnOnce(&Charge) -> Arc<[Scope]>,
        change: impl Fn(&mut Held),
    ) {
        if !self.lines.contains_key(charge) {
            let line = Line { held: Held::default(), scopes: scopes(charge), runs: OrdSet::new() };
            self.lines.insert(charge.clone(), Arc::new(line));
        }
        let Some(line) = self.lines.get_mut(charge).map(Arc::make_mut) else { return };
        change(&mut line.held);
        let (scopes, is_empty) = (line.scopes.clone(), line.held.is_empty());
        if is_empty {
            self.lines.remove(charge);
        }
        for scope in scopes.iter() {
            let held = Arc::make_mut(self.scopes.entry(scope.clone()).or_default());
            change(held);
            if held.is_empty() {
                self.scopes.remove(scope);
            }
        }
    }

    /// Whether it counts less than before among those that gain priority by age.
    fn set_job(
        &mut self,
        id: JobId,
        counted: Option<(Charge, OfJob)>,
        scopes: impl Fn(&Charge) -> Arc<[Scope]>,
    ) -> bool {
        let before = self.jobs.get(&id);
        let is_same = match (before, &counted) {
            (Some((charge, count)), Some((new, new_count))) => **charge == *new && count == new_count,
            (None, None) => true,
            _ => false,
        };
        if is_same {
            return false;
        }
        let mut is_less = false;
        if let Some((charge, of_job)) = self.jobs.remove(&id) {
            self.change(&charge, &scopes, |held| {
                held.submitted = held.submitted.saturating_sub(of_job.count);
                held.accruing = held.accruing.saturating_sub(of_job.accruing);
            });
            is_less = of_job.accruing > 0;
        }
        if let Some((charge, of_job)) = counted {
            let charge = self.shared(charge);
            self.change(&charge, &scopes, |held| {
                held.submitted = held.submitted.saturating_add(of_job.count);
                held.accruing = held.accruing.saturating_add(of_job.accruing);
            });
            self.jobs.insert(id, (charge, of_job));
        }
        is_less
    }

    pub(crate) fn set_run(
        &mut self,
        id: RunId,
        counted: Option<(Charge, OfRun)>,
        scopes: impl Fn(&Charge) -> Arc<[Scope]>,
    ) {
        let is_same = match (self.runs.get(&id), &counted) {
            (Some((charge, run)), Some((new_charge, new))) => **charge == *new_charge && **run == *new,
            (None, None) => true,
            _ => false,
        };
        if is_same {
            return;
        }
        if let Some((charge, run)) = self.runs.remove(&id) {
            if let Some(line) = self.lines.get_mut(&charge) {
                Arc::make_mut(line).runs.remove(&id);
            }
            self.change(&charge, &scopes, |held| held.remove(&run));
            if let Some(ends) = run.ends {
                self.endings.remove(&(ends, id));
            }
            if let Some(ends) = run.own_end {
                self.own_ends.remove(&(ends, id));
            }
        }
        if let Some((charge, run)) = counted {
            let charge = self.shared(charge);
            self.change(&charge, &scopes, |held| held.add(&run));
            if let Some(line) = self.lines.get_mut(&charge) {
                Arc::make_mut(line).runs.insert(id);
            }
            if let Some(ends) = run.ends {
                self.endings.insert((ends, id));
            }
            if let Some(ends) = run.own_end {
                self.own_ends.insert((ends, id));
            }
            self.runs.insert(id, (charge, Arc::new(run)));
        }
    }

    fn shared(&self, charge: Charge) -> Arc<Charge> {
        let charge = Arc::new(charge);
        self.lines.get_key_value(&charge).map_or(charge, |(shared, _)| shared.clone())
    }

    /// Whose limits every line meets is found anew.
    fn regroup(&mut self, scopes: impl Fn(&Charge) -> Arc<[Scope]>) {
        let mut sums: std::collections::BTreeMap<Scope, Held> = std::collections::BTreeMap::new();
        let lines = self.lines.iter().map(|(charge, line)| {
            let line = Line { scopes: scopes(charge), ..Line::clone(line) };
            line.scopes.iter().for_each(|scope| sums.entry(scope.clone()).or_default().merge(&line.held));
            (charge.clone(), Arc::new(line))
        });
        self.lines = lines.collect();
        self.scopes = sums.into_iter().map(|(scope, held)| (scope, Arc::new(held))).collect();
    }
}
