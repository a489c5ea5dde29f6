//! The clock, injected.

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
