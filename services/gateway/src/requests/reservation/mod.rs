//! Reservations: made, changed and deleted by operators and administrators. Slurm's rules and words.

mod cores;
mod nodes;

use daybook_model::{Cluster, Reservation, Window};
use daybook_schemas::api::{
    ApiError, ErrorCode, FlagChange, ListChange, Peer, ReservationDeletion, ReservationFlag,
    ReservationRequest, ReservationWish,
};
use daybook_schemas::events::{ReservationCreated, ReservationDeleted, ReservationUpdated};
use daybook_schemas::reservation::{NodeChoice, ReservationDefinition, ReservationUser, named};
use daybook_schemas::{Seconds, UtcMicros};
use nix::unistd::{Uid, User};

use super::{Decided, Decision};
use crate::authority::Authority;

/// How far a start may lie behind: a request may have waited (Slurm's `MAX_RESV_DELAY`).
const DELAY_SECONDS_MAX: i64 = 600;
/// A reservation without an end is as long as Slurm's.
const YEAR_SECONDS: i64 = 365 * 86_400;
/// The longest name, in bytes.
const NAME_BYTES_MAX: usize = 256;
/// The most reservations at once (Slurm's `MAX_RESV_COUNT`).
const COUNT_MAX: usize = 9_999;
/// The most users or accounts of one.
const LIST_MAX: usize = 1_024;

/// `POST /v1/reservations/create`, `update`, `delete`.
pub(crate) enum ReservationChange {
    Create(ReservationRequest),
    Update(ReservationRequest),
    Delete(ReservationDeletion),
}

impl ReservationChange {
    pub(super) fn decide(
        &self,
        cluster: &Cluster,
        authority: &Authority,
        peer: Peer,
        now: UtcMicros,
    ) -> Decision {
        if !authority.is_operator(cluster, peer.uid) {
            return Err(ApiError::new(ErrorCode::PermissionDenied, "Invalid user id"));
        }
        // The log's time is never behind what it has acknowledged.
        let now = now.max(cluster.time());
        let (name, body) = match self {
            ReservationChange::Create(request) => {
                let reservation = create(cluster, &request.wish, now)?;
                (reservation.name.clone(), ReservationCreated { reservation }.into())
            }
            ReservationChange::Update(request) => {
                let reservation = update(cluster, &request.wish, now)?;
                (reservation.name.clone(), ReservationUpdated { reservation }.into())
            }
            ReservationChange::Delete(request) => {
                delete(cluster, &request.name, now)?;
                (request.name.clone(), ReservationDeleted { name: request.name.clone() }.into())
            }
        };
        Ok((Decided { reservation: Some(name), ..Decided::default() }, vec![body]))
    }
}

/// Checks a wish for reservations (`--reservation=a,b`): each is there, and may be used.
pub(super) fn check_named(
    cluster: &Cluster,
    names: &str,
    uid: u32,
    account: &str,
    now: UtcMicros,
) -> Result<(), ApiError> {
    let invalid = || ApiError::new(ErrorCode::InvalidReservation, "Requested reservation is invalid");
    if named(names).next().is_none() || names.len() > NAME_BYTES_MAX * 16 {
        return Err(invalid());
    }
    for name in named(names) {
        let found = present(cluster, name, now).ok_or_else(invalid)?;
        if !found.admits_user(uid, account) {
            return Err(ApiError::new(ErrorCode::PermissionDenied, "Access denied to requested reservation"));
        }
    }
    Ok(())
}

/// A reservation that is not over.
fn present<'a>(cluster: &'a Cluster, name: &str, now: UtcMicros) -> Option<&'a Reservation> {
    cluster.reservations().get(name).filter(|found| found.window(now).is_some()).map(AsRef::as_ref)
}

fn invalid_time() -> ApiError {
    ApiError::new(ErrorCode::InvalidRequest, "Invalid time specified")
}

fn create(
    cluster: &Cluster,
    wish: &ReservationWish,
    now: UtcMicros,
) -> Result<ReservationDefinition, ApiError> {
    if cluster.reservations().len() >= COUNT_MAX {
        return Err(ApiError::new(ErrorCode::InvalidReservation, "Requested reservation is invalid")
            .detail(format!("there are {COUNT_MAX} reservations already")));
    }
    let start = wish.start.ok_or_else(invalid_time)?;
    let mut made = ReservationDefinition { start, ..ReservationDefinition::default() };
    set_time(&mut made, wish, now)?;
    set_flags(&mut made, wish, now);
    set_people(&mut made, wish)?;
    made.partition = wish.partition.clone();
    made.features = wish.features.clone().unwrap_or_default();
    made.features.sort_unstable();
    made.features.dedup();
    check(&made, now)?;
    made.name = match wish.name.as_deref().filter(|name| !name.is_empty()) {
        Some(name) => checked_name(cluster, name, now)?,
        None => generated_name(cluster, &made),
    };
    match &wish.core_counts {
        Some(counts) => cores::choose(cluster, &mut made, wish, counts, now)?,
        None => nodes::choose(cluster, &mut made, wish, now)?,
    }
    Ok(made)
}

/// As in Slurm the cores of a reservation stay those that it was made with.
fn check_cores_stay(before: &ReservationDefinition, wish: &ReservationWish) -> Result<(), ApiError> {
    let all_of_partition = |change: &FlagChange| change.flag == ReservationFlag::PartitionNodes;
    let chooses_nodes = wish.nodes.is_some()
        || wish.node_count.is_some()
        || wish.partition.is_some()
        || wish.features.is_some()
        || wish.flags.iter().any(all_of_partition);
    if wish.core_counts.is_some() || before.is_of_cpus() && chooses_nodes {
        return Err(ApiError::new(ErrorCode::WrongState, "Core-based reservation can not be updated")
            .detail("which cores it keeps cannot be changed: delete it and make another"));
    }
    Ok(())
}

fn update(
    cluster: &Cluster,
    wish: &ReservationWish,
    now: UtcMicros,
) -> Result<ReservationDefinition, ApiError> {
    let invalid = || ApiError::new(ErrorCode::InvalidReservation, "Requested reservation is invalid");
    let before = present(cluster, wish.name.as_deref().unwrap_or_default(), now).ok_or_else(invalid)?;
    check_cores_stay(&before.definition, wish)?;
    let mut made = (*before.definition).clone();
    // As it is at this instant: one that repeats may have moved on since the last commit.
    let Window { start, end } = before.window(now).ok_or_else(invalid)?;
    (made.start, made.end) = (start, end);
    let has_begun = start <= now;
    if let Some(start) = wish.start {
        if has_begun {
            return Err(in_use("it has begun: its start cannot be changed".to_string()));
        }
        let length = made.seconds();
        made.start = start;
        // As in Slurm the length stays, unless an end or another length is given.
        made.end = start.plus_seconds(length);
    }
    let changes_time = wish.start.is_some() || wish.end.is_some() || wish.duration.is_some();
    if changes_time {
        set_time(&mut made, wish, now)?;
    }
    if let (Some(start), Some(_)) = (wish.start, made.flags.begins_in) {
        made.flags.begins_in = Some(ahead(start, now));
    }
    set_flags(&mut made, wish, now);
    set_people(&mut made, wish)?;
    if let Some(partition) = &wish.partition {
        made.partition = Some(partition.clone()).filter(|name| !name.is_empty());
    }
    if let Some(features) = &wish.features {
        made.features = features.clone();
    }
    check(&made, now)?;
    check_still_admitted(cluster, before, &made)?;
    let changes_nodes = wish.nodes.is_some()
        || wish.node_count.is_some()
        || wish.partition.is_some()
        || wish.features.is_some()
        || changes_time
        || !wish.flags.is_empty();
    if changes_nodes && made.is_of_cpus() {
        cores::check_kept(cluster, &made, now)?;
    } else if changes_nodes {
        nodes::choose(cluster, &mut made, wish, now)?;
    }
    Ok(made)
}

fn delete(cluster: &Cluster, name: &str, now: UtcMicros) -> Result<(), ApiError> {
    let found = present(cluster, name, now);
    found.ok_or_else(|| ApiError::new(ErrorCode::InvalidReservation, "Requested reservation is invalid"))?;
    if let Some(jobs) = cluster.reservation_jobs(name) {
        return Err(in_use(format!("{} unfinished jobs name it or run in it", jobs.len())));
    }
    Ok(())
}

fn in_use(why: String) -> ApiError {
    ApiError::new(ErrorCode::WrongState, "Requested reservation is in use").detail(why)
}

/// A job in it that could no longer use it keeps the change from being made.
fn check_still_admitted(
    cluster: &Cluster,
    before: &Reservation,
    made: &ReservationDefinition,
) -> Result<(), ApiError> {
    let after = Reservation { definition: std::sync::Arc::new(made.clone()), ..before.clone() };
    let jobs = cluster.reservation_jobs(&made.name).into_iter().flatten();
    let shut_out =
        jobs.filter_map(|id| cluster.jobs().get(id)).find(|job| before.admits(job) && !after.admits(job));
    match shut_out {
        Some(job) => Err(in_use(format!("job {} could no longer use it", job.id))),
        None => Ok(()),
    }
}

fn set_time(
    made: &mut ReservationDefinition,
    wish: &ReservationWish,
    now: UtcMicros,
) -> Result<(), ApiError> {
    let length = |Seconds(seconds): Seconds| i64::try_from(seconds).unwrap_or(YEAR_SECONDS).min(YEAR_SECONDS);
    if wish.start.is_some() && made.start < now.plus_seconds(-DELAY_SECONDS_MAX) {
        return Err(invalid_time().detail("it would begin in the past"));
    }
    match (wish.end, wish.duration) {
        (Some(end), Some(duration)) if made.start.plus_seconds(length(duration)) != end => {
            return Err(invalid_time().detail("start and duration give another end than the one named"));
        }
        (Some(end), _) => made.end = end,
        (None, Some(duration)) => made.end = made.start.plus_seconds(length(duration)),
        (None, None) if made.end <= made.start => return Err(invalid_time()),
        (None, None) => {}
    }
    if made.end <= made.start || made.end <= now {
        return Err(invalid_time().detail("it would end before it begins, or has ended already"));
    }
    Ok(())
}

fn set_flags(made: &mut ReservationDefinition, wish: &ReservationWish, now: UtcMicros) {
    for change in &wish.flags {
        let flags = &mut made.flags;
        match change.flag {
            ReservationFlag::Maintenance => flags.maintenance = change.set,
            ReservationFlag::Flex => flags.flex = change.set,
            ReservationFlag::Overlap => flags.overlap = change.set,
            ReservationFlag::IgnoreJobs => flags.ignore_jobs = change.set,
            ReservationFlag::Magnetic => flags.magnetic = change.set,
            ReservationFlag::Repeat(repeat) if change.set => flags.repeat = Some(repeat),
            ReservationFlag::Repeat(repeat) => flags.repeat = flags.repeat.filter(|now| *now != repeat),
            ReservationFlag::Purge(after) => flags.purge_after = change.set.then_some(after),
            ReservationFlag::TimeFloat => {
                flags.begins_in = change.set.then(|| ahead(made.start, now));
            }
            ReservationFlag::PartitionNodes => {
                made.choice = if change.set { NodeChoice::Partition } else { NodeChoice::Named };
            }
        }
    }
}

/// How far ahead an instant lies.
fn ahead(at: UtcMicros, now: UtcMicros) -> Seconds {
    Seconds(u64::try_from(at.seconds().saturating_sub(now.seconds())).unwrap_or(0))
}

fn set_people(made: &mut ReservationDefinition, wish: &ReservationWish) -> Result<(), ApiError> {
    if let Some(change) = &wish.users {
        let (ListChange::Set(names) | ListChange::Add(names) | ListChange::Remove(names)) = change;
        let mut users = names.iter().map(|name| user_of(name)).collect::<Result<Vec<_>, _>>()?;
        match change {
            ListChange::Set(_) => made.users = users,
            ListChange::Add(_) => made.users.append(&mut users),
            ListChange::Remove(_) => {
                made.users.retain(|user| users.iter().all(|other| other.uid != user.uid));
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        made.users.retain(|user| seen.insert(user.uid));
    }
    if let Some(change) = &wish.accounts {
        // As the accounts and the jobs have them.
        let lower = |names: &[String]| names.iter().map(|name| name.to_ascii_lowercase()).collect::<Vec<_>>();
        match change {
            ListChange::Set(names) => made.accounts = lower(names),
            ListChange::Add(names) => made.accounts.extend(lower(names)),
            ListChange::Remove(names) => {
                let gone = lower(names);
                made.accounts.retain(|name| !gone.contains(name));
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        made.accounts.retain(|name| seen.insert(name.clone()));
    }
    Ok(())
}

fn user_of(name: &str) -> Result<ReservationUser, ApiError> {
    let invalid =
        || ApiError::new(ErrorCode::InvalidRequest, "Invalid user id").detail(format!("user {name}"));
    let by_name = User::from_name(name).ok().flatten();
    let by_number = || User::from_uid(Uid::from_raw(name.parse().ok()?)).ok().flatten();
    let user = by_name.or_else(by_number).ok_or_else(invalid)?;
    Ok(ReservationUser { uid: user.uid.as_raw(), name: user.name })
}

/// What must hold of every reservation, its nodes aside.
fn check(made: &ReservationDefinition, now: UtcMicros) -> Result<(), ApiError> {
    if made.users.is_empty() && made.accounts.is_empty() {
        return Err(ApiError::new(
            ErrorCode::InvalidReservation,
            "Reservation request lacks users, groups or accounts",
        ));
    }
    if made.users.len() > LIST_MAX || made.accounts.len() > LIST_MAX {
        return Err(ApiError::new(ErrorCode::TooLarge, "Requested reservation is invalid")
            .detail(format!("at most {LIST_MAX} users and {LIST_MAX} accounts can be named")));
    }
    if let Some(repeat) = made.flags.repeat
        && made.seconds() > repeat.seconds_least()
    {
        return Err(
            invalid_time().detail(format!("it is longer than the time up to the next ({})", repeat.word()))
        );
    }
    if made.flags.begins_in.is_some() && (made.flags.repeat.is_some() || made.start <= now) {
        return Err(
            invalid_time().detail("TIME_FLOAT needs a start that lies ahead, and goes with no repetition")
        );
    }
    Ok(())
}

fn checked_name(cluster: &Cluster, name: &str, now: UtcMicros) -> Result<String, ApiError> {
    let is_plain = name
        .chars()
        .all(|letter| !letter.is_whitespace() && !letter.is_control() && !",=\"'".contains(letter));
    if !is_plain || name.len() > NAME_BYTES_MAX {
        return Err(ApiError::new(ErrorCode::InvalidReservation, "Requested reservation is invalid")
            .detail("a name has at most 256 bytes, and no blank, comma, equals sign or quote"));
    }
    if present(cluster, name, now).is_some() {
        return Err(ApiError::new(ErrorCode::InvalidReservation, "Duplicate reservation name"));
    }
    Ok(name.to_string())
}

/// `root_1`: the first account or user, and the lowest number that is free.
fn generated_name(cluster: &Cluster, made: &ReservationDefinition) -> String {
    let first = made.accounts.first().map(String::as_str);
    let base = first.or(made.users.first().map(|user| user.name.as_str())).unwrap_or("resv");
    let is_free = |name: &String| !cluster.reservations().contains_key(name.as_str());
    let numbered = (1..=COUNT_MAX + 1).map(|number| format!("{base}_{number}"));
    numbered.into_iter().find(is_free).unwrap_or_else(|| base.to_string())
}
