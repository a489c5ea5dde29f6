//! The settings of a reservation: `StartTime=now Duration=60 Nodes=node01 Users=alice`.

use daybook_schemas::api::{ListChange, NamedNodes, ReservationWish};
use daybook_schemas::grammar::{duration, hostlist};
use daybook_schemas::{NodeName, Seconds};

use super::flags::{self, BadFlag};
use crate::notation::features;
use crate::{say, times};

/// What the settings are for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Create,
    Update,
}

impl Purpose {
    /// What has not been done.
    fn nothing_done(self) -> &'static str {
        match self {
            Purpose::Create => "No reservation created.",
            Purpose::Update => "No reservation update.",
        }
    }
}

/// A reservation's key in Slurm.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    Name,
    Start,
    End,
    Duration,
    Nodes,
    NodeCount,
    CoreCount,
    Features,
    Partition,
    Users,
    Accounts,
    Flags,
    Tres,
    /// Slurm's, not Daybook's yet.
    Refused,
}

/// Each key with the fewest letters that stand for it.
const KEYS: &[(&str, usize, Key)] = &[
    ("reservationname", 3, Key::Name),
    ("starttime", 1, Key::Start),
    ("endtime", 1, Key::End),
    ("duration", 1, Key::Duration),
    ("nodecnt", 5, Key::NodeCount),
    ("nodecount", 5, Key::NodeCount),
    ("corecnt", 5, Key::CoreCount),
    ("corecount", 5, Key::CoreCount),
    ("cpucnt", 5, Key::CoreCount),
    ("cpucount", 5, Key::CoreCount),
    ("nodes", 5, Key::Nodes),
    ("features", 2, Key::Features),
    ("partitionname", 1, Key::Partition),
    ("users", 1, Key::Users),
    ("accounts", 1, Key::Accounts),
    ("flags", 2, Key::Flags),
    ("tres", 1, Key::Tres),
    ("burstbuffer", 2, Key::Refused),
    ("comment", 3, Key::Refused),
    ("groups", 1, Key::Refused),
    ("licenses", 1, Key::Refused),
    ("maxstartdelay", 1, Key::Refused),
    ("resvprolog", 5, Key::Refused),
    ("skip", 2, Key::Refused),
    ("watts", 1, Key::Refused),
];

/// Which way a list or the flags go: `=`, `+=`, `-=`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Set,
    Add,
    Remove,
}

/// Says what is wrong; nothing is sent.
fn refuse<T>(text: String) -> Result<T, ()> {
    say::error("scontrol", text);
    Err(())
}

/// Reads all settings; what is wrong is said here.
pub fn read(arguments: &[String], purpose: Purpose) -> Result<ReservationWish, ()> {
    let mut wish = ReservationWish::default();
    for argument in arguments {
        let Some((key, value)) = argument.split_once('=') else {
            // The word that names the entity: `create reservation starttime=…`.
            if super::is_meant(argument) {
                continue;
            }
            return refuse(format!("Unknown parameter {argument}.  {}", purpose.nothing_done()));
        };
        let (key, way) = match (key.strip_suffix('+'), key.strip_suffix('-')) {
            (Some(key), _) => (key, Way::Add),
            (_, Some(key)) => (key, Way::Remove),
            _ => (key, Way::Set),
        };
        let lower = key.to_ascii_lowercase();
        let found = KEYS.iter().find(|(name, least, _)| name.starts_with(&lower) && lower.len() >= *least);
        let Some((name, _, key)) = found else {
            return refuse(format!("Unknown parameter {argument}.  {}", purpose.nothing_done()));
        };
        if *key == Key::Refused {
            let what = format!("{name} of a reservation is not supported by daybook yet.");
            return refuse(format!("{what}  {}", purpose.nothing_done()));
        }
        let is_list = matches!(key, Key::Users | Key::Accounts | Key::Flags);
        if way != Way::Set && !(is_list && purpose == Purpose::Update) {
            return refuse(format!("Unknown parameter {argument}.  {}", purpose.nothing_done()));
        }
        if let Err(why) = set(&mut wish, *key, value, way) {
            return refuse(format!("{why} {argument}.  {}", purpose.nothing_done()));
        }
    }
    Ok(wish)
}

/// Takes one setting; the error stands before the setting as it was typed.
fn set(wish: &mut ReservationWish, key: Key, value: &str, way: Way) -> Result<(), String> {
    let invalid = |what: &str| format!("Invalid {what}");
    match key {
        Key::Name => wish.name = Some(value.to_string()),
        Key::Start => {
            wish.start = Some(times::parse_future(value).map_err(|_| invalid("start time"))?);
        }
        Key::End => wish.end = Some(times::parse_future(value).map_err(|_| invalid("end time"))?),
        Key::Duration => {
            let length = duration::parse(value).map_err(|_| invalid("duration"))?;
            // Whole minutes, as Slurm has it.
            let whole = |Seconds(seconds): Seconds| Seconds(seconds.div_ceil(60) * 60);
            wish.duration = Some(length.map_or(Seconds(365 * 86_400), whole));
        }
        Key::Nodes if value.eq_ignore_ascii_case("all") => wish.nodes = Some(NamedNodes::All),
        Key::Nodes => {
            let names = hostlist::expand(value).map_err(|_| invalid("nodes"))?;
            wish.nodes = Some(NamedNodes::These(names.into_iter().map(NodeName::from).collect()));
        }
        Key::NodeCount => wish.node_count = Some(value.parse().map_err(|_| invalid("node count"))?),
        Key::CoreCount => wish.core_counts = Some(counts(value).ok_or_else(|| invalid("core count"))?),
        Key::Tres => set_tres(wish, value)?,
        Key::Features => {
            wish.features = Some(features::parse(value).map_err(|refusal| match refusal {
                features::Refusal::Invalid => invalid("features"),
                features::Refusal::NotSupported => {
                    "Features joined by anything but & are not supported by daybook yet:".to_string()
                }
            })?);
        }
        Key::Partition => wish.partition = Some(value.to_string()),
        Key::Users => wish.users = Some(list("user", value, way)?),
        Key::Accounts => wish.accounts = Some(list("account", value, way)?),
        Key::Flags => {
            let changes = flags::parse(value, way == Way::Remove).map_err(|bad| match bad {
                BadFlag::Unknown => invalid("flags"),
                BadFlag::Refused(name) => format!("The flag {name} is not supported by daybook yet:"),
            })?;
            wish.flags.extend(changes);
        }
        Key::Refused => {}
    }
    Ok(())
}

/// `4,8`
fn counts(text: &str) -> Option<Vec<u32>> {
    text.split(',').map(|count| count.parse().ok()).collect()
}

/// `node=2,cpu=4,8`: what stands behind a comma without a name is another count of CPUs.
fn set_tres(wish: &mut ReservationWish, value: &str) -> Result<(), String> {
    let mut cores: Vec<&str> = Vec::new();
    let mut is_cpu = false;
    for word in value.split(',') {
        let (name, count) = match word.split_once('=') {
            Some((name, count)) => (name.to_ascii_lowercase(), count),
            None if is_cpu => ("cpu".to_string(), word),
            None => return Err("Invalid TRES".to_string()),
        };
        is_cpu = name == "cpu";
        match name.as_str() {
            "cpu" => cores.push(count),
            "node" => wish.node_count = Some(count.parse().map_err(|_| "Invalid TRES node count")?),
            _ => {
                return Err(
                    "A reservation of other TRES than nodes and CPUs is not supported by daybook yet:".into(),
                );
            }
        }
    }
    if !cores.is_empty() {
        wish.core_counts = Some(counts(&cores.join(",")).ok_or("Invalid TRES core count")?);
    }
    Ok(())
}

fn list(what: &str, value: &str, way: Way) -> Result<ListChange<String>, String> {
    let names: Vec<String> =
        value.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_string).collect();
    if names.iter().any(|name| name.starts_with('-') || name.starts_with('+')) {
        return Err(format!("A list that leaves out a {what} is not supported by daybook yet:"));
    }
    Ok(match way {
        Way::Set => ListChange::Set(names),
        Way::Add => ListChange::Add(names),
        Way::Remove => ListChange::Remove(names),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(text: &str, purpose: Purpose) -> Result<ReservationWish, ()> {
        let words: Vec<String> = text.split_whitespace().map(str::to_string).collect();
        read(&words, purpose)
    }

    #[test]
    fn settings_are_read_by_key_or_its_beginning() {
        let wish = read_all("reservation nodecnt=2 dur=90 user=alice,bob flags=maint p=gpu", Purpose::Create)
            .expect("settings that make sense");
        assert_eq!((wish.node_count, wish.duration), (Some(2), Some(Seconds(5_400))));
        assert_eq!(wish.users, Some(ListChange::Set(vec!["alice".to_string(), "bob".to_string()])));
        assert_eq!((wish.flags.len(), wish.partition.as_deref()), (1, Some("gpu")));
        let wish = read_all("reservationname=r1 users+=carol nodes=ALL", Purpose::Update).expect("an update");
        assert_eq!(wish.users, Some(ListChange::Add(vec!["carol".to_string()])));
        assert_eq!(wish.nodes, Some(NamedNodes::All));
        let wish = read_all("res=r1 tres=node=3 dur=infinite", Purpose::Create).expect("settings");
        assert_eq!((wish.node_count, wish.duration), (Some(3), Some(Seconds(31_536_000))));
        for (text, cores, nodes) in [
            ("res corecnt=8 nodecnt=2", vec![8], Some(2)),
            ("res corecount=4,2 nodes=a,b", vec![4, 2], None),
            ("res cpucnt=4", vec![4], None),
            ("res tres=cpu=6", vec![6], None),
            ("res tres=node=2,cpu=4,5", vec![4, 5], Some(2)),
            ("res tres=cpu=4,5,node=2", vec![4, 5], Some(2)),
        ] {
            let wish = read_all(text, Purpose::Create).expect(text);
            assert_eq!((wish.core_counts, wish.node_count), (Some(cores), nodes), "{text}");
        }
    }

    #[test]
    fn what_makes_no_sense_or_is_not_supported_is_refused() {
        for text in [
            "reservation corecnt=x",
            "reservation corecnt=",
            "reservation corecnt=4,",
            "reservation corecnt=-1",
            "reservation groups=staff",
            "reservation licenses=x:1",
            "reservation users=-alice",
            "reservation users+=alice",
            "reservation nodecnt=x",
            "reservation nodecnt=1,2",
            "reservation flags=replace",
            "reservation flags=nosuch",
            "reservation duration=abc",
            "reservation start=abc",
            "reservation tres=gres/gpu=4",
            "reservation tres=cpu=x",
            "reservation tres=node=1,2",
            "reservation tres=4",
            "reservation nosuch=1",
            "reservation nosuch",
        ] {
            assert!(read_all(text, Purpose::Create).is_err(), "{text}");
        }
    }
}
