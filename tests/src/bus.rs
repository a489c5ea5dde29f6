//! A whole Daybook over a bus: a NATS server, and daemons with some roles each.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use daybook_nats_server::{NatsServer, Settings};
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

/// Daemons on a bus. Clients, scripts and checks are those of the [`Cluster`] inside.
pub struct BusCluster {
    /// What its clients see.
    pub cluster: Cluster,
    /// The bus.
    pub nats: NatsServer,
    members: BTreeMap<Member, Child>,
}

impl BusCluster {
    /// Starts a server and every member on [`TWO_NODES`].
    pub fn start() -> BusCluster {
        let cluster = Cluster::new(TWO_NODES);
        let nats = NatsServer::start(&cluster.root.join("nats"), &Settings::default()).expect("nats-server");
        let toml = format!(
            "[log]\nbackend = \"nats\"\n[log.nats]\nurl = \"{}\"\nmonitor_url = \"{}\"\n",
            nats.url(),
            nats.monitor_url()
        );
        std::fs::write(cluster.root.join("config/daybook.toml"), toml).expect("daybook.toml");
        let mut bus = BusCluster { cluster, nats, members: BTreeMap::new() };
        for member in Member::ALL {
            bus.start_member(member);
        }
        bus
    }

    fn state_of(&self, member: Member) -> PathBuf {
        self.cluster.root.join(member.name())
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
        let log = std::fs::File::options().append(true).create(true).open(self.log_path(member));
        let mut command = Command::new(program("daybookd"));
        command.arg("run").arg("--config").arg(self.cluster.root.join("config"));
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
        self.members.insert(member, child);
        assert!(is_ready, "{member:?} is not ready:\n{}", self.log_of(member));
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

    /// TERM to all, and `daybookd verify` on the copy of the head.
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
