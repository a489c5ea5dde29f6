//! The clock, injected.

use std::sync::atomic::{AtomicI64, Ordering};

use daybook_schemas::UtcMicros;

/// Where instants come from.
pub trait Clock: Send + Sync + 'static {
    /// The present instant.
    fn now(&self) -> UtcMicros;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> UtcMicros {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        UtcMicros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

/// A clock that stands until it is moved: for tests and simulation. It may be moved back.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at `now`.
    pub fn at(now: UtcMicros) -> ManualClock {
        ManualClock(AtomicI64::new(now.0))
    }

    /// Moves the clock to `now`.
    pub fn set(&self, now: UtcMicros) {
        self.0.store(now.0, Ordering::Relaxed);
    }

    /// Moves the clock by microseconds (may be negative).
    pub fn advance_micros(&self, micros: i64) {
        self.0.fetch_add(micros, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> UtcMicros {
        UtcMicros(self.0.load(Ordering::Relaxed))
    }
}
