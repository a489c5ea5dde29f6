//! `scontrol create`, `update` and `delete` of partitions.

use daybook_config::is_partition_key;
use daybook_schemas::api::{Changed, PartitionChange, PartitionDeletion, PartitionSetting};
use serde::Serialize;

use super::update::{Setting, unknown};
use crate::client::{CallError, Client};
use crate::say;

/// What names a partition, in lower case.
const NAMES: &[&str] = &["partitionname", "partition"];

/// Whether the settings name a partition.
pub fn is_named(settings: &[Setting]) -> bool {
    settings.iter().any(|(key, _)| NAMES.contains(&key.as_str()))
}

/// `scontrol create PartitionName=NAME …`.
pub fn create(arguments: &[String]) -> u8 {
    let settings = match entity(arguments, "create") {
        Ok(settings) => settings,
        Err(exit) => return exit,
    };
    let change = match change(&settings) {
        Ok(change) => change,
        Err(exit) => return exit,
    };
    if change.name.is_empty() {
        say::error("scontrol", "PartitionName must be given.");
        return 1;
    }
    if change.name.eq_ignore_ascii_case("default") {
        say::error("scontrol", "PartitionName cannot be \"DEFAULT\".");
        return 1;
    }
    if change.settings.is_empty() {
        say::error("scontrol", "No parameters specified");
        return 1;
    }
    ask("/v1/partitions/create", &change, "Error creating the partition")
}

/// `scontrol update PartitionName=NAME …`.
pub fn update(settings: &[Setting]) -> u8 {
    let change = match change(settings) {
        Ok(change) => change,
        Err(exit) => return exit,
    };
    if change.settings.is_empty() {
        say::line("No changes specified");
        return 1;
    }
    ask("/v1/partitions/update", &change, "slurm_update error")
}

/// `scontrol delete PartitionName=NAME`.
pub fn delete(arguments: &[String]) -> u8 {
    let settings = match entity(arguments, "delete") {
        Ok(settings) => settings,
        Err(exit) => return exit,
    };
    let [(_, name)] = settings.as_slice() else {
        say::line("too many arguments for keyword:delete");
        return 1;
    };
    let request = PartitionDeletion { request_id: uuid::Uuid::new_v4().to_string(), name: name.clone() };
    ask("/v1/partitions/delete", &request, &format!("delete_partition {}", arguments.join(" ")))
}

/// The settings of a command about a partition.
fn entity(arguments: &[String], keyword: &str) -> Result<Vec<Setting>, u8> {
    // `partition NAME` and `partition name=NAME` are `partitionname=NAME`.
    let words: Vec<String> = match arguments {
        [entity, name, rest @ ..] if NAMES.contains(&entity.to_ascii_lowercase().as_str()) => {
            let (key, value) = name.split_once('=').unwrap_or(("name", name));
            match key.eq_ignore_ascii_case("name") {
                true => {
                    std::iter::once(format!("partitionname={value}")).chain(rest.iter().cloned()).collect()
                }
                false => arguments[1..].to_vec(),
            }
        }
        _ => arguments.to_vec(),
    };
    let mut settings: Vec<Setting> = Vec::new();
    for word in &words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        settings.push((key.to_ascii_lowercase(), value.to_string()));
    }
    if is_named(&settings) {
        return Ok(settings);
    }
    say::line(format!("Invalid {keyword}: {}", words.join(" ")));
    say::line("A partition is named by PartitionName=NAME");
    Err(1)
}

fn change(settings: &[Setting]) -> Result<PartitionChange, u8> {
    let (names, others): (Vec<&Setting>, Vec<&Setting>) =
        settings.iter().partition(|(key, _)| NAMES.contains(&key.as_str()));
    if let Some((key, value)) = others.iter().find(|(key, _)| !is_partition_key(key)) {
        return Err(unknown(key, value));
    }
    let settings =
        others.into_iter().map(|(key, value)| PartitionSetting { key: key.clone(), value: value.clone() });
    Ok(PartitionChange {
        request_id: uuid::Uuid::new_v4().to_string(),
        name: names.last().map(|(_, name)| name.clone()).unwrap_or_default(),
        settings: settings.collect(),
    })
}

fn ask<T: Serialize>(path: &str, request: &T, prefix: &str) -> u8 {
    let answer = Client::connect()
        .map_err(CallError::from)
        .and_then(|mut client| client.post::<_, Changed>(path, request));
    match answer {
        Ok(_) => 0,
        Err(error) => super::report_refusal(prefix, &error),
    }
}
