//! What the daemon needs to know that no decision depends on.

use std::path::PathBuf;
use std::time::Duration;

use daybook_cgroup::Rules;
use daybook_supervisor::health::HealthCheck;
use daybook_supervisor::records::Care;

/// How often it is looked at what runs use, where nobody says: Slurm's.
pub const USAGE_INTERVAL: Duration = Duration::from_secs(30);
/// How long an agent may be silent, where nobody says.
pub(crate) const NODE_LEASE: Duration = Duration::from_secs(10);

/// Settings of this machine's daemon, from `daybook.toml` and `slurm.conf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonSettings {
    /// Where agents keep their runs; absent: inside the daemon's state directory.
    pub spool_dir: Option<SpoolDir>,
    /// The socket that clients find the daemon by; absent: the daemon's default.
    pub socket: Option<PathBuf>,
    /// On a bus: how long a node's agent may be silent before the node gets no more work.
    pub node_lease: Duration,
    /// Where events are kept, unless the command line says it.
    pub log: LogBackend,
    /// How the NATS server is used, where events are kept there.
    pub nats: NatsSettings,
    /// The login machines whose relays are believed, by name.
    pub relays: Vec<RelaySettings>,
    /// How runs are confined on this machine's nodes.
    pub confinement: Rules,
    /// What they do around each run.
    pub care: Care,
    /// How the site checks them.
    pub health: HealthCheck,
    /// How often they look at what each run uses; absent: never.
    pub usage_interval: Option<Duration>,
}

/// One entry of `[relays]` of `daybook.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelaySettings {
    /// The relay's name: the login machine's, as its key was made for.
    pub name: String,
    /// Its public nkey: `U` and 55 letters and digits.
    pub key: String,
    /// Whether it may speak for its machine's root.
    pub root: bool,
}

impl Default for DaemonSettings {
    fn default() -> DaemonSettings {
        DaemonSettings {
            spool_dir: None,
            socket: None,
            node_lease: NODE_LEASE,
            log: LogBackend::default(),
            nats: NatsSettings::default(),
            relays: Default::default(),
            confinement: Rules::default(),
            care: Care::default(),
            health: HealthCheck::default(),
            usage_interval: Some(USAGE_INTERVAL),
        }
    }
}

/// Where events are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogBackend {
    /// In the daemon's state directory.
    #[default]
    Embedded,
    /// In NATS JetStream, at [`NatsSettings::url`].
    Nats,
}

/// `[log.nats]` of `daybook.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsSettings {
    /// `nats://HOST:PORT` or `tls://HOST:PORT`; several servers separated by commas.
    pub url: Option<String>,
    /// The servers' monitoring endpoints, `http://HOST:8222`.
    pub monitor_urls: Vec<String>,
    /// Use servers that acknowledge before they sync, or do not say.
    pub accept_unsynced: bool,
    /// On how many servers each message lies, where the streams are made: 1, 3 or 5.
    pub replicas: u32,
    /// The file with the seed of our nkey.
    pub nkey_file: Option<PathBuf>,
    /// The file with the certificates of the authorities to trust.
    pub ca_file: Option<PathBuf>,
    /// The prefix of our inboxes, where our key allows no other.
    pub inbox_prefix: Option<String>,
}

impl Default for NatsSettings {
    fn default() -> NatsSettings {
        NatsSettings {
            url: None,
            monitor_urls: Vec::new(),
            accept_unsynced: false,
            replicas: 1,
            nkey_file: None,
            ca_file: None,
            inbox_prefix: None,
        }
    }
}

/// A directory for each node: `SlurmdSpoolDir`, with `%n` for the node's name and `%h` for the host's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpoolDir {
    pattern: String,
}

impl SpoolDir {
    pub(crate) fn new(pattern: &str) -> SpoolDir {
        SpoolDir { pattern: pattern.to_string() }
    }

    /// Whether nodes on one machine would share it.
    pub(crate) fn is_shared(&self) -> bool {
        self.for_node("a", "host") == self.for_node("b", "host")
    }

    /// The directory of a node. `%h` is the host name up to its first dot, `%%` a percent sign.
    pub fn for_node(&self, node: &str, hostname: &str) -> PathBuf {
        let mut path = String::with_capacity(self.pattern.len() + node.len());
        let mut characters = self.pattern.chars().peekable();
        while let Some(character) = characters.next() {
            let mark = if character == '%' { characters.peek().copied() } else { None };
            match mark {
                Some('n') => path.push_str(node),
                Some('h') => path.push_str(crate::machine::short(hostname)),
                Some('%') => path.push('%'),
                _ => {
                    path.push(character);
                    continue;
                }
            }
            characters.next();
        }
        PathBuf::from(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_replaced() {
        for (pattern, expected) in [
            ("/var/spool/slurmd", "/var/spool/slurmd"),
            ("/s/slurmd.%n", "/s/slurmd.node01"),
            ("/s/%h/%n", "/s/vm/node01"),
            ("/s/100%%/%x%", "/s/100%/%x%"),
        ] {
            assert_eq!(SpoolDir::new(pattern).for_node("node01", "vm.hall"), PathBuf::from(expected));
        }
        assert!(SpoolDir::new("/s/%h").is_shared() && !SpoolDir::new("/s/%n").is_shared());
    }
}
