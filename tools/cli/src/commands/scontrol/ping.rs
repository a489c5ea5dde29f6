//! `scontrol ping`, which is also `daybook ping`.

use daybook_schemas::api::Ping;

use crate::client::Client;
use crate::{people, say};

/// Says whether the daemon answers.
pub fn run() -> u8 {
    match Client::connect().map_err(|unreachable| (unreachable.hint(), true)).and_then(|mut client| {
        client
            .get::<Ping>("/v1/ping")
            .map_err(|error| (error.hint().unwrap_or_else(|| error.to_string()), false))
    }) {
        Ok(ping) => {
            say::print(&format!("Slurmctld(primary) at {} is UP\n", ping.host));
            0
        }
        Err((why, nobody_there)) => {
            say::print(&format!("Slurmctld(primary) at {} is DOWN\n", people::host_name()));
            // Where nobody answers, DOWN says it all to a program.
            if !nobody_there || say::is_watched() {
                say::error("scontrol", why);
            }
            1
        }
    }
}
