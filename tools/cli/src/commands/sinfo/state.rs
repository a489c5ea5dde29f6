//! Slurm's words for a node's state.

use daybook_schemas::api::{NodeState, NodeView};

/// `drng`, `mix`, `idle*`: at most five letters, and a star where the agent does not answer.
pub fn compact(node: &NodeView) -> String {
    if let Some(word) = reserved(node, "maint", "resv") {
        return marked(node, word);
    }
    const WORDS: Words = Words {
        draining: "drng",
        drained: "drain",
        failing: "failg",
        fail: "fail",
        planned: "plnd",
        bases: ["unk", "down", "idle", "mix", "alloc", "comp"],
    };
    marked(node, word(node, &WORDS))
}

/// `draining`, `mixed`, `idle*`.
pub fn long(node: &NodeView) -> String {
    if let Some(word) = reserved(node, "maint", "reserved") {
        return marked(node, word);
    }
    const WORDS: Words = Words {
        draining: "draining",
        drained: "drained",
        failing: "failing",
        fail: "fail",
        planned: "planned",
        bases: ["unknown", "down", "idle", "mixed", "allocated", "completing"],
    };
    marked(node, word(node, &WORDS))
}

/// What a form calls the states.
struct Words {
    draining: &'static str,
    drained: &'static str,
    failing: &'static str,
    fail: &'static str,
    /// Idle, and kept for a job that starts later.
    planned: &'static str,
    /// Unknown, down, idle, mixed, allocated, completing.
    bases: [&'static str; 6],
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
        (node.fail, "+FAIL"),
        (node.not_responding, "+NOT_RESPONDING"),
        (node.planned, "+PLANNED"),
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
        + flag(node.fail, 0x2000)
        + flag(node.planned, 0x4_0000)
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
    node.drain || node.fail || matches!(node.state, NodeState::Down | NodeState::Unknown)
}

fn word(node: &NodeView, words: &Words) -> &'static str {
    let [unknown, down, idle, mixed, allocated, completing] = words.bases;
    match node.state {
        _ if node.drain && is_busy(node) => words.draining,
        _ if node.drain => words.drained,
        _ if node.fail && is_busy(node) => words.failing,
        _ if node.fail => words.fail,
        NodeState::Unknown => unknown,
        NodeState::Down => down,
        NodeState::Idle if node.planned => words.planned,
        NodeState::Idle => idle,
        NodeState::Mixed => mixed,
        NodeState::Allocated => allocated,
        NodeState::Completing => completing,
    }
}

/// With a star where the agent does not answer, and a minus where what is left is kept for a job that starts later.
fn marked(node: &NodeView, word: &str) -> String {
    let is_kept = node.planned && node.state == NodeState::Mixed && !node.drain && !node.fail;
    match (node.not_responding, is_kept) {
        (true, _) => format!("{word}*"),
        (false, true) => format!("{word}-"),
        (false, false) => word.to_string(),
    }
}

/// A state of `--states`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Base(NodeState),
    Drain,
    Draining,
    Drained,
    Fail,
    Failing,
    Planned,
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
            ("blocked", 2, Wanted::Never),
            ("failing", 5, Wanted::Failing),
            ("failg", 5, Wanted::Failing),
            ("fail", 2, Wanted::Fail),
            ("future", 2, Wanted::Never),
            ("futr", 4, Wanted::Never),
            ("inval", 3, Wanted::Never),
            ("npc", 3, Wanted::Never),
            ("plnd", 4, Wanted::Planned),
            ("resv", 4, Wanted::Reserved),
            ("maint", 3, Wanted::Maintenance),
            ("perfctrs", 3, Wanted::Never),
            ("planned", 2, Wanted::Planned),
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
            Wanted::Fail => node.fail,
            Wanted::Failing => node.fail && is_busy(node),
            Wanted::Planned => node.planned,
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
            ("fail", Some(Wanted::Fail)),
            ("FAILG", Some(Wanted::Failing)),
            ("failing", Some(Wanted::Failing)),
            ("plnd", Some(Wanted::Planned)),
            ("plan", Some(Wanted::Planned)),
            ("foo", None),
            ("", None),
        ] {
            assert_eq!(Wanted::parse(text), wanted, "{text}");
        }
    }
}
