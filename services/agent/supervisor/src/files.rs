//! Small files, whole or not at all.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Whether a file must survive a power cut, or only the death of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Synced before it is in place.
    PowerCut,
    /// In place, in the kernel's memory.
    ProcessDeath,
}

/// Writes a record beside its place and moves it in.
pub fn write_json<T: Serialize>(
    directory: &Path,
    name: &str,
    record: &T,
    durability: Durability,
) -> io::Result<()> {
    let bytes = serde_json::to_vec(record)?;
    let temporary = directory.join(format!("{name}.new"));
    let mut file = File::create(&temporary)?;
    file.write_all(&bytes)?;
    if durability == Durability::PowerCut {
        file.sync_data()?;
    }
    std::fs::rename(&temporary, directory.join(name))?;
    if durability == Durability::PowerCut {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

/// Reads a record; `None` where there is none.
pub fn read_json<T: DeserializeOwned>(directory: &Path, name: &str) -> io::Result<Option<T>> {
    match std::fs::read(directory.join(name)) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
