//! A whole Daybook over a bus: a NATS server, and daemons with some roles each.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use daybook_nats_server::{NatsCluster, NatsServer, Settings};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::{Cluster, TWO_NODES, program};

/// The roles of the daemon that clients talk to.
const HEAD_ROLES: &str = "gateway,queue,planner,dispatch,ledger";
/// The roles of the one that stands by.
const STANDBY_ROLES: &str = "planner,dispatch";

/// A process of a [`BusCluster`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Member {
    /// All central roles; clients talk to it.
    Head,
    /// A second planner and dispatcher.
    Standby,
    /// The agent of a node.
    Agent(&'static str),
}

impl Member {
    /// All of them.
    pub const ALL: [Member; 4] = [Member::Head, Member::Standby, Member::Agent("n1"), Member::Agent("g1")];

    fn name(self) -> &'static str {
        match self {
            Member::Head => "state",
            Member::Standby => "standby",
            Member::Agent(node) => node,
        }
    }
}

/// The bus of a [`BusCluster`].
pub enum Servers {
    /// One server.
    One(NatsServer),
    /// Three that are one NATS cluster; each commit lies on all of them.
    Three(NatsCluster),
}

impl Servers {
    fn urls(&self) -> String {
        match self {
            Servers::One(server) => server.url(),
            Servers::Three(cluster) => cluster.urls(),
        }
    }

    fn monitor_urls(&self) -> String {
        match self {
            Servers::One(server) => server.monitor_url(),
            Servers::Three(cluster) => cluster.monitor_urls().join(","),
        }
    }

    fn replicas(&self) -> u32 {
        match self {
            Servers::One(_) => 1,
            Servers::Three(_) => 3,
        }
    }

    /// `kill -9` of all.
    pub fn kill(&mut self) {
        match self {
            Servers::One(server) => server.kill(),
            Servers::Three(cluster) => cluster.servers.iter_mut().for_each(NatsServer::kill),
        }
    }

    /// Starts all again with what they kept.
    pub fn restart(&mut self) -> std::io::Result<()> {
        match self {
            Servers::One(server) => server.restart(),
            Servers::Three(cluster) => cluster.restart(),
        }
    }
}

/// Daemons on a bus. Clients, scripts and checks are those of the [`Cluster`] inside.
pub struct BusCluster {
    /// What its clients see.
    pub cluster: Cluster,
    /// The bus.
    pub nats: Servers,
    members: BTreeMap<Member, Child>,
}

impl BusCluster {
    /// Starts a server and every member on [`TWO_NODES`].
    pub fn start() -> BusCluster {
        BusCluster::start_with("", "")
    }

    /// The same with more lines in `slurm.conf`, and with more tables in `daybook.toml`.
    pub fn start_with(slurm_conf: &str, daybook_toml: &str) -> BusCluster {
        let cluster = Cluster::new(&format!("{TWO_NODES}{slurm_conf}"));
        let nats = NatsServer::start(&cluster.root.join("nats"), &Settings::default()).expect("nats-server");
        BusCluster::start_on(cluster, Servers::One(nats), daybook_toml)
    }

    /// The same on three servers.
    pub fn start_on_three() -> BusCluster {
        let cluster = Cluster::new(TWO_NODES);
        let nats =
            NatsCluster::start(&cluster.root.join("nats"), &Settings::default()).expect("nats-servers");
        BusCluster::start_on(cluster, Servers::Three(nats), "")
    }

    fn start_on(cluster: Cluster, nats: Servers, daybook_toml: &str) -> BusCluster {
        let toml = format!(
            "[log]\nbackend = \"nats\"\n[log.nats]\nurl = \"{}\"\nmonitor_url = \"{}\"\nreplicas = {}\n{daybook_toml}",
            nats.urls(),
            nats.monitor_urls(),
            nats.replicas()
        );
        std::fs::write(cluster.root.join("config/daybook.toml"), toml).expect("daybook.toml");
        let mut bus = BusCluster { cluster, nats, members: BTreeMap::new() };
        for member in Member::ALL {
            bus.start_member(member);
        }
        bus
    }

    /// The same with keys and TLS, as `daybook keys` makes them: each agent has the key of its node, the rest that of the
    /// service.
    pub fn start_keyed() -> BusCluster {
        let cluster = Cluster::new(TWO_NODES);
        let keys = cluster.root.join("keys");
        let server_dir = keys.join("servers/localhost");
        let [port, monitor_port] = daybook_nats_server::free_ports().expect("ports");
        let keys_command = |arguments: &[&str]| {
            let answer = cluster.run("keys", arguments);
            assert_eq!(answer.code, 0, "{arguments:?}: {}", answer.err);
        };
        let text = |path: &std::path::Path| path.to_str().expect("UTF-8").to_string();
        keys_command(
            &[
                &["init", &text(&keys), "--cluster", "test", "--host", "localhost"][..],
                &["--server-dir", &text(&server_dir), "--store-dir", &text(&cluster.root.join("nats"))],
                &["--client-port", &port.to_string(), "--monitor-port", &monitor_port.to_string()],
            ]
            .concat(),
        );
        keys_command(&["add-node", &text(&keys), "n1", "g1"]);
        let nats =
            NatsServer::start_configured(&server_dir, port, monitor_port).expect("nats-server with keys");
        let nats = Servers::One(nats);
        let mut bus = BusCluster { cluster, nats, members: BTreeMap::new() };
        for member in Member::ALL {
            bus.give_key(member, member);
        }
        let made = Command::new(program("daybookd"))
            .args(["make-log", "--config", &text(&bus.config_of(Member::Head)), "--nkey-file"])
            .arg(keys.join("admin/nats.seed"))
            .output()
            .expect("daybookd make-log");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        for member in Member::ALL {
            bus.start_member(member);
        }
        bus
    }

    /// Lets a member use the key of another (or its own, as it should).
    pub fn give_key(&self, member: Member, of: Member) {
        let keys = self.cluster.root.join("keys");
        let Servers::One(NatsServer { port, .. }) = &self.nats else {
            panic!("keys are for one server here")
        };
        let key = match of {
            Member::Head | Member::Standby => keys.join("service"),
            Member::Agent(node) => keys.join("nodes").join(node),
        };
        let toml = format!(
            "[log]\nbackend = \"nats\"\n[log.nats]\nurl = \"tls://localhost:{0}\"\nmonitor_url = \"{1}\"\n\
             nkey_file = \"{2}/nats.seed\"\nca_file = \"{2}/ca.pem\"\n",
            port,
            self.nats.monitor_urls(),
            key.display(),
        );
        let config = self.own_config(member);
        std::fs::create_dir_all(&config).expect("its configuration");
        std::fs::copy(self.cluster.root.join("config/slurm.conf"), config.join("slurm.conf"))
            .expect("a copy");
        std::fs::write(config.join("daybook.toml"), toml).expect("daybook.toml");
    }

    fn own_config(&self, member: Member) -> PathBuf {
        self.cluster.root.join(format!("config-{}", member.name()))
    }

    /// A member's own configuration, if it has one.
    fn config_of(&self, member: Member) -> PathBuf {
        let own = self.own_config(member);
        if own.is_dir() { own } else { self.cluster.root.join("config") }
    }

    fn state_of(&self, member: Member) -> PathBuf {
        self.cluster.root.join(member.name())
    }

    /// Where the server, where there is one, writes what it has to say.
    pub fn nats_log(&self) -> PathBuf {
        match &self.nats {
            Servers::One(server) => server.dir().join("log"),
            Servers::Three(cluster) => cluster.servers[0].dir().join("log"),
        }
    }

    /// What a member has said on standard error.
    pub fn log_of(&self, member: Member) -> String {
        std::fs::read_to_string(self.log_path(member)).unwrap_or_default()
    }

    fn log_path(&self, member: Member) -> PathBuf {
        self.cluster.root.join(format!("{}.log", member.name()))
    }

    /// Starts a member and waits until it is ready.
    #[track_caller]
    pub fn start_member(&mut self, member: Member) {
        assert!(self.is_started(member), "{member:?} is not ready:\n{}", self.log_of(member));
    }

    /// Starts a member, and says whether it is ready or has ended.
    pub fn is_started(&mut self, member: Member) -> bool {
        let log = std::fs::File::options().append(true).create(true).open(self.log_path(member));
        let mut command = Command::new(program("daybookd"));
        command.arg("run").arg("--config").arg(self.config_of(member));
        command.arg("--state").arg(self.state_of(member));
        match member {
            Member::Head => command.arg("--socket").arg(self.cluster.socket()).args(["--roles", HEAD_ROLES]),
            Member::Standby => command.args(["--roles", STANDBY_ROLES]),
            Member::Agent(node) => command.args(["--roles", "agent", "--nodes", node]),
        };
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log.expect("its log"));
        let mut child = command.spawn().expect("daybookd starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("readable");
        let is_ready = line.trim_end() == "ready";
        self.cluster.is_unverified |= is_ready && member == Member::Head;
        self.members.insert(member, child);
        is_ready
    }

    /// `kill -9`.
    pub fn kill(&mut self, member: Member) {
        if let Some(mut child) = self.members.remove(&member) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Sends a member a signal.
    #[track_caller]
    pub fn signal(&self, member: Member, signal: Signal) {
        let child = self.members.get(&member).expect("it runs");
        kill(Pid::from_raw(child.id() as i32), signal).expect("it can be signalled");
    }

    /// TERM to all, and the copy of the head verified.
    #[track_caller]
    pub fn stop_and_verify(mut self) {
        for (member, mut child) in std::mem::take(&mut self.members) {
            let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM);
            let status = child.wait().expect("it ends");
            assert!(status.success(), "{member:?} ended with {status}:\n{}", self.log_of(member));
        }
        self.cluster.verify();
    }
}

impl Drop for BusCluster {
    fn drop(&mut self) {
        for member in Member::ALL {
            self.kill(member);
        }
    }
}
