//! What lies where in the state directory.

use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The state directory's parts.
pub struct Paths {
    /// The directory itself; others may pass through it (a job's script lies below), not list it.
    pub state: PathBuf,
}

impl Paths {
    /// Makes the directories that are missing.
    pub fn prepare(state: &Path) -> Result<Paths, String> {
        let paths = Paths { state: absolute(state)? };
        make(&paths.state, 0o711)?;
        make(&paths.ledger(), 0o700)?;
        make(&paths.nodes(), 0o700)?;
        make(&paths.spool(), 0o711)?;
        Ok(paths)
    }

    /// Those of a state directory that is there already.
    pub fn existing(state: &Path) -> Result<Paths, String> {
        let paths = Paths { state: absolute(state)? };
        match paths.log().is_dir() || paths.log_copy().is_dir() {
            true => Ok(paths),
            false => Err(format!("{} has no log; is this a state directory of daybookd?", state.display())),
        }
    }

    pub fn log(&self) -> PathBuf {
        self.state.join("log")
    }

    /// The copy of a log on a bus.
    pub fn log_copy(&self) -> PathBuf {
        self.state.join("log-copy")
    }

    /// What is there: the log, or the copy of one.
    pub fn log_or_copy(&self) -> PathBuf {
        if self.log().is_dir() { self.log() } else { self.log_copy() }
    }

    pub fn ledger(&self) -> PathBuf {
        self.state.join("ledger")
    }

    pub fn snapshot(&self) -> PathBuf {
        self.state.join("snapshot")
    }

    pub fn nodes(&self) -> PathBuf {
        self.state.join("nodes")
    }

    pub fn spool(&self) -> PathBuf {
        self.state.join("spool")
    }
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn make(path: &Path, mode: u32) -> Result<(), String> {
    let fault = |error: std::io::Error| {
        format!("cannot use {}: {error}; the state directory must be writable for daybookd", path.display())
    };
    if !path.is_dir() {
        std::fs::DirBuilder::new().recursive(true).mode(mode).create(path).map_err(fault)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(fault)?;
    }
    Ok(())
}
