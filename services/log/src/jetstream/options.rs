//! How a log on a bus is opened, and why it is not.

use std::path::PathBuf;
use std::sync::Arc;

use crate::clock::Clock;
use crate::embedded::{OpenError, RecordedPosition};

/// Where the bus is, and who we are there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bus {
    /// `nats://HOST:PORT` or `tls://HOST:PORT`; several servers of one NATS cluster separated by commas.
    pub servers: String,
    /// The file with the seed of the nkey that we have there.
    pub nkey_file: Option<PathBuf>,
    /// The file with the certificates of the authorities that we trust.
    pub ca_file: Option<PathBuf>,
    /// The prefix of our inboxes, where permissions ask for one of our own.
    pub inbox_prefix: Option<String>,
}

/// How a log on JetStream is opened.
pub struct JetStreamOptions {
    /// The bus.
    pub bus: Bus,
    /// The cluster's name (`ClusterName`).
    pub cluster: String,
    /// On how many servers each message lies: 1, 3 or 5.
    pub replicas: usize,
    /// Monitoring endpoints (`http://HOST:8222`) of the servers, one of each.
    pub monitor_urls: Vec<String>,
    /// Use servers although they do not sync before they acknowledge, or do not say.
    pub accept_unsynced: bool,
    /// Make the streams where they are not there yet.
    pub create: bool,
    /// The directory of this process's copy of the log.
    pub copy_dir: PathBuf,
    /// What projections and snapshots say that they have read: the log must be at least as long.
    pub recorded: Vec<RecordedPosition>,
    /// Where commits' timestamps come from; `None`: from the server, as it should be outside of tests.
    pub clock: Option<Arc<dyn Clock>>,
}

/// Why a log on a bus was not opened. Nothing was appended.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// The address is none.
    #[error("\"{url}\" is no address of a NATS server: {why}; write nats://HOST:PORT, or tls://HOST:PORT")]
    Url {
        /// What was given.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// A file that is needed for the connection.
    #[error("{}: {why}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        why: String,
    },
    /// No connection.
    #[error("cannot connect to {servers}: {why}; {remedy}")]
    Connect {
        /// Where.
        servers: String,
        /// What was said.
        why: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The server cannot do what is needed.
    #[error("the NATS server {server} (version {version}) cannot keep the log: {why}")]
    Server {
        /// Its name.
        server: String,
        /// Its version.
        version: String,
        /// What it lacks, and what to do.
        why: String,
    },
    /// What an acknowledgement means there is not good enough, or unknown.
    #[error(
        "{why}. An acknowledged commit must be on disk: put \"jetstream {{ sync_interval: always }}\" into \
         nats-server's configuration{}; or, if losing acknowledged jobs at a power cut is accepted, set \
         accept_unsynced = true under [log.nats] in daybook.toml",
        hint
    )]
    Unsynced {
        /// What was found.
        why: String,
        /// What else may help.
        hint: &'static str,
    },
    /// A stream that is not as Daybook made it.
    #[error(
        "the stream {stream} is not Daybook's, or was changed: {what}. Nothing was written to it. Put it right, or give \
         this cluster another ClusterName"
    )]
    ForeignStream {
        /// Which.
        stream: String,
        /// What is different.
        what: String,
    },
    /// A copy of a log that was interrupted.
    #[error(
        "the stream {stream} is an unfinished copy of a log; make it again with \"daybook log copy\", which goes on where it \
         stopped"
    )]
    Unfinished {
        /// Which.
        stream: String,
    },
    /// A stream that is not there.
    #[error(
        "there is no stream {stream} on this server{known}; check ClusterName, that nkey_file is this machine's own, and that a daemon with the role planner has run, which makes it"
    )]
    NoStream {
        /// Which.
        stream: String,
        /// Which clusters there are.
        known: String,
    },
    /// The copy of the log cannot be used.
    #[error("this machine's copy of the log: {0}")]
    Copy(#[from] OpenError),
    /// The copy is of other streams.
    #[error(
        "the copy of the log in {} is of {found}, and the server has {expected}: it is another cluster's, or the stream \
         was made anew. If the server is right, remove that directory (and the ledger and snapshot beside it); it is \
         made again from the stream",
        dir.display()
    )]
    CopyOfAnother {
        /// The copy's directory.
        dir: PathBuf,
        /// What it is a copy of.
        found: String,
        /// What is on the server.
        expected: String,
    },
    /// The server has fewer commits than we have seen.
    #[error(
        "the stream {stream} ends at commit {end}, but the copy in {} has commit {copied}: the server has lost commits that \
         it had acknowledged. Bring it back from a backup or a replica; or, if that history is really given up, remove \
         the copy, the ledger and the snapshot of every machine",
        dir.display()
    )]
    ShorterThanCopy {
        /// Which stream.
        stream: String,
        /// Where it ends.
        end: u64,
        /// Where the copy ends.
        copied: u64,
        /// The copy's directory.
        dir: PathBuf,
    },
    /// Something that the server answered.
    #[error("the NATS server answers: {0}")]
    Answer(String),
}
