//! The limits of one server.

use std::time::Duration;

pub use millrace_http::h1::HeadLimits;

pub use crate::connection::session::Http2Settings;
pub use crate::keep_alive::KeepAlive;

/// What a server asks of its connections. May change at any time; connections see the change with
/// their next request.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Limits of a request's head.
    pub head: HeadLimits,
    /// Requests of one connection that are with the caller at once; the next ones wait unread.
    pub max_pipelined: u32,
    /// How long a connection may be idle between two requests; `None`: for ever.
    pub keep_alive: Option<Duration>,
    /// Small segments are sent at once.
    pub no_delay: bool,
    /// TCP's own probes; `None`: none.
    pub tcp_keep_alive: Option<KeepAlive>,
    /// What answers from the cache say about `keep_alive`, in seconds; `None`: nothing.
    pub keep_alive_told: Option<u32>,
    /// The output cache.
    pub cache: millrace_cache::Settings,
    /// Answers from the cache have a `Cache-Status` (RFC 9211).
    pub tells_hits: bool,
    /// The caller counts the requests of each connection, so it has to be told of all of them.
    pub counts_requests: bool,
    /// The caller decides about each connection when it has been accepted: before, nothing is answered.
    pub requires_admission: bool,
    /// Requests that are with the caller at once; while it is busy, those beyond are refused. `None`: no limit.
    pub max_in_flight: Option<u32>,
    /// Connections at once. While the caller is busy, those beyond are not accepted; otherwise it decides. `None`: no limit.
    pub max_connections: Option<usize>,
    /// How long a response may take; while the caller is busy, those that take longer are given up. `None`: no limit.
    pub response_limit: Option<Duration>,
    /// The status that those are answered with: 408, 503 or 504.
    pub response_status: u32,
    /// HTTP/2, where a client asks for it; `None`: it is not spoken.
    pub http2: Option<Http2Settings>,
    /// TLS, and how long its handshakes may take. May not be given to a server or taken from it later.
    pub tls: Option<Duration>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            head: HeadLimits { bytes: 16 * 1024, fields: 1000 },
            max_pipelined: 256,
            keep_alive: Some(Duration::from_secs(6)),
            no_delay: true,
            tcp_keep_alive: None,
            keep_alive_told: Some(5),
            cache: millrace_cache::Settings::default(),
            tells_hits: false,
            counts_requests: false,
            requires_admission: false,
            max_in_flight: None,
            max_connections: None,
            response_limit: None,
            response_status: 408,
            http2: None,
            tls: None,
        }
    }
}
