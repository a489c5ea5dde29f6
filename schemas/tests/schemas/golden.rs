//! `schemas/golden`: the bytes of one full and one minimal commit of each type. What a release has written must be read
//! for ever, so these bytes may only change before a release.

use std::collections::BTreeSet;

use daybook_schemas::Commit;
use daybook_schemas::json_schema::COMMIT_SCHEMA_FILE;
use expect_test::expect_file;
use serde_json::Value;

use crate::samples::{self, Sample};
use crate::schema_check::Schemas;
use crate::schema_files::{directory, files, generated};

fn file_names(sample: &Sample) -> [String; 2] {
    [format!("{}.json", sample.type_name), format!("{}.minimal.json", sample.type_name)]
}

fn stored(file: &str) -> Vec<u8> {
    std::fs::read(directory("golden").join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

#[test]
fn commits_have_the_golden_bytes() {
    for sample in samples::all() {
        for (file, commit) in file_names(&sample).iter().zip([&sample.full, &sample.minimal]) {
            let bytes = commit.to_bytes().expect("a commit has canonical bytes");
            let text = String::from_utf8(bytes).expect("canonical bytes are text");
            expect_file![directory("golden").join(file)].assert_eq(&text);
        }
    }
}

#[test]
fn golden_bytes_are_read_as_the_commits_that_they_were() {
    for sample in samples::all() {
        for (file, commit) in file_names(&sample).iter().zip([&sample.full, &sample.minimal]) {
            let read = Commit::from_bytes(&stored(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
            assert_eq!(read, *commit, "{file}");
        }
    }
}

#[test]
fn golden_samples_fit_the_commits_schema_and_through_it_their_payloads() {
    let schemas = Schemas { load: &generated };
    for sample in samples::all() {
        for file in file_names(&sample) {
            let document: Value = serde_json::from_slice(&stored(&file)).expect("a golden sample is JSON");
            assert_eq!(schemas.check(COMMIT_SCHEMA_FILE, &document).faults, Vec::<String>::new(), "{file}");
        }
    }
}

#[test]
fn no_golden_file_is_left_of_a_type_that_is_gone() {
    let expected: BTreeSet<String> = samples::all().iter().flat_map(file_names).collect();
    assert_eq!(files("golden").difference(&expected).collect::<Vec<_>>(), Vec::<&String>::new());
}
