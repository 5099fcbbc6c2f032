//! Settings of a cache.

use std::time::Duration;

/// Which of the cacheable responses are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// None; nothing is answered from the cache.
    #[default]
    Off,
    /// Responses with an explicit lifetime: from the application, `Cache-Control` or `Expires`.
    Asked,
    /// These, and responses without an explicit lifetime, for this long.
    All(Duration),
}

/// Limits and behavior of one cache.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which responses are stored.
    pub mode: Mode,
    /// Maximum total size in bytes of the entries and of the responses that are being received; least recently used
    /// entries are evicted. The heads of requests that fill do not count: the server handles only so many at once.
    pub max_bytes: usize,
    /// Maximum size in bytes of one response with its head.
    pub max_entry_bytes: usize,
    /// Maximum number of variants (`Vary`) of one URI, and of their fills that requests wait for.
    pub max_variants: usize,
    /// Maximum number of waiting requests.
    pub max_waiters: usize,
    /// Maximum waiting time, counted from the first request that waits for a fill. Once the response has begun, requests
    /// wait at most half a second from its head on, and later requests do not wait for it.
    pub max_wait: Duration,
    /// Duration of a hit for miss: after a response that could not be stored, requests for the same key bypass the cache
    /// for this long instead of waiting for each other.
    pub uncacheable_for: Duration,
    /// In the last tenth of an entry's lifetime, one request renews it, so that under load no request waits when the
    /// lifetime ends.
    pub early_refresh: bool,
    /// Obeys the `Cache-Control` and `Pragma` of requests, which RFC 9111, section 5.2.1 leaves to the cache. Off by
    /// default, `no-store` included: this cache is part of the origin server, and a browser's reload, or a flood of
    /// requests with one such field, would bypass it. Responses to requests with credentials have rules of their own.
    /// `max-stale` is a permission, which this cache does not use.
    pub obey_requests: bool,
    /// The caller removes `If-None-Match` and `If-Modified-Since` from requests that fill, so that the application answers
    /// in full, which is always allowed. Otherwise no request waits for the fill of a request with one of them: a 304
    /// cannot be stored.
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
            max_wait: Duration::from_secs(5),
            uncacheable_for: Duration::from_secs(5),
            early_refresh: true,
            obey_requests: false,
            hides_conditions: false,
        }
    }
}
