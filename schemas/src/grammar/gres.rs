//! Generic resources: `gpu:2`, `gpu:a100:2`, `gres:gpu:2`; and the counts of `--gpus`: `2`, `a100:2`.
//!
//! GPUs are the only generic resource; any other name is refused by its name.

use std::fmt;

use crate::job::{GpuRequest, GpuScope};

/// Text that asks for something else than GPUs, or cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidGres {
    /// Another resource than GPUs.
    #[error("generic resource \"{0}\" is not known here: only gpu is")]
    UnknownName(String),
    /// Not a type and a count.
    #[error("\"{0}\" is no number of GPUs: expected such as 2, a100 or a100:2")]
    Unreadable(String),
    /// One type twice.
    #[error("GPUs of type \"{0}\" are asked for twice: write their sum once")]
    Repeated(String),
}

/// So many GPUs of a type or of any.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GresCount {
    /// The type in lower case; absent: any.
    pub gpu_type: Option<String>,
    /// How many; may be 0.
    pub count: u32,
}

/// The most that one entry may ask for.
pub const COUNT_MAX: u32 = 1_000_000;

/// Reads `--gres` and `Gres=`: `gpu`, `gpu:2`, `gpu:TYPE`, `gpu:TYPE:2`, with or without `gres:` in front, joined by commas;
/// `none` and empty text are none. Each type at most once.
pub fn parse_gres(text: &str) -> Result<Vec<GresCount>, InvalidGres> {
    if text.is_empty() || text.eq_ignore_ascii_case("none") {
        return Ok(Vec::new());
    }
    let mut counts = Vec::new();
    for part in text.split(',') {
        let resource = part.strip_prefix("gres:").or_else(|| part.strip_prefix("gres/")).unwrap_or(part);
        let (name, rest) = match resource.split_once([':', '=']) {
            Some((name, rest)) => (name, Some(rest)),
            None => (resource, None),
        };
        if name != "gpu" {
            return Err(InvalidGres::UnknownName(name.to_string()));
        }
        add(&mut counts, rest.map_or(Some(GresCount { gpu_type: None, count: 1 }), read_count), part)?;
    }
    Ok(counts)
}

/// Reads `--gpus`, `--gpus-per-node` and `--gpus-per-task`: `2`, `TYPE`, `TYPE:2`, joined by commas; each type at most once.
pub fn parse_gpus(text: &str) -> Result<Vec<GresCount>, InvalidGres> {
    let mut counts = Vec::new();
    for part in text.split(',') {
        add(&mut counts, read_count(part.strip_prefix("gpu:").unwrap_or(part)), part)?;
    }
    Ok(counts)
}

fn add(counts: &mut Vec<GresCount>, read: Option<GresCount>, part: &str) -> Result<(), InvalidGres> {
    let count = read.ok_or_else(|| InvalidGres::Unreadable(part.to_string()))?;
    if counts.iter().any(|other| other.gpu_type == count.gpu_type) {
        return Err(InvalidGres::Repeated(count.gpu_type.unwrap_or_else(|| "any".to_string())));
    }
    counts.push(count);
    Ok(())
}

/// `2`, `TYPE`, `TYPE:2`. Digits alone are a count; in front of a count they are a type (`4090:1`).
fn read_count(text: &str) -> Option<GresCount> {
    let (gpu_type, count) = match text.split_once([':', '=']) {
        Some((gpu_type, count)) => (Some(gpu_type), read_number(count)?),
        None if text.trim_end_matches(['k', 'K']).bytes().all(|byte| byte.is_ascii_digit()) => {
            (None, read_number(text)?)
        }
        None => (Some(text), 1),
    };
    let legal = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    match gpu_type {
        Some(name) if !legal(name) => None,
        _ => Some(GresCount { gpu_type: gpu_type.map(str::to_ascii_lowercase), count }),
    }
}

/// A count with `K` (1,024) or nothing behind it.
fn read_number(text: &str) -> Option<u32> {
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1024),
        None => (text, 1),
    };
    let legal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let count: u32 = if legal { digits.parse().ok()? } else { return None };
    count.checked_mul(factor).filter(|&count| count <= COUNT_MAX)
}

impl GresCount {
    /// The wish for so many GPUs per `scope`; `None` where the count is 0.
    pub fn into_request(self, scope: GpuScope) -> Option<GpuRequest> {
        (self.count > 0).then_some(GpuRequest { scope, gpu_type: self.gpu_type, count: self.count })
    }
}

/// `gres:gpu:2`, `gres:gpu:a100:2`, as TresPerNode shows it.
impl fmt::Display for GresCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.gpu_type {
            Some(gpu_type) => write!(f, "gres:gpu:{gpu_type}:{}", self.count),
            None => write!(f, "gres:gpu:{}", self.count),
        }
    }
}

/// Counts joined by commas, as TresPerNode and squeue's `%b` show them; empty for none.
pub fn format(counts: &[GresCount]) -> String {
    counts.iter().map(GresCount::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(read: Result<Vec<GresCount>, InvalidGres>) -> String {
        match read {
            Err(InvalidGres::UnknownName(name)) => format!("unknown {name}"),
            Err(InvalidGres::Unreadable(text)) => format!("unreadable {text}"),
            Err(InvalidGres::Repeated(gpu_type)) => format!("repeated {gpu_type}"),
            Ok(counts) => format(&counts),
        }
    }

    #[test]
    fn gres_asks_for_gpus_of_a_type_or_any() {
        for (text, read) in [
            ("gpu", "gres:gpu:1"),
            ("gpu:2", "gres:gpu:2"),
            ("gpu:a100", "gres:gpu:a100:1"),
            ("gpu:A100:3", "gres:gpu:a100:3"),
            ("gres:gpu:2", "gres:gpu:2"),
            ("gres/gpu=2", "gres:gpu:2"),
            ("gpu=2", "gres:gpu:2"),
            ("gpu:1K", "gres:gpu:1024"),
            ("gpu:0", "gres:gpu:0"),
            ("none", ""),
            ("", ""),
            ("gpu:a100:1,gpu:v100:2", "gres:gpu:a100:1,gres:gpu:v100:2"),
            ("foo:1", "unknown foo"),
            ("gpux", "unknown gpux"),
            ("gpu,", "unknown "),
            ("gpu:", "unreadable gpu:"),
            ("gpu:a100:x", "unreadable gpu:a100:x"),
            ("gpu:4090:2", "gres:gpu:4090:2"),
            ("gpu:3g.20gb:1", "gres:gpu:3g.20gb:1"),
            ("gpu:1000001", "unreadable gpu:1000001"),
            ("gpu:a100:1:1", "unreadable gpu:a100:1:1"),
            ("gpu:a/b:1", "unreadable gpu:a/b:1"),
            ("gpu:-1", "unreadable gpu:-1"),
            ("gpu:4194304K", "unreadable gpu:4194304K"),
            ("gpu:1,gpu:2", "repeated any"),
            ("gpu:a100:1,gpu:A100:2", "repeated a100"),
        ] {
            assert_eq!(shown(parse_gres(text)), read, "{text}");
        }
    }

    #[test]
    fn gpus_counts_gpus() {
        for (text, read) in [
            ("3", "gres:gpu:3"),
            ("a100:2", "gres:gpu:a100:2"),
            ("gpu:2", "gres:gpu:2"),
            ("a,b:2", "gres:gpu:a:1,gres:gpu:b:2"),
            ("", "unreadable "),
            ("x:", "unreadable x:"),
            ("2,3", "repeated any"),
        ] {
            assert_eq!(shown(parse_gpus(text)), read, "{text}");
        }
    }

    #[test]
    fn no_gpus_are_no_wish() {
        let wish = |count| GresCount { gpu_type: None, count }.into_request(GpuScope::Node);
        assert_eq!(wish(0), None);
        assert_eq!(wish(2), Some(GpuRequest { scope: GpuScope::Node, gpu_type: None, count: 2 }));
    }
}
