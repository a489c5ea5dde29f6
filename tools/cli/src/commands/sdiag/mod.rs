//! `sdiag`: jobs and planning cycles, counted.

#[cfg(test)]
mod golden;
mod report;
mod table;

use daybook_schemas::api::Statistics;

use super::{Command, json};
use crate::client::Client;
use crate::options::Order;
use crate::say;
use crate::table::instants::Instants;

pub const COMMAND: Command = Command {
    name: "sdiag",
    summary: "Show counts of jobs and planning cycles.",
    usage: "sdiag [OPTION]...",
    options: table::OPTIONS,
    order: Order::Permute,
    exit_bad_option: 1,
    run,
};

/// What stands before the reason of a failed call.
const CALL: &str = "sdiag: error";

fn run(arguments: &[String]) -> u8 {
    let line = match COMMAND.read(arguments) {
        Ok(line) => line,
        Err(exit) => return exit,
    };
    if let Some(operand) = line.operands.first() {
        say::error("sdiag", format!("Unrecognized option: {operand}"));
        return 1;
    }
    let as_json = line.options.iter().any(|given| given.option.long == "json");
    let statistics = Client::connect()
        .map_err(Into::into)
        .and_then(|mut client| client.get::<Statistics>("/v1/statistics"));
    match statistics {
        Ok(statistics) if as_json => json::print("statistics", &statistics),
        Ok(statistics) => {
            say::print(&report::of(&statistics, &Instants::from_environment().at(statistics.now.seconds())));
            0
        }
        Err(error) => json::report(CALL, &error),
    }
}
