//! Amounts of trackable resources: `cpu=100,mem=10G,gres/gpu=4`.

use std::collections::BTreeMap;

use daybook_schemas::Mebibytes;
use daybook_schemas::accounts::TresAmounts;
use daybook_schemas::api::{Change, TresChange};
use daybook_schemas::grammar::memory;
use daybook_schemas::limits::is_tres_name;

/// Reads a change of amounts: `-1` takes one back, `-1` alone or nothing takes all back.
pub fn parse(text: &str) -> Result<TresChange, String> {
    if text.is_empty() || text == "-1" {
        return Ok(TresChange::Clear);
    }
    let mut amounts = BTreeMap::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, amount) =
            part.split_once('=').ok_or_else(|| format!("\"{part}\" has no =: expected such as cpu=100"))?;
        let name = resource(name)?;
        amounts.insert(name.clone(), amount_of(&name, amount)?);
    }
    Ok(TresChange::Amounts(amounts))
}

fn resource(name: &str) -> Result<String, String> {
    let lower = name.to_ascii_lowercase();
    let name = if lower == "memory" { "mem".to_string() } else { lower };
    if is_tres_name(&name) {
        return Ok(name);
    }
    Err(format!("\"{name}\" is none of cpu, mem, node, billing, gres/gpu, gres/gpu:TYPE, license/NAME"))
}

/// An amount of a resource; `-1` takes it back.
pub fn amount_of(name: &str, text: &str) -> Result<Change<u64>, String> {
    if text == "-1" {
        return Ok(Change::Clear);
    }
    let read = match name {
        "mem" => memory::parse_mebibytes(text).ok().map(|Mebibytes(amount)| amount),
        _ => text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit())),
    };
    read.map(Change::Set).ok_or_else(|| format!("Invalid value for {name} ({text})"))
}

/// In the order in which Slurm numbers resources.
fn order(name: &str) -> usize {
    ["cpu", "mem", "node", "billing"].iter().position(|known| *known == name).unwrap_or(usize::MAX)
}

/// As Slurm shows amounts.
pub fn format(amounts: &TresAmounts) -> String {
    let mut all: Vec<(&String, &u64)> = amounts.iter().collect();
    all.sort_by_key(|(name, _)| order(name));
    let parts = all.iter().map(|(name, amount)| match name.as_str() {
        "mem" => format!("mem={}", memory::format_mebibytes(Mebibytes(**amount))),
        name => format!("{name}={amount}"),
    });
    parts.collect::<Vec<_>>().join(",")
}

/// A change as it is told back.
pub fn told(change: &TresChange) -> String {
    match change {
        TresChange::Clear => String::new(),
        TresChange::Amounts(amounts) => {
            let set = amounts.iter().filter_map(|(name, change)| match change {
                Change::Set(amount) => Some((name.clone(), *amount)),
                Change::Clear => None,
            });
            format(&set.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_and_shown_in_slurms_order() {
        for (text, shown) in [
            ("gres/gpu=4,cpu=100", "cpu=100,gres/gpu=4"),
            ("GRES/gpu:A100=2,mem=10G,node=3", "mem=10G,node=3,gres/gpu:a100=2"),
            ("mem=1000", "mem=1000M"),
            ("cpu=-1,license/matlab=5", "license/matlab=5"),
            ("-1", ""),
        ] {
            assert_eq!(parse(text).map(|change| told(&change)).as_deref(), Ok(shown), "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in ["cpu", "cpu=", "cpu=-2", "cpu=1.5", "foo=1", "gres/foo=1", "gres/gpu:=1", "mem=x"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
