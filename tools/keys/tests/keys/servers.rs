//! A directory of keys, and the nats-servers that run with what is in it.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// How long anything in these tests may take; only a failure waits so long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The cluster's name, as in deploy/nats.
pub const CLUSTER: &str = "example";

/// A new directory of keys in a temporary directory.
pub struct Keys {
    _keep: tempfile::TempDir,
    root: PathBuf,
    pub hosts: Vec<String>,
    pub client_port: u16,
}

impl Keys {
    /// For as many servers, each with an address of its own.
    pub fn init(servers: usize) -> Keys {
        let keep =
            tempfile::Builder::new().prefix("daybook-keys-test-").tempdir().expect("a temporary directory");
        let root = keep.path().to_path_buf();
        let hosts: Vec<String> = (1..=servers).map(own_address).collect();
        let ports = own_ports();
        let [client, route, monitor] = ports.map(|port| port.to_string());
        let keys = Keys { _keep: keep, root, hosts, client_port: ports[0] };
        let directory = keys.directory();
        let directory = directory.to_str().expect("UTF-8");
        let hosts = keys.hosts.join(",");
        #[rustfmt::skip]
        ok(&["init", directory, "--cluster", CLUSTER, "--host", &hosts,
            "--client-port", &client, "--route-port", &route, "--monitor-port", &monitor]);
        keys
    }

    /// Runs `daybook keys COMMAND DIRECTORY ARGUMENTS`, which must succeed.
    pub fn ok(&self, command: &str, arguments: &[&str]) -> String {
        let directory = self.directory();
        let mut all = vec![command, directory.to_str().expect("UTF-8")];
        all.extend(arguments);
        ok(&all)
    }

    /// The directory of keys.
    pub fn directory(&self) -> PathBuf {
        self.root.join("keys")
    }

    /// What goes to one server.
    pub fn server_directory(&self, host: &str) -> PathBuf {
        self.directory().join("servers").join(host)
    }

    /// Starts the servers, as if each were on its own machine: with its own files in the place that its
    /// configuration names.
    pub fn start(&self) -> Servers {
        let configurations = self
            .hosts
            .iter()
            .map(|host| (host.clone(), self.install(host, &self.server_directory(host))))
            .collect();
        self.start_with(configurations)
    }

    /// Starts a server for each host with the configuration in a file.
    pub fn start_with(&self, configurations: Vec<(String, PathBuf)>) -> Servers {
        let start = |(host, configuration): (String, PathBuf)| {
            let log = self.root.join(format!("{host}.log"));
            let child = spawn(&configuration, &log);
            Running { host, configuration, log, child }
        };
        let mut servers = Servers {
            running: configurations.into_iter().map(start).collect(),
            client_port: self.client_port,
        };
        for position in 0..servers.running.len() {
            servers.wait_until_it_listens(position);
        }
        servers
    }

    /// Copies one server's directory to where its configuration can find it on this machine, and gives the
    /// configuration's path.
    pub fn install(&self, host: &str, from: &Path) -> PathBuf {
        let to = self.root.join("machines").join(host);
        let store = self.root.join("stores").join(host);
        fs::create_dir_all(&to).expect("the server's place");
        for entry in fs::read_dir(from).expect("the server's files") {
            let path = entry.expect("an entry").path();
            let target = to.join(path.file_name().expect("a name"));
            fs::copy(&path, target).expect("a copy");
        }
        let path = to.join("nats-server.conf");
        let text = fs::read_to_string(&path).expect("the configuration");
        assert!(text.contains("/etc/daybook/nats") && text.contains("/var/lib/daybook/nats"), "{text}");
        let text = text
            .replace("/etc/daybook/nats", to.to_str().expect("UTF-8"))
            .replace("/var/lib/daybook/nats", store.to_str().expect("UTF-8"));
        fs::write(&path, text).expect("the configuration");
        path
    }
}

/// Servers that run, until this is dropped.
pub struct Servers {
    running: Vec<Running>,
    client_port: u16,
}

struct Running {
    host: String,
    configuration: PathBuf,
    log: PathBuf,
    child: Child,
}

fn spawn(configuration: &Path, log: &Path) -> Child {
    let output = fs::File::options().create(true).append(true).open(log).expect("the server's log");
    Command::new(nats_server())
        .arg("-c")
        .arg(configuration)
        .stdin(Stdio::null())
        .stdout(output.try_clone().expect("the server's log"))
        .stderr(output)
        .spawn()
        .expect("nats-server starts")
}

impl Servers {
    /// Ends one server at once.
    pub fn kill(&mut self, host: &str) {
        let server =
            self.running.iter_mut().find(|server| server.host == host).expect("a server of that name");
        server.child.kill().expect("kill");
        server.child.wait().expect("wait");
    }

    /// Stops one server as an operator does, and starts it with what its files say now.
    pub fn restart(&mut self, host: &str) {
        let position =
            self.running.iter().position(|server| server.host == host).expect("a server of that name");
        let server = &mut self.running[position];
        let pid = nix::unistd::Pid::from_raw(i32::try_from(server.child.id()).expect("a pid"));
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).expect("the server runs");
        server.child.wait().expect("wait");
        server.child = spawn(&server.configuration, &server.log);
        self.wait_until_it_listens(position);
    }

    fn wait_until_it_listens(&mut self, position: usize) {
        let port = self.client_port;
        let server = &mut self.running[position];
        let started = Instant::now();
        while TcpStream::connect((server.host.as_str(), port)).is_err() {
            let log = || fs::read_to_string(&server.log).unwrap_or_default();
            if let Some(status) = server.child.try_wait().expect("its status") {
                panic!("nats-server on {} ended, {status}:\n{}", server.host, log());
            }
            assert!(
                started.elapsed() < PATIENCE,
                "nats-server on {} does not listen:\n{}",
                server.host,
                log()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for server in &mut self.running {
            // It may have ended already.
            let _ = server.child.kill();
            let _ = server.child.wait();
        }
    }
}

/// Runs `daybook-keys` with these arguments.
pub fn keys(arguments: &[&str]) -> Output {
    Command::new(program("daybook-keys")).args(arguments).output().expect("daybook-keys starts")
}

#[track_caller]
fn ok(arguments: &[&str]) -> String {
    let output = keys(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// A program that the build has put beside this test.
pub fn program(name: &str) -> PathBuf {
    let here = std::env::current_exe().expect("the test's own path");
    let path = here.parent().and_then(Path::parent).expect("deps lies in the target directory").join(name);
    assert!(path.exists(), "{} is missing: build the workspace first (tools/test does)", path.display());
    path
}

/// The nats-server, from the places where tools/lib/nats.sh looks for it and puts it.
fn nats_server() -> PathBuf {
    if let Some(path) = std::env::var_os("DAYBOOK_NATS_SERVER").filter(|path| !path.is_empty()) {
        return PathBuf::from(path);
    }
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&on_path).map(|directory| directory.join("nats-server"));
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")));
    let cached = cache.map(|cache| cache.join("daybook/nats-server/nats-server"));
    found
        .chain(cached)
        .find(|path| is_new_enough(path))
        .expect("no nats-server >= 2.12 is found: run tools/test, which installs it")
}

/// Whether this is a nats-server of version 2.12 or newer.
fn is_new_enough(path: &Path) -> bool {
    let Ok(output) = Command::new(path).arg("--version").output() else { return false };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let Some((_, version)) = text.trim().rsplit_once('v') else { return false };
    let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(2), Some(12))
}

/// A loopback address of this process: no other process uses it, so fixed ports on it are free.
fn own_address(number: usize) -> String {
    let pid = std::process::id();
    assert!(number <= 3 && pid < 1 << 22, "an address for server {number} of process {pid}");
    let second = (u32::try_from(number).expect("small") << 6) | (pid >> 16);
    format!("127.{second}.{}.{}", (pid >> 8) & 0xff, pid & 0xff)
}

/// Ports for clients, routes and monitoring that no other test of this process uses.
fn own_ports() -> [u16; 3] {
    static NEXT: AtomicU16 = AtomicU16::new(4000);
    let first = NEXT.fetch_add(3, Ordering::Relaxed);
    [first, first + 1, first + 2]
}

/// The checkout's own directory.
pub fn workspace() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo or nextest runs the test");
    Path::new(&manifest).join("../..")
}
