//! A node's machine as it outlives its agent: what is on its disk, and the scripts that run there.

use std::collections::BTreeMap;

use daybook_schemas::job::TimeLimit;
use daybook_schemas::orders::{RunOrder, RunWish};
use daybook_schemas::run::{AllocatedGpu, EndCause, ExitStatus};
use daybook_schemas::{RunId, UtcMicros};
use daybook_supervisor::records::{Exit, Wish};

/// What is on disk of a run.
#[derive(Clone, Debug)]
pub struct Record {
    /// The intent.
    pub order: RunOrder,
    /// What the supervisor is told.
    pub wish: Wish,
    /// The boot under which it may start.
    pub boot: u32,
    /// Somebody has claimed it: nobody else starts it.
    pub claimed: bool,
    /// When its script was started.
    pub started: Option<UtcMicros>,
    /// How it ended.
    pub exit: Option<Exit>,
}

/// A script that runs.
#[derive(Clone, Debug)]
struct Process {
    order: RunOrder,
    began: UtcMicros,
}

/// The machine.
#[derive(Debug, Default)]
pub struct Machine {
    /// Its boots so far.
    pub boot: u32,
    /// Its disk.
    pub disk: BTreeMap<RunId, Record>,
    processes: BTreeMap<RunId, Process>,
    executions: BTreeMap<RunId, u32>,
}

impl Machine {
    /// How often each run's script was started.
    pub fn executions(&self) -> &BTreeMap<RunId, u32> {
        &self.executions
    }

    /// Claims a run and starts its script. An error: it was started before, or what it uses is in use.
    pub fn launch(&mut self, run: RunId, now: UtcMicros) -> Result<(), String> {
        let Some(record) = self.disk.get_mut(&run) else { return Ok(()) };
        record.claimed = true;
        record.started = Some(now);
        let order = record.order.clone();
        let executions = self.executions.entry(run).or_default();
        *executions += 1;
        if *executions > 1 {
            return Err(format!("run {run} is executed {executions} times"));
        }
        for (other, process) in &self.processes {
            if shares_something(&order, &process.order) {
                return Err(format!("run {run} is executed on what run {other} still uses"));
            }
        }
        self.processes.insert(run, Process { order, began: now });
        Ok(())
    }

    /// Claims a run for nobody: its script will not be started.
    pub fn claim_unstarted(&mut self, run: RunId, exit: Exit) {
        if let Some(record) = self.disk.get_mut(&run).filter(|record| !record.claimed) {
            record.claimed = true;
            record.exit = Some(exit);
        }
    }

    /// Supervisors end scripts whose time has come or that are told to end; gives which.
    pub fn tick(&mut self, now: UtcMicros) -> Vec<RunId> {
        let over: Vec<(RunId, Exit)> = self
            .processes
            .iter()
            .filter_map(|(run, process)| {
                // A supervisor whose files are gone goes on with what it knows.
                let wish =
                    self.disk.get(run).map_or_else(|| Wish::of(&process.order), |one| one.wish.clone());
                Some((*run, exit_of(process, &wish, now)?))
            })
            .collect();
        for (run, exit) in &over {
            self.processes.remove(run);
            if let Some(record) = self.disk.get_mut(run) {
                record.exit = Some(exit.clone());
            }
        }
        over.into_iter().map(|(run, _)| run).collect()
    }

    /// Whether no script runs.
    pub fn is_quiet(&self) -> bool {
        self.processes.is_empty()
    }

    /// Power goes and comes: every script is gone, and what is on disk is of an earlier boot.
    pub fn reboot(&mut self) {
        self.boot += 1;
        self.processes.clear();
    }
}

/// Two runs whose scripts this machine runs share a CPU or a GPU of it.
fn shares_something(one: &RunOrder, other: &RunOrder) -> bool {
    let (Some(here), Some(there)) = (one.nodes.first(), other.nodes.first()) else { return false };
    let same_gpu = |gpu: &AllocatedGpu| there.gpus.iter().any(|other| other.uuid == gpu.uuid);
    !here.cpus.intersection(&there.cpus).is_empty() || here.gpus.iter().any(same_gpu)
}

/// What a script does, as its job's arguments say: its seconds and its exit code.
pub fn script_of(order: &RunOrder) -> (u32, u32) {
    let number = |at: usize| order.spec.arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(0);
    (number(0), number(1))
}

fn planned(process: &Process, limit: TimeLimit) -> Option<(UtcMicros, EndCause)> {
    let (seconds, _) = script_of(&process.order);
    let by_itself = process.began.plus_seconds(i64::from(seconds));
    match limit {
        TimeLimit::Seconds(seconds) => {
            let limited = process.began.plus_seconds(i64::try_from(seconds).unwrap_or(i64::MAX));
            Some(if limited < by_itself {
                (limited, EndCause::TimeLimit)
            } else {
                (by_itself, EndCause::Exited)
            })
        }
        TimeLimit::Unlimited => Some((by_itself, EndCause::Exited)),
    }
}

fn exit_of(process: &Process, wish: &Wish, now: UtcMicros) -> Option<Exit> {
    let told = told_cause(wish.wish).map(|cause| (now, cause));
    let by_itself = planned(process, wish.time_limit).filter(|(at, _)| *at <= now);
    let (at, cause) = by_itself.or(told)?;
    let code = if cause == EndCause::Exited { script_of(&process.order).1 } else { 0 };
    Some(Exit { at, cause, exit: ExitStatus { code, signal: 0 }, message: None, usage: None })
}

/// What a run that is told to end has ended by.
pub fn told_cause(wish: RunWish) -> Option<EndCause> {
    match wish {
        // Nobody suspends anything here.
        RunWish::Run | RunWish::Suspend => None,
        RunWish::Requeue => Some(EndCause::Requeued),
        RunWish::NodeDown => Some(EndCause::NodeFailed),
        RunWish::GiveWay => Some(EndCause::Preempted),
        RunWish::UsedUp => Some(EndCause::TimeLimit),
        RunWish::Cancel | RunWish::Release => Some(EndCause::Cancelled),
    }
}
