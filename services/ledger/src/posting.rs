//! One write batch in the making: rows that were read or changed since the last one, and what is only appended.

use std::collections::BTreeMap;

use daybook_schemas::Seq;
use rocksdb::WriteBatch;
use serde::Serialize;

use crate::error::LedgerError;
use crate::keys;
use crate::query::length_class;
use crate::rows::{
    JobRow, NodeRow, RECORDS_ENDED, RECORDS_OPEN, RecordKey, RecordRow, Row, RunRow, SubmissionRow, Table,
    UsageKey, UsageRow,
};
use crate::store::{ClusterRow, Cursor, Store, encode};

/// Rows of one kind, by key, as the database has them and as they are to be.
pub(crate) struct Pages<R: Row> {
    pages: BTreeMap<R::Key, Page<R>>,
}

struct Page<R> {
    before: Option<R>,
    now: Option<R>,
}

impl<R: Row> Pages<R> {
    fn new() -> Pages<R> {
        Pages { pages: BTreeMap::new() }
    }

    fn page(&mut self, store: &Store, key: &R::Key) -> Result<&mut Page<R>, LedgerError> {
        use std::collections::btree_map::Entry;
        match self.pages.entry(key.clone()) {
            Entry::Occupied(page) => Ok(page.into_mut()),
            Entry::Vacant(place) => {
                let before: Option<R> = store.get(key)?;
                Ok(place.insert(Page { now: before.clone(), before }))
            }
        }
    }

    fn write(&self, store: &Store, batch: &mut WriteBatch) -> Result<(), LedgerError> {
        let table = store.table(R::TABLE)?;
        for (key, page) in self.pages.iter().filter(|(_, page)| page.now != page.before) {
            match &page.now {
                Some(row) => batch.put_cf(table, R::key(key), encode(row)?),
                None => batch.delete_cf(table, R::key(key)),
            }
        }
        Ok(())
    }
}

/// Which set of pages has the rows of a kind.
pub(crate) trait Paged: Row {
    fn pages<'p>(posting: &'p mut Posting<'_>) -> &'p mut Pages<Self>;
}

macro_rules! paged {
    ($($row:ty: $pages:ident),*) => {$(
        impl Paged for $row {
            fn pages<'p>(posting: &'p mut Posting<'_>) -> &'p mut Pages<Self> {
                &mut posting.$pages
            }
        }
    )*};
}
paged!(SubmissionRow: submissions, JobRow: jobs, RecordRow: records, RunRow: runs, NodeRow: nodes);

/// A batch of the detail stream.
pub(crate) struct DetailPosting<'a> {
    store: &'a Store,
    usage: Pages<UsageRow>,
    /// Up to where it is posted.
    pub(crate) position: Seq,
}

impl<'a> DetailPosting<'a> {
    pub(crate) fn begin(store: &'a Store) -> Result<DetailPosting<'a>, LedgerError> {
        Ok(DetailPosting { store, usage: Pages::new(), position: store.detail_position()? })
    }

    /// What is known so far.
    pub(crate) fn usage(&mut self, key: &UsageKey) -> Result<UsageRow, LedgerError> {
        Ok(self.usage.page(self.store, key)?.now.clone().unwrap_or_default())
    }

    pub(crate) fn put_usage(&mut self, key: &UsageKey, row: UsageRow) -> Result<(), LedgerError> {
        self.usage.page(self.store, key)?.now = Some(row);
        Ok(())
    }

    /// Writes everything and gives the new position.
    pub(crate) fn finish(self) -> Result<Seq, LedgerError> {
        let mut batch = WriteBatch::default();
        self.usage.write(self.store, &mut batch)?;
        self.store.write_detail(batch, self.position)?;
        Ok(self.position)
    }
}

/// The batch.
pub(crate) struct Posting<'a> {
    store: &'a Store,
    batch: WriteBatch,
    submissions: Pages<SubmissionRow>,
    jobs: Pages<JobRow>,
    records: Pages<RecordRow>,
    runs: Pages<RunRow>,
    nodes: Pages<NodeRow>,
    /// The configuration's figures, and whether they changed.
    pub(crate) cluster: ClusterRow,
    cluster_before: ClusterRow,
    /// Up to where it is posted.
    pub(crate) cursor: Cursor,
}

impl<'a> Posting<'a> {
    pub(crate) fn begin(store: &'a Store) -> Result<Posting<'a>, LedgerError> {
        let view = store.read();
        let cluster = view.cluster()?;
        Ok(Posting {
            store,
            batch: WriteBatch::default(),
            submissions: Pages::new(),
            jobs: Pages::new(),
            records: Pages::new(),
            runs: Pages::new(),
            nodes: Pages::new(),
            cluster_before: cluster.clone(),
            cluster,
            cursor: view.cursor()?,
        })
    }

    /// A row as it is now.
    pub(crate) fn get<R: Paged>(&mut self, key: &R::Key) -> Result<Option<&R>, LedgerError> {
        let store = self.store;
        Ok(R::pages(self).page(store, key)?.now.as_ref())
    }

    /// Changes a row where there is one; gives what `change` gives.
    pub(crate) fn edit<R: Paged, T>(
        &mut self,
        key: &R::Key,
        change: impl FnOnce(&mut R) -> T,
    ) -> Result<Option<T>, LedgerError> {
        let store = self.store;
        Ok(R::pages(self).page(store, key)?.now.as_mut().map(change))
    }

    pub(crate) fn put<R: Paged>(&mut self, key: &R::Key, row: R) -> Result<(), LedgerError> {
        let store = self.store;
        R::pages(self).page(store, key)?.now = Some(row);
        Ok(())
    }

    /// Takes a row out; what is put back with [`Posting::put`] is as if it had stayed.
    pub(crate) fn take<R: Paged>(&mut self, key: &R::Key) -> Result<Option<R>, LedgerError> {
        let store = self.store;
        Ok(R::pages(self).page(store, key)?.now.take())
    }

    /// Appends a row that is never read while posting.
    pub(crate) fn append<T: Serialize>(
        &mut self,
        table: Table,
        key: &[u8],
        row: &T,
    ) -> Result<(), LedgerError> {
        let bytes = encode(row)?;
        self.batch.put_cf(self.store.table(table)?, key, bytes);
        Ok(())
    }

    /// Takes an appended row back.
    pub(crate) fn unappend(&mut self, table: Table, key: &[u8]) -> Result<(), LedgerError> {
        self.batch.delete_cf(self.store.table(table)?, key);
        Ok(())
    }

    /// The names of nodes that have a row.
    pub(crate) fn node_names(&mut self) -> Result<Vec<daybook_schemas::NodeName>, LedgerError> {
        let view = self.store.read();
        for entry in view.scan(crate::rows::NODES, &[], None)? {
            let (key, _) = entry?;
            let name = key.strip_suffix(&[0]).and_then(|name| std::str::from_utf8(name).ok());
            let name = name.ok_or_else(|| crate::store::damaged("nodes", &"a name is not text"))?;
            self.nodes.page(self.store, &name.into())?;
        }
        Ok(self
            .nodes
            .pages
            .iter()
            .filter(|(_, page)| page.now.is_some())
            .map(|(name, _)| name.clone())
            .collect())
    }

    /// Writes everything and gives the new position.
    pub(crate) fn finish(mut self) -> Result<Seq, LedgerError> {
        self.submissions.write(self.store, &mut self.batch)?;
        self.jobs.write(self.store, &mut self.batch)?;
        self.records.write(self.store, &mut self.batch)?;
        self.runs.write(self.store, &mut self.batch)?;
        self.nodes.write(self.store, &mut self.batch)?;
        self.index_records()?;
        let cluster = (self.cluster != self.cluster_before).then_some(&self.cluster);
        self.store.write(self.batch, self.cursor, cluster)?;
        Ok(self.cursor.seq)
    }

    /// Keeps the two indexes of records: those not ended by key, those ended by length class and end.
    fn index_records(&mut self) -> Result<(), LedgerError> {
        let open = self.store.table(RECORDS_OPEN)?;
        let ended = self.store.table(RECORDS_ENDED)?;
        for (key, page) in &self.records.pages {
            let before = page.before.as_ref().map(|row| IndexEntry::of(*key, row));
            let now = page.now.as_ref().map(|row| IndexEntry::of(*key, row));
            if before == now {
                continue;
            }
            match before {
                Some(IndexEntry::Open(key)) => self.batch.delete_cf(open, key),
                Some(IndexEntry::Ended(key, _)) => self.batch.delete_cf(ended, key),
                None => {}
            }
            match now {
                Some(IndexEntry::Open(key)) => self.batch.put_cf(open, key, []),
                Some(IndexEntry::Ended(key, from)) => self.batch.put_cf(ended, key, from),
                None => {}
            }
        }
        Ok(())
    }
}

/// Where a record stands in the indexes.
#[derive(PartialEq, Eq)]
enum IndexEntry {
    Open([u8; 8]),
    /// Key, and the begin as value.
    Ended([u8; 17], [u8; 8]),
}

impl IndexEntry {
    fn of(key: RecordKey, row: &RecordRow) -> IndexEntry {
        match row.span() {
            Some((from, Some(to))) => {
                IndexEntry::Ended(keys::ended(length_class(from, to), to, key), keys::seconds(from))
            }
            _ => IndexEntry::Open(keys::record(key)),
        }
    }
}
