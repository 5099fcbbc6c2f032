//! Whether a peer sends or takes bytes as fast as it has to.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Duration;

use millrace_net::Nanos;
use millrace_net::socket::Socket;

use super::Connection;
use super::channel::Channel;

/// Bytes that a socket was given and its peer has not taken; `None`: the system does not say.
pub type Unacknowledged = fn(BorrowedFd<'_>) -> Option<u64>;

impl Connection {
    /// A body arrives at less than `rate` bytes per second, on average since its request began or the caller wanted more
    /// of it.
    pub(crate) fn receives_slowly(&self, rate: f64, grace: Duration, now: Nanos) -> bool {
        let reads = self.session.is_in_body() && !self.lane.paused;
        reads
            && self.lane.incoming.arriving_since != Nanos::NEVER
            && is_below(rate, self.lane.incoming.arrived, now.since(self.lane.incoming.arriving_since), grace)
            // What has arrived and was not read yet is not missing.
            && !self.channel.has_unread()
    }
}

impl Channel {
    /// The peer takes less than `rate` bytes per second of what waits for it. Counted from the first call
    /// that finds bytes waiting. What the system has taken, the peer may not have.
    pub(crate) fn sends_slowly(
        &mut self,
        rate: f64,
        grace: Duration,
        now: Nanos,
        unacknowledged: Unacknowledged,
    ) -> bool {
        if self.queued() == 0 {
            self.waiting_since = Nanos::NEVER;
            return false;
        }
        let options = self.transport.socket().map(Socket::options);
        let kept = options.and_then(|socket| unacknowledged(socket.as_fd()));
        let waits = kept.unwrap_or(0).saturating_add(self.transport.unsent() as u64);
        // What systems count of Unix sockets is more than their bytes.
        let taken = self.given.cast_signed().saturating_sub_unsigned(waits);
        if self.waiting_since == Nanos::NEVER {
            self.waiting_since = now;
            self.taken_before = taken;
        }
        let since = taken.saturating_sub(self.taken_before).max(0).cast_unsigned();
        // A peer that has taken all that it was offered waits for us.
        kept != Some(0) && is_below(rate, since, now.since(self.waiting_since), grace)
    }
}

fn is_below(rate: f64, bytes: u64, time: Duration, grace: Duration) -> bool {
    rate > 0.0 && time > grace && (bytes as f64) < rate * time.as_secs_f64()
}
