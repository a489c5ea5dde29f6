use std::sync::Arc;

use daybook_schemas::JobId;
use daybook_schemas::job::{JobState, Reason};
use daybook_schemas::reservation::{ReservationDefinition, named};

use crate::cluster::Cluster;
use crate::job::{Hold, Job};
use crate::reservation::Reservation;

/// Puts a reservation in, or another in its place.
pub(super) fn written(cluster: &mut Cluster, definition: &ReservationDefinition) {
    let name: Arc<str> = Arc::from(definition.name.as_str());
    let before = cluster.reservations.get(&name).cloned();
    let is_used = cluster.reservation_jobs.contains_key(&name);
    let unused = before.as_ref().map_or(Some(cluster.time), |before| before.unused_since);
    let reservation = Reservation {
        definition: Arc::new(definition.clone()),
        unused_since: unused.filter(|_| !is_used),
        changed: cluster.position,
    };
    cluster.reservations.insert(name.clone(), Arc::new(reservation));
    if before.is_some() {
        bound_runs(cluster, &name, definition);
    }
}

/// What runs in a reservation ends with it, also where its end has been moved.
fn bound_runs(cluster: &mut Cluster, name: &Arc<str>, definition: &ReservationDefinition) {
    let end = end_of_runs(definition);
    for job in jobs_of(cluster, name) {
        let run = cluster.jobs.get(&job).and_then(|job| job.run);
        let Some(run) = run.filter(|run| {
            cluster
                .runs
                .get(run)
                .is_some_and(|run| run.reservation.as_ref() == Some(name) && run.end.is_none())
        }) else {
            continue;
        };
        cluster.change_run(run, |run| run.ends_by = end);
    }
}

/// When a reservation ends what runs in it; `None`: it does not.
pub(super) fn end_of_runs(definition: &ReservationDefinition) -> Option<daybook_schemas::UtcMicros> {
    let flags = &definition.flags;
    (!flags.flex && flags.begins_in.is_none()).then_some(definition.end)
}

fn jobs_of(cluster: &Cluster, name: &str) -> Vec<JobId> {
    cluster.reservation_jobs.get(name).into_iter().flatten().copied().collect()
}

/// A reservation goes: what waits for it, and for no other that is there, is held.
pub(super) fn deleted(cluster: &mut Cluster, name: &str) {
    if cluster.reservations.remove(name).is_none() {
        return;
    }
    for id in jobs_of(cluster, name) {
        let Some(job) = cluster.jobs.get(&id).filter(|job| job.state == JobState::Pending).cloned() else {
            continue;
        };
        if !has_another(cluster, &job) {
            cluster.change_job(id, hold);
        }
    }
}

fn has_another(cluster: &Cluster, job: &Job) -> bool {
    job.reservation
        .as_deref()
        .is_some_and(|names| named(names).any(|name| cluster.reservations.contains_key(name)))
}

/// Slurm's rule: without its reservation a job does not start before somebody has said that it may.
fn hold(job: &mut Job) {
    job.reservation = None;
    if job.hold.is_none() {
        job.hold = Some(Hold::User);
        job.reason = Reason::ReservationDeleted;
        job.reason_detail = Arc::from("");
    }
}

/// At the beginning of each commit: what has ended since the one before goes, or moves on to its next time.
pub(super) fn move_on(cluster: &mut Cluster) {
    if cluster.reservations.is_empty() {
        return;
    }
    let now = cluster.time;
    let reservations: Vec<(Arc<str>, Arc<Reservation>)> =
        cluster.reservations.iter().map(|(name, reservation)| (name.clone(), reservation.clone())).collect();
    for (name, reservation) in reservations {
        let definition = &reservation.definition;
        match reservation.window(now) {
            None => deleted(cluster, &name),
            Some(window) if definition.flags.begins_in.is_none() && window.start != definition.start => {
                let definition =
                    ReservationDefinition { start: window.start, end: window.end, ..(**definition).clone() };
                let moved = Reservation { definition: Arc::new(definition), ..(*reservation).clone() };
                cluster.reservations.insert(name, Arc::new(moved));
            }
            Some(_) => {}
        }
    }
}

/// At the end of each commit: since when nobody uses them.
pub(super) fn note_use(cluster: &mut Cluster) {
    if cluster.reservations.is_empty() {
        return;
    }
    let now = cluster.time;
    let is_used = |name: &Arc<str>| cluster.reservation_jobs.contains_key(name);
    let changed: Vec<(Arc<str>, bool)> = cluster
        .reservations
        .iter()
        .filter(|(name, reservation)| is_used(name) == reservation.unused_since.is_some())
        .map(|(name, _)| (name.clone(), is_used(name)))
        .collect();
    for (name, is_used) in changed {
        if let Some(reservation) = cluster.reservations.get_mut(&name) {
            Arc::make_mut(reservation).unused_since = (!is_used).then_some(now);
        }
    }
}
