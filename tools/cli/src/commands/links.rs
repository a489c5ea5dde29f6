//! `daybook links DIR`: the Slurm-named commands as symbolic links to this program.

use std::io;
use std::path::Path;

use super::SLURM_NAMES;
use crate::say;

/// Makes the links; those that are there already stay. What is no link to this program is not touched, and then
/// nothing is made at all.
pub fn run(directory: &Path) -> u8 {
    match make(directory) {
        Ok(made) => {
            say::print(&format!(
                "{}: {made} made, {} there already\n",
                directory.display(),
                SLURM_NAMES.len() - made
            ));
            0
        }
        Err(message) => {
            say::error("daybook", message);
            1
        }
    }
}

fn make(directory: &Path) -> Result<usize, String> {
    let program = std::env::current_exe()
        .and_then(|path| path.canonicalize())
        .map_err(|error| format!("this program's own path cannot be found: {error}"))?;
    if !directory.is_dir() {
        return Err(format!("{} is no directory; make it first", directory.display()));
    }
    let mut missing = Vec::new();
    for name in SLURM_NAMES {
        let link = directory.join(name);
        match link.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(link),
            Err(error) => return Err(format!("{}: {error}", link.display())),
            Ok(_) if link.canonicalize().is_ok_and(|target| target == program) => {}
            Ok(_) => {
                return Err(format!(
                    "{} is there already and is not this program; move it away or choose another directory",
                    link.display()
                ));
            }
        }
    }
    for link in &missing {
        std::os::unix::fs::symlink(&program, link).map_err(|error| format!("{}: {error}", link.display()))?;
    }
    Ok(missing.len())
}
