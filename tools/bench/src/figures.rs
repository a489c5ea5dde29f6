//! Rates and percentiles, rounded to what they are worth.

use std::time::Duration;

use serde_json::{Value, json};

/// How many per second.
pub fn rate(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64().max(1e-9)
}

/// To three significant digits.
pub fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powi(2 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

/// Milliseconds.
pub fn milliseconds(took: Duration) -> f64 {
    rounded(took.as_secs_f64() * 1000.0)
}

/// p50, p99 and the longest of some times, in milliseconds.
pub fn percentiles(mut times: Vec<Duration>) -> Value {
    times.sort();
    let at = |part: usize| times.get((times.len() * part / 100).min(times.len().saturating_sub(1))).copied();
    let value = |part| milliseconds(at(part).unwrap_or_default());
    json!({ "p50_ms": value(50), "p99_ms": value(99), "max_ms": value(100), "count": times.len() })
}
