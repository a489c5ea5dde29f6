//! What a relay says about a request, and the message that opens an exchange with it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::{Bytes, BytesMut};
use daybook_schemas::{BlobHash, UtcMicros};
use nkeys::KeyPair;
use serde::{Deserialize, Serialize};

use crate::bounds::STATEMENT_BYTES_MAX;

/// The version of the protocol; a daemon understands its own only.
pub const VERSION: u32 = 1;

/// What stands before a statement where it is signed. The first byte begins no UTF-8 text: the same key also signs the
/// texts by which NATS servers have clients prove themselves, so a server could otherwise have a statement signed.
const SIGNED_PREFIX: &[u8] = b"\xFFdaybook relay\n";

/// Who asks what, when, and by which relay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// [`VERSION`].
    pub version: u32,
    /// The cluster that is asked (`ClusterName`).
    pub cluster: String,
    /// The relay's name, as in `[relays]` of `daybook.toml`.
    pub relay: String,
    /// The exchange: 32 lower-case hexadecimal digits, new for each request.
    pub exchange: String,
    /// When the relay signed this, by its clock, in microseconds since 1970.
    pub issued_micros: i64,
    /// The peer's user id, from the login machine's kernel.
    pub uid: u32,
    /// Its primary group id.
    pub gid: u32,
    /// Its process there, where the kernel knows it.
    pub pid: Option<i32>,
    /// The user's name on the login machine; the id in digits where it has none.
    pub user: String,
    /// The group's name there.
    pub group: String,
    /// The HTTP method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The body's length.
    pub body_bytes: usize,
    /// The body's hash.
    pub body: BlobHash,
}

impl Statement {
    /// When it was signed.
    pub fn issued(&self) -> UtcMicros {
        UtcMicros(self.issued_micros)
    }
}

/// The message that opens an exchange: two lines of text, the signature (in base64) and the statement (in JSON, exactly
/// as it was signed), then the beginning of the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// What the relay says. Believe it only after [`Verifier::admit`](crate::Verifier::admit).
    pub statement: Statement,
    /// The statement as it came.
    text: Bytes,
    signature: Vec<u8>,
    /// The beginning of the body, or all of it.
    pub body: Bytes,
}

/// Why a message opens no exchange.
#[derive(Debug, thiserror::Error)]
pub enum OpeningError {
    /// It has another version.
    #[error(
        "it speaks version {0} of the relays' protocol, and this daybookd version {VERSION}: install the same Daybook on both"
    )]
    Version(u32),
    /// It is none, or none that this version writes.
    #[error("it is no request of a relay: {0}")]
    Malformed(String),
    /// The key does not sign.
    #[error(
        "it cannot be signed: {0}; nkey_file under [log.nats] in daybook.toml must have this machine's seed"
    )]
    Key(#[from] nkeys::error::Error),
}

impl Opening {
    /// Signs a statement.
    pub fn sign(statement: Statement, body: Bytes, key: &KeyPair) -> Result<Opening, OpeningError> {
        let text =
            serde_json::to_vec(&statement).map_err(|error| OpeningError::Malformed(error.to_string()))?;
        let signature = key.sign(&signed(&text))?;
        if text.len() > STATEMENT_BYTES_MAX / 2 {
            return Err(OpeningError::Malformed(format!(
                "path, query and names have {} bytes; {} is the most",
                text.len(),
                STATEMENT_BYTES_MAX / 2
            )));
        }
        Ok(Opening { statement, text: text.into(), signature, body })
    }

    /// Whether this key signed it.
    pub fn is_signed_by(&self, key: &KeyPair) -> bool {
        key.verify(&signed(&self.text), &self.signature).is_ok()
    }

    /// The message.
    pub fn encode(&self) -> Bytes {
        let signature = URL_SAFE_NO_PAD.encode(&self.signature);
        let mut message = BytesMut::with_capacity(signature.len() + self.text.len() + self.body.len() + 2);
        message.extend_from_slice(signature.as_bytes());
        message.extend_from_slice(b"\n");
        message.extend_from_slice(&self.text);
        message.extend_from_slice(b"\n");
        message.extend_from_slice(&self.body);
        message.freeze()
    }

    /// Reads a message. Nothing in it is proved by that.
    pub fn decode(message: &Bytes) -> Result<Opening, OpeningError> {
        let malformed = |what: &str| OpeningError::Malformed(what.to_string());
        let head = &message[..message.len().min(STATEMENT_BYTES_MAX)];
        let line_end = |from: usize| head[from..].iter().position(|&byte| byte == b'\n').map(|at| from + at);
        let first = line_end(0).ok_or_else(|| malformed("it has no signature"))?;
        let second = line_end(first + 1).ok_or_else(|| malformed("it has no statement"))?;
        let signature =
            URL_SAFE_NO_PAD.decode(&message[..first]).map_err(|_| malformed("its signature is none"))?;
        let text = message.slice(first + 1..second);
        // Before anything else: another version may have other members.
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let unreadable = |error: serde_json::Error| OpeningError::Malformed(error.to_string());
        let Versioned { version } = serde_json::from_slice(&text).map_err(unreadable)?;
        if version != VERSION {
            return Err(OpeningError::Version(version));
        }
        let statement: Statement = serde_json::from_slice(&text).map_err(unreadable)?;
        Ok(Opening { statement, text, signature, body: message.slice(second + 1..) })
    }
}

/// What the signature is over.
fn signed(text: &[u8]) -> Vec<u8> {
    [SIGNED_PREFIX, text].concat()
}

/// Whether this can be an exchange: it becomes part of subjects.
pub(crate) fn is_exchange(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The exchange that a message is about, as far as it can be told from one that is not understood: where its sender
/// waits for the refusal.
pub(crate) fn exchange_of(message: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        exchange: String,
    }
    let head = &message[..message.len().min(STATEMENT_BYTES_MAX)];
    let text = head.split(|&byte| byte == b'\n').nth(1)?;
    let named: Named = serde_json::from_slice(text).ok()?;
    is_exchange(&named.exchange).then_some(named.exchange)
}
