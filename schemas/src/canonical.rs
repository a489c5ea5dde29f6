//! The one byte form of a document: JSON with sorted keys, no white space, integers only.
//!
//! It is RFC 8785's form for what Daybook writes: keys in ASCII, integers (of 64 bits, so a reader must not put them into
//! floating-point numbers), strings escaped no further than needed.
//!
//! Everything that is stored in the log or hashed goes through [`to_bytes`], so the same fact has the
//! same bytes whoever writes it.

use serde::Serialize;
use sha2::{Digest, Sha256};

/// Why a value has no canonical form.
#[derive(Debug, thiserror::Error)]
pub enum CanonicalError {
    /// The value cannot be expressed in JSON at all.
    #[error("not expressible as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A number is not an integer; events hold integers only.
    #[error("{0} is not an integer; canonical documents hold integers only")]
    Fraction(String),
}

/// The canonical bytes of a value.
pub fn to_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    value_to_bytes(&serde_json::to_value(value)?)
}

/// The canonical bytes of a JSON value that is there already.
pub fn value_to_bytes(value: &serde_json::Value) -> Result<Vec<u8>, CanonicalError> {
    refuse_fractions(value)?;
    // serde_json's map is ordered by key (its `preserve_order` feature is off, a test holds that).
    Ok(serde_json::to_vec(value)?)
}

/// SHA-256 of a value's canonical bytes, in lower-case hexadecimal.
pub fn hash<T: Serialize>(value: &T) -> Result<String, CanonicalError> {
    Ok(sha256_hex(&to_bytes(value)?))
}

/// SHA-256 of bytes, in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn refuse_fractions(value: &serde_json::Value) -> Result<(), CanonicalError> {
    use serde_json::Value;
    match value {
        Value::Number(number) if number.is_f64() => Err(CanonicalError::Fraction(number.to_string())),
        Value::Array(items) => items.iter().try_for_each(refuse_fractions),
        Value::Object(fields) => fields.values().try_for_each(refuse_fractions),
        _ => Ok(()),
    }
}

/// SHA-256 of bytes that come in parts.
#[derive(Clone, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Takes the next part.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash of all parts, in lower-case hexadecimal.
    pub fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}

fn hex(digest: &[u8]) -> String {
    let mut text = String::with_capacity(2 * digest.len());
    for byte in digest {
        text.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'));
        text.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
    }
    text
}
