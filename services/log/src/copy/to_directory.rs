//! From a bus to a directory.

use std::path::Path;

use daybook_schemas::{Commit, Seq};

use super::compare::{compare, stored};
use super::{
    BATCH, BlobsDone, BusLog, CopyError, CopyReport, Ends, Progress, Step, interrupted, log_directory,
};
use crate::admission::STREAMS;
use crate::embedded::replica::Replica;
use crate::jetstream::bus_log::OpenBus;

/// Copies the log on a bus to the state directory `to`, which must exist.
pub async fn to_directory(from: &BusLog, to: &Path, progress: Progress<'_>) -> Result<CopyReport, CopyError> {
    let bus = OpenBus::open(from, false).await?;
    let ends = bus.ends().await.map_err(interrupted)?;
    let destination = Replica::open(&log_directory(to))?;
    let mut found = Ends::default();
    let mut report = CopyReport::default();
    for stream in STREAMS {
        let (there, here) = (*ends.get(stream), destination.tail(stream).seq);
        if here > there {
            return Err(CopyError::Longer { stream, destination: here, source_end: there });
        }
        *found.get_mut(stream) = here;
        report.found += here.0;
        report.commits += there.0;
    }
    for stream in STREAMS {
        compare(&destination, &bus, stream, (Seq::ZERO, *found.get(stream)), progress).await?;
    }
    destination.mark_unfinished(true).map_err(interrupted)?;
    for stream in STREAMS {
        let (mut at, end) = (*found.get(stream), *ends.get(stream));
        let mut messages = bus.messages(stream, at.next(), end).await.map_err(interrupted)?;
        while let Some(batch) = messages.next_batch(BATCH).await.map_err(interrupted)? {
            at = Seq(at.0 + batch.len() as u64);
            destination.extend(stream, batch).map_err(interrupted)?;
            progress(Step::Copying, stream, at, end);
        }
    }
    copy_blobs(&bus, &destination, &mut report).await?;
    for stream in STREAMS {
        compare(&destination, &bus, stream, (*found.get(stream), *ends.get(stream)), progress).await?;
    }
    // Synced, and with it everything that was written before.
    destination.mark_unfinished(false).map_err(interrupted)?;
    destination.close();
    Ok(report)
}

/// Fetches the blobs that commits name, also those that were there: a copy may have stopped between the two.
async fn copy_blobs(bus: &OpenBus, destination: &Replica, report: &mut CopyReport) -> Result<(), CopyError> {
    let mut done = BlobsDone::default();
    for stream in STREAMS {
        let (mut at, end) = (Seq::ZERO, destination.tail(stream).seq);
        while at < end {
            let count = usize::try_from(end.0 - at.0).unwrap_or(BATCH).min(BATCH);
            let commits = stored(destination, stream, at.next(), count)?;
            let commits: Vec<&Commit> = commits.iter().map(|commit| &**commit).collect();
            for hash in done.named(commits.iter().copied()) {
                let is_there = destination.blob(&hash).map_err(interrupted)?.is_some();
                match bus.blob(&hash).await.map_err(interrupted)? {
                    Some(_) if is_there => report.blobs += 1,
                    Some(bytes) => {
                        destination.keep_blob(&hash, &bytes).map_err(interrupted)?;
                        report.blobs += 1;
                    }
                    None => report.missing_blobs += 1,
                }
                done.add(hash);
            }
            at = Seq(at.0 + count as u64);
        }
    }
    Ok(())
}
