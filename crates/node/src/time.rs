//! Milliseconds of JavaScript as times: whatever the number is, there is one.

use std::time::Duration;

/// A time that does not come: 136 years.
pub(crate) const FOREVER: Duration = Duration::from_secs(u32::MAX as u64);

/// At most [`FOREVER`]; zero for what is negative or no number.
pub(crate) fn milliseconds(ms: f64) -> Duration {
    // `max` takes the other one of a number and none.
    Duration::from_secs_f64((ms / 1e3).max(0.0).min(FOREVER.as_secs_f64()))
}

/// `None`: none, not more than zero of them, or no end of them.
pub(crate) fn positive(ms: f64) -> Option<Duration> {
    (ms > 0.0 && ms.is_finite()).then(|| milliseconds(ms))
}
