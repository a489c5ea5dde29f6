use std::path::Path;
use std::sync::Arc;

use daybook_schemas::api::{AccountingAnswer, AccountingQuery, CapacityAnswer, CapacityQuery};
use daybook_schemas::{Commit, NodeName, Seq, UtcMicros};

use crate::error::LedgerError;
use crate::fold;
use crate::keys;
use crate::posting::Posting;
use crate::query::{self, QueryError};
use crate::rows::{NODE_HISTORY, NodeHistory, VOID, VoidAllocation};
use crate::store::{Store, decode};
use crate::verify::{self, Faults};

/// The ledger's rows without the log: what commits are posted to, and what questions are asked of. Blocking.
///
/// One writer: [`Book::post`] is called by one caller at a time; questions may be asked meanwhile.
pub struct Book {
    store: Store,
}

impl Book {
    /// Opens the book in this directory, or begins one. A book of another version is thrown away and begun again.
    pub fn open(dir: &Path) -> Result<Book, LedgerError> {
        Ok(Book { store: Store::open(dir)? })
    }

    /// The position that the book in this directory has recorded, without opening it; zero where there is none.
    pub fn recorded_position(dir: &Path) -> Result<Seq, LedgerError> {
        Ok(Store::recorded_cursor(dir)?.seq)
    }

    /// The last commit posted.
    pub fn position(&self) -> Result<Seq, LedgerError> {
        Ok(self.store.cursor()?.seq)
    }

    /// Posts the next commits: their rows and the position in one write batch, or nothing of them. The position after.
    pub fn post(&self, commits: &[Arc<Commit>]) -> Result<Seq, LedgerError> {
        let mut posting = Posting::begin(&self.store)?;
        for commit in commits {
            fold::post(&mut posting, commit)?;
        }
        posting.finish()
    }

    /// Answers sacct's question from what is posted.
    pub fn accounting(&self, query: &AccountingQuery, now: UtcMicros) -> Result<AccountingAnswer, QueryError> {
        query::accounting(&self.store.read(), query, now)
    }

    /// Answers a question about the physical book from what is posted.
    pub fn capacity(&self, query: &CapacityQuery, now: UtcMicros) -> Result<CapacityAnswer, QueryError> {
        query::capacity(&self.store.read(), query, now)
    }

    /// What happened to a node, oldest first: registrations, drains and downs with who and why.
    pub fn node_history(&self, node: &NodeName) -> Result<Vec<NodeHistory>, LedgerError> {
        let view = self.store.read();
        let rows = view.scan_prefix(NODE_HISTORY, &keys::name(node.as_str()))?;
        rows.map(|entry| decode(NODE_HISTORY.0, &entry?.1)).collect()
    }

    /// Allocations that had been overtaken when they came into the log, oldest first.
    pub fn void_allocations(&self) -> Result<Vec<VoidAllocation>, LedgerError> {
        let view = self.store.read();
        let rows = view.scan(VOID, &[], None)?;
        rows.map(|entry| decode(VOID.0, &entry?.1)).collect()
    }

    /// SHA-256 of all rows and the position: equal books have equal hashes, however they came about.
    pub fn hash(&self) -> Result<String, LedgerError> {
        self.store.read().hash()
    }

    /// Checks the physical book against itself and against the records; what is wrong, in words (the first hundred).
    pub fn faults(&self) -> Result<Vec<String>, LedgerError> {
        Ok(self.check()?.faults)
    }

    pub(crate) fn check(&self) -> Result<Faults, LedgerError> {
        verify::check(&self.store.read())
    }
}
