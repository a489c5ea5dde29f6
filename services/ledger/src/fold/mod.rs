//! The rules: what each event changes in the books. `docs/ledger.md` has them as a table.
//!
//! The rules for what has been overtaken are those of the live model, so that both say the same of every run.

mod arrays;
mod job;
mod node;
mod physical;
mod run;
mod suspension;
mod usage;
mod validity;

pub(crate) use arrays::task_job_id;
pub(crate) use physical::count;
pub(crate) use usage::post as post_usage;

use daybook_schemas::events::{Body, FORMAT_VERSION, PlannerCycle};
use daybook_schemas::job::Reason;
use daybook_schemas::{Commit, Event, Seq, UtcMicros};

use crate::error::LedgerError;
use crate::posting::Posting;
use crate::rows::{JobRow, Phase, RecordKey, RecordRow};
use crate::store::{Cursor, PartitionRow};

/// Where and when an event stands.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) seq: Seq,
    /// The event's index in its commit.
    pub(crate) index: u32,
    /// The log's time, never before that of an earlier commit.
    pub(crate) now: UtcMicros,
    /// The log's time of the commit in front.
    pub(crate) before: UtcMicros,
    pub(crate) event: &'a Event,
}

/// Posts the next commit.
pub(crate) fn post(posting: &mut Posting<'_>, commit: &Commit) -> Result<(), LedgerError> {
    let refuse = |why: String| LedgerError::Unposted { seq: commit.seq, why };
    let expected = posting.cursor.seq.next();
    if commit.seq != expected {
        return Err(refuse(format!("it came where {expected} should have")));
    }
    let before = posting.cursor.time;
    let now = commit.time.max(before);
    posting.cursor = Cursor { seq: commit.seq, time: now };
    for (index, event) in commit.counted() {
        let index = u32::try_from(index).map_err(|_| refuse("it has too many events".to_string()))?;
        let place = Place { seq: commit.seq, index, now, before, event };
        post_event(posting, place)?;
    }
    Ok(())
}

fn post_event(posting: &mut Posting<'_>, place: Place<'_>) -> Result<(), LedgerError> {
    match &place.event.body {
        Body::ClusterConfigured(data) => node::configured(posting, place, data),
        Body::NodeRegistered(data) => node::registered(posting, place, data),
        Body::NodeLeaseLost(data) => node::lease_lost(posting, place, data),
        Body::NodeLeaseRegained(data) => node::lease_regained(posting, place, &data.node),
        Body::NodeTimedOut(data) => node::timed_out(posting, place, data),
        Body::PartitionUpdated(data) => {
            let partition = &data.partition;
            posting.cluster.partitions.insert(partition.name.clone(), PartitionRow::of(partition));
            Ok(())
        }
        Body::PartitionDeleted(data) => {
            posting.cluster.partitions.remove(&data.name);
            Ok(())
        }
        Body::NodeUpdated(data) => node::updated(posting, place, data),
        Body::JobSubmitted(data) => job::submitted(posting, place, data),
        Body::JobUpdated(data) => job::updated(posting, place, data),
        Body::JobParted(data) => arrays::parted(posting, place, data),
        Body::JobHeld(data) => job::held(posting, place, data),
        Body::JobReleased(data) => job::released(posting, place, data),
        Body::JobCancelRequested(data) => job::cancel_requested(posting, place, data),
        Body::JobRequeued(data) => job::requeued(posting, place, data),
        Body::JobFinished(data) => job::finished(posting, place, data),
        Body::RunAllocated(data) => run::allocated(posting, place, data),
        Body::RunStarted(data) => run::started(posting, place, data),
        Body::RunEnded(data) => run::ended(posting, place, data),
        Body::RunPreempted(data) => run::preempted(posting, data),
        Body::JobSuspendRequested(data) => suspension::suspend_requested(posting, data),
        Body::JobResumeRequested(data) => suspension::resume_requested(posting, place, data),
        Body::RunSuspended(data) => suspension::suspended(posting, place, data),
        Body::RunResumed(data) => suspension::resumed(posting, place, data),
        Body::RunResumeOrdered(data) => suspension::resume_ordered(posting, place, data),
        // It says why the run ends; when and as what, its end says.
        Body::RunUsedUp(_) => Ok(()),
        // It belongs into the detail stream; what somebody has put elsewhere counts for nothing.
        Body::RunUsage(_) => Ok(()),
        Body::RunLost(data) => run::lost(posting, place, data),
        Body::RunNodeReleased(data) => run::node_released(posting, place, data),
        Body::PlannerCycle(data) => planner_cycle(posting, place, data),
        Body::LogVersionBarrier(data) if data.format_version > FORMAT_VERSION => Err(LedgerError::Unposted {
            seq: place.seq,
            why: format!(
                "the log goes on in format {} ({}), this program reads up to {FORMAT_VERSION}: use a newer daybook",
                data.format_version, data.reason
            ),
        }),
        // The physical book has no class for what is kept in a reservation: it is idle until a run has it.
        Body::ReservationCreated(_) | Body::ReservationUpdated(_) | Body::ReservationDeleted(_) => Ok(()),
        // Usage that fades orders the queue; the books keep what was used.
        Body::PrioritiesCalculated(_) => Ok(()),
        // Names and limits; what was used is charged to the words that the job has.
        Body::AccountDefined(_)
        | Body::AccountRemoved(_)
        | Body::AssociationDefined(_)
        | Body::AssociationRemoved(_)
        | Body::QosDefined(_)
        | Body::QosRemoved(_)
        | Body::UserDefined(_)
        | Body::UserRemoved(_)
        | Body::WckeyDefined(_)
        | Body::WckeyRemoved(_)
        | Body::LogVersionBarrier(_)
        | Body::LogDurabilityDeclared(_) => Ok(()),
    }
}

/// Of a planner's cycle the ledger keeps why jobs wait; its starts have events of their own.
fn planner_cycle(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &PlannerCycle,
) -> Result<(), LedgerError> {
    for change in &data.reasons {
        let Some(job) =
            posting.get::<JobRow>(&change.job)?.filter(|job| job.phase == Phase::Pending).cloned()
        else {
            continue;
        };
        // A condition that holds is known by the planner no longer naming it.
        let conditions_hold = job.depends
            && !matches!(
                change.reason,
                Reason::None
                    | Reason::Dependency
                    | Reason::DependencyNeverSatisfied
                    | Reason::JobHeldUser
                    | Reason::JobHeldAdmin
                    | Reason::RequeuedHeld
            );
        if conditions_hold {
            posting.edit(&change.job, |job: &mut JobRow| job.depends = false)?;
        }
        let key = RecordKey { job: change.job, attempt: job.attempt };
        posting.edit(&key, |record: &mut RecordRow| {
            if !record.held {
                record.waits_for(change.reason);
            }
            if conditions_hold && job.hold.is_none() && record.eligible.is_none() {
                record.eligible = Some(job::eligible_at(place.now, job.begin));
            }
        })?;
    }
    Ok(())
}
