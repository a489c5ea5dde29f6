//! An agent on a simulated machine: the real reconciliation and the real reporter, around steps that the simulation
//! takes one at a time, so that it can die between any two of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use daybook_agent::Loss;
use daybook_agent::reconcile::{Action, Known, reconcile};
use daybook_agent::report::{Report, Reporter};
use daybook_schemas::orders::{DesiredSet, RunOrder, RunWish};
use daybook_schemas::run::ExitStatus;
use daybook_schemas::{NodeName, RunId, Seq, UtcMicros};
use daybook_supervisor::records::{Exit, Started, Wish};
use tokio::task::JoinHandle;

use crate::choice::Choice;
use crate::machine::{Machine, Record, told_cause};

/// What of an agent's rules is broken on purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BrokenRules {
    /// Takes orders from before its own registration.
    pub takes_old_orders: bool,
    /// Forgets a run as soon as its end is sent, not when the log has it.
    pub forgets_before_acknowledged: bool,
}

/// One process of an agent.
pub struct StepAgent {
    node: NodeName,
    reporter: Reporter,
    broken: BrokenRules,
    registration: Option<JoinHandle<Option<Seq>>>,
    newest: Seq,
    /// Orders that have come and are not taken yet.
    orders: Option<Arc<DesiredSet>>,
    /// Those taken last: they are looked at again when a run has ended, as the real agent does.
    taken: Option<Arc<DesiredSet>>,
    known: BTreeMap<RunId, Known>,
    begun: BTreeMap<RunId, Arc<RunOrder>>,
    start_told: BTreeSet<RunId>,
    /// Runs whose ends were told before nothing was left of them.
    end_told: BTreeSet<RunId>,
    reports: BTreeMap<RunId, JoinHandle<Option<Seq>>>,
}

/// One thing that the agent could do next.
#[derive(Clone, Copy, Debug)]
enum Move {
    NoteRegistration,
    TakeOrders,
    Intend(RunId),
    EndUnstarted(RunId),
    Launch(RunId),
    ClaimUnstarted(RunId),
    TellStart(RunId),
    TellEnd(RunId),
    ReportEnd(RunId),
    ReportLoss(RunId),
    ReportRelease(RunId),
    NoteEnd(RunId),
}

impl StepAgent {
    /// Starts: finds what is on the machine's disk, and registers.
    pub fn start(
        node: NodeName,
        machine: &Machine,
        reporter: Reporter,
        registration: Report,
        broken: BrokenRules,
    ) -> StepAgent {
        let registering = reporter.clone();
        let registration = tokio::spawn(async move { registering.append(registration).await });
        let known = machine.disk.iter().map(|(run, record)| {
            (*run, Known::Active { allocated: record.order.allocated, told: Wish::of(&record.order) })
        });
        StepAgent {
            node,
            reporter,
            broken,
            registration: Some(registration),
            newest: Seq::ZERO,
            orders: None,
            taken: None,
            known: known.collect(),
            begun: BTreeMap::new(),
            start_told: BTreeSet::new(),
            end_told: BTreeSet::new(),
            reports: BTreeMap::new(),
        }
    }

    /// Orders arrive.
    pub fn hand(&mut self, orders: Arc<DesiredSet>) {
        self.orders = Some(orders);
    }

    /// Takes one of the possible steps; gives which, or `None` where there is nothing to do. An error is a broken
    /// invariant.
    pub async fn step(
        &mut self,
        machine: &mut Machine,
        now: UtcMicros,
        choice: &mut Choice,
    ) -> Result<Option<String>, String> {
        let Some(chosen) = choice.pick(&self.moves(machine)) else { return Ok(None) };
        let words = format!("{chosen:?}");
        self.take(chosen, machine, now).await?;
        Ok(Some(words))
    }

    fn moves(&self, machine: &Machine) -> Vec<Move> {
        let mut moves = Vec::new();
        if self.registration.as_ref().is_some_and(JoinHandle::is_finished) {
            moves.push(Move::NoteRegistration);
        }
        let is_registered = self.registration.is_none() || self.broken.takes_old_orders;
        if is_registered && self.orders.is_some() {
            moves.push(Move::TakeOrders);
        }
        for (run, known) in &self.known {
            let Known::Active { told, .. } = known else { continue };
            match self.reports.get(run) {
                Some(report) if report.is_finished() => moves.push(Move::NoteEnd(*run)),
                Some(_) => {}
                None => {
                    moves.extend(self.move_of(*run, told, machine));
                    moves.extend(self.early_end(*run, machine));
                }
            }
        }
        moves
    }

    /// Clearing up after a run may take a while.
    fn early_end(&self, run: RunId, machine: &Machine) -> Option<Move> {
        let has_ended = machine.disk.get(&run).is_some_and(|record| record.exit.is_some());
        (has_ended && !self.end_told.contains(&run)).then_some(Move::TellEnd(run))
    }

    fn move_of(&self, run: RunId, told: &Wish, machine: &Machine) -> Option<Move> {
        let Some(record) = machine.disk.get(&run) else {
            let order = self.begun.get(&run)?;
            let runs_script = order.nodes.first().is_some_and(|share| share.node == self.node);
            return match (runs_script, told.wish) {
                (_, RunWish::Release) => Some(Move::ReportRelease(run)),
                (false, _) => None,
                (true, RunWish::Run | RunWish::Suspend) => Some(Move::Intend(run)),
                (true, _) => Some(Move::EndUnstarted(run)),
            };
        };
        match record {
            Record { exit: Some(_), .. } => Some(Move::ReportEnd(run)),
            _ if record.boot != machine.boot => Some(Move::ReportLoss(run)),
            Record { claimed: true, .. } => (!self.start_told.contains(&run)).then_some(Move::TellStart(run)),
            _ if matches!(told.wish, RunWish::Run | RunWish::Suspend) => Some(Move::Launch(run)),
            _ => Some(Move::ClaimUnstarted(run)),
        }
    }

    async fn take(&mut self, chosen: Move, machine: &mut Machine, now: UtcMicros) -> Result<(), String> {
        match chosen {
            Move::NoteRegistration => {
                if let Some(registration) = self.registration.take()
                    && let Ok(Some(seq)) = registration.await
                    && !self.broken.takes_old_orders
                {
                    self.newest = seq;
                }
            }
            Move::TakeOrders => self.take_orders(machine),
            Move::Intend(run) => {
                let Some(order) = self.begun.remove(&run) else { return Ok(()) };
                let record = Record {
                    order: (*order).clone(),
                    wish: Wish::of(&order),
                    boot: machine.boot,
                    claimed: false,
                    started: None,
                    exit: None,
                };
                machine.disk.insert(run, record);
            }
            Move::Launch(run) => machine.launch(run, now)?,
            Move::ClaimUnstarted(run) => machine.claim_unstarted(run, self.unstarted(run, now)),
            Move::TellStart(run) => {
                self.start_told.insert(run);
                if let Some(at) = machine.disk.get(&run).and_then(|record| record.started) {
                    let started = Started { pid: 1, start_time: 1, at };
                    self.reporter.send(Report::started(&self.node, run, &started)).await;
                }
            }
            Move::EndUnstarted(run) => {
                let end = Report::ended(&self.node, run, self.unstarted(run, now));
                self.report_over(run, end, now);
            }
            Move::TellEnd(run) => {
                if let Some(exit) = machine.disk.get(&run).and_then(|record| record.exit.clone()) {
                    self.end_told.insert(run);
                    self.reporter.send(Report::ended(&self.node, run, exit)).await;
                }
            }
            Move::ReportEnd(run) if self.end_told.contains(&run) => {
                self.report(run, Report::released(&self.node, run, now));
            }
            Move::ReportEnd(run) => {
                let exit = machine.disk.get(&run).and_then(|record| record.exit.clone());
                let exit = exit.unwrap_or_else(|| self.unstarted(run, now));
                self.report_over(run, Report::ended(&self.node, run, exit), now);
                if self.broken.forgets_before_acknowledged {
                    machine.disk.remove(&run);
                }
            }
            Move::ReportLoss(run) => {
                let last_evidence = machine.disk.get(&run).and_then(|record| record.started).unwrap_or(now);
                let message = "the machine was restarted while it ran".to_string();
                let end = Report::lost(&self.node, run, Loss { last_evidence, message }, now);
                self.report_over(run, end, now);
            }
            Move::ReportRelease(run) => self.report(run, Report::released(&self.node, run, now)),
            Move::NoteEnd(run) => {
                if let Some(report) = self.reports.remove(&run)
                    && let Ok(Some(seq)) = report.await
                {
                    machine.disk.remove(&run);
                    self.begun.remove(&run);
                    self.known.insert(run, Known::Done(seq));
                    self.orders = self.orders.take().or_else(|| self.taken.clone());
                }
            }
        }
        Ok(())
    }

    fn take_orders(&mut self, machine: &mut Machine) {
        let Some(desired) = self.orders.take() else { return };
        if desired.generation < self.newest {
            return;
        }
        self.newest = desired.generation;
        self.taken = Some(desired.clone());
        for action in reconcile(&desired, &self.known) {
            match action {
                Action::Begin(order) => {
                    let told = Wish::of(&order);
                    self.known.insert(order.run, Known::Active { allocated: order.allocated, told });
                    self.begun.insert(order.run, order);
                }
                Action::Tell(run, wish) => {
                    if let Some(record) = machine.disk.get_mut(&run) {
                        record.wish = wish.clone();
                    }
                    if let Some(Known::Active { told, .. }) = self.known.get_mut(&run) {
                        *told = wish;
                    }
                }
                Action::Forget(run) => {
                    self.known.remove(&run);
                }
            }
        }
    }

    fn report_over(&mut self, run: RunId, end: Report, now: UtcMicros) {
        self.report(run, Report::released(&self.node, run, now).after(Some(end)));
    }

    fn report(&mut self, run: RunId, report: Report) {
        let reporter = self.reporter.clone();
        self.reports.insert(run, tokio::spawn(async move { reporter.append(report).await }));
    }

    /// The end of a run that was told to end before it was started.
    fn unstarted(&self, run: RunId, now: UtcMicros) -> Exit {
        let told = match self.known.get(&run) {
            Some(Known::Active { told, .. }) => told.wish,
            _ => RunWish::Cancel,
        };
        let cause = told_cause(told).unwrap_or(daybook_schemas::run::EndCause::Cancelled);
        Exit { at: now, cause, exit: ExitStatus::default(), message: None, usage: None }
    }
}
