//! What can go wrong, by what the caller can do about it.

use std::io;
use std::path::{Path, PathBuf};

/// Why a command did nothing, or not all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or directory cannot be read or written.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// What was asked for cannot be; the text says what would.
    #[error("{0}")]
    Refused(String),
    /// A file has content that this program did not write.
    #[error("{path}: {problem}", path = path.display())]
    Content {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// A key or a certificate cannot be made.
    #[error("no certificate can be made: {0}")]
    Certificate(#[from] rcgen::Error),
    /// An nkey cannot be made.
    #[error("no nkey can be made: {0}")]
    Nkey(#[from] nkeys::error::Error),
}

/// Adds the path to an I/O error.
pub fn at(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| Error::File { path, source }
}
