//! `TRESBillingWeights`: `CPU=1.0,Mem=0.25G,GRES/gpu=2.0,GRES/gpu:a100=4.0,license/ansys=1`.

use std::collections::BTreeMap;

use crate::billing::{BILLIONTHS, BillingWeight, BillingWeights, POWER_MAX};

/// Digits behind the point that a weight may have.
const DECIMALS_MAX: usize = 9;
/// The largest weight.
const WEIGHT_MAX: u64 = 1_000_000_000;

/// Text that is no list of weights.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidBillingWeights {
    /// A part of it is no `RESOURCE=WEIGHT`.
    #[error("\"{0}\" is no weight: expected such as CPU=1.0 or Mem=0.25G")]
    Part(String),
    /// No such resource is counted.
    #[error("\"{0}\" has no weight: expected CPU, Mem, Node, GRES/gpu, GRES/gpu:TYPE or license/NAME")]
    Resource(String),
    /// The weight is no number, or more than can be counted exactly.
    #[error(
        "\"{0}\" is no weight: expected a number from 0 to 1000000000, with at most 9 digits behind the point, and \
         perhaps K, M, G, T or P"
    )]
    Weight(String),
    /// A resource has two weights.
    #[error("\"{0}\" has two weights")]
    Twice(String),
}

/// Reads weights. Names are read in any letter case but for those of licences. A suffix says of how many of the resource's
/// unit (MiB of memory) the weight is: `Mem=0.25G` is a quarter for each GiB, `CPU=1K` one for 1024 CPUs.
pub fn parse(text: &str) -> Result<BillingWeights, InvalidBillingWeights> {
    let mut weights = BTreeMap::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, weight) =
            part.split_once('=').ok_or_else(|| InvalidBillingWeights::Part(part.to_string()))?;
        let name = resource(name.trim()).ok_or_else(|| InvalidBillingWeights::Resource(name.to_string()))?;
        let of_memory = name == "mem";
        let weight = parse_weight(weight.trim(), of_memory)
            .ok_or_else(|| InvalidBillingWeights::Weight(weight.to_string()))?;
        if weights.insert(name.clone(), weight).is_some() {
            return Err(InvalidBillingWeights::Twice(name));
        }
    }
    Ok(BillingWeights { text: text.to_string(), weights })
}

fn resource(name: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let named = |prefix: &str| lower.strip_prefix(prefix).filter(|rest| !rest.is_empty());
    if let Some(license) = named("license/") {
        return Some(format!("license/{}", &name[name.len() - license.len()..]));
    }
    let is_known = matches!(lower.as_str(), "cpu" | "mem" | "node" | "gres/gpu");
    (is_known || named("gres/gpu:").is_some()).then_some(lower)
}

fn parse_weight(text: &str, of_memory: bool) -> Option<BillingWeight> {
    let suffix = text.chars().last().filter(char::is_ascii_alphabetic);
    let number = suffix.map_or(text, |_| &text[..text.len() - 1]);
    let power: u32 = match suffix.map(|letter| letter.to_ascii_uppercase()) {
        None => {
            if of_memory {
                20
            } else {
                0
            }
        }
        Some('K') => 10,
        Some('M') => 20,
        Some('G') => 30,
        Some('T') => 40,
        Some('P') => 50,
        Some(_) => return None,
    };
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_a_number = is_digits(whole) && is_digits(decimals) && !(whole.is_empty() && decimals.is_empty());
    if !is_a_number || decimals.len() > DECIMALS_MAX {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let parts: u64 = format!("{decimals:0<DECIMALS_MAX$}").parse().ok()?;
    let billionths = whole.checked_mul(BILLIONTHS)?.checked_add(parts)?;
    if billionths > WEIGHT_MAX.checked_mul(BILLIONTHS)? {
        return None;
    }
    // Memory is counted in MiB: a weight for each KiB is 1024 of it for each MiB.
    match (of_memory, power.checked_sub(20)) {
        (false, _) => Some(BillingWeight { billionths, power: power.min(POWER_MAX) }),
        (true, Some(power)) => Some(BillingWeight { billionths, power }),
        (true, None) => Some(BillingWeight { billionths: billionths.checked_mul(1_024)?, power: 0 }),
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidBillingWeights, parse};

    #[test]
    fn weights_are_read_exactly() {
        for (text, name, billionths, power) in [
            ("CPU=1.0", "cpu", 1_000_000_000, 0),
            ("cpu=.5", "cpu", 500_000_000, 0),
            ("Cpu=7.", "cpu", 7_000_000_000, 0),
            ("CPU=1K", "cpu", 1_000_000_000, 10),
            ("Mem=0.25G", "mem", 250_000_000, 10),
            ("Mem=0.25m", "mem", 250_000_000, 0),
            ("Mem=2", "mem", 2_000_000_000, 0),
            ("Mem=1K", "mem", 1_024_000_000_000, 0),
            ("Mem=3P", "mem", 3_000_000_000, 30),
            ("node=0", "node", 0, 0),
            ("GRES/gpu=0.000000001", "gres/gpu", 1, 0),
            ("GRES/gpu:A100=4", "gres/gpu:a100", 4_000_000_000, 0),
            ("License/Ansys=1", "license/Ansys", 1_000_000_000, 0),
            ("cpu=1000000000", "cpu", 1_000_000_000_000_000_000, 0),
        ] {
            let read = parse(text).unwrap();
            assert_eq!(read.text, text);
            let (known, weight) = read.weights.first_key_value().unwrap();
            assert_eq!(
                (known.as_str(), weight.billionths, weight.power),
                (name, billionths, power),
                "{text}"
            );
        }
        assert_eq!(parse("CPU=1, Mem=0.25G,").unwrap().weights.len(), 2);
        assert!(parse("").unwrap().weights.is_empty());
    }

    #[test]
    fn what_is_no_weight_is_refused() {
        use InvalidBillingWeights::{Part, Resource, Twice, Weight};
        let text = |text: &str| text.to_string();
        for (written, fault) in [
            ("CPU", Part(text("CPU"))),
            ("CPU=", Weight(text(""))),
            ("CPU=x", Weight(text("x"))),
            ("CPU=-1", Weight(text("-1"))),
            ("CPU=1e3", Weight(text("1e3"))),
            ("CPU=.", Weight(text("."))),
            ("CPU=1.0.0", Weight(text("1.0.0"))),
            ("CPU=0.0000000001", Weight(text("0.0000000001"))),
            ("CPU=1000000000.1", Weight(text("1000000000.1"))),
            ("CPU=99999999999999999999", Weight(text("99999999999999999999"))),
            ("Mem=1000000000K", Weight(text("1000000000K"))),
            ("Mem=1E", Weight(text("1E"))),
            ("Mem=1GB", Weight(text("1GB"))),
            ("Mem=1é", Weight(text("1é"))),
            ("billing=1", Resource(text("billing"))),
            ("energy=1", Resource(text("energy"))),
            ("gres/gpu:=1", Resource(text("gres/gpu:"))),
            ("license/=1", Resource(text("license/"))),
            ("gpu=1", Resource(text("gpu"))),
            ("=1", Resource(text(""))),
            ("cpu=1,CPU=2", Twice(text("cpu"))),
        ] {
            assert_eq!(parse(written), Err(fault), "{written}");
        }
    }
}
