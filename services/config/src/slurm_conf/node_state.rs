//! `State=` of nodes, and `DownNodes` lines.

use std::collections::BTreeMap;

use daybook_schemas::grammar::hostlist;
use daybook_schemas::node::{InitialNodeState, NodeUpdateState};

use super::nodes::Node;
use super::{Fields, Record};
use crate::diagnostic::{Findings, did_you_mean};
use crate::keys::{Key, supported};
use crate::lines::Pair;

/// Keys of a `DownNodes` line.
const KEYS: &[Key] = &[supported("Reason", "why"), supported("State", "DOWN or DRAIN")];

/// The states that a node may begin in.
const STATES: [&str; 4] = ["UNKNOWN", "IDLE", "DOWN", "DRAIN"];
/// States of Slurm that are not supported yet.
const REFUSED: [&str; 6] = ["CLOUD", "FUTURE", "FAIL", "FAILING", "EXTERNAL", "DYNAMIC"];

/// The state that a node begins in; `None` where registration decides.
pub(super) fn initial(
    state: Option<&Pair>,
    reason: Option<&Pair>,
    findings: &mut Findings,
) -> Option<InitialNodeState> {
    let reason = reason.map(|pair| pair.value.clone()).unwrap_or_default();
    let pair = state?;
    match pair.value.to_ascii_uppercase().as_str() {
        "UNKNOWN" | "IDLE" => None,
        "DOWN" => Some(InitialNodeState { state: NodeUpdateState::Down, reason }),
        "DRAIN" => Some(InitialNodeState { state: NodeUpdateState::Drain, reason }),
        other if REFUSED.contains(&other) => {
            let remedy = "use UNKNOWN, DOWN or DRAIN, or remove the node";
            findings.error(&pair.place, format!("{} is not supported yet", pair.text()), remedy);
            None
        }
        _ => {
            let remedy = did_you_mean(&pair.value, STATES, "expected UNKNOWN, IDLE, DOWN or DRAIN");
            findings.error(&pair.place, format!("{} is no state of a node", pair.text()), remedy);
            None
        }
    }
}

/// Applies the `DownNodes` lines; without `State=` they mean DOWN.
pub(crate) fn apply_down_nodes(records: &[Record], nodes: &mut [Node], findings: &mut Findings) {
    let index: BTreeMap<String, usize> =
        nodes.iter().enumerate().map(|(at, node)| (node.definition.name.to_string(), at)).collect();
    for record in records {
        let mut fields = Fields::default();
        fields.overlay(record, KEYS, "key of a DownNodes line", &[], findings);
        let state = match fields.get("State") {
            Some(_) => initial(fields.get("State"), fields.get("Reason"), findings),
            None => Some(InitialNodeState {
                state: NodeUpdateState::Down,
                reason: fields.get("Reason").map(|pair| pair.value.clone()).unwrap_or_default(),
            }),
        };
        let names = match hostlist::expand(&record.name.value) {
            Ok(names) => names,
            Err(error) => {
                findings.error(&record.name.place, error.to_string(), "");
                continue;
            }
        };
        for name in names {
            match index.get(&name) {
                Some(&at) => nodes[at].definition.initial = state.clone(),
                None => {
                    let remedy = did_you_mean(&name, index.keys().map(String::as_str), "remove it");
                    findings.error(&record.name.place, format!("there is no node \"{name}\""), remedy);
                }
            }
        }
    }
}
