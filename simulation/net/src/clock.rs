//! The simulated clock: it stands still but for what the driver advances it by, and a few nanoseconds for each look.

#[path = "../../../crates/net/src/clock.rs"]
pub mod system;

pub use system::{Clock, Nanos};

use crate::network::with_network;

/// In place of the system's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Monotonic;

impl Monotonic {
    /// Creates a clock of this thread's network.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "the same interface as the real one")]
    pub fn new() -> Self {
        Self
    }
}

impl Clock for Monotonic {
    fn now(&self) -> Nanos {
        with_network(|network| network.look_at_clock())
    }
}

/// Seconds since 1970: those of the monotonic clock, from some day on.
#[must_use]
pub fn wall_seconds() -> i64 {
    const DAY: u64 = 1_700_000_000;
    with_network(|network| (DAY + network.now.0 / 1_000_000_000) as i64)
}
