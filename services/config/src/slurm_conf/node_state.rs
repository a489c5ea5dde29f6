//! `State=` of nodes, and `DownNodes` lines.

use std::collections::BTreeMap;

use daybook_schemas::grammar::hostlist;
use daybook_schemas::node::{InitialNodeState, NodeUpdateState};

use super::nodes::Node;
use super::{Fields, Record};
use crate::diagnostic::{Findings, did_you_mean};
use crate::keys::{Key, known_word, refused, supported};
use crate::lines::Pair;

/// Keys of a `DownNodes` line.
pub(crate) const DOWN_NODES_KEYS: &[Key] = &[supported("Reason", "why"), supported("State", "DOWN or DRAIN")];

/// Why a state of Slurm is not one that a node can begin in.
const NO_POWER: &str =
    "nodes that are made and switched on when needed are not there; use UNKNOWN, DOWN or DRAIN";
const NO_FUTURE: &str =
    "every node of the file is part of the cluster; use UNKNOWN, DOWN or DRAIN, or remove the node";
const NO_FAIL: &str = "use DOWN or DRAIN";

/// Words of a node's `State`.
pub(crate) const STATES: &[Key] = &[
    supported("UNKNOWN", "its agent says what it is"),
    supported("IDLE", "the same as UNKNOWN"),
    supported("DOWN", "it gets no work until an administrator resumes it"),
    supported("DRAIN", "it gets no work until an administrator resumes it, and what runs goes on"),
    refused("CLOUD", NO_POWER),
    refused("DYNAMIC", NO_FUTURE),
    refused("EXTERNAL", NO_FUTURE),
    refused("FAIL", NO_FAIL),
    refused("FAILING", NO_FAIL),
    refused("FUTURE", NO_FUTURE),
];

/// The state that a node begins in; `None` where registration decides.
pub(super) fn initial(
    state: Option<&Pair>,
    reason: Option<&Pair>,
    findings: &mut Findings,
) -> Option<InitialNodeState> {
    let reason = reason.map(|pair| pair.value.clone()).unwrap_or_default();
    let pair = state?;
    let state = match known_word(pair, &pair.value, STATES, findings)?.name {
        "DOWN" => NodeUpdateState::Down,
        "DRAIN" => NodeUpdateState::Drain,
        _ => return None,
    };
    Some(InitialNodeState { state, reason })
}

/// Applies the `DownNodes` lines; without `State=` they mean DOWN.
pub(crate) fn apply_down_nodes(records: &[Record], nodes: &mut [Node], findings: &mut Findings) {
    let index: BTreeMap<String, usize> =
        nodes.iter().enumerate().map(|(at, node)| (node.definition.name.to_string(), at)).collect();
    for record in records {
        let mut fields = Fields::default();
        fields.overlay(record, DOWN_NODES_KEYS, "key of a DownNodes line", &[], findings);
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
