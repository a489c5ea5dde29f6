//! The file of `--starts`: all of it or nothing.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::simulation::Outcome;
use crate::trace::Trace;

/// Where the starts will be: a regular file is written beside its place and then put there in one step; what is there
/// and is none (`/dev/stdout`, a pipe) is written as it is.
pub struct StartsFile {
    place: PathBuf,
    /// `None` where the place itself is written.
    beside: Option<PathBuf>,
}

impl StartsFile {
    /// Finds out, before anything is simulated, whether the file can be written. Nothing is left behind.
    pub fn at(path: &Path) -> io::Result<StartsFile> {
        // A link goes on leading where it led.
        let place = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        if place.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if place.exists() && !place.is_file() {
            File::options().write(true).open(&place)?;
            return Ok(StartsFile { place, beside: None });
        }
        let Some(name) = place.file_name() else { return Err(io::ErrorKind::InvalidInput.into()) };
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}", std::process::id()));
        let beside = place.with_file_name(hidden);
        if place.exists() {
            File::options().write(true).open(&place)?;
        }
        File::create(&beside)?;
        std::fs::remove_file(&beside)?;
        Ok(StartsFile { place, beside: Some(beside) })
    }

    /// Writes every job's start as CSV.
    pub fn write(&self, trace: &Trace, outcome: &Outcome) -> io::Result<()> {
        let Some(beside) = &self.beside else { return write(&self.place, trace, outcome) };
        let written = write(beside, trace, outcome).and_then(|()| std::fs::rename(beside, &self.place));
        if written.is_err() {
            let _ = std::fs::remove_file(beside);
        }
        written
    }
}

fn write(path: &Path, trace: &Trace, outcome: &Outcome) -> io::Result<()> {
    let mut out = BufWriter::new(File::options().write(true).create(true).truncate(true).open(path)?);
    writeln!(out, "pos,id,submit,start,end,procs")?;
    for (position, (job, start)) in trace.jobs.iter().zip(&outcome.starts).enumerate() {
        let end = start.saturating_add(job.run);
        writeln!(out, "{position},{},{},{start},{end},{}", job.id, job.submit, job.processors)?;
    }
    out.flush()
}
