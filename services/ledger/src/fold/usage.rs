//! The rules of the detail stream: what is seen of runs while they run.

use daybook_schemas::events::{Body, RunUsage};
use daybook_schemas::{Commit, Event, Seq, UtcMicros};

use crate::error::LedgerError;
use crate::posting::DetailPosting;
use crate::rows::{UsageKey, UsageRow};

/// Posts the next commit of the detail stream.
pub(crate) fn post(posting: &mut DetailPosting<'_>, commit: &Commit) -> Result<(), LedgerError> {
    let expected = posting.position.next();
    if commit.seq != expected {
        let why = format!("of the detail stream, it came where {expected} should have");
        return Err(LedgerError::Unposted { seq: commit.seq, why });
    }
    posting.position = commit.seq;
    for (_, event) in commit.counted() {
        // Another kind of measurement is of a newer daybook, and changes nothing that is kept here.
        if let Body::RunUsage(data) = &event.body {
            let key = UsageKey { run: data.run, node: data.node.clone() };
            let mut row = posting.usage(&key)?;
            observe(&mut row, event, commit, data);
            posting.put_usage(&key, row)?;
        }
    }
    Ok(())
}

fn observe(row: &mut UsageRow, event: &Event, commit: &Commit, data: &RunUsage) {
    // A node's clock may be wrong; it saw nothing after the log had it.
    let at = event.time.min(commit.time);
    let most = |ours: &mut Option<u64>, seen: Option<u64>| *ours = (*ours).max(seen);
    row.user_cpu_us = row.user_cpu_us.max(data.user_cpu_us);
    row.system_cpu_us = row.system_cpu_us.max(data.system_cpu_us);
    row.peak_kib = row.peak_kib.max(data.resident_kib);
    most(&mut row.read_bytes, data.read_bytes);
    most(&mut row.written_bytes, data.written_bytes);
    row.observed_us = row.observed_us.saturating_add(covered(row, data.observed_since, at));
    row.observations = row.observations.saturating_add(1);
    if row.evidence == Seq::ZERO || at >= row.at {
        (row.at, row.resident_kib, row.processes) = (at, data.resident_kib, data.processes);
    }
    row.evidence = commit.seq;
}

/// What an observation adds to the time that was observed; no time counts twice.
fn covered(row: &UsageRow, since: Option<UtcMicros>, at: UtcMicros) -> u64 {
    let Some(since) = since else { return 0 };
    let since = if row.observations > 0 { since.max(row.at) } else { since };
    u64::try_from(at.0.saturating_sub(since.0)).unwrap_or(0)
}
