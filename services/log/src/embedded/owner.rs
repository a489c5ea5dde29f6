//! Who has the log's directory open: a file that is locked for as long as the process lives, and names it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use super::OpenError;

/// The lock on a log's directory. The kernel releases it when the process ends, however it ends.
pub(super) struct Owner(#[allow(dead_code, reason = "holding the file is holding the lock")] File);

impl Owner {
    /// Takes the directory, or says who has it.
    pub(super) fn take(dir: &Path) -> Result<Owner, OpenError> {
        let path = dir.join("owner");
        let failed = |error| OpenError::directory(&path, error);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::InUse { dir: dir.to_path_buf(), pid: named_pid(&mut file) });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        // The name is only for the message above; on a full disk the lock is as good without it.
        let named = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        if let Err(error) = named {
            tracing::warn!(path = %path.display(), %error, "the owner's process id could not be written");
        }
        Ok(Owner(file))
    }
}

fn named_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
