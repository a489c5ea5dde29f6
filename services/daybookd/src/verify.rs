//! `daybookd verify`: everything that was derived is derived again and compared.

use daybook_ledger::{Ledger, LedgerOptions, VerifyReport};
use daybook_log::clock::SystemClock;
use daybook_log::embedded::{EmbeddedLog, OpenOptions};
use daybook_log::{EventLog, LogHandle};
use daybook_model::Cluster;
use daybook_schemas::{Seq, Stream};
use serde_json::json;

use crate::VerifyArguments;
use crate::paths::Paths;
use crate::{say, snapshots};

/// Commits read at once, and between two looks at every invariant.
const BATCH: usize = 512;

/// Folds the log and walks the invariants, decides every recorded cycle again, and checks the ledger.
pub async fn run(arguments: VerifyArguments) -> Result<(), String> {
    let paths = Paths::existing(&arguments.state)?;
    let log =
        EmbeddedLog::open(&paths.log_or_copy(), OpenOptions::default()).map_err(|error| error.to_string())?;
    let model = check_model(log.as_ref(), &paths).await?;
    let cycles = daybook_planner::replay::verify(log.as_ref()).await.map_err(|error| error.to_string())?;
    let ledger = check_ledger(&paths, log.clone()).await?;
    log.close().await;
    if arguments.json {
        let report = json!({
            "commits": model.end.0,
            "void_allocations": model.void_allocations,
            "cycles": cycles.cycles,
            "starts": cycles.starts,
            "difference": cycles.difference.as_ref().map(|difference| format!("{difference:?}")),
            "ledger_records": ledger.records,
            "ledger_intervals": ledger.intervals,
            "ledger_hash": ledger.hash,
            "ledger_fresh_hash": ledger.fresh_hash,
            "ledger_faults": ledger.faults,
        });
        say::answer(&format!("{report:#}"))?;
    } else {
        say::answer(&format!(
            "log     {} commits folded, every invariant holds\n\
             planner {} recorded cycles with {} starts decided again\n\
             ledger  {} records and {} intervals checked and posted again, {} faults",
            model.end, cycles.cycles, cycles.starts, ledger.records, ledger.intervals, ledger.fault_count
        ))?;
    }
    if let Some(difference) = &cycles.difference {
        return Err(format!(
            "the cycle in commit {} comes out otherwise ({:?})\n  recorded: {}\n  decided:  {}",
            difference.seq, difference.part, difference.recorded, difference.decided
        ));
    }
    if ledger.is_clean() {
        return Ok(());
    }
    let first = ledger.faults.first().map_or("a fresh ledger has other rows", String::as_str);
    Err(format!("the ledger has {} faults; the first: {first}", ledger.fault_count))
}

/// Lets the ledger post what it has not, and checks it.
async fn check_ledger(paths: &Paths, log: LogHandle) -> Result<VerifyReport, String> {
    let options = LedgerOptions::with_clock(std::sync::Arc::new(SystemClock));
    let ledger = Ledger::open(&paths.ledger(), log, options).map_err(|error| error.to_string())?;
    ledger.caught_up().await.map_err(|error| error.to_string())?;
    ledger.verify().await.map_err(|error| error.to_string())
}

struct Model {
    end: Seq,
    void_allocations: u64,
}

/// Folds from zero; the snapshot, where there is one, must be the state at its position.
async fn check_model(log: &EmbeddedLog, paths: &Paths) -> Result<Model, String> {
    let snapshot = snapshots::load(&paths.snapshot());
    let mut cluster = Cluster::new();
    loop {
        let commits = log
            .read(Stream::State, cluster.position().next(), BATCH)
            .await
            .map_err(|error| error.to_string())?;
        if commits.is_empty() {
            break;
        }
        for commit in &commits {
            cluster.apply(commit)?;
            if cluster.position() == snapshot.position() && snapshot.position() > Seq::ZERO {
                compare(&cluster, &snapshot)?;
            }
        }
        cluster.sanity_check().map_err(|violations| {
            let first = violations.first().map(ToString::to_string).unwrap_or_default();
            format!(
                "at commit {}: {} invariants are broken; the first: {first}",
                cluster.position(),
                violations.len()
            )
        })?;
    }
    Ok(Model { end: cluster.position(), void_allocations: cluster.void_allocations() })
}

fn compare(folded: &Cluster, snapshot: &Cluster) -> Result<(), String> {
    let hash = |cluster| daybook_model::state_hash(cluster).map_err(|error| error.to_string());
    match hash(folded)? == hash(snapshot)? {
        true => Ok(()),
        false => {
            Err(format!("the snapshot at commit {} is not the state of the log there", folded.position()))
        }
    }
}
