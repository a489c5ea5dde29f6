//! The batch script: where it is found, and whether it is one.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use daybook_schemas::api::SCRIPT_BYTES_MAX;

use super::fault::Fault;

/// A batch script.
#[derive(Debug)]
pub struct Script {
    pub bytes: Vec<u8>,
    /// Its absolute path; absent for standard input and `--wrap`.
    pub path: Option<PathBuf>,
    /// The job's name unless an option gives one.
    pub name: String,
}

/// Slurm's sentence for a script, an environment or a path beyond its limit.
pub const TOO_LONG: &str = "Pathname of a file, directory or other parameter too long";

/// The script of `--wrap`.
pub fn wrap(command: &str) -> Result<Script, Fault> {
    let bytes = format!("#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{command}\n").into_bytes();
    checked(Script { bytes, path: None, name: "wrap".to_string() })
}

/// The script on standard input.
pub fn from_stdin() -> Result<Script, Fault> {
    let bytes = read_bounded(io::stdin().lock(), None).map_err(|fault| {
        fault.unwrap_or_else(|error| Fault::refused(format!("standard input cannot be read: {error}")))
    })?;
    checked(Script { bytes, path: None, name: "sbatch".to_string() })
}

/// The script in a file: beside `work_dir`, or (a name without a slash) found on `PATH`.
pub fn from_file(name: &str, work_dir: &Path, search: Option<&str>) -> Result<Script, Fault> {
    let path = find(name, work_dir, search);
    let unreadable = |_: io::Error| Fault::refused(format!("Unable to open file {name}"));
    let file = File::open(&path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    // What is no file has nothing in it that could run, as in Slurm.
    let bytes = if metadata.is_dir() {
        Vec::new()
    } else {
        read_bounded(file, Some(metadata.len())).map_err(|fault| fault.unwrap_or_else(unreadable))?
    };
    let base = path.file_name().map(|base| base.to_string_lossy().into_owned());
    let name = base.unwrap_or_else(|| name.to_string());
    checked(Script { bytes, path: Some(path), name })
}

fn find(name: &str, work_dir: &Path, search: Option<&str>) -> PathBuf {
    let beside = work_dir.join(name);
    if name.contains('/') || beside.exists() {
        return beside;
    }
    let folders = search.unwrap_or_default().split(':').filter(|folder| !folder.is_empty());
    folders.map(|folder| Path::new(folder).join(name)).find(|path| path.is_file()).unwrap_or(beside)
}

/// What went wrong while reading: too large, or an error of the file.
type ReadFault = Result<Fault, io::Error>;

fn read_bounded(input: impl Read, length: Option<u64>) -> Result<Vec<u8>, ReadFault> {
    let most = SCRIPT_BYTES_MAX as u64;
    let mut bytes = Vec::new();
    let too_large = |have: String| {
        let detail = format!("sbatch: error: the batch script has {have} bytes, at most {most} are accepted");
        Ok(Fault::submission(TOO_LONG).after(detail))
    };
    if let Some(length) = length.filter(|&length| length > most) {
        return Err(too_large(length.to_string()));
    }
    input.take(most + 1).read_to_end(&mut bytes).map_err(Err)?;
    if bytes.len() as u64 > most { Err(too_large(format!("more than {most}"))) } else { Ok(bytes) }
}

/// Refuses what cannot be a batch script.
fn checked(script: Script) -> Result<Script, Fault> {
    let bytes = &script.bytes;
    let lines: &[&str] = if bytes.is_empty() {
        &["Batch script is empty!"]
    } else if bytes.iter().all(u8::is_ascii_whitespace) {
        &["Batch script contains only whitespace!"]
    } else if !bytes.starts_with(b"#!") {
        &[
            "This does not look like a batch script.  The first",
            "line must start with #! followed by the path to an interpreter.",
            "For instance: #!/bin/sh",
        ]
    } else if bytes.contains(&0) {
        &["The SLURM controller does not allow scripts that", "contain a NULL character '\\0'."]
    } else if bytes.windows(2).any(|pair| pair == b"\r\n") {
        &["Batch script contains DOS line breaks (\\r\\n)", "instead of expected UNIX line breaks (\\n)."]
    } else {
        return Ok(script);
    };
    Err(Fault { lines: lines.iter().map(|line| format!("sbatch: error: {line}")).collect(), exit: 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(bytes: &[u8]) -> String {
        let script = Script { bytes: bytes.to_vec(), path: None, name: String::new() };
        match checked(script) {
            Ok(_) => "fine".to_string(),
            Err(fault) => fault.lines[0].replace("sbatch: error: ", ""),
        }
    }

    #[test]
    fn what_is_no_script_is_refused() {
        for (bytes, expected) in [
            (&b"#!/bin/sh\ntrue\n"[..], "fine"),
            (b"#!/bin/sh", "fine"),
            (b"#!/bin/sh\n\xff\xfe\n", "fine"),
            (b"", "Batch script is empty!"),
            (b" \n\t", "Batch script contains only whitespace!"),
            (b"hostname\n", "This does not look like a batch script.  The first"),
            (b"\x7fELF", "This does not look like a batch script.  The first"),
            (b"#!/bin/sh\n\0", "The SLURM controller does not allow scripts that"),
            (b"#!/bin/sh\r\ntrue\r\n", "Batch script contains DOS line breaks (\\r\\n)"),
        ] {
            assert_eq!(verdict(bytes), expected);
        }
    }

    #[test]
    fn a_script_at_the_limit_is_read_and_one_byte_more_is_refused() {
        let limit = vec![b' '; SCRIPT_BYTES_MAX];
        assert_eq!(read_bounded(&limit[..], None).map(|bytes| bytes.len()).ok(), Some(SCRIPT_BYTES_MAX));
        let more = vec![b' '; SCRIPT_BYTES_MAX + 1];
        assert!(read_bounded(&more[..], None).is_err());
        assert!(read_bounded(&limit[..], Some(SCRIPT_BYTES_MAX as u64 + 1)).is_err());
    }
}
