//! `sacctmgr show tres`: the resources that are counted, with Slurm's numbers.

use super::columns::{Delimited, Form};
use crate::{say, table};

const ALL: &[(&str, &str, u32)] = &[
    ("cpu", "", 1),
    ("mem", "", 2),
    ("energy", "", 3),
    ("node", "", 4),
    ("billing", "", 5),
    ("fs", "disk", 6),
    ("vmem", "", 7),
    ("pages", "", 8),
    ("gres", "gpu", 1001),
];

/// Prints them.
pub fn print(form: Form) -> u8 {
    let mut out = String::new();
    let mut line = |cells: [&str; 3]| match form.delimited {
        Some(Delimited::Separated) => out.push_str(&format!("{}\n", cells.join("|"))),
        Some(Delimited::Ended) => out.push_str(&format!("{}|\n", cells.join("|"))),
        None => {
            for (text, width) in cells.iter().zip([8, 15, 6]) {
                table::put(&mut out, text, width, true);
                out.push(' ');
            }
            out.push('\n');
        }
    };
    if !form.no_header {
        line(["Type", "Name", "ID"]);
        if form.delimited.is_none() {
            line(["--------", "---------------", "------"]);
        }
    }
    for (kind, name, id) in ALL {
        line([kind, name, &id.to_string()]);
    }
    say::print(&out);
    0
}
