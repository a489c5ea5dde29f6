//! Writing files so that they are whole, have the right mode, and replace nothing by mistake.

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, at};

/// Mode of what only its owner may read: seeds, private keys, and directories that hold them.
pub const SECRET: u32 = 0o600;
/// Mode of what everybody may read: certificates and configuration.
pub const PUBLIC: u32 = 0o644;
/// Mode of directories.
pub const DIRECTORY: u32 = 0o700;

/// Writes a file in one step: whoever reads it sees the old content or the new, never a part. It is on the disk afterwards.
pub fn write(path: &Path, mode: u32, content: &[u8]) -> Result<(), Error> {
    let directory = path.parent().unwrap_or(Path::new("."));
    // A temporary file is its owner's only, so a secret is never readable in between.
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(at(directory))?;
    file.write_all(content).map_err(at(path))?;
    file.as_file().set_permissions(Permissions::from_mode(mode)).map_err(at(path))?;
    file.as_file().sync_all().map_err(at(path))?;
    file.persist(path).map_err(|error| error.error).map_err(at(path))?;
    sync_directory(directory)
}

/// Makes a directory.
pub fn make_directory(path: &Path) -> Result<(), Error> {
    fs::create_dir(path).map_err(at(path))?;
    fs::set_permissions(path, Permissions::from_mode(DIRECTORY)).map_err(at(path))
}

/// Makes a directory that does not exist yet, with everything that `fill` puts into it, in one step: after an
/// error nothing is left of it.
pub fn make_filled(path: &Path, fill: impl FnOnce(&Path) -> Result<(), Error>) -> Result<(), Error> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let work = tempfile::Builder::new().prefix(".daybook-keys-").tempdir_in(&parent).map_err(at(&parent))?;
    fs::set_permissions(work.path(), Permissions::from_mode(DIRECTORY)).map_err(at(work.path()))?;
    fill(work.path())?;
    sync_directory(work.path())?;
    // An empty directory gives way, anything else does not.
    fs::rename(work.path(), path).map_err(at(path))?;
    // It is no longer where the temporary directory was; there is nothing to remove.
    let _ = work.keep();
    sync_directory(&parent)
}

/// Reads a text.
pub fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(at(path))
}

fn sync_directory(path: &Path) -> Result<(), Error> {
    File::open(path).and_then(|directory| directory.sync_all()).map_err(at(path))
}
