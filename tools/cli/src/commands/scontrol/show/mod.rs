//! `scontrol show …`: one file for each kind of thing.

mod config;
mod hosts;
mod job;
mod license;
mod lines;
mod node;
mod partition;
pub mod reservation;
mod topology;

use super::Flags;
use crate::say;

/// A kind of thing that can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entity {
    Config,
    HostList,
    HostListSorted,
    HostNames,
    Jobs,
    Licenses,
    Nodes,
    Partitions,
    Reservations,
    Topology,
    /// Slurm's, not Daybook's yet.
    Refused(&'static str),
}

/// Each word with the fewest letters that stand for it.
const ENTITIES: &[(&str, usize, Entity)] = &[
    ("aliases", 1, Entity::Refused("aliases")),
    ("assoc_mgr", 2, Entity::Refused("assoc_mgr")),
    ("bbstat", 2, Entity::Refused("bbstat")),
    ("burstbuffer", 2, Entity::Refused("burstbuffer")),
    ("config", 1, Entity::Config),
    ("daemons", 2, Entity::Refused("daemons")),
    ("dwstat", 2, Entity::Refused("dwstat")),
    ("federation", 2, Entity::Refused("federation")),
    ("frontend", 2, Entity::Refused("frontend")),
    ("hostlist", 5, Entity::HostList),
    ("hostlistsorted", 9, Entity::HostListSorted),
    ("hostnames", 5, Entity::HostNames),
    ("jobs", 1, Entity::Jobs),
    ("licenses", 2, Entity::Licenses),
    ("nodes", 1, Entity::Nodes),
    ("partitions", 1, Entity::Partitions),
    ("reservations", 1, Entity::Reservations),
    ("slurmd", 2, Entity::Refused("slurmd")),
    ("steps", 2, Entity::Refused("step")),
    ("topology", 1, Entity::Topology),
];

fn find(word: &str) -> Option<Entity> {
    let word = word.to_ascii_lowercase();
    let whole = ENTITIES.iter().find(|(name, _, _)| *name == word);
    let short = || ENTITIES.iter().find(|(name, least, _)| name.starts_with(&word) && word.len() >= *least);
    whole.or_else(short).map(|(_, _, entity)| *entity)
}

/// Runs `scontrol show ARGUMENTS`.
pub fn run(flags: Flags, arguments: &[String]) -> u8 {
    let Some((word, rest)) = arguments.split_first() else {
        say::line("too few arguments for keyword:show");
        return 1;
    };
    // `show job=12` is `show job 12`.
    let (word, attached) = match word.split_once('=') {
        Some((word, id)) => (word, Some(id)),
        None => (word.as_str(), None),
    };
    let Some(entity) = find(word) else {
        say::line(format!("invalid entity:{word} for keyword:show "));
        return 1;
    };
    if rest.len() + usize::from(attached.is_some()) > 1 {
        say::line("too many arguments for keyword:show");
        return 1;
    }
    let id = attached.or_else(|| rest.first().map(String::as_str));
    match entity {
        Entity::Config => config::show(flags),
        Entity::HostList => hosts::list(id, false),
        Entity::HostListSorted => hosts::list(id, true),
        Entity::HostNames => hosts::names(id),
        Entity::Jobs => job::show(flags, id),
        Entity::Licenses => license::show(flags, id),
        Entity::Nodes => node::show(flags, id),
        Entity::Partitions => partition::show(flags, id),
        Entity::Reservations => reservation::show(flags, id),
        Entity::Topology => topology::show(flags, id),
        Entity::Refused(name) => {
            say::error("scontrol", format!("show {name} is not supported by daybook yet"));
            1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_may_be_shortened_in_any_letter_case() {
        for (word, entity) in [
            ("job", Some(Entity::Jobs)),
            ("JOBS", Some(Entity::Jobs)),
            ("j", Some(Entity::Jobs)),
            ("node", Some(Entity::Nodes)),
            ("part", Some(Entity::Partitions)),
            ("hostnames", Some(Entity::HostNames)),
            ("hostlist", Some(Entity::HostList)),
            ("hostlistsorted", Some(Entity::HostListSorted)),
            ("hostn", Some(Entity::HostNames)),
            ("step", Some(Entity::Refused("step"))),
            ("nosuch", None),
            ("", None),
        ] {
            assert_eq!(find(word), entity, "{word}");
        }
    }
}
