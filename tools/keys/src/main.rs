//! `daybook keys`: makes and checks the keys of a cluster's log on NATS, and the servers' configuration.
//!
//! A program of its own, which `daybook` starts, so that the client has no cryptography in it. It never connects to
//! anything: it makes files in one directory, and says which of them go where. `docs/keys.md` describes them.

mod add;
mod book;
mod certificates;
mod check;
mod error;
mod files;
mod init;
mod names;
mod permissions;
mod remove;
mod renew;
mod seeds;
mod server_conf;
mod users_conf;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use book::{Book, Role};
use clap::{Parser, Subcommand};

/// Make and check the keys of a cluster's log on NATS, and the matching nats-server configuration
#[derive(Debug, Parser)]
#[command(name = "daybook keys", bin_name = "daybook keys", version)]
struct Keys {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make a directory with a certificate authority, the servers' files, and keys for the central parts
    Init {
        /// The directory; it must not exist, or be empty
        directory: PathBuf,
        /// The cluster's name, as ClusterName in slurm.conf
        #[arg(long)]
        cluster: String,
        /// The machines that run a nats-server, by name or address: 1, 3, 5 or 7 [default: this machine]
        #[arg(long, value_delimiter = ',')]
        host: Vec<String>,
        /// Where clients connect
        #[arg(long, default_value_t = 4222)]
        client_port: u16,
        /// Where servers connect to each other
        #[arg(long, default_value_t = 6222)]
        route_port: u16,
        /// Where a server tells its state, on its own machine only
        #[arg(long, default_value_t = 8222)]
        monitor_port: u16,
        /// Where the server's files will lie on its machine
        #[arg(long, default_value = "/etc/daybook/nats")]
        server_dir: String,
        /// Where the server keeps its streams on its machine
        #[arg(long, default_value = "/var/lib/daybook/nats")]
        store_dir: String,
    },
    /// Make a key for each node, and let it in
    AddNode {
        /// The directory that init made
        directory: PathBuf,
        /// NodeName as in slurm.conf, each by itself
        #[arg(required = true)]
        node: Vec<String>,
    },
    /// Make a key for the gateway of a login machine, and let it in
    AddGateway {
        /// The directory that init made
        directory: PathBuf,
        /// The login machine
        host: String,
    },
    /// Make a key for the relay of a login machine, and let it in
    AddRelay {
        /// The directory that init made
        directory: PathBuf,
        /// The login machine
        host: String,
    },
    /// Take a node's key out
    RemoveNode {
        /// The directory that init made
        directory: PathBuf,
        /// NodeName as in slurm.conf
        node: String,
    },
    /// Take a gateway's key out
    RemoveGateway {
        /// The directory that init made
        directory: PathBuf,
        /// The login machine
        host: String,
    },
    /// Take a relay's key out
    RemoveRelay {
        /// The directory that init made
        directory: PathBuf,
        /// The login machine
        host: String,
    },
    /// Make new certificates for the servers, before the old ones end; write users.conf again
    Renew {
        /// The directory that init made
        directory: PathBuf,
    },
    /// Say what is wrong with the files: modes, certificates that end, users that do not match their keys
    Check {
        /// The directory that init made
        directory: PathBuf,
    },
}

fn main() -> ExitCode {
    let answer = match Keys::parse().what {
        What::Init {
            directory,
            cluster,
            host,
            client_port,
            route_port,
            monitor_port,
            server_dir,
            store_dir,
        } => hosts_or_this(host).and_then(|hosts| {
            let book = Book {
                cluster,
                hosts,
                client_port,
                route_port,
                monitor_port,
                server_dir,
                store_dir,
                users: Vec::new(),
            };
            init::run(&directory, book)
        }),
        What::AddNode { directory, node } => add::run(&directory, Role::Node, &node),
        What::AddGateway { directory, host } => add::run(&directory, Role::Gateway, &[host]),
        What::AddRelay { directory, host } => add::run(&directory, Role::Relay, &[host]),
        What::RemoveNode { directory, node } => remove::run(&directory, Role::Node, &node),
        What::RemoveGateway { directory, host } => remove::run(&directory, Role::Gateway, &host),
        What::RemoveRelay { directory, host } => remove::run(&directory, Role::Relay, &host),
        What::Renew { directory } => renew::run(&directory),
        What::Check { directory } => {
            return match check::run(&directory) {
                Ok(report) => {
                    print(&report.to_string());
                    ExitCode::from(u8::from(report.errors() > 0))
                }
                Err(error) => fail(&error),
            };
        }
    };
    match answer {
        Ok(text) => {
            print(&text);
            ExitCode::SUCCESS
        }
        Err(error) => fail(&error),
    }
}

/// The hosts that were given, else this machine.
fn hosts_or_this(hosts: Vec<String>) -> Result<Vec<String>, error::Error> {
    if !hosts.is_empty() {
        return Ok(hosts);
    }
    let unnamed =
        |problem: String| error::Error::Refused(format!("this machine's name: {problem}; give --host"));
    let name = nix::unistd::gethostname().map_err(|error| unnamed(error.to_string()))?;
    let name = name.into_string().map_err(|_| unnamed("it is not UTF-8".to_string()))?;
    Ok(vec![name])
}

fn fail(error: &error::Error) -> ExitCode {
    // A closed standard error is no reason to fail differently.
    let _ = writeln!(std::io::stderr(), "daybook keys: error: {error}");
    ExitCode::FAILURE
}

fn print(text: &str) {
    // Whoever closed standard output does not want the rest.
    let _ = std::io::stdout().write_all(text.as_bytes());
}
