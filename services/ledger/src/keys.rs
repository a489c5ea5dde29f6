//! Keys as bytes: numbers big-endian (signed ones with the sign bit flipped), names ended by a zero byte.

use daybook_schemas::{GpuUuid, JobId, NodeName, RunId, Seq};

use crate::rows::RecordKey;

/// Seconds since 1970, so that bytes sort as numbers do.
pub(crate) fn seconds(at: i64) -> [u8; 8] {
    (at as u64 ^ (1 << 63)).to_be_bytes()
}

/// The inverse of [`seconds`].
pub(crate) fn seconds_back(bytes: &[u8]) -> Option<i64> {
    Some((u64::from_be_bytes(bytes.try_into().ok()?) ^ (1 << 63)) as i64)
}

pub(crate) fn name(text: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(text.len() + 20);
    key.extend_from_slice(text.as_bytes());
    key.push(0);
    key
}

pub(crate) fn job(job: JobId) -> Vec<u8> {
    job.0.to_be_bytes().to_vec()
}

pub(crate) fn run(run: RunId) -> [u8; 8] {
    let mut key = [0; 8];
    key[..4].copy_from_slice(&run.job.0.to_be_bytes());
    key[4..].copy_from_slice(&run.start.to_be_bytes());
    key
}

/// A run on a node.
pub(crate) fn usage(of: RunId, node: &NodeName) -> Vec<u8> {
    let mut key = run(of).to_vec();
    key.extend_from_slice(node.as_str().as_bytes());
    key
}

pub(crate) fn record(record: RecordKey) -> [u8; 8] {
    run(RunId::new(record.job, record.attempt))
}

/// The inverse of [`record`].
pub(crate) fn record_back(bytes: &[u8]) -> Option<RecordKey> {
    let job = u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?);
    let attempt = u32::from_be_bytes(bytes.get(4..8)?.try_into().ok()?);
    (bytes.len() == 8).then_some(RecordKey { job: JobId(job), attempt })
}

pub(crate) fn node_at(node: &NodeName, at: i64) -> Vec<u8> {
    let mut key = name(node.as_str());
    key.extend_from_slice(&seconds(at));
    key
}

pub(crate) fn gpu(node: &NodeName, gpu: &GpuUuid) -> Vec<u8> {
    let mut key = name(node.as_str());
    key.extend_from_slice(&name(gpu.as_str()));
    key
}

pub(crate) fn gpu_at(node: &NodeName, uuid: &GpuUuid, at: i64) -> Vec<u8> {
    let mut key = gpu(node, uuid);
    key.extend_from_slice(&seconds(at));
    key
}

/// Of a GPU's installed time, or (with an empty uuid) of a node's.
pub(crate) fn span(node: &NodeName, uuid: Option<&GpuUuid>, at: i64) -> Vec<u8> {
    match uuid {
        Some(uuid) => gpu_at(node, uuid, at),
        None => gpu_at(node, &GpuUuid::from(""), at),
    }
}

/// Node, uuid (empty: the node itself) and instant of a key made by [`span`] or [`gpu_at`].
pub(crate) fn gpu_at_back(key: &[u8]) -> Option<(NodeName, GpuUuid, i64)> {
    let (names, at) = key.split_at_checked(key.len().checked_sub(8)?)?;
    let mut parts = names.split(|byte| *byte == 0);
    let node = std::str::from_utf8(parts.next()?).ok()?;
    let uuid = std::str::from_utf8(parts.next()?).ok()?;
    Some((node.into(), uuid.into(), seconds_back(at)?))
}

/// Node and instant of a key made by [`node_at`].
pub(crate) fn node_at_back(key: &[u8]) -> Option<(NodeName, i64)> {
    let (names, at) = key.split_at_checked(key.len().checked_sub(8)?)?;
    let node = std::str::from_utf8(names.strip_suffix(&[0])?).ok()?;
    Some((node.into(), seconds_back(at)?))
}

pub(crate) fn share(node: &NodeName, at: i64, of: RunId) -> Vec<u8> {
    let mut key = node_at(node, at);
    key.extend_from_slice(&run(of));
    key
}

/// Node, instant and run of a key made by [`share`].
pub(crate) fn share_back(key: &[u8]) -> Option<(NodeName, i64, RunId)> {
    let (front, of) = key.split_at_checked(key.len().checked_sub(8)?)?;
    let (node, at) = node_at_back(front)?;
    let record = record_back(of)?;
    Some((node, at, RunId::new(record.job, record.attempt)))
}

pub(crate) fn event(seq: Seq, index: u32) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&seq.0.to_be_bytes());
    key[8..].copy_from_slice(&index.to_be_bytes());
    key
}

pub(crate) fn node_event(node: &NodeName, seq: Seq, index: u32) -> Vec<u8> {
    let mut key = name(node.as_str());
    key.extend_from_slice(&event(seq, index));
    key
}

/// Of an ended record: class of its length, end, record.
pub(crate) fn ended(class: u8, end: i64, of: RecordKey) -> [u8; 17] {
    let mut key = [0; 17];
    key[0] = class;
    key[1..9].copy_from_slice(&seconds(end));
    key[9..].copy_from_slice(&record(of));
    key
}

/// The record of a key made by [`ended`].
pub(crate) fn ended_back(key: &[u8]) -> Option<RecordKey> {
    record_back(key.get(9..)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_as_what_they_stand_for() {
        let instants = [i64::MIN, -1, 0, 1, 1_700_000_000, i64::MAX];
        assert!(instants.windows(2).all(|pair| seconds(pair[0]) < seconds(pair[1])));
        assert!(instants.iter().all(|at| seconds_back(&seconds(*at)) == Some(*at)));
        assert!(name("n1") < name("n10"), "a name that begins another stands before all of its rows");
    }

    #[test]
    fn keys_are_read_back() {
        let (node, uuid) = (NodeName::from("n1"), GpuUuid::from("GPU-1"));
        assert_eq!(gpu_at_back(&gpu_at(&node, &uuid, -5)), Some((node.clone(), uuid, -5)));
        assert_eq!(gpu_at_back(&span(&node, None, 7)), Some((node.clone(), GpuUuid::from(""), 7)));
        assert_eq!(node_at_back(&node_at(&node, 9)), Some((node.clone(), 9)));
        let run = RunId::new(JobId(256), 3);
        assert_eq!(share_back(&share(&node, 1 << 40, run)), Some((node, 1 << 40, run)));
        let record = RecordKey { job: JobId(7), attempt: 2 };
        assert_eq!(ended_back(&ended(3, 12, record)), Some(record));
    }
}
