//! `scontrol show reservation`.

use daybook_schemas::api::ReservationView;
use daybook_schemas::grammar::duration::format_elapsed;
use daybook_schemas::grammar::hostlist;

use super::lines::{Record, or_null};
use crate::client::{CallError, Client};
use crate::commands::json;
use crate::commands::scontrol::Flags;
use crate::say;
use crate::table::instants::Instants;

/// What stands before the reason of a failed call.
const CALL: &str = "slurm_load_reservations error";

/// Shows one reservation, or all.
pub fn show(flags: Flags, name: Option<&str>) -> u8 {
    let asked =
        Client::connect().map_err(CallError::from).and_then(|mut client| client.get("/v1/reservations"));
    let mut reservations: Vec<ReservationView> = match asked {
        Ok(reservations) => reservations,
        Err(error) => return json::report(CALL, &error),
    };
    reservations.retain(|found| name.is_none_or(|name| found.definition.name == name));
    if flags.json {
        return json::print("reservations", &reservations);
    }
    match (name, reservations.is_empty()) {
        (Some(name), true) => {
            say::print(&format!("Reservation {name} not found\n"));
            1
        }
        (None, true) => {
            if !flags.quiet {
                say::print("No reservations in the system\n");
            }
            0
        }
        _ => {
            let instants = Instants::from_environment();
            let text = |found: &ReservationView| text(found, flags, &instants);
            say::print(&reservations.iter().map(text).collect::<String>());
            0
        }
    }
}

/// The text of one reservation.
fn text(found: &ReservationView, flags: Flags, instants: &Instants) -> String {
    let definition = &found.definition;
    let mut record = Record::new(flags);
    record.add(format!(
        "ReservationName={} StartTime={} EndTime={} Duration={}",
        definition.name,
        instants.text(definition.start),
        instants.text(definition.end),
        format_elapsed(u64::try_from(definition.seconds()).unwrap_or(0))
    ));
    record.line(format!(
        "Nodes={} NodeCnt={} CoreCnt={} Features={} PartitionName={} Flags={}",
        or_null(&hostlist::compress(definition.nodes.iter().map(|node| node.as_str()))),
        definition.nodes.len(),
        found.cores,
        or_null(&definition.features.join("&")),
        definition.partition.as_deref().unwrap_or("(null)"),
        definition.flags_notation()
    ));
    for kept in &found.core_ids {
        record.line(format!("  NodeName={} CoreIDs={}", kept.node, kept.cores));
    }
    record.line(format!("TRES=cpu={}", found.cpus));
    let users: Vec<&str> = definition.users.iter().map(|user| user.name.as_str()).collect();
    record.line(format!(
        "Users={} Groups=(null) Accounts={} Licenses=(null) State={} BurstBuffer=(null) Watts=n/a",
        or_null(&users.join(",")),
        or_null(&definition.accounts.join(",")),
        state(found)
    ));
    record.line("MaxStartDelay=(null)");
    record.finish()
}

/// `ACTIVE` or `INACTIVE`.
fn state(found: &ReservationView) -> &'static str {
    if found.active { "ACTIVE" } else { "INACTIVE" }
}

/// The table of `sinfo -T`.
pub fn table(reservations: &[ReservationView], header: bool, instants: &Instants) -> String {
    if reservations.is_empty() {
        return "No reservations in the system\n".to_string();
    }
    let widest = reservations.iter().map(|found| found.definition.name.chars().count()).max().unwrap_or(0);
    let width = widest.max("RESV_NAME".len());
    let row = |cells: [&str; 6]| {
        let [name, state, start, end, duration, nodes] = cells;
        format!("{name:<width$}  {state:>8}  {start:>19}  {end:>19}  {duration:>11}  {nodes}\n")
    };
    let mut out = match header {
        true => row(["RESV_NAME", "STATE", "START_TIME", "END_TIME", "DURATION", "NODELIST"]),
        false => String::new(),
    };
    for found in reservations {
        let definition = &found.definition;
        out.push_str(&row([
            &definition.name,
            state(found),
            &instants.text(definition.start),
            &instants.text(definition.end),
            &format_elapsed(u64::try_from(definition.seconds()).unwrap_or(0)),
            &hostlist::compress(definition.nodes.iter().map(|node| node.as_str())),
        ]));
    }
    out
}

#[cfg(test)]
#[path = "reservation_golden.rs"]
mod golden;
