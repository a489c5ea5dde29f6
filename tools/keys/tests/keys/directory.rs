//! The files: their modes, what replaces what, and what `check` finds.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::servers::{Keys, keys};

/// Every path below a directory, with its mode.
fn modes(directory: &Path) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_path_buf()];
    while let Some(path) = waiting.pop() {
        let metadata = fs::symlink_metadata(&path).expect("it is there");
        let shown = path.strip_prefix(directory).expect("below").to_str().expect("UTF-8").to_string();
        found.push((shown, metadata.permissions().mode() & 0o7777));
        if metadata.is_dir() {
            waiting
                .extend(fs::read_dir(&path).expect("readable").map(|entry| entry.expect("an entry").path()));
        }
    }
    found.sort();
    found
}

fn check(keys_: &Keys) -> (bool, String) {
    let output = keys(&["check", keys_.directory().to_str().expect("UTF-8")]);
    assert!(output.stderr.is_empty(), "{output:?}");
    (output.status.success(), String::from_utf8(output.stdout).expect("UTF-8"))
}

#[track_caller]
fn finds(keys: &Keys, words: &[&str]) {
    let (good, report) = check(keys);
    assert!(!good, "{report}");
    for word in words {
        assert!(report.contains(word), "no {word:?} in: {report}");
    }
}

#[test]
fn secrets_are_their_owners_only() {
    let keys = Keys::init(1);
    keys.ok("add-node", &["n1"]);
    keys.ok("add-gateway", &["login1"]);
    keys.ok("add-relay", &["login1"]);
    for (path, mode) in modes(&keys.directory()) {
        let is_directory = keys.directory().join(&path).is_dir();
        let secret = path.ends_with(".seed") || path.ends_with(".key");
        let expected = if is_directory {
            0o700
        } else if secret {
            0o600
        } else {
            0o644
        };
        assert_eq!(mode, expected, "{path}: {mode:04o}");
    }
    assert_eq!(check(&keys), (true, "no errors, no warnings\n".to_string()));
}

#[test]
fn a_nodes_directory_has_its_seed_and_the_authority_and_no_more() {
    let keys = Keys::init(1);
    keys.ok("add-node", &["n1"]);
    let paths: Vec<String> =
        modes(&keys.directory().join("nodes/n1")).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["", "ca.pem", "nats.seed"]);
}

#[test]
fn a_relay_comes_with_the_lines_for_those_who_believe_it_and_goes() {
    let own = Keys::init(1);
    let directory = own.directory();
    // As in a directory that was made before there were relays.
    fs::remove_dir(directory.join("relays")).expect("removed");
    assert!(check(&own).0);
    let told = own.ok("add-relay", &["login1.example.org"]);
    let book = fs::read_to_string(directory.join("keys.toml")).expect("the book");
    let (_, key) = book.split_once("name = \"login1.example.org\"\nkey = \"").expect("the relay");
    let line = format!("[relays]\n  \"login1.example.org\" = \"{}\"\n", &key[..56]);
    assert!(told.contains(&line), "{told}");
    assert_eq!(check(&own), (true, "no errors, no warnings\n".to_string()));
    own.ok("remove-relay", &["login1.example.org"]);
    assert!(!directory.join("relays/login1.example.org").exists());
    assert_eq!(check(&own), (true, "no errors, no warnings\n".to_string()));
}

#[test]
fn what_is_there_is_not_replaced() {
    let keys_ = Keys::init(1);
    keys_.ok("add-node", &["n1"]);
    let directory = keys_.directory();
    let shown = directory.to_str().expect("UTF-8");
    let contents = || {
        modes(&directory).into_iter().map(|(path, _)| fs::read(directory.join(path)).ok()).collect::<Vec<_>>()
    };
    let before = contents();
    for (arguments, complaint) in [
        (["init", shown, "--cluster", "other", "--host", "h"].as_slice(), "not empty"),
        (&["add-node", shown, "n2", "n1"], "n1 has a key already"),
        (&["add-node", shown, "n2", "n2"], "n2 is named twice"),
        (&["add-node", shown, "n 2"], "no name for a node"),
        (&["add-gateway", shown, "../x"], "neither a host name"),
        (&["add-relay", shown, "../x"], "neither a host name"),
        (&["remove-relay", shown, "login1"], "login1 has no key here"),
        (&["remove-node", shown, "n3"], "n3 has no key here"),
    ] {
        let output = keys(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(complaint), "{arguments:?}: {error}");
    }
    assert!(before == contents());
}

#[test]
fn what_cannot_be_a_cluster_is_refused_and_leaves_nothing() {
    let keep = tempfile::tempdir().expect("a temporary directory");
    let directory = keep.path().join("keys");
    let shown = directory.to_str().expect("UTF-8");
    for (options, complaint) in [
        (["--cluster", "a.b", "--host", "h"].as_slice(), "no name for a cluster"),
        (&["--cluster", "c", "--host", "a,b"], "majority"),
        (&["--cluster", "c", "--host", "a,a,b"], "named twice"),
        (&["--cluster", "c", "--host", "a b"], "neither a host name"),
        (&["--cluster", "c", "--host", "h", "--client-port", "8222"], "ports must differ"),
        (&["--cluster", "c", "--host", "h", "--store-dir", "here"], "absolute path"),
    ] {
        let output = keys(&[["init", shown].as_slice(), options].concat());
        assert_eq!(output.status.code(), Some(1), "{options:?}: {output:?}");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(complaint), "{options:?}: {error}");
    }
    assert_eq!(fs::read_dir(keep.path()).expect("readable").count(), 0);
}

#[test]
fn users_come_in_one_order_whatever_the_order_of_adding() {
    let keys = Keys::init(1);
    keys.ok("add-node", &["n2"]);
    keys.ok("add-node", &["n10", "n1"]);
    let conf =
        fs::read_to_string(keys.server_directory(&keys.hosts[0]).join("users.conf")).expect("the users");
    let nodes: Vec<&str> = conf.lines().filter_map(|line| line.strip_prefix("  # node ")).collect();
    assert_eq!(nodes, ["n1", "n10", "n2"]);
}

#[test]
fn check_finds_wrong_modes() {
    let keys = Keys::init(1);
    keys.ok("add-node", &["n1"]);
    for (path, good, bad) in [
        ("", 0o700, 0o755),
        ("nodes/n1/nats.seed", 0o600, 0o640),
        ("ca/ca.key", 0o600, 0o604),
        ("keys.toml", 0o644, 0o664),
        ("service", 0o700, 0o710),
    ] {
        let path = if path.is_empty() { keys.directory() } else { keys.directory().join(path) };
        fs::set_permissions(&path, fs::Permissions::from_mode(bad)).expect("changed");
        finds(&keys, &[&format!("{bad:04o}"), &format!("chmod {good:04o} {}", path.display()), "1 error,"]);
        fs::set_permissions(&path, fs::Permissions::from_mode(good)).expect("changed");
    }
    assert!(check(&keys).0);
}

#[test]
fn check_finds_what_does_not_belong_together() {
    let keys = Keys::init(1);
    keys.ok("add-node", &["n1", "n2"]);
    let directory = keys.directory();
    let server = keys.server_directory(&keys.hosts[0]);
    let with_other = |path: &Path, content: &[u8], words: &[&str]| {
        let before = fs::read(path).expect("readable");
        fs::write(path, content).expect("written");
        finds(&keys, words);
        fs::write(path, before).expect("written");
    };
    with_other(
        &server.join("users.conf"),
        b"accounts {}",
        &["users.conf: does not match", "daybook keys renew"],
    );
    let other = fs::read(directory.join("nodes/n2/nats.seed")).expect("a seed");
    with_other(&directory.join("nodes/n1/nats.seed"), &other, &["not the seed of node n1", "backup"]);
    with_other(&directory.join("nodes/n1/nats.seed"), b"SU", &["nodes/n1/nats.seed", "no seed of an nkey"]);
    let other = fs::read(directory.join("ca/ca.key")).expect("a key");
    with_other(
        &server.join("server.key"),
        &other,
        &["server.key: not the key of server.pem", "daybook keys renew"],
    );
    let foreign = Keys::init(1);
    let other = fs::read(foreign.directory().join("ca/ca.pem")).expect("a certificate");
    with_other(&server.join("server.pem"), &other, &["not signed by this cluster's authority"]);
    assert!(check(&keys).0);

    fs::create_dir(directory.join("nodes/n3")).expect("made");
    fs::set_permissions(directory.join("nodes/n3"), fs::Permissions::from_mode(0o700)).expect("changed");
    finds(&keys, &["nodes/n3: no user of keys.toml"]);
    fs::remove_dir(directory.join("nodes/n3")).expect("removed");
    symlink("/dev/null", directory.join("nodes/n1/link")).expect("made");
    finds(&keys, &["nodes/n1/link: is a symbolic link"]);
    fs::remove_file(directory.join("nodes/n1/link")).expect("removed");
    // What has been moved to its machine is not missed.
    fs::remove_dir_all(directory.join("nodes/n1")).expect("removed");
    assert!(check(&keys).0);
}

#[test]
fn check_finds_certificates_that_end_and_renew_makes_new_ones() {
    let keys = Keys::init(1);
    let authority = keys.directory().join("ca");
    let read = |path: &Path| fs::read_to_string(path).expect("readable");
    let key = rcgen::KeyPair::from_pem(&read(&authority.join("ca.key"))).expect("a key");
    // Who checks a signature looks at the key; the name need not be the authority's.
    let issuer = rcgen::Issuer::new(rcgen::CertificateParams::default(), key);
    let server = keys.server_directory(&keys.hosts[0]);
    let server_key = rcgen::KeyPair::from_pem(&read(&server.join("server.key"))).expect("a key");
    let ends_in = |days: i64| {
        let mut params = rcgen::CertificateParams::new(vec!["h".to_string()]).expect("a name");
        params.not_after = time::OffsetDateTime::now_utc() + time::Duration::days(days);
        let certificate = params.signed_by(&server_key, &issuer).expect("a certificate");
        fs::write(server.join("server.pem"), certificate.pem()).expect("written");
        check(&keys)
    };
    let (good, report) = ends_in(60);
    assert!(good && report == "no errors, no warnings\n", "{report}");
    let (good, report) = ends_in(20);
    assert!(good && report.contains("warning: ") && report.contains("in 19 days"), "{report}");
    let (good, report) = ends_in(-1);
    assert!(
        !good && report.contains("server.pem: ended on") && report.contains("daybook keys renew"),
        "{report}"
    );
    keys.ok("renew", &[]);
    assert_eq!(check(&keys), (true, "no errors, no warnings\n".to_string()));
}
