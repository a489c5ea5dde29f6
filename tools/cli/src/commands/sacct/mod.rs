//! `sacct`: what jobs were and are, from the ledger.

pub mod columns;
pub mod fields;
#[cfg(test)]
mod golden;
mod selection;
mod table;
mod wish;

use daybook_schemas::api::AccountingAnswer;
use jiff::ZonedDateTime;

use super::{Command, json};
use crate::client::{CallError, Client};
use crate::options::{self, CommandLine, OptionError, Order};
use crate::table::instants::Instants;
use crate::{people, say};
use fields::Shown;
use wish::Wish;

pub const COMMAND: Command = Command {
    name: "sacct",
    summary: "Show jobs and their steps as they stand in the books.",
    usage: "sacct [OPTION]...",
    options: table::OPTIONS,
    order: Order::Permute,
    exit_bad_option: 1,
    run,
};

/// What stands before the reason of a failed call.
const CALL: &str = "sacct: error";

fn run(arguments: &[String]) -> u8 {
    let line = match read_line(arguments) {
        Ok(line) => line,
        Err(exit) => return exit,
    };
    if line.options.iter().any(|given| given.option.long == "helpformat") {
        say::print(&fields::listing());
        return 0;
    }
    if let Some(operand) = line.operands.first() {
        say::error("sacct", format!("Unknown arguments: {operand}"));
        return 1;
    }
    let wish = match wish::read(&line.options, &ZonedDateTime::now(), people::own_uid()) {
        Ok(wish) => wish,
        Err(exit) => return exit,
    };
    match answer(&wish) {
        Ok(answer) if wish.json => json::print("jobs", &answer.records),
        Ok(answer) => {
            let instants = Instants::from_environment().at(answer.now.seconds());
            say::print(&render(&wish, &answer, &instants));
            0
        }
        Err(error) => json::report(CALL, &error),
    }
}

/// As [`Command::read`], but a mistake has no advice behind it.
fn read_line(arguments: &[String]) -> Result<CommandLine, u8> {
    match options::parse(table::OPTIONS, Order::Permute, arguments) {
        Ok(_) => COMMAND.read(arguments),
        Err(error @ OptionError::NotSupported(_)) => Err(error.report("sacct", 1)),
        Err(error) => {
            say::line(format!("sacct: {error}"));
            Err(1)
        }
    }
}

/// The answer with the records that are shown.
fn answer(wish: &Wish) -> Result<AccountingAnswer, CallError> {
    let mut answer: AccountingAnswer = Client::connect()?.post("/v1/accounting/query", &wish.query)?;
    answer.records = wish.selection.apply(std::mem::take(&mut answer.records));
    Ok(answer)
}

/// The table as text.
fn render(wish: &Wish, answer: &AccountingAnswer, instants: &Instants) -> String {
    let mut out = String::new();
    if wish.header {
        columns::head(&wish.columns, &wish.form, &mut out);
    }
    for record in &answer.records {
        let shown = Shown { record, answer, instants, units: wish.units };
        columns::line(&wish.columns, &wish.form, &shown, &mut out);
    }
    out
}
