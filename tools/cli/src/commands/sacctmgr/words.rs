//! The words of a command line: entities and keys that may be shortened, and values.

/// `key=value`, `key+=value`, `key-=value`, or a word alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// As it was typed.
    pub text: String,
    /// In lower case, without the sign.
    pub key: String,
    /// What stands before the `=`.
    pub sign: Sign,
    /// What stands behind it, without quotes; absent: a word alone.
    pub value: Option<String>,
}

/// How a value changes what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Set,
    Add,
    Remove,
}

/// Reads one.
pub fn read(text: &str) -> Word {
    let (key, value) = match text.split_once('=') {
        Some((key, value)) => (key, Some(value.trim_matches(['"', '\'']).to_string())),
        None => (text, None),
    };
    let (key, sign) = match (value.is_some(), key.strip_suffix('+'), key.strip_suffix('-')) {
        (true, Some(key), _) => (key, Sign::Add),
        (true, _, Some(key)) => (key, Sign::Remove),
        _ => (key, Sign::Set),
    };
    Word { text: text.to_string(), key: key.to_ascii_lowercase(), sign, value }
}

/// The words between commas, in lower case, without empty ones.
pub fn list(text: &str) -> Vec<String> {
    let items = text.split(',').map(|item| item.trim().trim_matches(['"', '\'']));
    items.filter(|item| !item.is_empty()).map(str::to_ascii_lowercase).collect()
}

/// Whether a word, in any letter case, is this name or begins it with at least so many letters.
pub fn is(word: &str, name: &str, least: usize) -> bool {
    let begins = || {
        let start = name.get(..word.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    word.len() >= least && begins()
}

/// The first entry of a table whose name a word means.
pub fn find<T: Copy>(table: &[(&str, usize, T)], word: &str) -> Option<T> {
    let exact = table.iter().find(|(name, _, _)| name.eq_ignore_ascii_case(word));
    let found = exact.or_else(|| table.iter().find(|(name, least, _)| is(word, name, *least)));
    found.map(|&(_, _, entry)| entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_a_key_a_sign_and_a_value() {
        // text, key, sign, value
        let table = [
            ("qos=a,b", "qos", Sign::Set, Some("a,b")),
            ("QOS+=gold", "qos", Sign::Add, Some("gold")),
            ("qos-=gold", "qos", Sign::Remove, Some("gold")),
            ("description='physics dept'", "description", Sign::Set, Some("physics dept")),
            ("maxjobs=-1", "maxjobs", Sign::Set, Some("-1")),
            ("set", "set", Sign::Set, None),
            ("x-", "x-", Sign::Set, None),
        ];
        for (text, key, sign, value) in table {
            let read = read(text);
            assert_eq!((read.key.as_str(), read.sign, read.value.as_deref()), (key, sign, value), "{text}");
        }
    }

    #[test]
    fn names_may_be_shortened_down_to_their_least() {
        for (word, name, least, expected) in [
            ("acc", "Accounts", 2, true),
            ("a", "Accounts", 2, false),
            ("ACCOUNTS", "accounts", 2, true),
            ("accountsx", "Accounts", 2, false),
            ("ä", "Accounts", 1, false),
        ] {
            assert_eq!(is(word, name, least), expected, "{word} {name}");
        }
    }
}
