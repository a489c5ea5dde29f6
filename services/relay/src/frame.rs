//! What the two sides of an exchange say to each other after its opening.
//!
//! A frame is one message: a byte that says which, a number of eight bytes (big-endian), and what is left.

use bytes::{BufMut as _, Bytes, BytesMut};
use serde::{Deserialize, Serialize};

/// One message of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// Its sender is there, and has taken so many pieces. Said again and again, so one that is lost does no harm.
    Received(u64),
    /// A part of a body, numbered from 0 in its direction.
    Piece(u64, Bytes),
    /// The answer begins.
    Head(Head),
    /// The answer is whole: so many pieces.
    End(u64),
    /// Its sender has given up, and why.
    Broken(String),
}

/// The answer's first line and the header that clients go by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// The HTTP status.
    pub(crate) status: u16,
    /// `content-type`.
    pub(crate) content_type: Option<String>,
}

/// The longest reason that is passed on, in bytes.
const REASON_BYTES_MAX: usize = 1000;

impl Frame {
    pub(crate) fn encode(&self) -> Bytes {
        let (kind, number, rest): (u8, u64, Bytes) = match self {
            Frame::Received(pieces) => (b'R', *pieces, Bytes::new()),
            Frame::Piece(number, bytes) => (b'P', *number, bytes.clone()),
            // A status and a text are always JSON.
            Frame::Head(head) => (b'H', 0, serde_json::to_vec(head).unwrap_or_default().into()),
            Frame::End(pieces) => (b'E', *pieces, Bytes::new()),
            Frame::Broken(why) => {
                let why: String = why.chars().take(REASON_BYTES_MAX / 4).collect();
                (b'B', 0, why.into_bytes().into())
            }
        };
        let mut message = BytesMut::with_capacity(9 + rest.len());
        message.put_u8(kind);
        message.put_u64(number);
        message.extend_from_slice(&rest);
        message.freeze()
    }

    /// `None`: no frame of this version.
    pub(crate) fn decode(message: &Bytes) -> Option<Frame> {
        let number = u64::from_be_bytes(message.get(1..9)?.try_into().ok()?);
        let rest = message.slice(9..);
        Some(match message[0] {
            b'R' => Frame::Received(number),
            b'P' => Frame::Piece(number, rest),
            b'H' => Frame::Head(serde_json::from_slice(&rest).ok()?),
            b'E' => Frame::End(number),
            b'B' => {
                Frame::Broken(String::from_utf8_lossy(&rest[..rest.len().min(REASON_BYTES_MAX)]).into_owned())
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_comes_back_and_nothing_else_is_one() {
        let head = Head { status: 200, content_type: Some("application/json".to_string()) };
        for frame in [
            Frame::Received(7),
            Frame::Piece(u64::MAX, Bytes::from_static(b"abc")),
            Frame::Piece(0, Bytes::new()),
            Frame::Head(head),
            Frame::End(3),
            Frame::Broken("gone".to_string()),
        ] {
            assert_eq!(Frame::decode(&frame.encode()), Some(frame));
        }
        for message in [&b""[..], b"P", b"P1234567", b"X12345678", b"H12345678{"] {
            assert_eq!(Frame::decode(&Bytes::from_static(message)), None, "{message:?}");
        }
    }
}
