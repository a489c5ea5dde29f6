//! Generic resources as a node declares them: `gpu`, `gpu:4`, `gpu:a100`, `gpu:a100:4(S:0-1)`, commas between.

use crate::diagnostic::Findings;
use crate::lines::Pair;
use crate::values::parse_number;

/// The most GPUs of a node.
pub(crate) const GPUS_MAX: u64 = 1024;

/// `Gres=gpu:a100:4` is name `gpu`, type `a100`, count 4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GresEntry {
    /// Lower case.
    pub name: String,
    /// Lower case; empty: none given.
    pub kind: String,
    pub count: u64,
}

/// The GPUs of a `Gres=` value; other resources are reported as having no effect.
pub(crate) fn parse_pair(pair: &Pair, findings: &mut Findings) -> Vec<GresEntry> {
    let mut entries = Vec::new();
    let mut total = 0;
    for part in split_outside_parentheses(&pair.value) {
        match parse_entry(part) {
            Ok(entry) if entry.name != "gpu" => {
                findings.without_effect(&pair.place, &format!("Gres={part}"), "any generic resource but gpu");
            }
            Ok(entry) if entry.count == 0 => {}
            Ok(entry) if entry.count > GPUS_MAX - total => {
                let what = format!("Gres={part} is out of range");
                findings.error(&pair.place, what, format!("a node has at most {GPUS_MAX} GPUs"));
            }
            Ok(entry) => {
                total += entry.count;
                entries.push(entry);
            }
            Err(remedy) => {
                findings.error(&pair.place, format!("Gres={part} cannot be read"), remedy);
            }
        }
    }
    entries
}

/// A type's name, in lower case, if it is made of letters, digits and `_`, `-`, `.`, `+`.
pub(crate) fn legal_type(text: &str) -> Option<String> {
    let legal = text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.+".contains(c));
    (legal && !text.is_empty()).then(|| text.to_ascii_lowercase())
}

fn parse_entry(part: &str) -> Result<GresEntry, &'static str> {
    const FORM: &str = "expected such as gpu:4 or gpu:a100:4";
    let text = match part.split_once('(') {
        Some((text, sockets)) if sockets.ends_with(')') => text,
        Some(_) => return Err(FORM),
        None => part,
    };
    let mut words: Vec<&str> = text.split(':').collect();
    if words.iter().any(|word| word.eq_ignore_ascii_case("no_consume")) {
        return Err("no_consume is not supported: a GPU belongs to one job at a time");
    }
    let count = match words.last().and_then(|word| parse_number(word)) {
        Some(count) if words.len() > 1 => {
            words.pop();
            count
        }
        _ => 1,
    };
    match words.as_slice() {
        [name] if !name.is_empty() => {
            Ok(GresEntry { name: name.to_ascii_lowercase(), kind: String::new(), count })
        }
        [name, kind] if !name.is_empty() => {
            let kind = legal_type(kind).ok_or(FORM)?;
            Ok(GresEntry { name: name.to_ascii_lowercase(), kind, count })
        }
        _ => Err(FORM),
    }
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let mut depth = 0u32;
    text.split(move |character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|part| !part.is_empty() && !part.eq_ignore_ascii_case("none") && *part != "(null)")
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Place;

    #[test]
    fn gres_of_a_node_is_read_as_slurm_reads_it() {
        for (text, expected, faults) in [
            ("gpu", "gpu//1", 0),
            ("gpu:4", "gpu//4", 0),
            ("GPU:A100:4", "gpu/a100/4", 0),
            ("gpu:a100", "gpu/a100/1", 0),
            ("gpu:a100:4(S:0-1)", "gpu/a100/4", 0),
            ("gpu:a100:4(S:0,1),gpu:t4:2", "gpu/a100/4 gpu/t4/2", 0),
            ("gpu:tesla_v100-pcie-32gb:2", "gpu/tesla_v100-pcie-32gb/2", 0),
            ("gpu:0", "", 0),
            ("none", "", 0),
            ("gpu:a:b:4", "", 1),
            ("gpu:a b:4", "", 1),
            ("gpu:no_consume:4", "", 1),
            ("gpu:2000", "", 1),
            ("gpu:a:1024,gpu:b:1", "gpu/a/1024", 1),
            ("gpu:4(S:0", "", 1),
            (":4", "", 1),
        ] {
            let pair = Pair { key: "Gres".into(), value: text.into(), place: Place::file("f") };
            let mut findings = Findings::default();
            let entries = parse_pair(&pair, &mut findings);
            let entries: Vec<String> = entries
                .iter()
                .map(|entry| format!("{}/{}/{}", entry.name, entry.kind, entry.count))
                .collect();
            assert_eq!(
                (entries.join(" ").as_str(), findings.diagnostics().len()),
                (expected, faults),
                "{text}"
            );
        }
    }
}
