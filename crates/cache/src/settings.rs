//! What the operator sets.

use std::time::Duration;

/// Which responses are stored, of those that may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// None; nothing is answered from the cache.
    #[default]
    Off,
    /// Those that say how long they are fresh: the application gave a duration, or `Cache-Control` or
    /// `Expires` says so.
    Asked,
    /// Beside them, those that say nothing about it, for this long.
    All(Duration),
}

/// The limits and habits of one cache.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which responses are stored.
    pub mode: Mode,
    /// Bytes of all entries together, and of the responses that are being collected. Where one more
    /// would not fit, the entries that were used longest ago leave. Not counted are the heads of requests that lead: there
    /// are no more of them than the server handles at once.
    pub max_bytes: usize,
    /// Bytes of one response, its head included.
    pub max_entry_bytes: usize,
    /// Responses of one URI that `Vary` tells apart; as many different ones may be awaited.
    pub max_variants: usize,
    /// Requests that wait for the response to another one, all together.
    pub max_waiters: usize,
    /// How long they wait at most, counted from the first of them. For a response that has begun they wait half a second
    /// from its head on, and nobody who comes later waits for it.
    pub flight_limit: Duration,
    /// After a response that could not be stored, requests for the same go to the application at once
    /// for this long, instead of waiting for each other.
    pub uncacheable_for: Duration,
    /// In the last tenth of an entry's life one request goes to the application and renews it, so that
    /// under load nobody waits when it ends.
    pub early_refresh: bool,
    /// Heeds the `Cache-Control` and `Pragma` of requests. RFC 9111, section 5.2.1 leaves that to the
    /// cache, and this one speaks for the origin itself: what it sends is what the application
    /// would have it send. A browser's reload, or one field that anybody can add to a flood of
    /// requests, would otherwise take the cache away from in front of the application. So this is off,
    /// `no-store` included: that speaks of the client's secrets, and responses to requests with
    /// credentials have rules of their own. `max-stale` allows, it asks for nothing, and
    /// is not made use of.
    pub obey_requests: bool,
    /// The application does not see `If-None-Match` and `If-Modified-Since` of a request that leads, so
    /// that it answers in full, which it always may. Unless that is so, a request with one of them leads
    /// nobody: a 304 cannot be stored.
    pub hides_conditions: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::Off,
            max_bytes: 64 * 1024 * 1024,
            max_entry_bytes: 256 * 1024,
            max_variants: 16,
            max_waiters: 16 * 1024,
            flight_limit: Duration::from_secs(5),
            uncacheable_for: Duration::from_secs(5),
            early_refresh: true,
            obey_requests: false,
            hides_conditions: false,
        }
    }
}
