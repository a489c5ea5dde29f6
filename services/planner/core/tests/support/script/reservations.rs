//! Reservations.

use daybook_schemas::events::ReservationCreated;
use daybook_schemas::reservation::{
    Repeat, ReservationDefinition, ReservationFlags, ReservationUser, ReservedCpus,
};
use daybook_schemas::{NodeName, Seconds};

use super::super::DAWN;

use super::{Options, Script};

impl Script {
    pub(super) fn reserve(&mut self, name: &str, options: &mut Options<'_>) -> String {
        let start = self.simulation.now.plus_seconds(options.number("in").unwrap_or(0).into());
        let mut nodes: Vec<NodeName> = options.list("nodes").into_iter().map(NodeName::from).collect();
        nodes.sort_unstable();
        let kept = nodes.iter().zip(options.parts("cpus"));
        let cpus = kept.map(|(node, cpus)| ReservedCpus { node: node.clone(), cpus: cpus.parse().unwrap() });
        let cpus = cpus.collect();
        let user = |uid: &str| ReservationUser { uid: uid.parse().unwrap(), name: uid.to_string() };
        let mut flags = ReservationFlags::default();
        for flag in options.list("flags") {
            match flag.split_once('=').unwrap_or((flag, "")) {
                ("maint", _) => flags.maintenance = true,
                ("flex", _) => flags.flex = true,
                ("overlap", _) => flags.overlap = true,
                ("magnetic", _) => flags.magnetic = true,
                ("float", _) => {
                    flags.begins_in = Some(Seconds((start.seconds() - self.simulation.now.seconds()) as u64));
                }
                ("purge", seconds) => flags.purge_after = Some(Seconds(seconds.parse().unwrap())),
                (repeat, _) => {
                    let word = repeat.to_uppercase();
                    flags.repeat =
                        Repeat::ALL.iter().find(|(_, name)| *name == word).map(|(repeat, _)| *repeat);
                    assert!(flags.repeat.is_some(), "unknown flag {repeat}");
                }
            }
        }
        let reservation = ReservationDefinition {
            name: name.to_string(),
            start,
            end: start.plus_seconds(options.number("for").unwrap_or(3_600).into()),
            nodes,
            cpus,
            users: options.list("uids").into_iter().map(user).collect(),
            accounts: options.list("accounts").into_iter().map(str::to_string).collect(),
            flags,
            ..ReservationDefinition::default()
        };
        self.simulation.say(daybook_schemas::Subject::Jobs, ReservationCreated { reservation });
        String::new()
    }

    /// What is reserved, from when to when.
    pub(super) fn reservations(&self) -> String {
        let after = |at: daybook_schemas::UtcMicros| (at.0 - DAWN.0) / 1_000_000;
        let now = self.simulation.now;
        let windows = self.simulation.cluster.reservations().iter();
        let lines = windows.map(|(name, found)| match found.window(now) {
            Some(window) => {
                let state = if found.is_active(now) { "in force" } else { "to come" };
                format!("  {name} {state} +{} to +{}\n", after(window.start), after(window.end))
            }
            None => format!("  {name} over\n"),
        });
        lines.collect()
    }
}
