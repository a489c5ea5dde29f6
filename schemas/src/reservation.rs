//! What a reservation is: nodes, or CPUs of them, that are kept, from when to when, and for whom.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::grammar::index_set::IndexSet;
use crate::units::{NodeName, Seconds, UtcMicros};

/// A user who may use a reservation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ReservationUser {
    /// User id: what jobs are compared by.
    pub uid: u32,
    /// The name, as it was when the reservation was written.
    pub name: String,
}

/// When a reservation comes again. Days are those of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Repeat {
    /// Every hour.
    Hourly,
    /// Every day.
    Daily,
    /// Monday to Friday.
    Weekday,
    /// Saturday and Sunday.
    Weekend,
    /// The same day of each week.
    Weekly,
}

impl Repeat {
    /// Every kind, with Slurm's flag.
    pub const ALL: [(Repeat, &'static str); 5] = [
        (Repeat::Hourly, "HOURLY"),
        (Repeat::Daily, "DAILY"),
        (Repeat::Weekday, "WEEKDAY"),
        (Repeat::Weekend, "WEEKEND"),
        (Repeat::Weekly, "WEEKLY"),
    ];

    /// Slurm's flag.
    pub fn word(self) -> &'static str {
        Repeat::ALL.iter().find(|(repeat, _)| *repeat == self).map_or("", |(_, word)| word)
    }

    /// The shortest time from one start to the next, in seconds.
    pub fn seconds_least(self) -> i64 {
        match self {
            Repeat::Hourly => 3_600,
            Repeat::Daily | Repeat::Weekday | Repeat::Weekend => 86_400,
            Repeat::Weekly => 7 * 86_400,
        }
    }
}

/// How a reservation's nodes were chosen when it was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeChoice {
    /// By a number of nodes.
    #[default]
    Counted,
    /// By their names (`SPEC_NODES`).
    Named,
    /// All of the cluster (`SPEC_NODES,ALL_NODES`).
    All,
    /// All of the partition (`PART_NODES`).
    Partition,
}

/// What a reservation does beyond keeping its nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ReservationFlags {
    /// `MAINT`: for maintenance; it may overlap others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub maintenance: bool,
    /// `FLEX`: its jobs may begin before it, end after it, and use other nodes too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flex: bool,
    /// `OVERLAP`: it may overlap others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overlap: bool,
    /// `IGNORE_JOBS`: it was written without regard to what runs on its nodes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignore_jobs: bool,
    /// `HOURLY`, `DAILY`, `WEEKDAY`, `WEEKEND`, `WEEKLY`; absent: it comes once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repeat>,
    /// `TIME_FLOAT`: it always begins so long after now, and so never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins_in: Option<Seconds>,
    /// `PURGE_COMP`: it ends when no job has named it for so long; absent: at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purge_after: Option<Seconds>,
    /// `MAGNETIC`: jobs that may use it do so without naming it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub magnetic: bool,
}

/// CPUs that a reservation keeps of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReservedCpus {
    /// The node.
    pub node: NodeName,
    /// By index, all of each core; never empty.
    pub cpus: IndexSet,
}

/// A reservation: whole nodes or CPUs of them, kept from `start` to `end` for those who may use it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReservationDefinition {
    /// Its name, unique among those that there are.
    pub name: String,
    /// The first instant; of one that repeats, of the present or next time.
    pub start: UtcMicros,
    /// The first instant after it.
    pub end: UtcMicros,
    /// Its nodes, sorted.
    pub nodes: Vec<NodeName>,
    /// Of one that keeps CPUs (`CoreCnt`): which, of each of its nodes, in their order. Empty: it keeps whole nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<ReservedCpus>,
    /// How they were chosen.
    #[serde(default)]
    pub choice: NodeChoice,
    /// Only these users; empty: any. Where accounts are named too, a job must match both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<ReservationUser>,
    /// Only jobs charged to these accounts; empty: any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<String>,
    /// The partition that its nodes were chosen from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// Features that each of its nodes had to have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// What else it does.
    #[serde(default)]
    pub flags: ReservationFlags,
}

impl ReservationDefinition {
    /// Whether it keeps CPUs, and not whole nodes.
    pub fn is_of_cpus(&self) -> bool {
        !self.cpus.is_empty()
    }

    /// The CPUs that it keeps of one of its nodes; `None`: all of it.
    pub fn cpus_of(&self, node: &NodeName) -> Option<&IndexSet> {
        let found = self.cpus.binary_search_by(|kept| kept.node.cmp(node)).ok()?;
        Some(&self.cpus[found].cpus)
    }

    /// How long it is, in seconds.
    pub fn seconds(&self) -> i64 {
        self.end.seconds().saturating_sub(self.start.seconds())
    }

    /// Slurm's flags, in its order: `MAINT,IGNORE_JOBS,SPEC_NODES,ALL_NODES`; empty: none.
    pub fn flags_notation(&self) -> String {
        let flags = &self.flags;
        let mut words: Vec<String> = Vec::new();
        let mut add = |is_set: bool, word: &str| words.extend(is_set.then(|| word.to_string()));
        add(flags.maintenance, "MAINT");
        add(flags.flex, "FLEX");
        add(flags.overlap, "OVERLAP");
        add(flags.ignore_jobs, "IGNORE_JOBS");
        add(flags.repeat.is_some(), flags.repeat.map_or("", Repeat::word));
        add(matches!(self.choice, NodeChoice::Named | NodeChoice::All), "SPEC_NODES");
        add(self.choice == NodeChoice::All, "ALL_NODES");
        add(self.choice == NodeChoice::Partition, "PART_NODES");
        add(flags.begins_in.is_some(), "TIME_FLOAT");
        if let Some(Seconds(seconds)) = flags.purge_after {
            let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
            add(true, &format!("PURGE_COMP={hours:02}:{minutes:02}:{rest:02}"));
        }
        add(flags.magnetic, "MAGNETIC");
        words.join(",")
    }
}

/// The reservations that a job names (`--reservation=a,b`), in the order to try them.
pub fn named(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_written_as_slurm_writes_them() {
        let flags = ReservationFlags { maintenance: true, ignore_jobs: true, ..ReservationFlags::default() };
        let all =
            ReservationDefinition { flags, choice: NodeChoice::All, ..ReservationDefinition::default() };
        assert_eq!(all.flags_notation(), "MAINT,IGNORE_JOBS,SPEC_NODES,ALL_NODES");
        let flags = ReservationFlags {
            repeat: Some(Repeat::Daily),
            purge_after: Some(Seconds(300)),
            magnetic: true,
            ..ReservationFlags::default()
        };
        let daily = ReservationDefinition { flags, ..ReservationDefinition::default() };
        assert_eq!(daily.flags_notation(), "DAILY,PURGE_COMP=00:05:00,MAGNETIC");
        assert_eq!(ReservationDefinition::default().flags_notation(), "");
    }
}
