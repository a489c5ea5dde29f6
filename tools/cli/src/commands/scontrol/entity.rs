//! `scontrol create` and `scontrol delete`: finds out what is meant.

use super::{partition, reservation};
use crate::say;

/// What a word, or what stands before its `=`, names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entity {
    Partition,
    Reservation,
    Node,
}

/// What a word names, where it does; at least so many letters have to be there.
fn named(word: &str) -> Option<Entity> {
    let tag = word.split_once('=').map_or(word, |(tag, _)| tag).to_ascii_lowercase();
    let is_of = |name: &str, letters: usize| tag.len() >= letters && name.starts_with(&tag);
    if reservation::is_meant(word) {
        Some(Entity::Reservation)
    } else if is_of("partitionname", 2) {
        Some(Entity::Partition)
    } else {
        is_of("nodename", 3).then_some(Entity::Node)
    }
}

fn refused(what: &str) -> u8 {
    say::error("scontrol", format!("{what} is not supported by daybook yet"));
    1
}

/// Runs `scontrol create ARGUMENTS`. A reservation may name nodes and a partition, too.
pub fn create(arguments: &[String]) -> u8 {
    let is = |entity: Entity| arguments.iter().find(|word| named(word) == Some(entity));
    if is(Entity::Reservation).is_some() {
        return reservation::create(arguments);
    }
    if is(Entity::Partition).is_some() {
        return partition::create(arguments);
    }
    if let Some(word) = is(Entity::Node) {
        return refused(&format!("create {word}"));
    }
    say::line("No valid entity in create command");
    say::line("Input line must include \"PartitionName\",");
    say::line("or \"ReservationName\"");
    1
}

/// Runs `scontrol delete ARGUMENTS`.
pub fn delete(arguments: &[String]) -> u8 {
    let Some(first) = arguments.first() else {
        say::line("too few arguments for keyword:delete");
        return 1;
    };
    match named(first) {
        Some(Entity::Reservation) => reservation::delete(arguments),
        Some(Entity::Partition) => partition::delete(arguments),
        Some(Entity::Node) => refused(&format!("delete {first}")),
        None => {
            say::line(format!("Invalid deletion entity: {first}"));
            1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Entity, named};

    #[test]
    fn entities_may_be_shortened_in_any_letter_case() {
        for (word, entity) in [
            ("PartitionName=a", Some(Entity::Partition)),
            ("part", Some(Entity::Partition)),
            ("p=a", None),
            ("Reservation=r", Some(Entity::Reservation)),
            ("res", Some(Entity::Reservation)),
            ("re", None),
            ("NodeName=n1", Some(Entity::Node)),
            ("nodes=n1", None),
            ("nodecnt=1", None),
            ("jobid=1", None),
        ] {
            assert_eq!(named(word), entity, "{word}");
        }
    }
}
