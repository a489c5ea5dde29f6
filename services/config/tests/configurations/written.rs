//! Configurations that a test writes itself.

use daybook_config::{Configuration, Diagnostic, Loaded, Severity, load};
use tempfile::TempDir;

use crate::machine::Vm;

/// A directory with these files.
pub fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).expect("a file");
    }
    directory
}

/// What the files give on the machine.
pub fn loaded(files: &[(&str, &str)], machine: &Vm) -> Loaded {
    load(directory(files).path(), machine)
}

/// The configuration of a `slurm.conf` that has no fault at all.
pub fn faultless(slurm_conf: &str) -> Configuration {
    usable(&[("slurm.conf", slurm_conf)], &Vm::with_two_gpus(), &[])
}

/// The configuration of files that have these warnings and no error.
pub fn usable(files: &[(&str, &str)], machine: &Vm, warnings: &[&str]) -> Configuration {
    let loaded = loaded(files, machine);
    let found: Vec<&str> = loaded.diagnostics.iter().map(|fault| fault.what.as_str()).collect();
    assert_eq!(found, warnings);
    assert!(loaded.diagnostics.iter().all(|fault| fault.severity == Severity::Warning));
    loaded.configuration.expect("a configuration without errors")
}

/// Diagnostics as `daybook check` shows them.
pub fn shown(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|fault| format!("{fault}\n")).collect()
}
