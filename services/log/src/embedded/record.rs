//! How a commit lies in the store: CRC-32C of its canonical bytes (4 bytes, big endian), then those bytes.

use daybook_schemas::{Commit, Seq, UtcMicros};

use crate::AppendError;
use crate::prepared::Prepared;

const CHECKSUM_BYTES: usize = 4;

/// The record of a commit.
pub(super) fn encode(append: &Prepared, seq: Seq, time: UtcMicros) -> Result<Vec<u8>, AppendError> {
    let mut record = Vec::with_capacity(CHECKSUM_BYTES + append.size());
    record.extend_from_slice(&[0; CHECKSUM_BYTES]);
    append.encode(seq, time, &mut record)?;
    seal(&mut record);
    Ok(record)
}

/// The record of a commit's canonical bytes.
#[cfg(feature = "jetstream")]
pub(super) fn of_bytes(bytes: &[u8]) -> Vec<u8> {
    let mut record = [&[0; CHECKSUM_BYTES], bytes].concat();
    seal(&mut record);
    record
}

fn seal(record: &mut [u8]) {
    let checksum = crc32c::crc32c(&record[CHECKSUM_BYTES..]);
    record[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_be_bytes());
}

/// The commit of a record that lies at `seq`, or what is wrong with it.
pub(super) fn decode(seq: Seq, record: &[u8]) -> Result<Commit, String> {
    let Some((checksum, bytes)) = record.split_first_chunk::<CHECKSUM_BYTES>() else {
        return Err(format!("its record has {} bytes, fewer than a checksum", record.len()));
    };
    let (stored, actual) = (u32::from_be_bytes(*checksum), crc32c::crc32c(bytes));
    if stored != actual {
        return Err(format!(
            "its checksum is {stored:08x}, its bytes have {actual:08x}: the record is damaged"
        ));
    }
    let commit = Commit::from_bytes(bytes).map_err(|error| error.to_string())?;
    if commit.seq != seq {
        return Err(format!("its record says that it is commit {}", commit.seq));
    }
    Ok(commit)
}

#[cfg(test)]
mod tests {
    use daybook_schemas::{Seq, Stream, Subject, UtcMicros};

    use super::{decode, encode};
    use crate::Append;
    use crate::conformance::sample;
    use crate::prepared::Prepared;

    #[test]
    fn every_flipped_bit_of_a_record_is_found() {
        let draft = sample::draft(Subject::Jobs, "bits", 1);
        let prepared = Prepared::new(Append { stream: Stream::State, draft, blobs: Vec::new() }).unwrap();
        let record = encode(&prepared, Seq(7), UtcMicros(1)).unwrap();
        assert_eq!(decode(Seq(7), &record).unwrap(), prepared.into_commit(Seq(7), UtcMicros(1)));
        assert!(decode(Seq(8), &record).is_err(), "a record at another place than its own");
        for bit in 0..record.len() * 8 {
            let mut damaged = record.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(Seq(7), &damaged).is_err(), "bit {bit}");
        }
        for length in 0..record.len() {
            assert!(decode(Seq(7), &record[..length]).is_err(), "cut to {length} bytes");
        }
    }
}
