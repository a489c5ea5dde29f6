//! The daemon: one program that runs every service of Daybook.

mod agents;
mod cluster;
mod copy_log;
mod leader;
mod leases;
mod log;
mod node_only;
mod orders;
mod paths;
mod relay;
mod roles;
mod say;
mod snapshots;
mod socket;
mod verify;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Daybook's daemon.
#[derive(Parser)]
#[command(
    name = "daybookd",
    version,
    about = "Daybook's daemon: scheduler, agents and ledger over one event log"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve in the foreground until TERM; jobs go on when it stops.
    Run(RunArguments),
    /// Make the log's streams on a NATS server where only an administrator's key may; harmless where they are there.
    MakeLog(MakeLogArguments),
    /// Move a stopped cluster's log from its directory to a bus, or back: same sequences, same bytes, compared.
    CopyLog(CopyLogArguments),
    /// Pass the requests of a login machine's users on to the cluster, over its NATS servers, until TERM.
    Relay(RelayArguments),
    /// Check a stopped cluster: fold the log, decide every recorded cycle again, rebuild the ledger and compare.
    Verify(VerifyArguments),
}

/// What `daybookd run` is told.
#[derive(clap::Args)]
pub struct RunArguments {
    /// Directory with slurm.conf, gres.conf and daybook.toml, where they exist.
    #[arg(long, value_name = "DIR")]
    pub config: PathBuf,
    /// Directory of the log, the ledger and the nodes' state; made if it is not there.
    #[arg(long, value_name = "DIR")]
    pub state: PathBuf,
    /// The socket to serve [default: daybook.toml's, else /run/daybook/daybook.sock].
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Services to run, separated by commas [default: all].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub roles: Option<Vec<String>>,
    /// Where the log is: `embedded` (in the state directory), or NATS JetStream at `nats://HOST:PORT` (`tls://…`;
    /// several servers separated by commas) [default: daybook.toml's, else embedded].
    #[arg(long, value_name = "LOG")]
    pub log: Option<String>,
    /// The nodes whose agents run here, as a host list [default: those whose NodeHostname or NodeAddr is this machine].
    #[arg(long, value_name = "NODES")]
    pub nodes: Option<String>,
}

/// What `daybookd make-log` is told.
#[derive(clap::Args)]
pub struct MakeLogArguments {
    /// Directory with slurm.conf and daybook.toml.
    #[arg(long, value_name = "DIR")]
    pub config: PathBuf,
    /// The NATS server, as for `run` [default: daybook.toml's].
    #[arg(long, value_name = "LOG")]
    pub log: Option<String>,
    /// The file with the seed of the administrator's key [default: daybook.toml's nkey_file].
    #[arg(long, value_name = "FILE")]
    pub nkey_file: Option<PathBuf>,
}

/// What `daybookd copy-log` is told.
#[derive(clap::Args)]
pub struct CopyLogArguments {
    /// The log to copy: `embedded:DIR` (the state directory), or `nats://HOST:PORT` (`tls://...`).
    #[arg(long, value_name = "LOG")]
    pub from: String,
    /// Where to copy it; the same forms. What an interrupted copy has left there is compared, and gone on from.
    #[arg(long, value_name = "LOG")]
    pub to: String,
    /// Directory with slurm.conf and daybook.toml.
    #[arg(long, value_name = "DIR")]
    pub config: PathBuf,
    /// The file with the seed of the administrator's key [default: daybook.toml's nkey_file].
    #[arg(long, value_name = "FILE")]
    pub nkey_file: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
}

/// What `daybookd relay` is told.
#[derive(clap::Args)]
pub struct RelayArguments {
    /// Directory with slurm.conf (for the cluster's name) and daybook.toml (for [log.nats]).
    #[arg(long, value_name = "DIR")]
    pub config: PathBuf,
    /// The socket to serve [default: daybook.toml's, else /run/daybook/daybook.sock].
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// The relay's name, as it was told to `daybook keys add-relay` [default: this machine's host name].
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The NATS server, as for `run` [default: daybook.toml's].
    #[arg(long, value_name = "LOG")]
    pub log: Option<String>,
}

/// What `daybookd verify` is told.
#[derive(clap::Args)]
pub struct VerifyArguments {
    /// The state directory of a daemon that does not run.
    #[arg(long, value_name = "DIR")]
    pub state: PathBuf,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("DAYBOOK_LOG")
                .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info")),
        )
        .init();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refused(&format!("cannot start: {error}")),
    };
    let outcome = match arguments.command {
        Command::Run(arguments) => runtime.block_on(cluster::run(arguments)),
        Command::MakeLog(arguments) => runtime.block_on(log::make(arguments)),
        Command::CopyLog(arguments) => runtime.block_on(copy_log::run(arguments)),
        Command::Relay(arguments) => runtime.block_on(relay::run(arguments)),
        Command::Verify(arguments) => runtime.block_on(verify::run(arguments)),
    };
    // Blocking reads of the log that are still under way end with the process.
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => refused(&why),
    }
}

fn refused(why: &str) -> ExitCode {
    eprintln!("daybookd: error: {why}");
    ExitCode::FAILURE
}
