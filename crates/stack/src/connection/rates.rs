//! Whether a peer sends or takes bytes as fast as it has to.

use std::time::Duration;

use millrace_net::Nanos;

use super::{Connection, Phase};

impl Connection {
    /// A body arrives at less than `rate` bytes per second, on average since its request began.
    pub(crate) fn receives_slowly(&self, rate: f64, grace: Duration, now: Nanos) -> bool {
        let reads = matches!(self.phase, Phase::Body(_)) && !self.paused;
        reads
            && self.began != Nanos::NEVER
            && is_below(rate, self.arrived, now.since(self.began), grace)
    }

    /// The peer takes less than `rate` bytes per second of what waits for it. Counted from the first call
    /// that finds bytes waiting.
    pub(crate) fn sends_slowly(&mut self, rate: f64, grace: Duration, now: Nanos) -> bool {
        if self.queued() == 0 {
            return false;
        }
        if [Nanos::default(), Nanos::NEVER].contains(&self.waiting_since) {
            self.waiting_since = now;
            self.left = 0;
        }
        is_below(rate, self.left, now.since(self.waiting_since), grace)
    }
}

fn is_below(rate: f64, bytes: u64, time: Duration, grace: Duration) -> bool {
    rate > 0.0 && time > grace && (bytes as f64) < rate * time.as_secs_f64()
}
