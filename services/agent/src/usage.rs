//! Looks at what runs use, at every interval, and reports it.
//!
//! What is reported counts from the run's begin. So a report that does not get into the log is not kept: the next one says
//! the same and more.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use daybook_log::Append;
use daybook_schemas::events::RunUsage;
use daybook_schemas::{Draft, Event, RunId, Stream, Subject, UtcMicros};
use daybook_supervisor::records::Claim;
use daybook_supervisor::usage::{Used, look};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use crate::agent::Node;
use crate::report::event;
use crate::watch::told_to_stop;

/// Observations in one commit.
const BATCH_MAX: usize = 256;

/// The runs that are looked at.
#[derive(Default)]
pub(crate) struct Observed {
    runs: Mutex<BTreeMap<RunId, Watched>>,
}

/// A run that is looked at.
#[derive(Clone, Copy)]
struct Watched {
    supervisor: Claim,
    /// The last look that is in the log.
    reported: Option<UtcMicros>,
    /// The most memory that was seen since.
    peak_kib: u64,
}

impl Observed {
    fn runs(&self) -> MutexGuard<'_, BTreeMap<RunId, Watched>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on it is looked at.
    pub(crate) fn begin(&self, run: RunId, supervisor: Claim) {
        self.runs().entry(run).or_insert(Watched { supervisor, reported: None, peak_kib: 0 });
    }

    /// It is over.
    pub(crate) fn end(&self, run: RunId) {
        self.runs().remove(&run);
    }

    /// Notes a look, and gives what is to be reported of it.
    fn note(&self, run: RunId, used: Used) -> Option<(Option<UtcMicros>, u64)> {
        let mut runs = self.runs();
        let watched = runs.get_mut(&run)?;
        watched.peak_kib = watched.peak_kib.max(used.resident_kib);
        Some((watched.reported, watched.peak_kib))
    }

    /// The look of that instant is in the log.
    fn note_reported(&self, run: RunId, at: UtcMicros) {
        if let Some(watched) = self.runs().get_mut(&run) {
            (watched.reported, watched.peak_kib) = (Some(at), 0);
        }
    }
}

/// Looks at all runs again and again, until the agent stops.
pub(crate) async fn observe_regularly(node: Arc<Node>, mut stopped: watch::Receiver<bool>) {
    let Some(interval) = node.config.usage_interval.filter(|interval| !interval.is_zero()) else { return };
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_troubled = false;
    loop {
        tokio::select! {
            biased;
            () = told_to_stop(&mut stopped) => return,
            _ = ticks.tick() => {}
        }
        let events = node.blocking(look_at_all).await.unwrap_or_default();
        for events in events.chunks(BATCH_MAX) {
            let appended = tokio::select! {
                biased;
                () = told_to_stop(&mut stopped) => return,
                appended = append(&node, events) => appended,
            };
            match appended {
                Ok(()) => is_troubled = false,
                Err(why) if !std::mem::replace(&mut is_troubled, true) => {
                    tracing::warn!(node = %node.name(), why, "what runs use is not reported; it is tried again");
                }
                Err(_) => {}
            }
        }
    }
}

fn look_at_all(node: &Node) -> Vec<Event> {
    let watched: Vec<(RunId, Claim)> =
        node.observed.runs().iter().map(|(run, watched)| (*run, watched.supervisor)).collect();
    if watched.is_empty() {
        return Vec::new();
    }
    let groups = node.confiner.groups_of_runs();
    let looks = watched.into_iter().filter_map(|(run, supervisor)| {
        let group = groups.as_ref().map(|groups| groups.of(run));
        let used = look(supervisor, group.as_ref())?;
        let (observed_since, resident_kib) = node.observed.note(run, used)?;
        let at = node.clock.now();
        let body = RunUsage {
            run,
            node: node.name().clone(),
            observed_since,
            user_cpu_us: used.user_cpu_us,
            system_cpu_us: used.system_cpu_us,
            resident_kib,
            read_bytes: used.read_bytes,
            written_bytes: used.written_bytes,
            processes: used.processes,
        };
        Some(event(node.name(), format!("{run}/usage/{}", at.0), at, body))
    });
    looks.collect()
}

async fn append(node: &Node, events: &[Event]) -> Result<(), String> {
    let draft = Draft { subject: Subject::Node(node.name().clone()), expect: None, events: events.to_vec() };
    let append = Append { stream: Stream::Detail, draft, blobs: Vec::new() };
    node.log.append(append).await.map_err(|error| error.to_string())?;
    for event in events {
        if let daybook_schemas::Body::RunUsage(data) = &event.body {
            node.observed.note_reported(data.run, event.time);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_counts_until_it_is_reported() {
        let (observed, run) = (Observed::default(), RunId::new(daybook_schemas::JobId(1), 0));
        observed.begin(run, Claim { pid: 1, start_time: 1 });
        let used = |resident_kib| Used { resident_kib, ..Used::default() };
        assert_eq!(observed.note(run, used(10)), Some((None, 10)));
        assert_eq!(observed.note(run, used(5)), Some((None, 10)), "the first was not taken by the log");
        observed.note_reported(run, UtcMicros(7));
        assert_eq!(observed.note(run, used(5)), Some((Some(UtcMicros(7)), 5)));
        observed.end(run);
        assert_eq!(observed.note(run, used(5)), None);
    }
}
