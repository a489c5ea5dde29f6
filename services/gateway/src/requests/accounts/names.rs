//! Names and texts: what may stand in the accounts.

use daybook_schemas::api::{ApiError, ErrorCode};

use super::invalid;

/// The longest name, in bytes.
const NAME_BYTES_MAX: usize = 256;
/// The longest description or comment, in bytes.
const TEXT_BYTES_MAX: usize = 4096;
/// The most names in one list.
const NAMES_MAX: usize = 4_000;

/// The names in lower case, each once, in the order given.
pub(super) fn all(names: &[String]) -> Result<Vec<String>, ApiError> {
    if names.len() > NAMES_MAX {
        return Err(ApiError::new(ErrorCode::TooLarge, "Too much for one request")
            .detail(format!("{} names, at most {NAMES_MAX} are taken at once", names.len())));
    }
    let mut read: Vec<String> = Vec::with_capacity(names.len());
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        let name = one(name)?;
        if seen.insert(name.clone()) {
            read.push(name);
        }
    }
    Ok(read)
}

/// A name in lower case.
pub(in super::super) fn one(name: &str) -> Result<String, ApiError> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.@+$\\".contains(&byte);
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(legal) {
        return Err(invalid(format!("Invalid name '{}'", name.escape_debug()))
            .detail(format!("expected 1 to {NAME_BYTES_MAX} letters, digits and any of _ - . @ + $ \\")));
    }
    Ok(name.to_ascii_lowercase())
}

/// A name that somebody asks for: what can be no name is found nowhere.
pub(super) fn wanted(names: &[String]) -> Vec<String> {
    names.iter().map(|name| name.to_ascii_lowercase()).collect()
}

/// A description, organization or comment.
pub(super) fn text(text: &str) -> Result<String, ApiError> {
    if text.len() > TEXT_BYTES_MAX || text.chars().any(char::is_control) {
        return Err(invalid("Invalid text").detail(format!(
            "a description, organization or comment has at most {TEXT_BYTES_MAX} bytes and no line breaks"
        )));
    }
    Ok(text.to_string())
}
