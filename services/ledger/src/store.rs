//! The ledger's database: one directory, one table for each kind of row.

use std::path::{Path, PathBuf};

use daybook_schemas::billing::{BillingRule, BillingWeights};
use daybook_schemas::events::ClusterConfigured;
use daybook_schemas::job::{MemoryRequest, TimeLimit};
use daybook_schemas::node::{AccountingEnforcement, PartitionDefinition, ReturnToService};
use daybook_schemas::{Seq, UtcMicros};
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamily, ColumnFamilyDescriptor, DB, DBCompressionType, Direction,
    IteratorMode, Options, ReadOptions, Snapshot, WriteBatch, WriteOptions,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::LedgerError;
use crate::rows::{META, Row, TABLES, Table};

/// The version of rows and rules. A database of another version is posted again from the log.
pub(crate) const SCHEMA: u32 = 4;

const SCHEMA_KEY: &[u8] = b"schema";
const CURSOR_KEY: &[u8] = b"cursor";
const CLUSTER_KEY: &[u8] = b"cluster";
const DETAIL_CURSOR_KEY: &[u8] = b"detail_cursor";

/// Up to where the log is posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cursor {
    pub(crate) seq: Seq,
    /// The log's time there.
    pub(crate) time: UtcMicros,
}

/// The few figures of the configuration that records need.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClusterRow {
    pub(crate) name: String,
    pub(crate) default_memory: Option<MemoryRequest>,
    pub(crate) min_job_age: u64,
    /// `AccountingStorageEnforce` has `nojobs`, `nosteps`.
    #[serde(default)]
    pub(crate) leaves_jobs_out: bool,
    #[serde(default)]
    pub(crate) leaves_steps_out: bool,
    #[serde(default)]
    pub(crate) billing_rule: BillingRule,
    #[serde(default)]
    pub(crate) return_to_service: ReturnToService,
    pub(crate) partitions: std::collections::BTreeMap<String, PartitionRow>,
    /// The first registration of any node, in whole seconds.
    pub(crate) registered_since: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PartitionRow {
    pub(crate) default_time: TimeLimit,
    pub(crate) default_memory: Option<MemoryRequest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) billing_weights: Option<BillingWeights>,
}

impl PartitionRow {
    pub(crate) fn of(partition: &PartitionDefinition) -> PartitionRow {
        PartitionRow {
            default_time: partition.default_time.unwrap_or(partition.max_time),
            default_memory: partition.default_memory,
            billing_weights: partition.billing_weights.clone(),
        }
    }
}

impl ClusterRow {
    pub(crate) fn configure(&mut self, data: &ClusterConfigured) {
        self.name.clone_from(&data.cluster_name);
        self.default_memory = data.parameters.default_memory;
        self.billing_rule =
            data.parameters.priority.as_ref().map_or(BillingRule::Sum, |priority| priority.billing_rule());
        self.min_job_age = data.parameters.min_job_age.0;
        self.leaves_jobs_out = data.parameters.enforces(AccountingEnforcement::NoJobs);
        self.leaves_steps_out = data.parameters.enforces(AccountingEnforcement::NoSteps);
        self.return_to_service = data.parameters.return_to_service;
        self.partitions =
            data.partitions.iter().map(|one| (one.name.clone(), PartitionRow::of(one))).collect();
    }
}

/// An open database.
pub(crate) struct Store {
    db: DB,
    dir: PathBuf,
}

impl Store {
    /// Opens the database below `dir`, or makes one. One of another schema version is thrown away first.
    pub(crate) fn open(dir: &Path) -> Result<Store, LedgerError> {
        let discarded = dir.join("discarded");
        let rows = dir.join("rows");
        let io = |error: std::io::Error| storage(dir, &error);
        std::fs::create_dir_all(dir).map_err(io)?;
        // What a kill in the middle of throwing away has left.
        if discarded.exists() {
            std::fs::remove_dir_all(&discarded).map_err(io)?;
        }
        if rows.join("CURRENT").exists()
            && let Some(found) = recorded_schema(&rows)?
            && found != SCHEMA
        {
            tracing::warn!(
                found,
                wanted = SCHEMA,
                "the ledger has rows of another version: it is posted again from the log"
            );
            std::fs::rename(&rows, &discarded).map_err(io)?;
            std::fs::remove_dir_all(&discarded).map_err(io)?;
        }
        let db = open_tables(&rows).map_err(|error| storage(&rows, &error))?;
        let store = Store { db, dir: rows };
        let schema = serde_json::to_vec(&SCHEMA).map_err(|error| damaged("schema", &error))?;
        store.db.put(SCHEMA_KEY, schema).map_err(|error| storage(&store.dir, &error))?;
        Ok(store)
    }

    /// The cursor of the database below `dir`, without opening it for writing; zero where there is none.
    pub(crate) fn recorded_cursor(dir: &Path) -> Result<Cursor, LedgerError> {
        let rows = dir.join("rows");
        if !rows.join("CURRENT").exists() {
            return Ok(Cursor::default());
        }
        Ok(read_meta(&rows, CURSOR_KEY)?.unwrap_or_default())
    }

    pub(crate) fn table(&self, table: Table) -> Result<&ColumnFamily, LedgerError> {
        self.db.cf_handle(table.0).ok_or_else(|| storage(&self.dir, &format!("it has no table {}", table.0)))
    }

    pub(crate) fn cursor(&self) -> Result<Cursor, LedgerError> {
        self.read().meta(CURSOR_KEY).map(Option::unwrap_or_default)
    }

    /// Everything as it is now, whatever is written meanwhile.
    pub(crate) fn read(&self) -> View<'_> {
        View { store: self, snapshot: self.db.snapshot() }
    }

    pub(crate) fn get<R: Row>(&self, key: &R::Key) -> Result<Option<R>, LedgerError> {
        let bytes = self
            .db
            .get_pinned_cf(self.table(R::TABLE)?, R::key(key))
            .map_err(|error| storage(&self.dir, &error))?;
        bytes.map(|bytes| decode(R::TABLE.0, &bytes)).transpose()
    }

    /// Up to where the detail stream is posted.
    pub(crate) fn detail_position(&self) -> Result<Seq, LedgerError> {
        self.read().detail_position()
    }

    /// Writes rows of the detail stream and its position, all or nothing, as [`Store::write`] does.
    pub(crate) fn write_detail(&self, mut batch: WriteBatch, position: Seq) -> Result<(), LedgerError> {
        batch.put(DETAIL_CURSOR_KEY, encode(&position)?);
        self.write_batch(batch)
    }

    /// Writes the rows and the cursor, all or nothing. Not synced: after a power cut the ledger continues from an earlier
    /// cursor, whose rows are those of that time.
    pub(crate) fn write(
        &self,
        mut batch: WriteBatch,
        cursor: Cursor,
        cluster: Option<&ClusterRow>,
    ) -> Result<(), LedgerError> {
        batch.put(CURSOR_KEY, encode(&cursor)?);
        if let Some(cluster) = cluster {
            batch.put(CLUSTER_KEY, encode(cluster)?);
        }
        self.write_batch(batch)
    }

    fn write_batch(&self, batch: WriteBatch) -> Result<(), LedgerError> {
        let mut options = WriteOptions::default();
        options.set_sync(false);
        self.db.write_opt(batch, &options).map_err(|error| storage(&self.dir, &error))
    }
}

/// A consistent view of all tables.
pub(crate) struct View<'a> {
    store: &'a Store,
    snapshot: Snapshot<'a>,
}

impl View<'_> {
    pub(crate) fn cursor(&self) -> Result<Cursor, LedgerError> {
        self.meta(CURSOR_KEY).map(Option::unwrap_or_default)
    }

    pub(crate) fn detail_position(&self) -> Result<Seq, LedgerError> {
        self.meta(DETAIL_CURSOR_KEY).map(Option::unwrap_or_default)
    }

    pub(crate) fn cluster(&self) -> Result<ClusterRow, LedgerError> {
        self.meta(CLUSTER_KEY).map(Option::unwrap_or_default)
    }

    fn meta<T: DeserializeOwned>(&self, key: &[u8]) -> Result<Option<T>, LedgerError> {
        let bytes = self.snapshot.get(key).map_err(|error| storage(&self.store.dir, &error))?;
        bytes.map(|bytes| decode(META.0, &bytes)).transpose()
    }

    pub(crate) fn get<R: Row>(&self, key: &R::Key) -> Result<Option<R>, LedgerError> {
        let table = self.store.table(R::TABLE)?;
        let bytes = self
            .snapshot
            .get_pinned_cf(table, R::key(key))
            .map_err(|error| storage(&self.store.dir, &error))?;
        bytes.map(|bytes| decode(R::TABLE.0, &bytes)).transpose()
    }

    /// Keys and values from `from` on, up to but without `until` (`None`: to the table's end).
    pub(crate) fn scan<'v>(
        &'v self,
        table: Table,
        from: &[u8],
        until: Option<Vec<u8>>,
    ) -> Result<impl Iterator<Item = Result<Entry, LedgerError>> + 'v, LedgerError> {
        let mut options = ReadOptions::default();
        if let Some(until) = until {
            options.set_iterate_upper_bound(until);
        }
        let dir = self.store.dir.clone();
        let mode = IteratorMode::From(from, Direction::Forward);
        let entries = self.snapshot.iterator_cf_opt(self.store.table(table)?, options, mode);
        Ok(entries.map(move |entry| entry.map_err(|error| storage(&dir, &error))))
    }

    /// Keys and values whose key begins with `prefix`.
    pub(crate) fn scan_prefix<'v>(
        &'v self,
        table: Table,
        prefix: &[u8],
    ) -> Result<impl Iterator<Item = Result<Entry, LedgerError>> + 'v, LedgerError> {
        self.scan(table, prefix, after_prefix(prefix))
    }

    /// The last entry whose key begins with `prefix` and is at most `key`.
    pub(crate) fn last_at(
        &self,
        table: Table,
        prefix: &[u8],
        key: &[u8],
    ) -> Result<Option<Entry>, LedgerError> {
        let mode = IteratorMode::From(key, Direction::Reverse);
        let mut entries = self.snapshot.iterator_cf(self.store.table(table)?, mode);
        let entry = entries.next().transpose().map_err(|error| storage(&self.store.dir, &error))?;
        Ok(entry.filter(|(key, _)| key.starts_with(prefix)))
    }

    /// SHA-256 of every key and value of every table.
    pub(crate) fn hash(&self) -> Result<String, LedgerError> {
        let mut digest = Sha256::new();
        for table in TABLES {
            digest.update(table.0.as_bytes());
            digest.update([0]);
            for entry in self.scan(table, &[], None)? {
                let (key, value) = entry?;
                digest.update((key.len() as u64).to_be_bytes());
                digest.update(&key);
                digest.update((value.len() as u64).to_be_bytes());
                digest.update(&value);
            }
        }
        Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// A key and its value.
pub(crate) type Entry = (Box<[u8]>, Box<[u8]>);

/// The first key behind all that begin with `prefix`.
pub(crate) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let keep = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut after = prefix[..=keep].to_vec();
    after[keep] += 1;
    Some(after)
}

pub(crate) fn encode<T: Serialize>(row: &T) -> Result<Vec<u8>, LedgerError> {
    serde_json::to_vec(row).map_err(|error| damaged(std::any::type_name::<T>(), &error))
}

pub(crate) fn decode<T: DeserializeOwned>(what: &str, bytes: &[u8]) -> Result<T, LedgerError> {
    serde_json::from_slice(bytes).map_err(|error| damaged(what, &error))
}

pub(crate) fn damaged(what: &str, why: &dyn std::fmt::Display) -> LedgerError {
    LedgerError::Damaged { what: what.to_string(), why: why.to_string() }
}

fn storage(dir: &Path, why: &dyn std::fmt::Display) -> LedgerError {
    LedgerError::Storage { dir: dir.display().to_string(), why: why.to_string() }
}

/// Absent: made a moment before a kill, with nothing in it.
fn recorded_schema(rows: &Path) -> Result<Option<u32>, LedgerError> {
    read_meta(rows, SCHEMA_KEY)
}

/// Reads of the first table only: another version may have other tables.
fn read_meta<T: DeserializeOwned>(rows: &Path, key: &[u8]) -> Result<Option<T>, LedgerError> {
    let db = DB::open_cf_for_read_only(&Options::default(), rows, [META.0], false)
        .map_err(|error| storage(rows, &error))?;
    let bytes = db.get(key).map_err(|error| storage(rows, &error))?;
    bytes.map(|bytes| decode(META.0, &bytes)).transpose()
}

fn open_tables(rows: &Path) -> Result<DB, rocksdb::Error> {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_max_open_files(512);
    options.set_keep_log_file_num(4);
    options.set_max_total_wal_size(64 << 20);
    let cache = Cache::new_lru_cache(64 << 20);
    let tables = TABLES.map(|table| {
        let mut blocks = BlockBasedOptions::default();
        blocks.set_block_cache(&cache);
        blocks.set_bloom_filter(10.0, false);
        let mut options = Options::default();
        options.set_block_based_table_factory(&blocks);
        options.set_compression_type(DBCompressionType::Lz4);
        options.set_write_buffer_size(8 << 20);
        ColumnFamilyDescriptor::new(table.0, options)
    });
    DB::open_cf_descriptors(&options, rows, tables)
}
