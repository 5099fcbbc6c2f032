//! Settings of servers.

use millrace_stack::Settings;
use millrace_stack::settings::{Http2Settings, KeepAlive};
use napi::Result;
use napi_derive::napi;

use super::cache::NativeCacheSettings;
use super::with;
use crate::time::{FOREVER, milliseconds, positive};

/// The limits of a server.
#[napi(object)]
pub struct NativeSettings {
    /// Bytes of a head.
    pub max_header_size: u32,
    /// Fields of a head.
    pub max_fields: u32,
    /// Requests at once per connection.
    pub max_pipelined: u32,
    /// 0: for ever.
    pub keep_alive_ms: f64,
    /// Small segments at once.
    pub no_delay: bool,
    /// TCP probes a peer after so much silence; 0: after the system's own time; missing: not at all.
    pub tcp_keep_alive_ms: Option<f64>,
    /// How long TLS handshakes may take; missing: no TLS.
    pub handshake_ms: Option<f64>,
    /// What answers from the cache say about how long a connection stays; missing: nothing.
    pub keep_alive_seconds: Option<u32>,
    /// Each request has to be told, since they are counted.
    pub counts_requests: bool,
    /// Each connection has to be told before anything is answered.
    pub requires_admission: bool,
    /// 0: no limit.
    pub max_in_flight: u32,
    /// Connections at once, as far as they are accepted while JavaScript is busy; missing: no limit.
    pub max_connections: Option<u32>,
    /// 0: no limit.
    pub response_ms: f64,
    /// What those that take longer are answered with.
    pub response_status: u32,
    /// Streams of a connection of HTTP/2 at once; missing: HTTP/2 is not spoken.
    pub max_concurrent_streams: Option<u32>,
    /// The text of a request of HTTP/2 says which fields it had.
    pub tells_pseudo_fields: Option<bool>,
    /// Requests of a connection of HTTP/2; 0: any number.
    pub max_requests: u32,
    /// The output cache; missing: off.
    pub cache: Option<NativeCacheSettings>,
}

impl From<NativeSettings> for Settings {
    fn from(native: NativeSettings) -> Self {
        let tells_hits = native.cache.as_ref().is_some_and(|cache| cache.tells_hits);
        let head = millrace_stack::settings::HeadLimits {
            bytes: native.max_header_size as usize,
            fields: native.max_fields as usize,
        };
        Self {
            head,
            max_pipelined: native.max_pipelined,
            keep_alive: positive(native.keep_alive_ms),
            no_delay: native.no_delay,
            tcp_keep_alive: native.tcp_keep_alive_ms.map(|ms| KeepAlive::after(milliseconds(ms))),
            keep_alive_told: native.keep_alive_seconds,
            cache: native.cache.map(Into::into).unwrap_or_default(),
            tells_hits,
            counts_requests: native.counts_requests,
            requires_admission: native.requires_admission,
            max_in_flight: (native.max_in_flight > 0).then_some(native.max_in_flight),
            max_connections: native.max_connections.map(|most| most as usize),
            response_limit: positive(native.response_ms),
            response_status: native.response_status,
            http2: native.max_concurrent_streams.map(|max_concurrent_streams| Http2Settings {
                max_concurrent_streams,
                max_requests: (native.max_requests > 0).then_some(native.max_requests),
                tells_pseudo_fields: native.tells_pseudo_fields.unwrap_or(false),
            }),
            tls: native.handshake_ms.map(|ms| positive(ms).unwrap_or(FOREVER)),
        }
    }
}

/// Adds a server; gives its number.
#[napi]
pub fn stack_add_server(settings: NativeSettings) -> Result<u32> {
    with(|reactor| reactor.add_server(settings.into()) as u32)
}

/// Removes a server that accepts no more and has no connections.
#[napi]
pub fn stack_remove_server(server: u32) -> Result<()> {
    with(|reactor| reactor.remove_server(server as usize))
}

/// No more requests come on connections of HTTP/2 of a server; each ends when those that are open have.
#[napi]
pub fn stack_shut_down(server: u32) -> Result<()> {
    with(|reactor| reactor.shut_down(server as usize))
}

/// Changes a server's limits.
#[napi]
pub fn stack_configure(server: u32, settings: NativeSettings) -> Result<()> {
    with(|reactor| reactor.configure(server as usize, settings.into()))
}
