//! Every limit of the log, in one place.

use std::time::Duration;

/// The longest event id, in bytes.
pub const EVENT_ID_BYTES_MAX: usize = 128;
/// The largest commit in its canonical form, in bytes.
pub const COMMIT_BYTES_MAX: usize = 32 << 20;
/// The most blobs that one append brings.
pub const BLOBS_MAX: usize = 4096;
/// The largest blob, in bytes.
pub const BLOB_BYTES_MAX: usize = 64 << 20;

/// The most commits that one read gives, whatever its limit says.
pub const READ_COMMITS_MAX: usize = 4096;
/// A read ends early once its commits have this many bytes; it gives at least one commit.
pub const READ_BYTES_MAX: usize = 16 << 20;
/// Reads of up to this many commits are done where they are asked; larger ones on a thread for blocking work.
pub const READ_INLINE_MAX: usize = 16;

/// Appends that wait for the writer, in KiB, all together; more of them wait in their callers.
pub const QUEUE_KIB: usize = 64 << 10;
/// What the smallest append counts for in the queue, in KiB: so at most 16,384 wait.
pub const QUEUE_KIB_EACH: usize = 4;
/// The most appends that share one sync.
pub const GROUP_APPENDS_MAX: usize = 1024;
/// A group takes no further append once it has this many bytes.
pub const GROUP_BYTES_MAX: usize = 8 << 20;

/// Recent commits kept decoded, for each stream.
pub const RECENT_COMMITS_MAX: usize = 4096;
/// Recent commits kept decoded, for each stream, by their canonical bytes.
pub const RECENT_BYTES_MAX: usize = 32 << 20;

/// Commits at the end of each stream whose indexes are checked when the log is opened.
pub const TAIL_CHECKED: u64 = 16;

/// After a failed write: the first wait before the log tries to come back.
pub const RESUME_DELAY_MIN: Duration = Duration::from_millis(200);
/// After a failed write: the longest wait between tries.
pub const RESUME_DELAY_MAX: Duration = Duration::from_secs(4);
/// Free space that the log wants before it tries to come back, in bytes, beside the size of its write-ahead files.
pub const RESUME_SPACE: u64 = 1 << 20;

/// Commits folded before a projection publishes a snapshot.
pub const FOLD_BATCH: usize = 512;
/// A projection whose read was turned away tries again after this long at first.
pub const FOLD_RETRY_MIN: Duration = Duration::from_millis(50);
/// A projection whose read was turned away waits at most this long.
pub const FOLD_RETRY_MAX: Duration = Duration::from_secs(2);

/// On a bus: how long an append goes on trying before its caller is told that it cannot be done, or is unknown.
pub const BUS_APPEND_PATIENCE: Duration = Duration::from_secs(20);
/// On a bus: how long one message may wait for its acknowledgement.
pub const BUS_ACK_PATIENCE: Duration = Duration::from_secs(4);
/// On a bus: the first pause between tries.
pub const BUS_PAUSE_MIN: Duration = Duration::from_millis(20);
/// On a bus: the longest pause between tries.
pub const BUS_PAUSE_MAX: Duration = Duration::from_secs(1);
/// On a bus: messages that are added to the copy together.
pub const BUS_BATCH_MESSAGES_MAX: usize = 512;
/// On a bus: bytes that are added to the copy together.
pub const BUS_BATCH_BYTES_MAX: usize = 8 << 20;
/// On a bus: room in a message beside the events, in bytes.
pub const BUS_HEADER_BYTES: usize = 4096;
/// On a bus: blobs that are brought at once by one append.
pub const BUS_BLOBS_AT_ONCE: usize = 16;
/// Ids of a node's own events that its agent keeps.
pub const NODE_EVENTS_MAX: usize = 200_000;
/// On a bus: after so long without a message the stream's end is asked for.
pub const BUS_SILENCE: Duration = Duration::from_secs(1);
/// Events that an agent asks for in one question.
pub const NODE_QUESTION_EVENTS_MAX: usize = 1000;
/// On a bus: events of unknown outcome that are remembered until they are looked up.
pub const BUS_UNSETTLED_MAX: usize = 100_000;
