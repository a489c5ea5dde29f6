//! The model's snapshot file: written whole or not at all, trusted only if it says so itself.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use daybook_log::follow::Live;
use daybook_model::{Cluster, read_snapshot, write_snapshot};
use daybook_schemas::Seq;

/// A snapshot is taken when so many commits have come since the last.
const COMMITS: u64 = 20_000;
/// How often that is looked at.
const EVERY: Duration = Duration::from_secs(30);

/// The model as the snapshot has it; from nothing where there is none, or none of use.
pub fn load(path: &Path) -> Cluster {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Cluster::new(),
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "the snapshot cannot be read; the log is read instead");
            return Cluster::new();
        }
    };
    match read_snapshot(BufReader::with_capacity(1 << 16, file)) {
        Ok(cluster) => cluster,
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "the snapshot is of no use; the log is read instead");
            Cluster::new()
        }
    }
}

/// Writes a snapshot beside the old one, syncs it, and puts it in the old one's place.
pub fn save(path: &Path, cluster: &Cluster) -> Result<(), String> {
    let fault =
        |error: &dyn std::fmt::Display| format!("the snapshot {} is not written: {error}", path.display());
    let temporary = path.with_extension("new");
    let file = File::create(&temporary).map_err(|error| fault(&error))?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    write_snapshot(cluster, &mut out).map_err(|error| fault(&error))?;
    out.flush().map_err(|error| fault(&error))?;
    out.get_ref().sync_all().map_err(|error| fault(&error))?;
    std::fs::rename(&temporary, path).map_err(|error| fault(&error))?;
    if let Some(parent) = path.parent() {
        File::open(parent).and_then(|directory| directory.sync_all()).map_err(|error| fault(&error))?;
    }
    Ok(())
}

/// Takes snapshots in the background as long as the task lives.
pub async fn keep(path: PathBuf, live: Live<Cluster>, mut last: Seq) {
    loop {
        tokio::time::sleep(EVERY).await;
        let cluster: Arc<Cluster> = live.now();
        if cluster.position().0 < last.0.saturating_add(COMMITS) {
            continue;
        }
        last = cluster.position();
        let path = path.clone();
        match tokio::task::spawn_blocking(move || save(&path, &cluster)).await {
            Ok(Ok(())) => tracing::debug!(position = %last, "snapshot taken"),
            Ok(Err(why)) => tracing::warn!(%why, "the log is read from further back at the next start"),
            Err(error) => tracing::warn!(%error, "the snapshot's task has failed"),
        }
    }
}
