//! The examples in `deploy/nats` are what the program makes, and servers run with them.

use std::fs;
use std::path::PathBuf;

use super::client::STATE;
use super::servers::{Keys, Servers, keys, workspace};

/// The machines of the examples.
const HOSTS: [&str; 3] = ["log1.example.org", "log2.example.org", "log3.example.org"];
/// The users of the examples, as `keys.toml` and the placeholders of their public keys name them.
const USERS: [(&str, &str); 6] = [
    ("admin", "admin"),
    ("service", "service"),
    ("node", "n1"),
    ("node", "n2"),
    ("gateway", "login1"),
    ("relay", "login2"),
];

fn example(servers: usize) -> PathBuf {
    workspace().join("deploy/nats").join(if servers == 1 { "single" } else { "three" })
}

/// Where one server's configuration is in an example.
fn example_conf(servers: usize, host: &str) -> PathBuf {
    let file = if servers == 1 { "nats-server.conf".to_string() } else { format!("{host}/nats-server.conf") };
    example(servers).join(file)
}

fn placeholder(role: &str, name: &str) -> String {
    if role == name { format!("PUBLIC_KEY_OF_{role}") } else { format!("PUBLIC_KEY_OF_{role}_{name}") }
}

/// The public keys of [`USERS`] in a directory of keys.
fn public_keys(keys_toml: &str) -> Vec<(String, String)> {
    let key_of = |(role, name): (&str, &str)| {
        let user = format!("role = \"{role}\"\nname = \"{name}\"\nkey = \"");
        let (_, rest) = keys_toml.split_once(&user).unwrap_or_else(|| panic!("{role} {name} in {keys_toml}"));
        let (key, _) = rest.split_once('"').expect("the end of a key");
        (placeholder(role, name), key.to_string())
    };
    USERS.map(key_of).to_vec()
}

/// Compares a file of an example with what it should be; with `UPDATE_EXPECT=1` writes it instead.
fn assert_is(path: PathBuf, expected: &str) {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::create_dir_all(path.parent().expect("a directory")).expect("its directory");
        fs::write(&path, expected).expect("written");
    }
    let found = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(found, expected, "{}: run this test with UPDATE_EXPECT=1", path.display());
}

#[test]
fn the_examples_are_what_the_program_makes() {
    for servers in [1, 3] {
        let keep = tempfile::tempdir().expect("a temporary directory");
        let directory = keep.path().join("keys");
        let shown = directory.to_str().expect("UTF-8");
        let hosts = HOSTS[..servers].join(",");
        for arguments in [
            ["init", shown, "--cluster", "example", "--host", hosts.as_str()].as_slice(),
            &["add-node", shown, "n1", "n2"],
            &["add-gateway", shown, "login1"],
            &["add-relay", shown, "login2"],
        ] {
            let output = keys(arguments);
            assert!(output.status.success(), "{output:?}");
        }
        let known = public_keys(&fs::read_to_string(directory.join("keys.toml")).expect("the book"));
        for host in &HOSTS[..servers] {
            let server = directory.join("servers").join(host);
            let conf = fs::read_to_string(server.join("nats-server.conf")).expect("the configuration");
            assert_is(example_conf(servers, host), &conf);
            let mut users = fs::read_to_string(server.join("users.conf")).expect("the users");
            for (placeholder, key) in &known {
                users = users.replace(key, placeholder);
            }
            assert_is(example(servers).join("users.conf"), &users);
        }
    }
}

/// Starts an example's servers, with real keys, on this machine's loopback addresses.
fn start_example(keys: &Keys) -> Servers {
    let servers = keys.hosts.len();
    let known = public_keys(&fs::read_to_string(keys.directory().join("keys.toml")).expect("the book"));
    let mut users = fs::read_to_string(example(servers).join("users.conf")).expect("the example's users");
    for (placeholder, key) in &known {
        assert!(users.contains(&format!("{placeholder},")), "{placeholder}");
        users = users.replace(&format!("{placeholder},"), &format!("{key},"));
    }
    let mut configurations = Vec::new();
    for (own, host) in keys.hosts.iter().zip(HOSTS) {
        let mut conf = fs::read_to_string(example_conf(servers, host)).expect("the example's configuration");
        conf = conf.replace("\"0.0.0.0:", &format!("\"{own}:")).replace("\"127.0.0.1:", &format!("\"{own}:"));
        for (port, own_port) in [("4222", 0), ("6222", 1), ("8222", 2)] {
            conf = conf.replace(&format!(":{port}\""), &format!(":{}\"", keys.client_port + own_port));
        }
        for (address, name) in keys.hosts.iter().zip(HOSTS) {
            conf = conf.replace(name, address);
        }
        let directory = keys.server_directory(own);
        fs::write(directory.join("nats-server.conf"), conf).expect("written");
        fs::write(directory.join("users.conf"), &users).expect("written");
        configurations.push((own.clone(), keys.install(own, &directory)));
    }
    keys.start_with(configurations)
}

#[tokio::test]
async fn servers_run_with_the_examples() {
    for servers in [1, 3] {
        let keys = Keys::init(servers);
        keys.ok("add-node", &["n1", "n2"]);
        keys.ok("add-gateway", &["login1"]);
        keys.ok("add-relay", &["login2"]);
        let _running = start_example(&keys);
        keys.admin().await.make_streams(servers).await;
        keys.gateway("login1").await.append("daybook.example.state.jobs", "a job").await;
        let n1 = keys.node("n1").await;
        n1.append("daybook.example.state.node.n1", "a start").await;
        n1.may_not_publish("daybook.example.state.node.n2").await;
        assert_eq!(keys.service().await.read_all(STATE).await.len(), 2);
    }
}
