//! `sinfo`: partitions, and the nodes in them.

mod fields;
#[cfg(test)]
mod golden;
pub mod gres;
mod lines;
pub mod state;
mod table;
mod wish;

use daybook_schemas::api::{NodeView, PartitionView, ReservationView};

use super::scontrol::show::reservation;
use super::{Command, json};
use crate::client::{CallError, Client};
use crate::options::{self, Order};
use crate::say;
use crate::table::format::Layout;
use crate::table::instants::Instants;
use fields::Field;
use lines::Line;
use wish::Wish;

pub const COMMAND: Command = Command {
    name: "sinfo",
    summary: "Show the partitions and the state of their nodes.",
    usage: "sinfo [OPTION]...",
    options: table::OPTIONS,
    order: Order::Permute,
    exit_bad_option: 1,
    run,
};

/// What stands before the reason of a failed call.
const CALL: &str = "slurm_load_partitions";
/// The least width of a column that is as wide as its widest value.
const FITTED_LEAST: usize = 9;

fn run(arguments: &[String]) -> u8 {
    let line = match COMMAND.read(arguments) {
        Ok(line) => line,
        Err(exit) => return exit,
    };
    if let Some(operand) = line.operands.first() {
        say::error("sinfo", format!("Unrecognized option: {operand}"));
        return 1;
    }
    let variable = |name: &str| std::env::var(name).ok();
    let mut options = match options::from_environment(table::OPTIONS, table::ENVIRONMENT, variable) {
        Ok(options) => options,
        Err(error) => return error.report("sinfo", 1),
    };
    options.extend(line.options);
    let mut wish = match wish::read(&options) {
        Ok(wish) => wish,
        Err(exit) => return exit,
    };
    loop {
        let exit = answer(&mut wish).unwrap_or_else(|error| json::report(CALL, &error));
        let Some(pause) = wish.iterate else { return exit };
        say::print("\n");
        std::thread::sleep(pause);
    }
}

/// Asks once and prints the answer.
fn answer(wish: &mut Wish) -> Result<u8, CallError> {
    let mut client = Client::connect()?;
    if wish.reservations {
        let reservations: Vec<ReservationView> = client.get("/v1/reservations")?;
        if wish.json {
            return Ok(json::print("reservations", &reservations));
        }
        say::print(&reservation::table(&reservations, wish.header, &Instants::from_environment()));
        return Ok(0);
    }
    let mut nodes: Vec<NodeView> = client.get("/v1/nodes")?;
    let mut partitions: Vec<PartitionView> = client.get("/v1/partitions")?;
    partitions.retain(|partition| wish.means_partition(partition));
    nodes.retain(|node| wish.means_node(node));
    if wish.json {
        let in_partition = |node: &NodeView| {
            partitions.iter().any(|partition| partition.definition.nodes.contains(&node.definition.name))
        };
        nodes.retain(|node| wish.partitions.is_empty() || in_partition(node));
        return Ok(json::print_all(&[
            ("nodes", serde_json::to_value(&nodes)),
            ("partitions", serde_json::to_value(&partitions)),
        ]));
    }
    say::print(&render(wish, &partitions, &nodes, &Instants::from_environment()));
    Ok(0)
}

/// The table as text.
fn render(wish: &mut Wish, partitions: &[PartitionView], nodes: &[NodeView], instants: &Instants) -> String {
    let partitions: Vec<&PartitionView> = partitions.iter().collect();
    let nodes: Vec<&NodeView> = nodes.iter().collect();
    let mut shown = lines::lines(&partitions, &nodes, &wish.layout, wish.grouping, instants);
    lines::sort(&mut shown, &wish.keys, instants);
    fit(&mut wish.layout, &shown, instants);
    let mut out = String::new();
    if wish.headline {
        out.push_str(&instants.headline());
        out.push('\n');
    }
    if wish.header {
        wish.layout.line(&mut out, |field, out| out.push_str(field.header));
    }
    for line in &shown {
        wish.layout.line(&mut out, |field, out| (field.write)(line, instants, out));
    }
    out
}

/// Gives fitted columns the width of their widest value.
fn fit(layout: &mut Layout<Field>, lines: &[Line<'_>], instants: &Instants) {
    for column in layout.columns.iter_mut().filter(|column| column.fitted) {
        let Some(field) = column.field else { continue };
        let width = |line: &Line<'_>| {
            let mut text = String::new();
            (field.write)(line, instants, &mut text);
            text.chars().count()
        };
        column.width = lines.iter().map(width).max().unwrap_or(0).max(FITTED_LEAST);
    }
}
