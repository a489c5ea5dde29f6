//! `--constraint`: features that each node must have, joined by `&`.

/// Why it is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Slurm's sentence.
    Invalid,
    /// A choice (`|`), a count (`*`), brackets or parentheses.
    NotSupported,
}

/// The features, sorted, each once. Empty text is none.
pub fn parse(text: &str) -> Result<Vec<String>, Refusal> {
    if text.contains(['|', '*', '[', ']', '(', ')']) {
        return Err(Refusal::NotSupported);
    }
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let mut features: Vec<String> =
        text.split(['&', ',']).map(|feature| feature.trim().to_string()).collect();
    if features.iter().any(|feature| feature.is_empty() || feature.contains(char::is_whitespace)) {
        return Err(Refusal::Invalid);
    }
    features.sort();
    features.dedup();
    Ok(features)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_sorted_and_choices_refused() {
        assert_eq!(parse("intel&avx512"), Ok(vec!["avx512".to_string(), "intel".to_string()]));
        assert_eq!(parse(""), Ok(Vec::new()));
        assert_eq!(parse("a100|avx512"), Err(Refusal::NotSupported));
        assert_eq!(parse("intel*2"), Err(Refusal::NotSupported));
        assert_eq!(parse("a&&b"), Err(Refusal::Invalid));
    }
}
