//! `scontrol create`, `update` and `delete` of reservations.

mod flags;
mod settings;

use daybook_schemas::api::{ReservationAnswer, ReservationDeletion, ReservationRequest, ReservationWish};

use crate::client::{CallError, Client};
use crate::say;
use settings::Purpose;

/// Whether a word, or what stands before its `=`, names a reservation (`reservationname=x`, `res`).
pub fn is_meant(word: &str) -> bool {
    let tag = word.split_once('=').map_or(word, |(tag, _)| tag).to_ascii_lowercase();
    tag.len() >= 3 && "reservationname".starts_with(&tag)
}

/// Runs `scontrol create ARGUMENTS`, which name a reservation.
pub fn create(arguments: &[String]) -> u8 {
    let Ok(wish) = settings::read(arguments, Purpose::Create) else { return 1 };
    if let Err(why) = complete(&wish) {
        say::error("scontrol", format!("{why}  No reservation created."));
        return 1;
    }
    match send("/v1/reservations/create", wish) {
        Ok(answer) => {
            say::print(&format!("Reservation created: {}\n", answer.name));
            0
        }
        Err(error) => super::report_call("Error creating the reservation", &error),
    }
}

/// What Slurm's client asks of a new reservation before it sends anything.
fn complete(wish: &ReservationWish) -> Result<(), &'static str> {
    let Some(start) = wish.start else { return Err("A start time must be given.") };
    if wish.end.is_none() && wish.duration.is_none() {
        return Err("An end time or duration must be given.");
    }
    if let (Some(end), Some(duration)) = (wish.end, wish.duration)
        && start.plus_seconds(i64::try_from(duration.0).unwrap_or(i64::MAX)) != end
    {
        return Err("StartTime + Duration does not equal EndTime.");
    }
    if wish.end.is_some_and(|end| start > end) {
        return Err("Start time cannot be after end time.");
    }
    let takes_partition = wish.partition.is_some() && flags::has_partition_nodes(&wish.flags);
    let says_how_much = wish.nodes.is_some() || wish.node_count.is_some() || wish.core_counts.is_some();
    if !says_how_much && !takes_partition {
        return Err("CoreCnt, Nodes, NodeCnt, TRES or Watts must be specified.");
    }
    if wish.users.is_none() && wish.accounts.is_none() {
        return Err("Either Users/Groups and/or Accounts must be specified.");
    }
    Ok(())
}

/// Runs `scontrol update reservation=NAME …`.
pub fn update(arguments: &[String]) -> u8 {
    let Ok(wish) = settings::read(arguments, Purpose::Update) else { return 1 };
    if wish.name.as_deref().is_none_or(str::is_empty) {
        say::error("scontrol", "ReservationName must be given.  No reservation update.");
        return 1;
    }
    if wish == (ReservationWish { name: wish.name.clone(), ..ReservationWish::default() }) {
        say::line("No changes specified");
        return 1;
    }
    match send("/v1/reservations/update", wish) {
        Ok(_) => {
            say::print("Reservation updated.\n");
            0
        }
        Err(error) => super::report_call("Error updating the reservation", &error),
    }
}

/// Runs `scontrol delete ARGUMENTS`, the first of which is known to name a reservation.
pub fn delete(arguments: &[String]) -> u8 {
    let (shown, name) = match arguments {
        [word] => (word.clone(), word.split_once('=').map_or("", |(_, name)| name)),
        [word, name] if !word.contains('=') => (format!("{word}={name}"), name.as_str()),
        _ => {
            say::line("too many arguments for keyword:delete");
            return 1;
        }
    };
    let deletion =
        ReservationDeletion { request_id: uuid::Uuid::new_v4().to_string(), name: name.to_string() };
    let answer = Client::connect()
        .map_err(CallError::from)
        .and_then(|mut client| client.post::<_, ReservationAnswer>("/v1/reservations/delete", &deletion));
    match answer {
        Ok(_) => 0,
        Err(error) => report(&format!("slurm_delete_reservation {shown}"), &error),
    }
}

fn send(path: &str, wish: ReservationWish) -> Result<ReservationAnswer, CallError> {
    let request = ReservationRequest { request_id: uuid::Uuid::new_v4().to_string(), wish };
    let mut client = Client::connect()?;
    client.post(path, &request).inspect_err(explain)
}

/// What Slurm's sentence leaves out, for a person.
fn explain(error: &CallError) {
    if let CallError::Refused(refused) = error
        && say::is_watched()
    {
        refused.details.iter().for_each(|detail| say::error("scontrol", detail));
    }
}

fn report(prefix: &str, error: &CallError) -> u8 {
    explain(error);
    super::report_call(prefix, error)
}
