//! The files that a configuration is read from.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use daybook_schemas::BlobHash;
use daybook_schemas::events::ConfigurationSource;

use crate::diagnostic::{Findings, Place};

/// The largest configuration file: a hundred times what ten thousand nodes, each on its own line, take.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The configuration directory and what has been read of it.
pub(crate) struct Files {
    directory: PathBuf,
    sources: Vec<ConfigurationSource>,
}

impl Files {
    pub fn new(directory: &Path) -> Files {
        Files { directory: directory.to_path_buf(), sources: Vec::new() }
    }

    /// Whether the directory has this file (or something else of that name).
    pub fn has(&self, name: &str) -> bool {
        self.directory.join(name).symlink_metadata().is_ok()
    }

    /// The absolute path of a file of the directory, as far as it can be told.
    pub fn absolute(&self, name: &str) -> String {
        let path = self.directory.join(name);
        std::path::absolute(&path).unwrap_or(path).display().to_string()
    }

    /// The names of the files read, in the order in which they were.
    pub fn names(&self) -> Vec<String> {
        self.sources.iter().map(|source| source.name.clone()).collect()
    }

    /// How many files have been read.
    pub fn count(&self) -> usize {
        self.sources.len()
    }

    /// The files read and their hashes.
    pub fn into_sources(self) -> Vec<ConfigurationSource> {
        self.sources
    }

    /// The name that a path (relative: to the directory) is shown with.
    pub fn name_of(&self, path: &str) -> Arc<str> {
        let full = self.directory.join(path);
        let inside = full.strip_prefix(&self.directory).unwrap_or(&full);
        inside.to_string_lossy().as_ref().into()
    }

    /// The text of a file; `None`, with the fault reported at `mention`, where it cannot be read as text.
    pub fn read(&mut self, path: &str, mention: &Place, findings: &mut Findings) -> Option<String> {
        let name = self.name_of(path);
        let bytes = match read_bounded(&self.directory.join(path)) {
            Ok(bytes) => bytes,
            Err(error) => {
                let remedy = "it has to be a file that this user may read";
                findings.error(mention, format!("{name} cannot be read: {error}"), remedy);
                return None;
            }
        };
        self.sources.push(ConfigurationSource { name: name.to_string(), hash: BlobHash::of(&bytes) });
        let line_of = |position: usize| {
            let lines = bytes.iter().take(position).filter(|&&byte| byte == b'\n').count();
            Place { file: name.clone(), line: u32::try_from(lines + 1).ok() }
        };
        if let Some(position) = bytes.iter().position(|&byte| byte == 0) {
            findings.error(&line_of(position), "the file is not text: it holds a NUL byte", "");
            return None;
        }
        match std::str::from_utf8(&bytes) {
            Ok(text) => Some(text.strip_prefix('\u{feff}').unwrap_or(text).to_string()),
            Err(error) => {
                let position = error.valid_up_to();
                let what = match bytes.get(position) {
                    Some(byte) => format!("the file is not UTF-8: byte 0x{byte:02x}"),
                    None => "the file is not UTF-8".to_string(),
                };
                findings.error(&line_of(position), what, "save it in UTF-8");
                None
            }
        }
    }
}

fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let message = format!("it has more than {} MiB", FILE_BYTES_MAX / 1024 / 1024);
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}
