use daybook_schemas::{JobId, Seq};

/// Why the ledger does not go on, by what somebody can do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// The ledger's own database cannot be opened, read or written (disk full, permissions, another process).
    #[error("the ledger's database in {dir} does not answer: {why}")]
    Storage {
        /// Where it is.
        dir: String,
        /// What RocksDB or the file system says.
        why: String,
    },
    /// A row is not what this program writes: the ledger is posted again after its directory was moved away.
    #[error(
        "a row of the ledger is damaged ({what}): {why}; move the ledger's directory away, it is posted again from the log"
    )]
    Damaged {
        /// Which row.
        what: String,
        /// What is wrong.
        why: String,
    },
    /// The log is shorter than what was posted, so it is another one, or was cut.
    #[error(
        "the ledger has posted commit {posted}, but the log ends at {end}: it belongs to another log; \
         put the right log back, or move the ledger's directory away"
    )]
    LogTooShort {
        /// The ledger's position.
        posted: Seq,
        /// The log's end.
        end: Seq,
    },
    /// A commit that does not follow, or that a newer program wrote. Nothing is skipped.
    #[error("commit {seq} cannot be posted: {why}")]
    Unposted {
        /// Which.
        seq: Seq,
        /// Why.
        why: String,
    },
    /// The log cannot be read.
    #[error("{0}")]
    Log(#[from] daybook_log::ReadError),
    /// A row names something that is not there.
    #[error("the ledger has no submission of job {0}, which a record names")]
    NoSubmission(JobId),
    /// A sum does not fit its type.
    #[error("{0} is larger than the ledger can count")]
    TooLarge(&'static str),
}
