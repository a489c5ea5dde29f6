//! Simulated time, and clocks that differ from it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use daybook_log::clock::Clock;
use daybook_schemas::UtcMicros;
use tokio::time::Instant;

/// Where the simulated time begins.
pub const DAWN: UtcMicros = UtcMicros(1_800_000_000_000_000);

/// A machine's clock: the simulated time (tokio's, which stands still but for the simulation's own steps), and how far
/// this machine is off. It may be set at any moment, also back.
#[derive(Debug)]
pub struct SkewedClock {
    began: Instant,
    skew_micros: AtomicI64,
}

impl SkewedClock {
    /// A right clock. Must be called inside the simulation's runtime, all at its beginning `began`.
    pub fn new(began: Instant) -> Arc<SkewedClock> {
        Arc::new(SkewedClock { began, skew_micros: AtomicI64::new(0) })
    }

    /// Sets it wrong (or, with 0, right).
    pub fn set_skew(&self, micros: i64) {
        self.skew_micros.store(micros, Ordering::Relaxed);
    }
}

impl Clock for SkewedClock {
    fn now(&self) -> UtcMicros {
        let passed = i64::try_from(self.began.elapsed().as_micros()).unwrap_or(i64::MAX);
        UtcMicros(DAWN.0 + passed + self.skew_micros.load(Ordering::Relaxed))
    }
}
