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

/// Runs `scontrol create ARGUMENTS`.
pub fn create(arguments: &[String]) -> u8 {
    let is_partition = |word: &String| {
        let tag = word.split_once('=').map_or(word.as_str(), |(tag, _)| tag).to_ascii_lowercase();
        tag.len() >= 2
            && ("partitionname".starts_with(&tag) || "nodename".starts_with(&tag) && tag.len() >= 3)
    };
    let entity = arguments.iter().find(|word| is_meant(word) || is_partition(word));
    match entity {
        Some(word) if is_meant(word) => {}
        Some(word) => {
            say::error("scontrol", format!("create {word} is not supported by daybook yet"));
            return 1;
        }
        None => {
            say::line("No valid entity in create command");
            say::line("Input line must include \"PartitionName\",");
            say::line("or \"ReservationName\"");
            return 1;
        }
    }
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
    if wish.nodes.is_none() && wish.node_count.is_none() && !takes_partition {
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

/// Runs `scontrol delete ARGUMENTS`.
pub fn delete(arguments: &[String]) -> u8 {
    let (shown, name) = match arguments {
        [] => {
            say::line("too few arguments for keyword:delete");
            return 1;
        }
        [word] if is_meant(word) => (word.clone(), word.split_once('=').map_or("", |(_, name)| name)),
        [word, name] if is_meant(word) && !word.contains('=') => (format!("{word}={name}"), name.as_str()),
        [word] | [word, _] if word.to_ascii_lowercase().starts_with("part") => {
            say::error("scontrol", format!("delete {word} is not supported by daybook yet"));
            return 1;
        }
        [word] => {
            say::line(format!("Invalid deletion entity: {word}"));
            return 1;
        }
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
