//! Places in the line of a partition.

use daybook_model::{Cluster, Job};
use daybook_schemas::UtcMicros;
use daybook_schemas::api::Place;
use daybook_schemas::job::Reason;

use crate::policy::Policy;
use crate::queue::in_order;

/// Whether a ready job stands in the line, by what is recorded: jobs that are refused hold nobody up.
fn stands_in_line(cluster: &Cluster, job: &Job) -> bool {
    match job.reason {
        Reason::None | Reason::Priority | Reason::Resources => true,
        Reason::Licenses => cluster.missing_license(&job.request).is_none(),
        _ => false,
    }
}

/// A job's place; as many jobs are counted as a planning cycle looks at.
pub(super) fn place(cluster: &Cluster, now: UtcMicros, policy: &Policy, job: &Job) -> Place {
    let mut place = Place { in_front: 0, length: 0, more: false, first: None, first_expected: None };
    let (mut counted, mut is_passed) = (0, false);
    for key in in_order(cluster, now, policy) {
        if counted == policy.jobs_max {
            place.more = true;
            break;
        }
        counted += 1;
        let Some(other) = cluster.jobs().get(&key.job) else { continue };
        is_passed |= other.id == job.id;
        if other.partition != job.partition || other.id != job.id && !stands_in_line(cluster, other) {
            continue;
        }
        place.length += 1;
        if !is_passed {
            place.in_front += 1;
            place.first.get_or_insert(other.id);
        }
    }
    // Beyond what was counted it stands at least behind all of those.
    place.length = place.length.max(place.in_front + 1);
    place.first_expected = place.first.and_then(|first| cluster.expected_start(first));
    place
}
