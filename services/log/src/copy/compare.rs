//! Whether what two logs have is the same, byte for byte.

use daybook_schemas::{Commit, Seq, Stream};

use super::{BATCH, CopyError, Progress, Step, interrupted};
use crate::embedded::replica::{Replica, commit_of};
use crate::jetstream::bus_log::OpenBus;

/// Compares the commits behind `from` up to `to`, which both have.
pub(super) async fn compare(
    directory: &Replica,
    bus: &OpenBus,
    stream: Stream,
    (from, to): (Seq, Seq),
    progress: Progress<'_>,
) -> Result<(), CopyError> {
    let mut messages = bus.messages(stream, from.next(), to).await.map_err(interrupted)?;
    let mut at = from;
    while let Some(batch) = messages.next_batch(BATCH).await.map_err(interrupted)? {
        let stored = stored(directory, stream, at.next(), batch.len())?;
        for (copied, stored) in batch.into_iter().zip(&stored) {
            let seq = copied.seq;
            let different = |what: String| CopyError::Different { stream, seq, what };
            let time = copied.time;
            let (commit, bytes) = commit_of(copied, time).map_err(&different)?;
            let kept = stored.to_bytes().map_err(|error| different(error.to_string()))?;
            if kept != bytes {
                return Err(different(how(stored, &commit)));
            }
            at = seq;
        }
        progress(Step::Comparing, stream, at, to);
    }
    Ok(())
}

/// So many commits of a directory's log; a log that ends before is damaged.
pub(super) fn stored(
    directory: &Replica,
    stream: Stream,
    from: Seq,
    count: usize,
) -> Result<Vec<std::sync::Arc<Commit>>, CopyError> {
    let mut commits = Vec::with_capacity(count);
    while commits.len() < count {
        let next = Seq(from.0 + commits.len() as u64);
        let read = directory.read_stored(stream, next, count - commits.len()).map_err(interrupted)?;
        if read.is_empty() {
            return Err(interrupted(format!(
                "commit {next} of the {stream:?} stream is not in the directory"
            )));
        }
        commits.extend(read);
    }
    Ok(commits)
}

fn how(one: &Commit, other: &Commit) -> String {
    if one.subject != other.subject {
        format!("{} and {} wrote it", one.subject, other.subject)
    } else if one.time != other.time {
        format!("its time is {} and {}; do the clocks of both machines agree?", one.time, other.time)
    } else {
        "its events differ".to_string()
    }
}
