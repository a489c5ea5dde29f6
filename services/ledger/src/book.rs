use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use daybook_schemas::api::{AccountingAnswer, AccountingQuery, CapacityAnswer, CapacityQuery};
use daybook_schemas::{Commit, NodeName, Seq, UtcMicros};

use crate::error::LedgerError;
use crate::fold;
use crate::keys;
use crate::posting::{DetailPosting, Posting};
use crate::query::{self, QueryError};
use crate::rows::{NODE_HISTORY, NodeHistory, VOID, VoidAllocation};
use crate::store::{Store, decode};
use crate::verify::{self, Faults};

/// Which rows a book has.
pub(crate) struct Identity {
    pub(crate) position: Seq,
    /// In the detail stream.
    pub(crate) detail: Seq,
    pub(crate) hash: String,
}

/// The ledger's rows without the log: what commits are posted to, and what questions are asked of. Blocking.
///
/// One writer: [`Book::post`] is called by one caller at a time; questions may be asked meanwhile.
pub struct Book {
    dir: PathBuf,
    /// Absent between a failed write and the database's being opened again.
    store: RwLock<Option<Store>>,
}

impl Book {
    /// Opens the book in this directory, or begins one. A book of another version is thrown away and begun again.
    pub fn open(dir: &Path) -> Result<Book, LedgerError> {
        Ok(Book { dir: dir.to_path_buf(), store: RwLock::new(Some(Store::open(dir)?)) })
    }

    /// Opens the database again after a write has failed (disk full, for instance): RocksDB accepts nothing more until then.
    /// What was written is there, whole batches only.
    pub(crate) fn reopen(&self) -> Result<(), LedgerError> {
        let mut store = self.store.write().unwrap_or_else(PoisonError::into_inner);
        // The lock on the directory goes with the old one.
        *store = None;
        *store = Some(Store::open(&self.dir)?);
        Ok(())
    }

    fn with<T, E: From<LedgerError>>(&self, work: impl FnOnce(&Store) -> Result<T, E>) -> Result<T, E> {
        let store = self.store.read().unwrap_or_else(PoisonError::into_inner);
        let closed = || LedgerError::Storage {
            dir: self.dir.display().to_string(),
            why: "it could not be opened again after a failed write; it is tried again".to_string(),
        };
        work(store.as_ref().ok_or_else(closed)?)
    }

    /// The position that the book in this directory has recorded, without opening it; zero where there is none.
    pub fn recorded_position(dir: &Path) -> Result<Seq, LedgerError> {
        Ok(Store::recorded_cursor(dir)?.seq)
    }

    /// The last commit posted.
    pub fn position(&self) -> Result<Seq, LedgerError> {
        self.with(|store| Ok(store.cursor()?.seq))
    }

    /// Posts the next commits: their rows and the position in one write batch, or nothing of them. The position after.
    pub fn post(&self, commits: &[Arc<Commit>]) -> Result<Seq, LedgerError> {
        self.with(|store| {
            let mut posting = Posting::begin(store)?;
            for commit in commits {
                fold::post(&mut posting, commit)?;
            }
            posting.finish()
        })
    }

    /// The last commit of the detail stream that is posted.
    pub fn detail_position(&self) -> Result<Seq, LedgerError> {
        self.with(Store::detail_position)
    }

    /// Posts the next commits of the detail stream, as [`Book::post`] does those of the state stream. Neither waits for the
    /// other: their rows are apart.
    pub fn post_detail(&self, commits: &[Arc<Commit>]) -> Result<Seq, LedgerError> {
        self.with(|store| {
            let mut posting = DetailPosting::begin(store)?;
            for commit in commits {
                fold::post_usage(&mut posting, commit)?;
            }
            posting.finish()
        })
    }

    /// Answers sacct's question from what is posted.
    pub fn accounting(
        &self,
        query: &AccountingQuery,
        now: UtcMicros,
    ) -> Result<AccountingAnswer, QueryError> {
        self.with(|store| query::accounting(&store.read(), query, now))
    }

    /// Answers a question about the physical book from what is posted.
    pub fn capacity(&self, query: &CapacityQuery, now: UtcMicros) -> Result<CapacityAnswer, QueryError> {
        self.with(|store| query::capacity(&store.read(), query, now))
    }

    /// What happened to a node, oldest first: registrations, drains and downs with who and why.
    pub fn node_history(&self, node: &NodeName) -> Result<Vec<NodeHistory>, LedgerError> {
        self.with(|store| {
            let view = store.read();
            let rows = view.scan_prefix(NODE_HISTORY, &keys::name(node.as_str()))?;
            rows.map(|entry| decode(NODE_HISTORY.0, &entry?.1)).collect()
        })
    }

    /// Allocations that had been overtaken when they came into the log, oldest first.
    pub fn void_allocations(&self) -> Result<Vec<VoidAllocation>, LedgerError> {
        self.with(|store| {
            let view = store.read();
            let rows = view.scan(VOID, &[], None)?;
            rows.map(|entry| decode(VOID.0, &entry?.1)).collect()
        })
    }

    /// SHA-256 of all rows and the position: equal books have equal hashes, however they came about.
    pub fn hash(&self) -> Result<String, LedgerError> {
        self.with(|store| store.read().hash())
    }

    /// Checks the physical book against itself and against the records; what is wrong, in words (the first hundred).
    pub fn faults(&self) -> Result<Vec<String>, LedgerError> {
        Ok(self.check()?.1.faults)
    }

    /// Positions, hash and faults of one view.
    pub(crate) fn check(&self) -> Result<(Identity, Faults), LedgerError> {
        self.with(|store| {
            let view = store.read();
            let (position, detail) = (view.cursor()?.seq, view.detail_position()?);
            Ok((Identity { position, detail, hash: view.hash()? }, verify::check(&view)?))
        })
    }
}
