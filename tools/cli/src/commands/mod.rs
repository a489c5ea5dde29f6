//! The commands, one file each, and the table of them. The next one is a file and a line in [`COMMANDS`].

pub mod check;
pub mod daybook;
pub mod events;
pub mod json;
pub mod links;
pub mod sacct;
pub mod sacctmgr;
#[cfg(test)]
mod sample;
pub mod sbatch;
pub mod scancel;
pub mod scontrol;
pub mod sdiag;
pub mod seff;
pub mod siblings;
pub mod sinfo;
pub mod sprio;
pub mod squeue;
pub mod sshare;
pub mod sstat;
pub mod why;

use crate::options::{self, CommandLine, Opt, Order};
use crate::say;

/// What Slurm's clients answer to `--version`, so that programs which read it go on working.
pub const SLURM_VERSION: &str = "slurm 22.05.8";
/// Daybook's own.
pub const DAYBOOK_VERSION: &str = concat!("daybook ", env!("CARGO_PKG_VERSION"));

/// A command.
pub struct Command {
    /// What people type.
    pub name: &'static str,
    /// What it does, in one line of `daybook help`.
    pub summary: &'static str,
    /// What stands behind `Usage:` of its `--help`.
    pub usage: &'static str,
    /// Its options.
    pub options: &'static [Opt],
    /// Whether options may stand behind other arguments.
    pub order: Order,
    /// The exit status of an option that does not exist or lacks its value.
    pub exit_bad_option: u8,
    /// Runs it with the arguments behind its name; gives the exit status.
    pub run: fn(&[String]) -> u8,
}

impl Command {
    /// Reads the arguments. `--help`, `--usage`, `--version` and mistakes are dealt with here: then the exit status
    /// is the error.
    pub fn read(&self, arguments: &[String]) -> Result<CommandLine, u8> {
        let line = options::parse(self.options, self.order, arguments)
            .map_err(|error| error.report(self.name, self.exit_bad_option))?;
        for given in &line.options {
            match given.option.long {
                "help" => say::print(&self.help()),
                "usage" => say::print(&format!("Usage: {}\n", self.usage)),
                "version" => say::print(&format!("{SLURM_VERSION} ({DAYBOOK_VERSION})\n")),
                _ => continue,
            }
            return Err(0);
        }
        Ok(line)
    }

    /// The text of `--help`.
    pub fn help(&self) -> String {
        options::help(self.usage, self.summary, self.options)
    }
}

/// Every command. Those with Slurm's names are also run by the program's own name.
pub const COMMANDS: &[&Command] = &[
    &events::COMMAND,
    &sacct::COMMAND,
    &sacctmgr::COMMAND,
    &sbatch::COMMAND,
    &scancel::COMMAND,
    &scontrol::COMMAND,
    &sdiag::COMMAND,
    &seff::COMMAND,
    &sinfo::COMMAND,
    &sprio::COMMAND,
    &squeue::COMMAND,
    &sshare::COMMAND,
    &sstat::COMMAND,
    &why::COMMAND,
];

/// The names under which the program may be called, other than `daybook`; `daybook links` makes them.
pub const SLURM_NAMES: &[&str] = &[
    "sbatch", "squeue", "scancel", "sinfo", "scontrol", "sacct", "sacctmgr", "sdiag", "seff", "sprio",
    "sshare", "sstat",
];

/// The command of a name.
pub fn find(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().copied().find(|command| command.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(name: &str) -> String {
        let name = if SLURM_NAMES.contains(&name) { name.to_string() } else { format!("daybook-{name}") };
        let path = format!(
            "{}/../../docs/commands/{name}.md",
            std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the crate")
        );
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    #[test]
    fn every_option_stands_in_the_commands_page() {
        for command in COMMANDS {
            let page = page(command.name);
            for option in command.options {
                let (long, letter) =
                    (format!("`--{}", option.long), option.short.map(|letter| format!("`-{letter}`")));
                let named = [format!("{long}`"), format!("{long}="), format!("{long}[")];
                assert!(named.iter().any(|name| page.contains(name)), "{}: --{}", command.name, option.long);
                if let (Some(letter), options::Support::Yes(_)) = (letter, option.support) {
                    assert!(page.contains(&letter), "{}: {letter}", command.name);
                }
            }
        }
    }

    #[test]
    fn every_word_of_sacctmgr_that_is_refused_stands_in_its_page() {
        let page = page("sacctmgr");
        for word in sacctmgr::refused_words() {
            assert!(page.contains(&format!("`{word}`")), "{word}");
        }
    }

    #[test]
    fn every_word_of_scontrol_that_is_refused_stands_in_its_page() {
        let page = page("scontrol");
        for word in scontrol::refused_words() {
            assert!(page.contains(&format!("`{word}`")), "{word}");
        }
    }
}
