//! `scontrol show hostnames`, `hostlist`, `hostlistsorted`: the grammar of host lists, without the daemon.

use std::fmt::Write as _;

use daybook_schemas::grammar::hostlist;

use crate::say;

/// The variables in which a job finds its nodes.
const VARIABLES: [&str; 2] = ["SLURM_JOB_NODELIST", "SLURM_NODELIST"];

/// One name a line; without an argument those of the job that this runs in.
pub fn names(list: Option<&str>) -> u8 {
    let from_job =
        || VARIABLES.iter().find_map(|name| std::env::var(name).ok().filter(|list| !list.is_empty()));
    let Some(list) = list.map(str::to_string).or_else(from_job) else {
        say::error("scontrol", "host list is empty");
        return 0;
    };
    match hostlist::expand(&list) {
        Ok(names) => {
            let mut text = String::new();
            names.iter().for_each(|name| {
                let _ = writeln!(text, "{name}");
            });
            say::print(&text);
            0
        }
        Err(error) => invalid(&error.to_string()),
    }
}

/// The names (of a file, where the argument is an absolute path) in the shortest notation; `sorted`: each once, in the
/// order of their numbers.
pub fn list(names: Option<&str>, sorted: bool) -> u8 {
    let Some(names) = names else {
        say::error("scontrol", "host list is empty");
        return 0;
    };
    let names = if names.starts_with('/') {
        match std::fs::read_to_string(names) {
            Ok(text) => text.split_whitespace().collect::<Vec<_>>().join(","),
            Err(_) => {
                say::line(format!("Can not open {names}"));
                return 1;
            }
        }
    } else {
        names.to_string()
    };
    match hostlist::expand(&names) {
        Ok(names) if sorted => {
            say::print(&format!("{}\n", hostlist::compress(names.iter().map(String::as_str))));
            0
        }
        Ok(names) => {
            say::print(&format!("{}\n", fold(&names)));
            0
        }
        Err(error) => invalid(&error.to_string()),
    }
}

fn invalid(what: &str) -> u8 {
    say::error("scontrol", format!("Invalid hostlist: {what}"));
    1
}

/// The shortest notation that keeps the order: neighbours of one prefix stand in one bracket.
fn fold(names: &[String]) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for name in names {
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &name[prefix.len()..];
        match groups.last_mut() {
            Some((last, numbers)) if *last == prefix && !digits.is_empty() && !numbers.is_empty() => {
                numbers.push(digits)
            }
            _ if digits.is_empty() => groups.push((name, Vec::new())),
            _ => groups.push((prefix, vec![digits])),
        }
    }
    let groups: Vec<String> = groups
        .into_iter()
        .map(|(prefix, numbers)| match numbers.as_slice() {
            [] => prefix.to_string(),
            [only] => format!("{prefix}{only}"),
            numbers => format!("{prefix}[{}]", ranges(numbers)),
        })
        .collect();
    groups.join(",")
}

/// `1-3,07-08`
fn ranges(numbers: &[&str]) -> String {
    let mut ranges: Vec<(&str, &str)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if follows(last, number) => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let texts: Vec<String> = ranges
        .into_iter()
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    texts.join(",")
}

fn follows(last: &str, number: &str) -> bool {
    let next = last.parse::<u64>().ok().and_then(|last| last.checked_add(1));
    let width = last.len();
    next.is_some_and(|next| format!("{next:0width$}") == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_keeps_the_order() {
        for (names, list) in [
            ("n1,n2,n3,n07,n08,g1", "n[1-3,07-08],g1"),
            ("n3,n1,n2", "n[3,1-2]"),
            ("login,n9,n10", "login,n[9-10]"),
            ("a,b", "a,b"),
            ("n1,x,n2", "n1,x,n2"),
        ] {
            assert_eq!(fold(&hostlist::expand(names).expect("names")), list, "{names}");
        }
    }
}
