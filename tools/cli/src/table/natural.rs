//! Names in the order of their numbers: `node2` stands before `node10`.

use std::cmp::Ordering;

/// Compares two names, their runs of digits as numbers.
pub fn compare(a: &str, b: &str) -> Ordering {
    let (mut a_rest, mut b_rest) = (a, b);
    loop {
        let (a_text, a_number, a_next) = split(a_rest);
        let (b_text, b_number, b_next) = split(b_rest);
        let order = a_text.cmp(b_text).then_with(|| compare_numbers(a_number, b_number));
        if order.is_ne() {
            return order;
        }
        if a_next.is_empty() || b_next.is_empty() {
            return a_next.len().cmp(&b_next.len()).then_with(|| a.cmp(b));
        }
        (a_rest, b_rest) = (a_next, b_next);
    }
}

/// The text up to the first digit, the digits, and the rest.
fn split(name: &str) -> (&str, &str, &str) {
    let digits = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    let (text, rest) = name.split_at(digits);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    (text, &rest[..end], &rest[end..])
}

fn compare_numbers(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_as_numbers() {
        let mut names = ["node10", "node2", "gpu01", "node02a", "rack2n1", "rack1n10", "rack1n9", "node"];
        names.sort_by(|a, b| compare(a, b));
        assert_eq!(names, ["gpu01", "node", "node2", "node02a", "node10", "rack1n9", "rack1n10", "rack2n1"]);
    }
}
