//! Real `nats-server` processes on loopback, for tests and benchmarks.
//!
//! The program is looked for at `DAYBOOK_NATS_SERVER`, on `PATH`, and where `tools/test` puts it
//! (`$XDG_CACHE_HOME/daybook/nats-server/nats-server`).

use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// How long a server may take to serve; only a failure waits so long.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a server keeps what it acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// On disk before it acknowledges.
    Always,
    /// As it does when nothing is said.
    Default,
}

/// What a server is started with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// When it syncs.
    pub sync: Sync,
    /// The largest message.
    pub max_payload: String,
    /// Further lines of its configuration.
    pub extra: String,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { sync: Sync::Always, max_payload: "8MB".to_string(), extra: String::new() }
    }
}

/// A server, with its files in a directory that it does not remove. Dropping it kills it.
#[derive(Debug)]
pub struct NatsServer {
    dir: PathBuf,
    /// The client port.
    pub port: u16,
    /// The monitoring port.
    pub monitor_port: u16,
    child: Option<Child>,
}

impl NatsServer {
    /// Starts a single server.
    pub fn start(dir: &Path, settings: &Settings) -> io::Result<NatsServer> {
        let [port, monitor_port] = free_ports()?;
        let mut server = NatsServer { dir: dir.to_path_buf(), port, monitor_port, child: None };
        std::fs::create_dir_all(dir)?;
        std::fs::write(server.config_path(), server.config("single", settings, ""))?;
        server.restart()?;
        Ok(server)
    }

    /// Starts a single server with a configuration that somebody else has written to `nats-server.conf` in `dir`, and that
    /// names these ports.
    pub fn start_configured(dir: &Path, port: u16, monitor_port: u16) -> io::Result<NatsServer> {
        let mut server = NatsServer { dir: dir.to_path_buf(), port, monitor_port, child: None };
        server.restart()?;
        Ok(server)
    }

    fn config_path(&self) -> PathBuf {
        self.dir.join("nats-server.conf")
    }

    fn config(&self, name: &str, settings: &Settings, cluster: &str) -> String {
        let sync = match settings.sync {
            Sync::Always => "sync_interval: always",
            Sync::Default => "",
        };
        format!(
            "server_name: {name}\nlisten: \"127.0.0.1:{}\"\nhttp: \"127.0.0.1:{}\"\nmax_payload: {}\n\
             jetstream {{ store_dir: \"{}\"\n {sync}\n max_file_store: 8GB\n max_memory_store: 256MB }}\n{cluster}\n{}\n",
            self.port,
            self.monitor_port,
            settings.max_payload,
            self.dir.join("store").display(),
            settings.extra,
        )
    }

    /// Starts it again on its own ports, with what it kept, and waits until it serves.
    pub fn restart(&mut self) -> io::Result<()> {
        self.begin()?;
        self.wait_until_serving()
    }

    fn begin(&mut self) -> io::Result<()> {
        self.kill();
        let log = std::fs::File::options().create(true).append(true).open(self.dir.join("log"))?;
        let child = Command::new(program()?)
            .arg("-c")
            .arg(self.config_path())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        self.child = Some(child);
        Ok(())
    }

    fn wait_until_serving(&mut self) -> io::Result<()> {
        let begun = Instant::now();
        loop {
            if self.is_healthy() {
                return Ok(());
            }
            let ended = self.child.as_mut().map(Child::try_wait).transpose()?.flatten();
            if ended.is_some() || begun.elapsed() > PATIENCE {
                let log = std::fs::read_to_string(self.dir.join("log")).unwrap_or_default();
                return Err(io::Error::other(format!("nats-server does not serve ({ended:?}):\n{log}")));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn is_healthy(&self) -> bool {
        use std::io::{Read, Write};
        let ask = || -> io::Result<String> {
            let mut stream = std::net::TcpStream::connect(("127.0.0.1", self.monitor_port))?;
            stream.set_read_timeout(Some(Duration::from_secs(2)))?;
            stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        ask().is_ok_and(|answer| answer.contains(" 200 "))
    }

    /// `nats://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// `http://127.0.0.1:PORT`.
    pub fn monitor_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.monitor_port)
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Its process, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        match self.pid().and_then(|pid| i32::try_from(pid).ok()) {
            Some(pid) => kill(Pid::from_raw(pid), signal).map_err(io::Error::from),
            None => Err(io::Error::other("the server does not run")),
        }
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may be dead already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Three servers that are one NATS cluster.
#[derive(Debug)]
pub struct NatsCluster {
    /// The servers.
    pub servers: Vec<NatsServer>,
}

impl NatsCluster {
    /// Starts three servers and waits until they serve together.
    pub fn start(dir: &Path, settings: &Settings) -> io::Result<NatsCluster> {
        let ports: [u16; 9] = free_ports()?;
        let routes: Vec<String> = ports[..3].iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
        let mut servers = Vec::new();
        for number in 0..3 {
            let dir = dir.join(format!("s{number}"));
            std::fs::create_dir_all(&dir)?;
            let server =
                NatsServer { dir, port: ports[3 + number], monitor_port: ports[6 + number], child: None };
            let cluster = format!(
                "cluster {{ name: daybook\n listen: \"127.0.0.1:{}\"\n routes: [{}] }}",
                ports[number],
                routes.join(", ")
            );
            std::fs::write(server.config_path(), server.config(&format!("s{number}"), settings, &cluster))?;
            servers.push(server);
        }
        let mut cluster = NatsCluster { servers };
        cluster.restart()?;
        Ok(cluster)
    }

    /// Starts all again.
    pub fn restart(&mut self) -> io::Result<()> {
        for server in &mut self.servers {
            server.begin()?;
        }
        for server in &mut self.servers {
            server.wait_until_serving()?;
        }
        Ok(())
    }

    /// All client addresses, separated by commas.
    pub fn urls(&self) -> String {
        self.servers.iter().map(NatsServer::url).collect::<Vec<_>>().join(",")
    }

    /// All monitoring addresses.
    pub fn monitor_urls(&self) -> Vec<String> {
        self.servers.iter().map(NatsServer::monitor_url).collect()
    }
}

/// The program.
pub fn program() -> io::Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")));
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let candidates = std::env::var_os("DAYBOOK_NATS_SERVER")
        .map(PathBuf::from)
        .into_iter()
        .chain(std::env::split_paths(&on_path).map(|dir| dir.join("nats-server")))
        .chain(cache.map(|cache| cache.join("daybook/nats-server/nats-server")));
    candidates
        .into_iter()
        .find(|path| path.is_file())
        .ok_or_else(|| io::Error::other("there is no nats-server here: run tools/test, which installs it"))
}

/// Ports that nobody uses at the moment.
pub fn free_ports<const N: usize>() -> io::Result<[u16; N]> {
    let listeners: Vec<TcpListener> =
        (0..N).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<io::Result<_>>()?;
    let mut ports = [0; N];
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}
