//! Lists of licences: `matlab:2,ansys`, as in `Licenses` of `slurm.conf` and in `-L`.

use std::collections::BTreeMap;

use crate::license::License;

/// The longest name of a licence, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// Text that is no list of licences.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLicenses {
    /// A part of it is no `NAME[:COUNT]` with a count of at least 1.
    #[error("\"{0}\" is no licence: expected NAME or NAME:COUNT, with a count of at least 1")]
    Part(String),
    /// The counts of one name add up to more than 32 bits.
    #[error("there are too many of licence \"{0}\"")]
    TooMany(String),
    /// Licences joined by `|`, of which one would do.
    #[error("\"{0}\": licences of which one is enough (joined by |) are not supported by daybook yet")]
    Alternatives(String),
}

/// Reads a list, joined by `,` or `;`; all of it is meant. A missing count is 1, and what stands twice adds up, as in
/// Slurm. The result is sorted by name, each once; empty text gives none.
pub fn parse(text: &str) -> Result<Vec<License>, InvalidLicenses> {
    if text.contains('|') {
        return Err(InvalidLicenses::Alternatives(text.to_string()));
    }
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    // Slurm passes over empty parts.
    for part in text.split([',', ';']).filter(|part| !part.is_empty()) {
        let invalid = || InvalidLicenses::Part(part.to_string());
        // `*` is the separator of old releases.
        let (name, count) = match part.split_once([':', '*']) {
            Some((name, count)) if count.bytes().all(|byte| byte.is_ascii_digit()) => (name, count),
            Some(_) => return Err(invalid()),
            None => (part, "1"),
        };
        let count = count.parse().map_err(|_| invalid())?;
        if count == 0 || !is_name(name) {
            return Err(invalid());
        }
        let sum = counts.entry(name).or_insert(0);
        *sum = sum.checked_add(count).ok_or_else(|| InvalidLicenses::TooMany(name.to_string()))?;
    }
    Ok(counts.into_iter().map(|(name, count)| License { name: name.to_string(), count }).collect())
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && !name.chars().any(|c| c.is_whitespace() || c.is_control() || ":*,;|".contains(c))
}

/// Whether a list is as [`parse`] gives it: sorted by name, each once, with names and counts that can be said.
pub fn is_in_order(licenses: &[License]) -> bool {
    licenses.iter().all(|license| license.count > 0 && is_name(&license.name))
        && licenses.is_sorted_by(|one, next| one.name < next.name)
}

/// `ansys:1,matlab:2`; empty for none.
pub fn format(licenses: &[License]) -> String {
    let parts: Vec<String> =
        licenses.iter().map(|license| format!("{}:{}", license.name, license.count)).collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::{InvalidLicenses, format, is_in_order, parse};

    #[test]
    fn names_have_a_count_or_one_and_add_up() {
        for (text, meant) in [
            ("", ""),
            ("matlab", "matlab:1"),
            ("matlab:10,ansys:4", "ansys:4,matlab:10"),
            ("b*2;a", "a:1,b:2"),
            ("a,a:2,,a", "a:4"),
            ("lic@server:3", "lic@server:3"),
            ("a:4294967295", "a:4294967295"),
        ] {
            let licenses = parse(text).unwrap();
            assert_eq!(format(&licenses), meant, "{text}");
            assert!(is_in_order(&licenses), "{text}");
        }
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in ["a:", ":1", "a:0", "a:-1", "a:+1", "a:x", "a:1:2", "a b", "a: 1", "a:4294967296", " a"] {
            assert_eq!(parse(text), Err(InvalidLicenses::Part(text.to_string())), "{text}");
        }
        assert_eq!(parse("a:4294967295,a"), Err(InvalidLicenses::TooMany("a".to_string())));
        assert_eq!(parse("a|b"), Err(InvalidLicenses::Alternatives("a|b".to_string())));
    }
}
