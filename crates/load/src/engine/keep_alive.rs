//! After which time a server closes idle connections, as far as it shows.

use std::time::Duration;

/// Shorter limits do not occur; a server that ends closes connections that were idle for a moment.
const MIN_LIMIT: Duration = Duration::from_millis(100);

/// What a server's closing of idle connections says about its limit for them. A request that is sent at the end of that time
/// crosses the end of the connection on the network, which is no fault of the server.
#[derive(Debug, Default)]
pub(crate) struct KeepAlive {
    /// How long the last connection had been idle that the server closed.
    last: Option<Duration>,
    /// The limit, once two connections agree about it.
    limit: Option<Duration>,
}

impl KeepAlive {
    /// The server has closed a connection that had been idle for this time.
    pub(crate) fn closed(&mut self, idle: Duration) {
        if idle < MIN_LIMIT {
            return;
        }
        let agrees = self.last.is_some_and(|last| last.abs_diff(idle) <= idle / 10);
        if agrees {
            self.limit = self.last.map(|last| last.min(idle));
        }
        self.last = Some(idle);
    }

    /// Whether the server may close a connection that has been idle for this time while a request is on its way. One that
    /// is open after far more than the limit shows that there is none.
    pub(crate) fn is_nearly_over(&mut self, idle: Duration) -> bool {
        let Some(limit) = self.limit else { return false };
        if idle > limit + limit / 2 {
            self.limit = None;
        }
        self.limit.is_some() && idle > limit - limit / 5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_limit_is_known_when_two_connections_agree() {
        let mut keep_alive = KeepAlive::default();
        assert!(!keep_alive.is_nearly_over(ms(5000)));
        for idle in [3000, 5000] {
            keep_alive.closed(ms(idle));
            assert!(!keep_alive.is_nearly_over(ms(4990)), "{idle}");
        }
        keep_alive.closed(ms(5010));
        assert!(keep_alive.is_nearly_over(ms(4001)));
        assert!(!keep_alive.is_nearly_over(ms(3999)));
    }

    #[test]
    fn a_server_that_ends_has_no_limit() {
        let mut keep_alive = KeepAlive::default();
        (0..10).for_each(|_| keep_alive.closed(ms(3)));
        assert!(!keep_alive.is_nearly_over(ms(3)));
    }

    #[test]
    fn a_connection_that_is_open_for_longer_disproves_a_limit() {
        let mut keep_alive = KeepAlive::default();
        (0..2).for_each(|_| keep_alive.closed(ms(1000)));
        assert!(keep_alive.is_nearly_over(ms(1000)));
        assert!(!keep_alive.is_nearly_over(ms(1600)));
        assert!(!keep_alive.is_nearly_over(ms(1000)));
    }
}
