//! `scontrol update NodeName=…`: drain, resume, down, and why.

use daybook_schemas::NodeName;
use daybook_schemas::api::{Changed, NodeUpdateRequest};
use daybook_schemas::grammar::hostlist;
use daybook_schemas::node::NodeUpdateState;

use super::update::{Setting, unknown};
use crate::client::{CallError, Client};
use crate::say;

/// Settings of a node that Slurm has and Daybook has not yet.
const REFUSED: &[&str] = &[
    "activefeatures",
    "availablefeatures",
    "comment",
    "cpubind",
    "extra",
    "features",
    "gres",
    "nodeaddr",
    "nodehostname",
    "resumeafter",
    "weight",
];
/// States of Slurm that Daybook has not yet.
const REFUSED_STATES: &[&str] = &[
    "cancel_reboot",
    "fail",
    "future",
    "idle",
    "noresp",
    "power_down",
    "power_down_asap",
    "power_down_force",
    "power_up",
];
/// States by their words.
const STATES: &[(&str, NodeUpdateState)] = &[
    ("down", NodeUpdateState::Down),
    ("drain", NodeUpdateState::Drain),
    ("resume", NodeUpdateState::Resume),
    ("undrain", NodeUpdateState::Undrain),
];

/// Runs it.
pub fn run(settings: &[Setting]) -> u8 {
    let request = match request(settings) {
        Ok(request) => request,
        Err(exit) => return exit,
    };
    let answer = Client::connect()
        .map_err(CallError::from)
        .and_then(|mut client| client.post::<_, Changed>("/v1/nodes/update", &request));
    match answer {
        Ok(changed) => {
            let errors = changed.outcomes.into_iter().filter_map(|outcome| outcome.error);
            errors.fold(0, |_, error| {
                say::line(format!("slurm_update error: {}", error.message));
                1
            })
        }
        Err(error) => super::report_call("slurm_update error", &error),
    }
}

fn request(settings: &[Setting]) -> Result<NodeUpdateRequest, u8> {
    let mut nodes: Vec<NodeName> = Vec::new();
    let (mut state, mut reason) = (None, None);
    for (key, value) in settings {
        match key.as_str() {
            "nodename" | "node" => match hostlist::expand(value) {
                Ok(names) => nodes.extend(names.into_iter().map(NodeName::from)),
                Err(_) => {
                    say::line("slurm_update error: Invalid node name specified");
                    return Err(1);
                }
            },
            "state" => state = Some(read_state(value)?),
            "reason" => reason = Some(value.to_string()),
            refused if REFUSED.contains(&refused) => {
                say::error(
                    "scontrol",
                    format!("updating a node's {refused} is not supported by daybook yet"),
                );
                return Err(1);
            }
            other => return Err(unknown(other, value)),
        }
    }
    let wants_reason = matches!(state, Some(NodeUpdateState::Drain | NodeUpdateState::Down));
    if wants_reason && reason.as_deref().is_none_or(str::is_empty) {
        say::line("You must specify a reason when DOWNING or DRAINING a node. Request denied");
        return Err(1);
    }
    if state.is_none() && reason.is_none() {
        say::line("No changes specified");
        return Err(1);
    }
    if nodes.is_empty() {
        say::line("slurm_update error: Invalid node name specified");
        return Err(1);
    }
    Ok(NodeUpdateRequest { request_id: uuid::Uuid::new_v4().to_string(), nodes, state, reason })
}

/// A state's word or its beginning (at least three letters), in any letter case.
fn read_state(value: &str) -> Result<NodeUpdateState, u8> {
    let word = value.to_ascii_lowercase();
    if let Some((_, state)) = STATES.iter().find(|(name, _)| word.len() >= 3 && name.starts_with(&word)) {
        return Ok(*state);
    }
    if REFUSED_STATES.contains(&word.as_str()) {
        let advice = if word == "idle" { "; RESUME puts a node back into service" } else { "" };
        say::error("scontrol", format!("state={value} is not supported by daybook yet{advice}"));
        return Err(1);
    }
    say::line(format!("Invalid input: state={value}"));
    say::line("Request aborted");
    say::line("Valid states are: DOWN DRAIN RESUME UNDRAIN");
    say::line("Not all states are valid given a node's prior state");
    Err(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_by_word_or_beginning() {
        for (word, state) in [
            ("DRAIN", Some(NodeUpdateState::Drain)),
            ("drai", Some(NodeUpdateState::Drain)),
            ("Resume", Some(NodeUpdateState::Resume)),
            ("undrain", Some(NodeUpdateState::Undrain)),
            ("down", Some(NodeUpdateState::Down)),
            ("d", None),
            ("idle", None),
            ("foo", None),
        ] {
            assert_eq!(read_state(word).ok(), state, "{word}");
        }
    }
}
