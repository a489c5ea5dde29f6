//! `sacctmgr`: show and change accounts, users, associations and QOS.

mod add;
mod call;
mod conditions;
mod delete;
mod modify;
mod prompt;
mod settings;
mod show;
mod table;
mod told;
mod tree;
mod tres;
mod words;

use super::{Command, DAYBOOK_VERSION, SLURM_VERSION};
use crate::options::Order;
use crate::{client, say};
use call::Session;
use conditions::Entity;
use show::{Delimited, Form};

pub const COMMAND: Command = Command {
    name: "sacctmgr",
    summary: "Show and change accounts, users, associations and qualities of service.\n\n\
              Commands: show, list, add, create, modify, update, delete, remove, version, help.\n\
              Words may be shortened, in any letter case; docs/commands/sacctmgr.md has all of them.",
    usage: "sacctmgr [OPTION]... COMMAND ENTITY [WORD]...",
    options: table::OPTIONS,
    order: Order::Permute,
    exit_bad_option: 1,
    run,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keyword {
    Add,
    Modify,
    Delete,
    Show,
    Help,
    Version,
    Refused,
}

const KEYWORDS: &[(&str, usize, Keyword)] = &[
    ("add", 3, Keyword::Add),
    ("create", 1, Keyword::Add),
    ("modify", 1, Keyword::Modify),
    ("update", 1, Keyword::Modify),
    ("delete", 3, Keyword::Delete),
    ("remove", 3, Keyword::Delete),
    ("show", 3, Keyword::Show),
    ("list", 1, Keyword::Show),
    ("help", 2, Keyword::Help),
    ("version", 4, Keyword::Version),
    ("archive", 3, Keyword::Refused),
    ("clear", 2, Keyword::Refused),
    ("dump", 3, Keyword::Refused),
    ("load", 2, Keyword::Refused),
    ("ping", 4, Keyword::Refused),
    ("problem", 3, Keyword::Refused),
    ("reconfigure", 4, Keyword::Refused),
    ("shutdown", 7, Keyword::Refused),
];

const ADDED: &[(&str, usize, Option<Entity>)] = &[
    ("Accounts", 1, Some(Entity::Account)),
    ("Clusters", 2, Some(Entity::Cluster)),
    ("Coordinators", 2, Some(Entity::Coordinator)),
    ("Federations", 1, None),
    ("QOS", 1, Some(Entity::Qos)),
    ("Resources", 1, None),
    ("Users", 1, Some(Entity::User)),
];

const MODIFIED: &[(&str, usize, Option<Entity>)] = &[
    ("Accounts", 1, Some(Entity::Account)),
    ("Clusters", 1, Some(Entity::Cluster)),
    ("Federations", 1, None),
    ("Jobs", 1, None),
    ("QOS", 1, Some(Entity::Qos)),
    ("Resources", 1, None),
    ("Users", 1, Some(Entity::User)),
];

/// Every word that is refused by name, for the page.
#[cfg(test)]
pub fn refused_words() -> impl Iterator<Item = &'static str> {
    KEYWORDS.iter().filter(|(_, _, keyword)| *keyword == Keyword::Refused).map(|(name, _, _)| *name)
}

fn run(arguments: &[String]) -> u8 {
    let line = match COMMAND.read(arguments) {
        Ok(line) => line,
        Err(exit) => return exit,
    };
    let mut flags = show::Flags::default();
    let (mut immediate, mut read_only) = (false, false);
    for given in &line.options {
        match given.option.long {
            "associations" => flags.associations = true,
            "immediate" => immediate = true,
            "json" => flags.json = true,
            "noheader" => flags.form = Form { no_header: true, ..flags.form },
            "parsable" => flags.form = Form { delimited: Some(Delimited::Ended), ..flags.form },
            "parsable2" => flags.form = Form { delimited: Some(Delimited::Separated), ..flags.form },
            "readonly" => read_only = true,
            "verbose" => {
                let socket = client::socket_path();
                say::line(format!("sacctmgr: the daemon is looked for at {}", socket.display()));
            }
            _ => {}
        }
    }
    let Some((word, rest)) = line.operands.split_first() else {
        say::error(
            "sacctmgr",
            "the interactive mode is not supported by daybook yet: give a command, such as show",
        );
        return 1;
    };
    let Some(keyword) = words::find(KEYWORDS, word) else {
        say::line(format!("invalid keyword: {word}"));
        return 1;
    };
    let changes = matches!(keyword, Keyword::Add | Keyword::Modify | Keyword::Delete);
    if changes && read_only {
        say::line("Can't run this command in readonly mode.");
        return 1;
    }
    if changes && flags.json {
        say::error("sacctmgr", format!("--json goes with show, not with {word}"));
        return 1;
    }
    match keyword {
        Keyword::Show => show::run(flags, rest),
        Keyword::Add => change("add", ADDED, rest, immediate, add::run),
        Keyword::Modify => change("modify", MODIFIED, rest, immediate, modify::run),
        Keyword::Delete => change("delete", ADDED, rest, immediate, delete::run),
        Keyword::Help => {
            say::print(&COMMAND.help());
            0
        }
        Keyword::Version => {
            say::print(&format!("{SLURM_VERSION} ({DAYBOOK_VERSION})\n"));
            0
        }
        Keyword::Refused => {
            say::error("sacctmgr", format!("{word} is not supported by daybook yet"));
            1
        }
    }
}

fn change(
    command: &str,
    entities: &[(&str, usize, Option<Entity>)],
    arguments: &[String],
    immediate: bool,
    run: fn(&mut Session, Entity, &[String]) -> u8,
) -> u8 {
    let found = arguments.first().and_then(|word| words::find(entities, word));
    let (Some(entity), Some((word, rest))) = (found, arguments.split_first()) else {
        say::line(format!("No valid entity in {command} command"));
        say::line(match command {
            "modify" => {
                "Input line must include \"Account\", \"Cluster\", \"Federation\", \"Job\", \"QOS\", \"Resource\" or \"User\""
            }
            _ => {
                "Input line must include \"Account\", \"Cluster\", \"Coordinator\", \"Federation\", \"QOS\", \
                 \"Resource\", or \"User\""
            }
        });
        return 1;
    };
    let Some(entity) = entity else {
        say::error("sacctmgr", format!("{command} {word} is not supported by daybook yet"));
        return 1;
    };
    match Session::open(immediate) {
        Ok(mut session) => run(&mut session, entity, rest),
        Err(error) => call::refused(&error),
    }
}
