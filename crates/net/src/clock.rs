//! Monotonic time.

use std::cell::Cell;
use std::ops::{Add, Sub};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

/// A point on a clock: nanoseconds since its origin. 584 years fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// A point that is never reached.
    pub const NEVER: Self = Self(u64::MAX);

    /// Returns the time since `earlier`, zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Nanos {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for Nanos {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// A source of time.
pub trait Clock {
    /// Returns the present time.
    fn now(&self) -> Nanos;
}

/// The system's monotonic clock. Copies share their origin, so that threads can compare times.
#[derive(Clone, Copy, Debug)]
pub struct Monotonic {
    origin: Instant,
}

impl Monotonic {
    /// Creates a clock whose origin is now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    #[expect(clippy::new_without_default, reason = "a default value should not read the time")]
    pub fn new() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Clock for Monotonic {
    fn now(&self) -> Nanos {
        Nanos::default() + self.origin.elapsed()
    }
}

/// Returns seconds since 1970 by the system's wall clock, which may jump: for comparison with dates in messages, not for
/// measuring.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub fn wall_seconds() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

/// A clock that tests advance.
#[derive(Clone, Debug, Default)]
pub struct ManualClock {
    now: Rc<Cell<Nanos>>,
}

impl ManualClock {
    /// Advances all copies of this clock.
    pub fn advance(&self, by: Duration) {
        self.now.set(self.now.get() + by);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Nanos {
        self.now.get()
    }
}
