//! A whole cluster in one process, from one seed, with faults: the last line of defence.
//!
//! The real services (gateway with its routes, planner, dispatch, ledger, agents) run on the in-memory log, each on a
//! port of its own, in simulated time. One seed decides the cluster, what is asked, in which order anything moves, and
//! what goes wrong: crashes between any two steps, lost, late and repeated acknowledgements, appends that arrive after
//! they were given up, views that lag, partitions, reboots, wrong clocks, full disks, two processes of one role at once.
//! Then the troubles end, everything must come to rest, and the invariants are checked. `docs/simulation.md` says how to
//! use it.
//!
//! - `simulation`: a run's parts; `troubles`: its steps; `recovery`: its end; `checks` and `witness`: what must hold.
//! - `processes`, `agent`, `machine`, `clients`, `network`, `clock`: who takes part.
//! - `scenario`, `policies`, `choice`: what the seed decides.

mod agent;
mod checks;
mod choice;
mod clients;
mod clock;
#[cfg(test)]
mod kept;
mod listening;
mod machine;
mod network;
mod policies;
mod processes;
mod recovery;
mod scenario;
mod simulation;
mod trace;
mod troubles;
mod witness;

use std::fmt;

pub use choice::Choice;

/// How to run a seed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether everything that happens is told on standard output.
    pub trace: bool,
    /// What is broken on purpose, to show that the checks see it.
    pub broken: Option<Broken>,
}

/// Rules that can be broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// An agent's intents and records do not survive its crash.
    AgentForgetsIntents,
    /// An agent forgets a run as soon as its end is sent, not when the log has it.
    AgentForgetsEnds,
    /// An agent takes orders from before its own registration.
    AgentTakesOldOrders,
    /// The planner appends without an expectation.
    UnfencedPlanner,
    /// The log acknowledges what it does not have.
    LogAcknowledgesFalsely,
}

/// What a run was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Commits in the log.
    pub commits: u64,
    /// Job records.
    pub jobs: u64,
    /// Runs.
    pub runs: u64,
    /// Recorded planning cycles.
    pub cycles: u64,
    /// Allocations that had been overtaken.
    pub void_allocations: u64,
    /// 1 where a ledger took part.
    pub ledgers: u64,
    /// Of all commits.
    pub log_hash: String,
}

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which seed.
    pub seed: u64,
    /// At which step.
    pub step: u32,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { seed, step, what } = self;
        write!(
            f,
            "seed {seed}, step {step}: {what}\n  DAYBOOK_SEED={seed} shows every step (docs/simulation.md)"
        )
    }
}

/// Runs one seed.
pub fn run(seed: u64, options: Options) -> Result<Summary, Failure> {
    let failure = |step, what| Failure { seed, step, what };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.map_err(|error| failure(0, format!("no runtime: {error}")))?;
    let simulated = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        runtime.block_on(async {
            let simulation = simulation::Simulation::new(seed, options).await.map_err(|what| (0, what))?;
            simulation.run().await
        })
    }));
    match simulated {
        Ok(outcome) => outcome.map_err(|(step, what)| failure(step, what)),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a word");
            Err(failure(0, format!("panic: {text}")))
        }
    }
}
