//! What happened, for people: only kept where somebody wants to read it.

use daybook_log::clock::Clock;

use crate::clock::{DAWN, SkewedClock};

/// Lines with step and simulated time.
pub struct Trace {
    is_shown: bool,
    step: u32,
}

impl Trace {
    /// Shows every line on standard output, or none.
    pub fn new(is_shown: bool) -> Trace {
        Trace { is_shown, step: 0 }
    }

    /// The next step begins.
    pub fn next_step(&mut self) {
        self.step += 1;
    }

    /// The present step.
    pub fn step(&self) -> u32 {
        self.step
    }

    /// A line.
    pub fn say(&self, clock: &SkewedClock, line: impl FnOnce() -> String) {
        if self.is_shown {
            let passed = (clock.now().0 - DAWN.0) as f64 / 1e6;
            println!("{:>5} {passed:>10.3}s  {}", self.step, line());
        }
    }
}
