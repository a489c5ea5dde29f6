//! What can go wrong with a group.

use std::io;
use std::path::{Path, PathBuf};

/// Something about a group could not be done.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot {what}: {source}", path.display())]
pub struct Fault {
    /// What was tried, as `set memory.max to 1048576`.
    pub what: String,
    /// The file or directory.
    pub path: PathBuf,
    /// Why it failed.
    pub source: io::Error,
}

impl Fault {
    pub(crate) fn at(path: &Path, what: impl Into<String>) -> impl FnOnce(io::Error) -> Fault {
        let (path, what) = (path.to_path_buf(), what.into());
        move |source| Fault { what, path, source }
    }
}

/// Writes a value to one of the kernel's files: in one write, as the kernel wants it.
pub(crate) fn set(directory: &Path, file: &str, value: &str) -> Result<(), Fault> {
    let path = directory.join(file);
    let write =
        || io::Write::write_all(&mut std::fs::OpenOptions::new().write(true).open(&path)?, value.as_bytes());
    write().map_err(Fault::at(&path, format!("set it to {value}")))
}

/// A file's text without the line's end; `None` where it cannot be read.
pub(crate) fn get(directory: &Path, file: &str) -> Option<String> {
    Some(std::fs::read_to_string(directory.join(file)).ok()?.trim_end().to_string())
}
