//! Whether a text is the public nkey of a user: told by its form, without any cryptography.
//!
//! In base32: a byte for the kind of the key, 32 bytes of Ed25519, and two of a checksum (CRC-16/XMODEM, low byte first).

/// Letters and digits of a public nkey.
const LENGTH: usize = 56;
/// The first byte of a user's: the letter `U`.
const USER: u8 = 20 << 3;

/// Whether it is one without a typing error.
pub(crate) fn is_of_user(text: &str) -> bool {
    let Some(bytes) = base32(text) else { return false };
    let [content @ .., low, high] = bytes.as_slice() else { return false };
    content.first() == Some(&USER) && checksum(content) == u16::from_le_bytes([*low, *high])
}

fn base32(text: &str) -> Option<Vec<u8>> {
    if text.len() != LENGTH {
        return None;
    }
    let mut bytes = Vec::with_capacity(LENGTH * 5 / 8);
    let (mut bits, mut count) = (0_u32, 0);
    for character in text.bytes() {
        let value = match character {
            b'A'..=b'Z' => character - b'A',
            b'2'..=b'7' => character - b'2' + 26,
            _ => return None,
        };
        bits = (bits << 5 | u32::from(value)) & 0xFFFF;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push(((bits >> count) & 0xFF) as u8);
        }
    }
    Some(bytes)
}

fn checksum(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, byte| {
        (0..8).fold(sum ^ u16::from(*byte) << 8, |sum, _| match sum & 0x8000 {
            0 => sum << 1,
            _ => sum << 1 ^ 0x1021,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_key_is_told_from_everything_else() {
        let key = "UDAEWQGS4HU5TQVN4XTLQ7CTQ6P3NRNXRLBYQG2XL4UHEWHZ67XR4GTV";
        assert!(is_of_user(key));
        for (from, to) in
            [("UD", "AD"), ("UD", "ud"), ("7", "8"), ("UD", "UUD"), ("UD", "D"), ("W", "V"), ("GS", "SG")]
        {
            assert!(!is_of_user(&key.replacen(from, to, 1)), "{from} {to}");
        }
        let of_an_account = "ADAEWQGS4HU5TQVN4XTLQ7CTQ6P3NRNXRLBYQG2XL4UHEWHZ67XR5CAK";
        for other in [of_an_account, "", "é"] {
            assert!(!is_of_user(other), "{other}");
        }
    }
}
