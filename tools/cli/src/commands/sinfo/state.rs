//! Slurm's words for a node's state.

use daybook_schemas::api::{NodeState, NodeView};

/// `drng`, `mix`, `idle*`: at most five letters, and a star where the agent does not answer.
pub fn compact(node: &NodeView) -> String {
    if let Some(word) = reserved(node, "maint", "resv") {
        return marked(node, word);
    }
    marked(node, word(node, "drng", "drain", ["unk", "down", "idle", "mix", "alloc", "comp"]))
}

/// `draining`, `mixed`, `idle*`.
pub fn long(node: &NodeView) -> String {
    if let Some(word) = reserved(node, "maint", "reserved") {
        return marked(node, word);
    }
    let words = ["unknown", "down", "idle", "mixed", "allocated", "completing"];
    marked(node, word(node, "draining", "drained", words))
}

/// The word of a reservation, where it is what there is to say of a node: nothing runs there, and it is neither down nor
/// drained.
fn reserved(node: &NodeView, maintenance: &'static str, other: &'static str) -> Option<&'static str> {
    let is_told = node.reservation.is_some() && !node.drain && node.state == NodeState::Idle;
    is_told.then_some(if node.maintenance { maintenance } else { other })
}

/// `MIXED+DRAIN`, `DOWN+NOT_RESPONDING`: scontrol's form, the base state and what is added to it.
pub fn with_flags(node: &NodeView) -> String {
    let mut text = match base(node) {
        NodeState::Unknown => "UNKNOWN",
        NodeState::Down => "DOWN",
        NodeState::Mixed => "MIXED",
        NodeState::Allocated => "ALLOCATED",
        NodeState::Idle | NodeState::Completing => "IDLE",
    }
    .to_string();
    let flags = [
        (node.state == NodeState::Completing, "+COMPLETING"),
        (node.drain, "+DRAIN"),
        (node.maintenance, "+MAINTENANCE"),
        (node.reservation.is_some(), "+RESERVED"),
        (node.not_responding, "+NOT_RESPONDING"),
    ];
    for (set, flag) in flags {
        if set {
            text.push_str(flag);
        }
    }
    text
}

/// Slurm's number of the state: what `--sort=t` compares.
pub fn rank(node: &NodeView) -> u32 {
    let number = match base(node) {
        NodeState::Unknown => 0,
        NodeState::Down => 1,
        NodeState::Idle | NodeState::Completing => 2,
        NodeState::Allocated => 3,
        NodeState::Mixed => 5,
    };
    let flag = |set: bool, bit: u32| if set { bit } else { 0 };
    number
        + flag(node.reservation.is_some(), 0x20)
        + flag(node.maintenance, 0x100)
        + flag(node.drain, 0x200)
        + flag(node.state == NodeState::Completing, 0x400)
        + flag(node.not_responding, 0x800)
}

/// The state without what is added to it: a node that is completing is as busy as its other runs make it.
pub fn base(node: &NodeView) -> NodeState {
    match node.state {
        NodeState::Completing if node.allocated.cpus == 0 => NodeState::Idle,
        NodeState::Completing if node.allocated.cpus < node.definition.cpus => NodeState::Mixed,
        NodeState::Completing => NodeState::Allocated,
        state => state,
    }
}

/// Whether something runs or is being cleaned up there.
pub fn is_busy(node: &NodeView) -> bool {
    matches!(node.state, NodeState::Mixed | NodeState::Allocated | NodeState::Completing)
}

/// Whether it can be given nothing, now or soon.
pub fn is_out(node: &NodeView) -> bool {
    node.drain || matches!(node.state, NodeState::Down | NodeState::Unknown)
}

/// The word in the order unknown, down, idle, mixed, allocated, completing.
fn word(
    node: &NodeView,
    draining: &'static str,
    drained: &'static str,
    words: [&'static str; 6],
) -> &'static str {
    match node.state {
        _ if node.drain && is_busy(node) => draining,
        _ if node.drain => drained,
        NodeState::Unknown => words[0],
        NodeState::Down => words[1],
        NodeState::Idle => words[2],
        NodeState::Mixed => words[3],
        NodeState::Allocated => words[4],
        NodeState::Completing => words[5],
    }
}

fn marked(node: &NodeView, word: &str) -> String {
    if node.not_responding { format!("{word}*") } else { word.to_string() }
}

/// A state of `--states`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Base(NodeState),
    Drain,
    Draining,
    Drained,
    Completing,
    NotResponding,
    Maintenance,
    Reserved,
    /// A state of Slurm's that no node of Daybook is in.
    Never,
    All,
}

impl Wanted {
    /// The state of a word or of a beginning of it, in any letter case.
    pub fn parse(text: &str) -> Option<Wanted> {
        const WORDS: &[(&str, usize, Wanted)] = &[
            ("all", 3, Wanted::All),
            ("allocated", 2, Wanted::Base(NodeState::Allocated)),
            ("completing", 1, Wanted::Completing),
            ("down", 2, Wanted::Base(NodeState::Down)),
            ("drained", 6, Wanted::Drained),
            ("draining", 6, Wanted::Draining),
            ("drng", 3, Wanted::Draining),
            ("drain", 3, Wanted::Drain),
            ("idle", 1, Wanted::Base(NodeState::Idle)),
            ("mixed", 3, Wanted::Base(NodeState::Mixed)),
            ("no_respond", 2, Wanted::NotResponding),
            ("unknown", 3, Wanted::Base(NodeState::Unknown)),
            ("cloud", 2, Wanted::Never),
            ("fail", 2, Wanted::Never),
            ("future", 2, Wanted::Never),
            ("maint", 3, Wanted::Maintenance),
            ("perfctrs", 3, Wanted::Never),
            ("planned", 2, Wanted::Never),
            ("power_down", 7, Wanted::Never),
            ("powered_down", 7, Wanted::Never),
            ("powering_down", 9, Wanted::Never),
            ("powering_up", 9, Wanted::Never),
            ("reboot", 3, Wanted::Never),
            ("reserved", 3, Wanted::Reserved),
        ];
        let text = text.to_ascii_lowercase();
        let fits =
            |&&(word, least, _): &&(&str, usize, Wanted)| word.starts_with(&text) && text.len() >= least;
        let exact = WORDS.iter().find(|(word, _, _)| *word == text);
        exact.or_else(|| WORDS.iter().find(fits)).map(|(_, _, wanted)| *wanted)
    }

    /// Whether a node is meant. The base state counts: `idle` also means a drained node that nothing runs on.
    pub fn fits(self, node: &NodeView) -> bool {
        match self {
            Wanted::Base(state) => base(node) == state,
            Wanted::Drain => node.drain,
            Wanted::Draining => node.drain && is_busy(node),
            Wanted::Drained => node.drain && !is_busy(node),
            Wanted::Completing => node.state == NodeState::Completing,
            Wanted::NotResponding => node.not_responding,
            Wanted::Maintenance => node.maintenance,
            Wanted::Reserved => node.reservation.is_some(),
            Wanted::Never => false,
            Wanted::All => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_states_may_be_shortened() {
        for (text, wanted) in [
            ("idle", Some(Wanted::Base(NodeState::Idle))),
            ("ALLOC", Some(Wanted::Base(NodeState::Allocated))),
            ("drain", Some(Wanted::Drain)),
            ("drained", Some(Wanted::Drained)),
            ("mix", Some(Wanted::Base(NodeState::Mixed))),
            ("comp", Some(Wanted::Completing)),
            ("all", Some(Wanted::All)),
            ("maint", Some(Wanted::Maintenance)),
            ("foo", None),
            ("", None),
        ] {
            assert_eq!(Wanted::parse(text), wanted, "{text}");
        }
    }
}
