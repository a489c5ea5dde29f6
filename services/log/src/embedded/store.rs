//! The RocksDB database: column families, keys, and the reads and the one write that the log needs.
//!
//! | column family | key | value |
//! |---|---|---|
//! | `state`, `detail` | sequence number, 8 bytes big endian | the commit's record |
//! | `ids` | `s` or `d`, then the event id | sequence number |
//! | `subjects` | `s` or `d`, then the subject | sequence number of its last commit |
//! | `blobs` | SHA-256, 32 bytes | the blob |
//! | `meta` | `format` | version of this layout, 4 bytes big endian |
//! | `meta` | `end/s`, `end/d` | sequence number of the stream's last commit |
//! | `meta` | `note/NAME` | a text (a copy of a log on a bus: which streams it is of) |

use std::path::Path;
use std::sync::Arc;

use daybook_schemas::{BlobHash, Commit, EventId, Seq, Stream, Subject};
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamily, ColumnFamilyDescriptor, DB, DBCompressionType, DBRecoveryMode,
    Direction, ErrorKind, IteratorMode, LogLevel, Options, ReadOptions, WriteBatch, WriteOptions,
};

use super::record;
use crate::ReadError;
use crate::bounds::READ_BYTES_MAX;

const STATE: &str = "state";
const DETAIL: &str = "detail";
const IDS: &str = "ids";
const SUBJECTS: &str = "subjects";
const BLOBS: &str = "blobs";
const META: &str = "meta";

/// The version of the layout above that this program writes, and the newest that it reads.
pub(super) const LAYOUT_VERSION: u32 = 1;

const MIB: usize = 1 << 20;

/// Whether a database may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// By the owner of the directory.
    ReadWrite,
    /// A view of what is in its files now; touches nothing.
    ReadOnly,
}

/// An open database.
pub(super) struct Store {
    db: DB,
}

/// What one group of appends writes, all or nothing.
pub(super) struct Group<'a> {
    store: &'a Store,
    batch: WriteBatch,
}

impl Store {
    pub(super) fn open(dir: &Path, access: Access) -> Result<Store, rocksdb::Error> {
        let options = database_options();
        let db = match access {
            Access::ReadWrite => DB::open_cf_descriptors(&options, dir, families())?,
            Access::ReadOnly => DB::open_cf_descriptors_read_only(&options, dir, families(), false)?,
        };
        Ok(Store { db })
    }

    fn family(&self, name: &str) -> Result<&ColumnFamily, String> {
        self.db.cf_handle(name).ok_or_else(|| format!("the database has no column family {name}"))
    }

    fn get(&self, family: &str, key: &[u8]) -> Result<Option<rocksdb::DBPinnableSlice<'_>>, String> {
        self.db.get_pinned_cf(self.family(family)?, key).map_err(|error| error.into_string())
    }

    fn get_seq(&self, family: &str, key: &[u8]) -> Result<Option<Seq>, String> {
        match self.get(family, key)? {
            None => Ok(None),
            Some(value) => match <[u8; 8]>::try_from(value.as_ref()) {
                Ok(bytes) => Ok(Some(Seq(u64::from_be_bytes(bytes)))),
                Err(_) => Err(format!("a position in {family} has {} bytes instead of 8", value.len())),
            },
        }
    }

    /// The layout's version; `None` in a new database.
    pub(super) fn layout_version(&self) -> Result<Option<u32>, String> {
        match self.get(META, b"format")? {
            None => Ok(None),
            Some(value) => match <[u8; 4]>::try_from(value.as_ref()) {
                Ok(bytes) => Ok(Some(u32::from_be_bytes(bytes))),
                Err(_) => Err("the layout's version is damaged".to_string()),
            },
        }
    }

    /// Marks a new database with this program's layout.
    pub(super) fn write_layout_version(&self) -> Result<(), String> {
        let mut group = self.group();
        group.batch.put_cf(self.family(META)?, b"format", LAYOUT_VERSION.to_be_bytes());
        group.write().map_err(|error| error.into_string())
    }

    /// A text that was put with [`Group::put_note`].
    #[cfg(feature = "jetstream")]
    pub(super) fn note(&self, name: &str) -> Result<Option<String>, String> {
        Ok(self.get(META, &note_key(name))?.map(|text| String::from_utf8_lossy(&text).into_owned()))
    }

    /// The commit that has an event.
    pub(super) fn event(&self, stream: Stream, event: &EventId) -> Result<Option<Seq>, String> {
        self.get_seq(IDS, &keyed(stream, &event.0))
    }

    /// The last commit of a subject.
    pub(super) fn subject(&self, stream: Stream, subject: &Subject) -> Result<Option<Seq>, String> {
        self.get_seq(SUBJECTS, &keyed(stream, &subject.to_string()))
    }

    /// Every subject of a stream with its last commit.
    pub(super) fn subjects(&self, stream: Stream) -> Result<Vec<(Subject, Seq)>, String> {
        let prefix = [tag(stream)];
        let mut found = Vec::new();
        let rows =
            self.db.iterator_cf(self.family(SUBJECTS)?, IteratorMode::From(&prefix, Direction::Forward));
        for row in rows {
            let (key, value) = row.map_err(|error| error.into_string())?;
            if key.first() != Some(&prefix[0]) {
                break;
            }
            let text = String::from_utf8_lossy(&key[1..]).into_owned();
            let subject = text.parse().map_err(|error| format!("in the index of subjects: {error}"))?;
            let seq = <[u8; 8]>::try_from(value.as_ref()).map_err(|_| {
                format!("the position of subject {text} has {} bytes instead of 8", value.len())
            })?;
            found.push((subject, Seq(u64::from_be_bytes(seq))));
        }
        Ok(found)
    }

    /// The stream's last commit as counted beside the commits.
    pub(super) fn counted_end(&self, stream: Stream) -> Result<Seq, String> {
        Ok(self.get_seq(META, end_key(stream))?.unwrap_or(Seq::ZERO))
    }

    /// The sequence numbers of a stream's first and last record.
    pub(super) fn span(&self, stream: Stream) -> Result<Option<(Seq, Seq)>, String> {
        let family = self.family(commits_of(stream))?;
        let mut span = [Seq::ZERO; 2];
        for (place, mode) in span.iter_mut().zip([IteratorMode::Start, IteratorMode::End]) {
            match self.db.iterator_cf(family, mode).next() {
                None => return Ok(None),
                Some(row) => *place = seq_of(&row.map_err(|error| error.into_string())?.0)?,
            }
        }
        Ok(Some((span[0], span[1])))
    }

    /// Commits from `from` to `end`, at most `limit`. Those in front of a damaged one are given; a read that would
    /// begin with it fails.
    pub(super) fn read(
        &self,
        stream: Stream,
        from: Seq,
        end: Seq,
        limit: usize,
    ) -> Result<Vec<Arc<Commit>>, ReadError> {
        let family = self.family(commits_of(stream)).map_err(ReadError::Unavailable)?;
        let mut options = ReadOptions::default();
        options.set_verify_checksums(true);
        options.set_iterate_upper_bound(end.next().0.to_be_bytes());
        let start = from.0.to_be_bytes();
        let rows = self.db.iterator_cf_opt(family, options, IteratorMode::From(&start, Direction::Forward));
        let mut commits = Vec::new();
        let mut expected = from;
        let mut bytes = 0;
        let wanted = usize::try_from(end.next().0.saturating_sub(from.0)).unwrap_or(usize::MAX).min(limit);
        let mut rows = rows.take(wanted);
        while commits.len() < wanted {
            let step = match rows.next() {
                Some(row) => commit_at(stream, expected, row),
                None => Err(unreadable(stream, expected, "it is missing".to_string())),
            };
            match step {
                Ok((commit, size)) => {
                    commits.push(Arc::new(commit));
                    expected = expected.next();
                    bytes += size;
                }
                Err(_) if !commits.is_empty() => break,
                Err(error) => return Err(error),
            }
            if bytes > READ_BYTES_MAX {
                break;
            }
        }
        Ok(commits)
    }

    /// Whether there is a record at `seq`.
    pub(super) fn has_commit(&self, stream: Stream, seq: Seq) -> Result<bool, String> {
        Ok(self.get(commits_of(stream), &seq.0.to_be_bytes())?.is_some())
    }

    /// A blob, checked against its address.
    pub(super) fn blob(&self, hash: &BlobHash) -> Result<Option<Arc<[u8]>>, ReadError> {
        let Some(key) = blob_key(hash) else { return Ok(None) };
        match self.get(BLOBS, &key) {
            Ok(None) => Ok(None),
            Ok(Some(value)) if BlobHash::of(&value) == *hash => Ok(Some(Arc::from(value.as_ref()))),
            Ok(Some(_)) => Err(ReadError::DamagedBlob(hash.clone())),
            Err(why) if why.starts_with("Corruption") => Err(ReadError::DamagedBlob(hash.clone())),
            Err(why) => Err(ReadError::Unavailable(why)),
        }
    }

    /// Starts a group.
    pub(super) fn group(&self) -> Group<'_> {
        Group { store: self, batch: WriteBatch::default() }
    }
}

impl Group<'_> {
    /// Adds a commit's record and the rows of its events and subject.
    pub(super) fn put_commit<'e>(
        &mut self,
        stream: Stream,
        seq: Seq,
        record: &[u8],
        subject: &Subject,
        events: impl Iterator<Item = &'e EventId>,
    ) -> Result<(), String> {
        let value = seq.0.to_be_bytes();
        self.batch.put_cf(self.store.family(commits_of(stream))?, value, record);
        let ids = self.store.family(IDS)?;
        for event in events {
            self.batch.put_cf(ids, keyed(stream, &event.0), value);
        }
        self.batch.put_cf(self.store.family(SUBJECTS)?, keyed(stream, &subject.to_string()), value);
        Ok(())
    }

    /// Adds a blob.
    pub(super) fn put_blob(&mut self, hash: &BlobHash, bytes: &[u8]) -> Result<(), String> {
        let key = blob_key(hash).ok_or_else(|| format!("{hash} is no blob address"))?;
        self.batch.put_cf(self.store.family(BLOBS)?, key, bytes);
        Ok(())
    }

    /// Counts a stream's new end.
    pub(super) fn put_end(&mut self, stream: Stream, seq: Seq) -> Result<(), String> {
        self.batch.put_cf(self.store.family(META)?, end_key(stream), seq.0.to_be_bytes());
        Ok(())
    }

    /// Adds a text that stays with the store.
    #[cfg(feature = "jetstream")]
    pub(super) fn put_note(&mut self, name: &str, text: &str) -> Result<(), String> {
        self.batch.put_cf(self.store.family(META)?, note_key(name), text);
        Ok(())
    }

    /// Writes and syncs.
    pub(super) fn write(self) -> Result<(), rocksdb::Error> {
        let mut options = WriteOptions::default();
        options.set_sync(true);
        self.store.db.write_opt(self.batch, &options)
    }

    /// Writes without a sync: what a crash takes away is not missed.
    #[cfg(feature = "jetstream")]
    pub(super) fn write_unsynced(self) -> Result<(), rocksdb::Error> {
        self.store.db.write(self.batch)
    }
}

type Row = Result<(Box<[u8]>, Box<[u8]>), rocksdb::Error>;

fn commit_at(stream: Stream, expected: Seq, row: Row) -> Result<(Commit, usize), ReadError> {
    let (key, value) = row.map_err(|error| match error.kind() {
        ErrorKind::Corruption => unreadable(stream, expected, error.into_string()),
        _ => ReadError::Unavailable(error.into_string()),
    })?;
    let seq = seq_of(&key).map_err(|why| unreadable(stream, expected, why))?;
    if seq != expected {
        return Err(unreadable(stream, expected, format!("it is missing; the next record is commit {seq}")));
    }
    let commit = record::decode(seq, &value).map_err(|why| unreadable(stream, seq, why))?;
    Ok((commit, value.len()))
}

fn unreadable(stream: Stream, seq: Seq, why: String) -> ReadError {
    ReadError::Unreadable { stream, seq, why }
}

fn seq_of(key: &[u8]) -> Result<Seq, String> {
    let bytes = <[u8; 8]>::try_from(key).map_err(|_| format!("a record's key has {} bytes", key.len()))?;
    Ok(Seq(u64::from_be_bytes(bytes)))
}

fn commits_of(stream: Stream) -> &'static str {
    match stream {
        Stream::State => STATE,
        Stream::Detail => DETAIL,
    }
}

fn tag(stream: Stream) -> u8 {
    match stream {
        Stream::State => b's',
        Stream::Detail => b'd',
    }
}

fn end_key(stream: Stream) -> &'static [u8] {
    match stream {
        Stream::State => b"end/s",
        Stream::Detail => b"end/d",
    }
}

#[cfg(feature = "jetstream")]
fn note_key(name: &str) -> Vec<u8> {
    [b"note/", name.as_bytes()].concat()
}

fn keyed(stream: Stream, text: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + text.len());
    key.push(tag(stream));
    key.extend_from_slice(text.as_bytes());
    key
}

/// The 32 bytes that an address stands for; `None` where it is no address at all.
fn blob_key(hash: &BlobHash) -> Option<[u8; 32]> {
    let digits = hash.0.as_bytes();
    let nibble = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    if digits.len() != 64 {
        return None;
    }
    let mut key = [0; 32];
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
    }
    Some(key)
}

fn database_options() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_paranoid_checks(true);
    // An unfinished record at the very end is a write that was never acknowledged; anything else is damage. (One
    // damage cannot be told from it: a record's length that grew past the end of the file. It then ends the log
    // early, which the positions recorded by projections find.)
    options.set_wal_recovery_mode(DBRecoveryMode::TolerateCorruptedTailRecords);
    // A synced write-ahead file that is gone or cut short is found when the database is opened.
    options.set_track_and_verify_wals_in_manifest(true);
    // The whole group reaches the file in one write at its sync. And a failed write then stops the database for
    // good, instead of it coming back by itself while nobody knows what became of the group: see `resume`.
    options.set_manual_wal_flush(true);
    // Column families go to their tables together, so that no crash can make them disagree.
    options.set_atomic_flush(true);
    // Also bounds what a start must recover, and the space that coming back on a full disk takes.
    options.set_db_write_buffer_size(32 * MIB);
    options.set_max_total_wal_size(32 * MIB as u64);
    options.set_max_background_jobs(2);
    options.set_max_open_files(512);
    options.set_bytes_per_sync(MIB as u64);
    options.set_log_level(LogLevel::Warn);
    options.set_keep_log_file_num(4);
    options.set_max_log_file_size(4 * MIB);
    options.set_stats_dump_period_sec(0);
    options
}

fn families() -> Vec<ColumnFamilyDescriptor> {
    let cache = Cache::new_lru_cache(32 * MIB);
    let table = |bloom: bool| {
        let mut table = BlockBasedOptions::default();
        table.set_block_cache(&cache);
        table.set_block_size(16 << 10);
        if bloom {
            table.set_bloom_filter(10.0, false);
            table.set_whole_key_filtering(true);
        }
        table
    };
    let family = |write_buffer: usize, bloom: bool| {
        let mut options = Options::default();
        options.set_write_buffer_size(write_buffer);
        options.set_compression_type(DBCompressionType::Lz4);
        options.set_block_based_table_factory(&table(bloom));
        options
    };
    let mut ids = family(8 * MIB, true);
    ids.set_memtable_prefix_bloom_ratio(0.05);
    ids.set_memtable_whole_key_filtering(true);
    let mut blobs = family(8 * MIB, true);
    blobs.set_enable_blob_files(true);
    blobs.set_min_blob_size(4 << 10);
    blobs.set_blob_compression_type(DBCompressionType::Lz4);
    vec![
        // RocksDB has it always; nothing is in it.
        ColumnFamilyDescriptor::new("default", family(MIB, false)),
        ColumnFamilyDescriptor::new(STATE, family(8 * MIB, false)),
        ColumnFamilyDescriptor::new(DETAIL, family(8 * MIB, false)),
        ColumnFamilyDescriptor::new(IDS, ids),
        ColumnFamilyDescriptor::new(SUBJECTS, family(4 * MIB, true)),
        ColumnFamilyDescriptor::new(BLOBS, blobs),
        ColumnFamilyDescriptor::new(META, family(4 * MIB, false)),
    ]
}
