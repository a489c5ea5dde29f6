//! From a directory to a bus.

use std::path::Path;

use daybook_schemas::{Seq, Stream};
use futures_util::stream::{FuturesOrdered, StreamExt};

use super::compare::{compare, stored};
use super::{
    BATCH, BlobsDone, BusLog, CopyError, CopyReport, Ends, Progress, Step, interrupted, log_directory,
};
use crate::admission::STREAMS;
use crate::embedded::replica::Replica;
use crate::jetstream::bus_log::OpenBus;
use crate::prepared::Blob;

/// Messages whose acknowledgement is waited for.
const IN_FLIGHT_MAX: usize = 256;

/// Copies the log in `from` (a state directory, or a log's own) to a bus. The streams are made where they are not there.
pub async fn to_bus(from: &Path, to: &BusLog, progress: Progress<'_>) -> Result<CopyReport, CopyError> {
    let dir = log_directory(from);
    if !dir.join("rocksdb").is_dir() {
        return Err(CopyError::NoLog(from.to_path_buf()));
    }
    let source = Replica::open(&dir)?;
    if source.is_unfinished().map_err(interrupted)? {
        return Err(interrupted(format!("the log in {} is itself an unfinished copy", dir.display())));
    }
    let mut bus = OpenBus::open(to, true).await?;
    let found = bus.ends().await.map_err(interrupted)?;
    let mut report = CopyReport::default();
    for stream in STREAMS {
        let (there, here) = (*found.get(stream), source.tail(stream).seq);
        if there > here {
            return Err(CopyError::Longer { stream, destination: there, source_end: here });
        }
        report.found += there.0;
        report.commits += here.0;
    }
    for stream in STREAMS {
        compare(&source, &bus, stream, (Seq::ZERO, *found.get(stream)), progress).await?;
    }
    if report.commits > report.found {
        bus.mark_unfinished(true).await.map_err(interrupted)?;
    }
    copy(&source, &bus, &found, &mut report, progress).await?;
    for stream in STREAMS {
        compare(&source, &bus, stream, (*found.get(stream), source.tail(stream).seq), progress).await?;
    }
    bus.mark_unfinished(false).await.map_err(interrupted)?;
    source.close();
    Ok(report)
}

async fn copy(
    source: &Replica,
    bus: &OpenBus,
    found: &Ends,
    report: &mut CopyReport,
    progress: Progress<'_>,
) -> Result<(), CopyError> {
    let mut done = BlobsDone::default();
    for stream in STREAMS {
        let end = source.tail(stream).seq;
        let mut at = Seq::ZERO;
        while at < end {
            let count = usize::try_from(end.0 - at.0).unwrap_or(BATCH).min(BATCH);
            let commits = stored(source, stream, at.next(), count)?;
            // Blobs first, also those of commits that are there: a copy may have stopped between the two.
            for hash in done.named(commits.iter().map(|commit| &**commit)) {
                match source.blob(&hash).map_err(interrupted)? {
                    Some(bytes) => {
                        bus.put_blob(&Blob { hash: hash.clone(), bytes }).await.map_err(interrupted)?;
                        report.blobs += 1;
                    }
                    None => report.missing_blobs += 1,
                }
                done.add(hash);
            }
            let fresh = commits.iter().filter(|commit| commit.seq > *found.get(stream));
            send(bus, stream, fresh).await?;
            at = Seq(at.0 + commits.len() as u64);
            progress(Step::Copying, stream, at, end);
        }
    }
    Ok(())
}

/// Publishes commits, each expecting its very place.
async fn send<'c>(
    bus: &OpenBus,
    stream: Stream,
    commits: impl Iterator<Item = &'c std::sync::Arc<daybook_schemas::Commit>>,
) -> Result<(), CopyError> {
    let mut in_flight = FuturesOrdered::new();
    for commit in commits {
        if in_flight.len() >= IN_FLIGHT_MAX
            && let Some(sent) = in_flight.next().await
        {
            let sent: Result<(), String> = sent;
            sent.map_err(interrupted)?;
        }
        in_flight.push_back(bus.publish(stream, commit).await.map_err(interrupted)?);
    }
    while let Some(sent) = in_flight.next().await {
        sent.map_err(interrupted)?;
    }
    Ok(())
}
