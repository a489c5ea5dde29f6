//! `keys.toml`: what a directory of keys was made for, and every user with its public key. It holds no secret.

use std::fmt;
use std::fs::File;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, at};
use crate::files;
use crate::names::{Names, token};

/// The file's name.
pub const FILE: &str = "keys.toml";

/// All that the servers' configuration is made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Book {
    /// The cluster's name, as in slurm.conf.
    pub cluster: String,
    /// The machines that run a nats-server: one, or an odd number of them.
    pub hosts: Vec<String>,
    /// Where clients connect.
    pub client_port: u16,
    /// Where the servers connect to each other.
    pub route_port: u16,
    /// Where a server tells its state, on its own machine only.
    pub monitor_port: u16,
    /// Where a server's directory lies on its machine.
    pub server_dir: String,
    /// Where a server keeps its streams on its machine.
    pub store_dir: String,
    /// Who may connect.
    #[serde(rename = "user", default)]
    pub users: Vec<User>,
}

/// Who may connect, with the public half of its key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// What it is.
    pub role: Role,
    /// Its machine's name; the role's for the two users that have no machine of their own.
    pub name: String,
    /// Its public nkey: `U` and 55 letters and digits.
    pub key: String,
}

/// What a user is; this decides its permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Makes and changes the streams.
    Admin,
    /// All central parts: gateway, queue, planner, dispatch, ledger on the main machines.
    Service,
    /// The gateway of a login machine.
    Gateway,
    /// The relay of a login machine.
    Relay,
    /// The agent of a node.
    Node,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Admin => "admin",
            Role::Service => "service",
            Role::Gateway => "gateway",
            Role::Relay => "relay",
            Role::Node => "node",
        })
    }
}

impl User {
    /// The directory of what goes to this user's machine, below the directory of keys.
    pub fn directory(&self) -> String {
        match self.role {
            Role::Admin | Role::Service => self.role.to_string(),
            Role::Gateway => format!("gateways/{}", self.name),
            Role::Relay => format!("relays/{}", self.name),
            Role::Node => format!("nodes/{}", token(&self.name)),
        }
    }
}

impl Book {
    /// Reads it from a directory of keys.
    pub fn read(directory: &Path) -> Result<Book, Error> {
        let path = directory.join(FILE);
        if !path.exists() {
            return Err(Error::Refused(format!(
                "{} is no directory of keys: it has no {FILE}; `daybook keys init` makes one",
                directory.display()
            )));
        }
        toml::from_str(&files::read(&path)?).map_err(|error| Error::Content {
            path,
            problem: format!("{error}; take it from a backup, or make new keys with `daybook keys init`"),
        })
    }

    /// Writes it.
    pub fn write(&self, directory: &Path) -> Result<(), Error> {
        let path = directory.join(FILE);
        let text = toml::to_string(self)
            .map_err(|error| Error::Content { path: path.clone(), problem: error.to_string() })?;
        let text = format!("# Made by `daybook keys`, which also changes it. Public keys only.\n{text}");
        files::write(&path, files::PUBLIC, text.as_bytes())
    }

    /// The names of this cluster.
    pub fn names(&self) -> Names {
        Names::of(&self.cluster)
    }
}

/// Keeps every other `daybook keys` from changing the directory while this is held.
pub struct Lock {
    _directory: File,
}

impl Lock {
    /// Waits for it.
    pub fn take(directory: &Path) -> Result<Lock, Error> {
        let file = File::open(directory).map_err(at(directory))?;
        file.lock().map_err(at(directory))?;
        Ok(Lock { _directory: file })
    }
}
