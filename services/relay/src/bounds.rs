//! Every limit of relaying, in one place.

use std::time::Duration;

/// How far a statement's time may be from the clock of the daemon that verifies it, in seconds, either way.
pub const AGE_SECONDS_MAX: i64 = 60;
/// Exchanges of one relay that a daemon remembers, so that none is taken twice; more within two minutes are turned away.
pub const REMEMBERED_MAX: usize = 1 << 18;
/// The longest statement with its signature, in bytes: a path with its query makes most of it.
pub const STATEMENT_BYTES_MAX: usize = 128 << 10;
/// The longest name of a user, a group or a relay, in bytes.
pub const NAME_BYTES_MAX: usize = 255;

/// The largest piece of a body, in bytes.
pub const PIECE_BYTES: usize = 256 << 10;
/// A body of up to so many bytes goes with the opening.
pub const INLINE_BYTES: usize = 64 << 10;
/// Pieces that may be under way in one direction: 8 MiB.
pub const WINDOW_PIECES: u64 = 32;
/// Who receives says so after so many pieces.
pub const RECEIVED_EVERY: u64 = 8;
/// Frames that wait for their reader: the window, and what stands around pieces.
pub const FRAMES_WAITING_MAX: usize = WINDOW_PIECES as usize + 4;

/// Each side of an exchange says so often that it is there.
pub const BEAT: Duration = Duration::from_secs(2);
/// A side that has not been heard for so long is gone.
pub const SILENCE_MAX: Duration = Duration::from_secs(8);
/// How long a client may take to send its request's body.
pub const BODY_PATIENCE: Duration = Duration::from_secs(30);
/// How long open exchanges may take when a daemon stops serving.
pub const STOP_PATIENCE: Duration = Duration::from_secs(5);
/// The pause before a subscription that could not be made is tried again.
pub const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Exchanges of a relay that are open at once; more wait in their connections.
pub const LOGIN_EXCHANGES_MAX: usize = 512;
/// Exchanges that a daemon has open at once; more are turned away.
pub const SERVED_EXCHANGES_MAX: usize = 4096;
/// Bodies of requests in memory, in KiB, on either side; more wait.
pub const BODIES_KIB_MAX: u32 = 256 << 10;
