//! Every folder in `tests/broken` is a configuration with a kind of fault; `expected.txt` in it is what people see.
//! `UPDATE_EXPECT=1` writes the expectations anew.

use std::path::{Path, PathBuf};

use daybook_config::{Severity, load};
use expect_test::{expect, expect_file};

use crate::machine::Vm;
use crate::written::{directory, loaded, shown};

fn folder(name: &str) -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the crate")).join("tests").join(name)
}

#[test]
fn every_fault_is_named_with_its_place_and_its_remedy() {
    let mut names: Vec<String> = std::fs::read_dir(folder("broken"))
        .expect("the folder of broken configurations")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert!(names.len() >= 40, "only {} configurations", names.len());
    for name in names {
        let path = folder("broken").join(&name);
        let loaded = load(&path, &Vm::with_two_gpus());
        assert!(!loaded.diagnostics.is_empty(), "{name} has no fault");
        let has_error = loaded.diagnostics.iter().any(|fault| fault.severity == Severity::Error);
        assert_eq!(loaded.configuration.is_none(), has_error, "{name}");
        expect_file![path.join("expected.txt")].assert_eq(&shown(&loaded.diagnostics));
    }
}

#[test]
fn a_recorded_cluster_has_no_errors_and_its_warnings_name_what_it_would_lose() {
    let loaded = load(&folder("cluster"), &Vm::without_gpus());
    expect_file![folder("cluster").join("expected.txt")].assert_eq(&shown(&loaded.diagnostics));
    let configuration = loaded.configuration.expect("no error");
    assert_eq!(configuration.cluster.nodes.len(), 4);
    expect!["AccountingStorageHost AccountingStoragePort AccountingStorageType AccountingStoreFlags AuthType bf_interval CommunicationParameters JobCompType SlurmctldDebug SlurmctldHost SlurmctldLogFile SlurmctldPidFile SlurmctldPort SlurmctldTimeout SlurmdDebug SlurmdLogFile SlurmdParameters SlurmdPidFile SlurmdPort SlurmdUser StateSaveLocation WaitTime"].assert_eq(&loaded.not_needed.join(" "));
}

#[test]
fn a_directory_or_file_that_cannot_be_read_is_an_error_with_the_reason() {
    let missing = load(Path::new("/nonexistent/daybook"), &Vm::with_two_gpus());
    assert!(missing.configuration.is_none());
    expect![[r#"
        /nonexistent/daybook: error: the directory cannot be read: No such file or directory (os error 2)
            give a directory; an empty one describes this machine as a cluster of one node
    "#]]
    .assert_eq(&shown(&missing.diagnostics));

    let holder = directory(&[]);
    std::fs::create_dir(holder.path().join("slurm.conf")).expect("a directory");
    std::os::unix::fs::symlink("gone", holder.path().join("gres.conf")).expect("a link");
    let unreadable = load(holder.path(), &Vm::with_two_gpus());
    assert!(unreadable.configuration.is_none());
    expect![[r#"
        slurm.conf: error: slurm.conf cannot be read: Is a directory (os error 21)
            it has to be a file that this user may read
        gres.conf: error: gres.conf cannot be read: No such file or directory (os error 2)
            it has to be a file that this user may read
    "#]]
    .assert_eq(&shown(&unreadable.diagnostics));
}

#[test]
fn a_thousand_faults_are_listed_and_the_rest_is_counted() {
    let text = "this is no configuration\n".repeat(1500);
    let loaded = loaded(&[("slurm.conf", &text)], &Vm::with_two_gpus());
    assert_eq!(loaded.diagnostics.len(), 1001);
    let last = loaded.diagnostics.last().expect("a last one");
    // The lines, and that there is no node, no partition and no name.
    assert_eq!(last.what, "503 more faults are not listed");
}
