//! `scontrol update NodeName=…`: drain, resume, down, and why.

use daybook_schemas::NodeName;
use daybook_schemas::api::{Changed, NodeUpdateRequest};
use daybook_schemas::grammar::hostlist;
use daybook_schemas::node::NodeUpdateState;

use super::update::{Setting, unknown};
use crate::client::{CallError, Client};
use crate::say;

/// Settings of a node that Slurm has and Daybook has not yet.
const REFUSED: &[&str] = &["cpubind", "nodeaddr", "nodehostname", "resumeafter"];
/// States of Slurm that Daybook has not yet.
const REFUSED_STATES: &[&str] =
    &["future", "noresp", "power_down", "power_down_asap", "power_down_force", "power_up"];
/// States by their words.
const STATES: &[(&str, NodeUpdateState)] = &[
    ("down", NodeUpdateState::Down),
    ("drain", NodeUpdateState::Drain),
    ("fail", NodeUpdateState::Fail),
    ("idle", NodeUpdateState::Resume),
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
    let mut request = NodeUpdateRequest::default();
    for (key, value) in settings {
        match key.as_str() {
            "nodename" | "node" => match hostlist::expand(value) {
                Ok(names) => request.nodes.extend(names.into_iter().map(NodeName::from)),
                Err(_) => {
                    say::line("slurm_update error: Invalid node name specified");
                    return Err(1);
                }
            },
            "state" => {
                let state = read_state(value)?;
                request.state = Some(state);
                request.unless_idle = state == NodeUpdateState::Resume && is_idle(value);
            }
            "reason" => request.reason = Some(value.clone()),
            "comment" => request.comment = Some(value.clone()),
            "extra" => request.extra = Some(value.clone()),
            "gres" => request.gres = Some(value.clone()),
            "weight" => request.weight = Some(value.parse().map_err(|_| invalid_input(key, value))?),
            "availablefeatures" | "features" => request.features = Some(read_features(value)),
            "activefeatures" => request.active_features = Some(read_features(value)),
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
    let wants_reason =
        matches!(request.state, Some(NodeUpdateState::Drain | NodeUpdateState::Down | NodeUpdateState::Fail));
    if wants_reason && request.reason.as_deref().is_none_or(str::is_empty) {
        say::line("You must specify a reason when DOWNING or DRAINING a node. Request denied");
        return Err(1);
    }
    let nodes = std::mem::take(&mut request.nodes);
    if request == NodeUpdateRequest::default() {
        say::line("No changes specified");
        return Err(1);
    }
    if nodes.is_empty() {
        say::line("slurm_update error: Invalid node name specified");
        return Err(1);
    }
    Ok(NodeUpdateRequest { request_id: uuid::Uuid::new_v4().to_string(), nodes, ..request })
}

fn invalid_input(key: &str, value: &str) -> u8 {
    say::line(format!("Invalid input: {key}={value}"));
    say::line("Request aborted");
    1
}

/// Features between commas, each once.
fn read_features(value: &str) -> Vec<String> {
    let mut features: Vec<String> = Vec::new();
    for feature in value.split(',').filter(|feature| !feature.is_empty()) {
        if !features.iter().any(|known| known == feature) {
            features.push(feature.to_string());
        }
    }
    features
}

/// Slurm's `IDLE` is no error where the node is in service.
fn is_idle(value: &str) -> bool {
    "idle".starts_with(&value.to_ascii_lowercase())
}

/// A state's word or its beginning (at least three letters), in any letter case.
fn read_state(value: &str) -> Result<NodeUpdateState, u8> {
    let word = value.to_ascii_lowercase();
    if let Some((_, state)) = STATES.iter().find(|(name, _)| word.len() >= 3 && name.starts_with(&word)) {
        return Ok(*state);
    }
    if REFUSED_STATES.contains(&word.as_str()) {
        say::error("scontrol", format!("state={value} is not supported by daybook yet"));
        return Err(1);
    }
    if word == "cancel_reboot" {
        // No node is about to be rebooted.
        say::line("slurm_update error: Invalid node state specified");
        return Err(1);
    }
    let exit = invalid_input("state", value);
    say::line("Valid states are: NoResp DRAIN FAIL FUTURE RESUME POWER_DOWN POWER_UP UNDRAIN");
    say::line("Not all states are valid given a node's prior state");
    Err(exit)
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
            ("fail", Some(NodeUpdateState::Fail)),
            ("idle", Some(NodeUpdateState::Resume)),
            ("power_down", None),
            ("foo", None),
        ] {
            assert_eq!(read_state(word).ok(), state, "{word}");
        }
    }
}
