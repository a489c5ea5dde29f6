//! `daybook keys` is this program, which `daybook` finds beside itself.

use std::fs;
use std::process::Command;

use super::servers::program;

#[test]
fn daybook_keys_is_the_program_beside_daybook() {
    for arguments in [["keys", "--help"].as_slice(), &["keys", "check", "/does/not/exist"]] {
        let through = Command::new(program("daybook")).args(arguments).output().expect("daybook starts");
        let directly =
            Command::new(program("daybook-keys")).args(&arguments[1..]).output().expect("it starts");
        assert_eq!(through, directly, "{arguments:?}");
    }
}

#[test]
fn without_that_program_daybook_says_what_is_missing() {
    let alone = tempfile::tempdir().expect("a temporary directory");
    let daybook = alone.path().join("daybook");
    fs::copy(program("daybook"), &daybook).expect("a copy");
    let output = Command::new(&daybook).args(["keys", "check", "x"]).output().expect("daybook starts");
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("daybook-keys") && error.contains("install it beside daybook"), "{error}");
}
