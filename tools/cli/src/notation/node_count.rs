//! `--nodes`: `2`, `2-4`.

/// Text that is no number of nodes; the sentence is Slurm's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidNodeCount {
    #[error("\"{0}\" is not a valid node count")]
    Unreadable(String),
    #[error("Maximum node count {most} is less than minimum node count {least}")]
    Reversed { least: u32, most: u32 },
}

/// The fewest and the most nodes. A single number is both.
pub fn parse(text: &str) -> Result<(u32, u32), InvalidNodeCount> {
    let number = |part: &str| -> Result<u32, InvalidNodeCount> {
        let unreadable = || InvalidNodeCount::Unreadable(text.to_string());
        let (digits, factor) = match part.strip_suffix(['k', 'K']) {
            Some(digits) => (digits, 1024),
            None => (part, 1),
        };
        let legal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let count: u32 =
            if legal { digits.parse().map_err(|_| unreadable())? } else { return Err(unreadable()) };
        count.checked_mul(factor).ok_or_else(unreadable)
    };
    let (least, most) = match text.split_once('-') {
        Some((least, most)) => (number(least)?, number(most)?),
        None => (number(text)?, number(text)?),
    };
    if most < least { Err(InvalidNodeCount::Reversed { least, most }) } else { Ok((least, most)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_ranges_are_read() {
        assert_eq!(parse("2"), Ok((2, 2)));
        assert_eq!(parse("2-4"), Ok((2, 4)));
        assert_eq!(parse("1k"), Ok((1024, 1024)));
        assert_eq!(parse("2-1"), Err(InvalidNodeCount::Reversed { least: 2, most: 1 }));
        for text in ["", "abc", "-1", "1-", "1-2-3", "99999999999", "4194304k"] {
            assert_eq!(parse(text), Err(InvalidNodeCount::Unreadable(text.to_string())), "{text}");
        }
    }
}
