//! GPUs: `--gres=gpu:a100:2`, `--gpus=a100:1,v100:2`.

use daybook_schemas::job::{GpuRequest, GpuScope};

/// Text that asks for something else than GPUs, or cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidGpus;

/// The most that one entry may ask for.
const COUNT_MAX: u32 = 1_000_000;

/// Reads `--gres`: `gpu`, `gpu:2`, `gpu:TYPE`, `gpu:TYPE:2`, also with `gres:` or `=`; `none` and empty text are none.
pub fn parse_gres(text: &str) -> Result<Vec<GpuRequest>, InvalidGpus> {
    let mut requests = Vec::new();
    if text.is_empty() || text.eq_ignore_ascii_case("none") {
        return Ok(requests);
    }
    for part in text.split(',') {
        let part = part.strip_prefix("gres:").or_else(|| part.strip_prefix("gres/")).unwrap_or(part);
        let rest = match part.strip_prefix("gpu") {
            Some("") => "1",
            Some(rest) => rest.strip_prefix([':', '=']).ok_or(InvalidGpus)?,
            None => return Err(InvalidGpus),
        };
        add(&mut requests, read_count(rest, GpuScope::Node)?)?;
    }
    Ok(requests)
}

/// Reads `--gpus`, `--gpus-per-node` and `--gpus-per-task`: `2`, `TYPE`, `TYPE:2`, joined by commas.
pub fn parse_counts(text: &str, scope: GpuScope) -> Result<Vec<GpuRequest>, InvalidGpus> {
    let mut requests = Vec::new();
    for part in text.split(',') {
        let part = part.strip_prefix("gpu:").unwrap_or(part);
        add(&mut requests, read_count(part, scope)?)?;
    }
    Ok(requests)
}

/// Adds an entry; one of 0 GPUs asks for nothing, one of a type that is there already is a mistake.
fn add(requests: &mut Vec<GpuRequest>, request: GpuRequest) -> Result<(), InvalidGpus> {
    if requests.iter().any(|other| other.gpu_type == request.gpu_type) {
        return Err(InvalidGpus);
    }
    if request.count > 0 {
        requests.push(request);
    }
    Ok(())
}

fn read_count(text: &str, scope: GpuScope) -> Result<GpuRequest, InvalidGpus> {
    let (gpu_type, count) = match text.split_once([':', '=']) {
        Some((gpu_type, count)) => (Some(gpu_type), read_number(count).ok_or(InvalidGpus)?),
        None => match read_number(text) {
            Some(count) => (None, count),
            None => (Some(text), 1),
        },
    };
    let legal = |name: &str| {
        let mut letters = name.chars();
        letters.next().is_some_and(|c| c.is_ascii_alphanumeric())
            && letters.all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    match gpu_type {
        Some(name) if !legal(name) || name.bytes().all(|byte| byte.is_ascii_digit()) => Err(InvalidGpus),
        _ => Ok(GpuRequest { scope, gpu_type: gpu_type.map(str::to_ascii_lowercase), count }),
    }
}

/// A count with `K` or nothing behind it.
fn read_number(text: &str) -> Option<u32> {
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1024),
        None => (text, 1),
    };
    let legal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let count: u32 = if legal { digits.parse().ok()? } else { return None };
    count.checked_mul(factor).filter(|&count| count <= COUNT_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(read: Result<Vec<GpuRequest>, InvalidGpus>) -> String {
        match read {
            Err(InvalidGpus) => "invalid".to_string(),
            Ok(requests) => requests
                .iter()
                .map(|one| format!("{}x{}", one.count, one.gpu_type.as_deref().unwrap_or("any")))
                .collect::<Vec<_>>()
                .join("+"),
        }
    }

    #[test]
    fn gres_asks_for_gpus_of_a_type_or_any() {
        for (text, read) in [
            ("gpu", "1xany"),
            ("gpu:2", "2xany"),
            ("gpu:a100", "1xa100"),
            ("gpu:A100:3", "3xa100"),
            ("gres:gpu:2", "2xany"),
            ("gpu=2", "2xany"),
            ("gpu:0", ""),
            ("none", ""),
            ("gpu:a100:1,gpu:v100:2", "1xa100+2xv100"),
            ("foo:1", "invalid"),
            ("gpu:", "invalid"),
            ("gpu:a100:x", "invalid"),
            ("gpu:1:1", "invalid"),
            ("gpux", "invalid"),
            ("gpu:-1", "invalid"),
            ("gpu:1,gpu:2", "invalid"),
        ] {
            assert_eq!(shown(parse_gres(text)), read, "{text}");
        }
    }

    #[test]
    fn gpus_counts_gpus() {
        for (text, read) in [
            ("3", "3xany"),
            ("a100:2", "2xa100"),
            ("gpu:2", "2xany"),
            ("a,b:2", "1xa+2xb"),
            ("", "invalid"),
            ("x:", "invalid"),
        ] {
            assert_eq!(shown(parse_counts(text, GpuScope::Job)), read, "{text}");
        }
    }
}
