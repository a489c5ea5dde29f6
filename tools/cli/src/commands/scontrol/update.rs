//! `scontrol update`: finds out what is to be changed.

use super::{reservation, update_job, update_node};
use crate::say;

/// What a setting is called, in lower case, and its value.
pub type Setting = (String, String);

/// Entities of Slurm that cannot be updated yet, by the key that names them.
const REFUSED_ENTITIES: &[(&str, &str)] = &[
    ("partitionname", "updating a partition"),
    ("stepid", "updating a step"),
    ("frontendname", "updating a front end"),
    ("suspendexctimeout", "updating the power plan"),
    ("licensename", "updating a licence"),
];

/// Runs `scontrol update KEY=VALUE...`.
pub fn run(arguments: &[String]) -> u8 {
    // `update job 12 …` is `update jobid=12 …`.
    let words: Vec<String> = match arguments {
        [entity, id, rest @ ..] if !entity.contains('=') && !id.contains('=') => {
            std::iter::once(format!("{entity}={id}")).chain(rest.iter().cloned()).collect()
        }
        _ => arguments.to_vec(),
    };
    if words.is_empty() {
        say::line("too few arguments for update keyword");
        return 1;
    }
    let is_of_job = words.iter().any(|word| word.to_ascii_lowercase().starts_with("job"));
    if !is_of_job && words.iter().any(|word| reservation::is_meant(word)) {
        return reservation::update(&words);
    }
    let mut settings: Vec<Setting> = Vec::new();
    for word in &words {
        let Some((key, value)) = word.split_once('=') else {
            say::line(format!("Invalid input: {word}"));
            say::line("Request aborted");
            return 1;
        };
        // `TimeLimit+=5` is `TimeLimit=+5`.
        let (key, value) =
            match key.strip_suffix('+').map(|key| (key, '+')).or(key.strip_suffix('-').map(|key| (key, '-')))
            {
                Some((key, sign)) => (key, format!("{sign}{value}")),
                None => (key, value.to_string()),
            };
        settings.push((key.to_ascii_lowercase(), value));
    }
    let has = |names: &[&str]| settings.iter().any(|(key, _)| names.contains(&key.as_str()));
    if let Some((_, what)) = REFUSED_ENTITIES.iter().find(|(key, _)| has(&[key])) {
        say::error("scontrol", format!("{what} is not supported by daybook yet"));
        return 1;
    }
    if has(&["jobid", "job", "jobname"]) && !has(&["nodename", "node"]) {
        update_job::run(&settings)
    } else if has(&["nodename", "node"]) {
        update_node::run(&settings)
    } else {
        say::line("No valid entity in update command");
        say::line("Input line must include \"NodeName\", \"ReservationName\" or \"JobId\"");
        1
    }
}

/// A setting that nobody knows.
pub fn unknown(key: &str, value: &str) -> u8 {
    say::line(format!("Update of this parameter is not supported: {key}={value}"));
    say::line("Request aborted");
    1
}
