//! What a run has used: what its node said at its end, and what was seen while it ran.

use daybook_schemas::api::ObservedUsage;
use daybook_schemas::run::ProcessUsage;

use crate::error::LedgerError;
use crate::rows::{RecordRow, UsageKey, UsageRow};
use crate::store::View;

/// Of one run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    /// So far; `None`: nothing was measured.
    pub(super) used: Option<ProcessUsage>,
    /// `None`: it was not looked at while it ran.
    pub(super) observed: Option<ObservedUsage>,
}

impl Measured {
    pub(super) fn of(view: &View<'_>, row: &RecordRow) -> Result<Measured, LedgerError> {
        let mut measured = Measured { used: row.usage, observed: None };
        let Some(run) = row.run else { return Ok(measured) };
        // The batch script's processes are on the first node.
        let Some(share) = row.shares.first() else { return Ok(measured) };
        let Some(seen) = view.get::<UsageRow>(&UsageKey { run, node: share.node.clone() })? else {
            return Ok(measured);
        };
        let told = row.usage.unwrap_or_default();
        let most = |told: Option<u64>, seen: Option<u64>| told.max(seen);
        measured.used = Some(ProcessUsage {
            user_cpu_us: told.user_cpu_us.max(seen.user_cpu_us),
            system_cpu_us: told.system_cpu_us.max(seen.system_cpu_us),
            // At its end the kernel tells the largest of one process, while it runs that of all together is seen.
            max_rss_kib: told.max_rss_kib.max(seen.peak_kib),
            read_bytes: most(told.read_bytes, seen.read_bytes),
            written_bytes: most(told.written_bytes, seen.written_bytes),
        });
        measured.observed = Some(ObservedUsage {
            at: seen.at,
            resident_kib: seen.resident_kib,
            processes: seen.processes,
            observed_seconds: seen.observed_us / 1_000_000,
        });
        Ok(measured)
    }
}
