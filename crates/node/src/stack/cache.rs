//! The output cache of the server stack: settings, numbers and orders.

use std::collections::HashMap;
use std::time::Duration;

use millrace_stack::Exchange;
use millrace_stack::cache::{
    Inspected, Mode, NotStored, Pass, Selection, Settings, Statistics, Target,
};
use napi::Result;
use napi_derive::napi;

use crate::ffi::shared_memory::Bytes;
use crate::stack::with;
use crate::time::milliseconds;

/// What is stored, and how much.
#[napi(object)]
pub struct NativeCacheSettings {
    /// How long responses are fresh that do not say so; missing: those are not stored.
    pub duration_ms: Option<f64>,
    /// Bytes of all entries.
    pub max_bytes: f64,
    /// Bytes of one.
    pub max_entry_bytes: f64,
    /// Variants of one URI.
    pub max_variants: u32,
    /// How long a request waits for the response to another.
    pub max_wait_ms: f64,
    /// One request renews an entry before it ends.
    pub early_refresh: bool,
    /// `Cache-Control` of requests is heeded.
    pub obey_requests: bool,
    /// Answers have a `Cache-Status`.
    pub tells_hits: bool,
}

impl From<NativeCacheSettings> for Settings {
    fn from(native: NativeCacheSettings) -> Self {
        let mode = match native.duration_ms {
            Some(ms) => Mode::All(up_to_a_year(ms)),
            None => Mode::Asked,
        };
        Self {
            mode,
            // Saturates; JavaScript has seen to it that they are not negative.
            max_bytes: native.max_bytes as usize,
            max_entry_bytes: native.max_entry_bytes as usize,
            max_variants: native.max_variants as usize,
            max_wait: up_to_a_year(native.max_wait_ms),
            early_refresh: native.early_refresh,
            obey_requests: native.obey_requests,
            ..Self::default()
        }
    }
}

/// Milliseconds as a time. What is longer than a year, the cache's own limit, is that; what is no time is none.
fn up_to_a_year(ms: f64) -> Duration {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    milliseconds(ms).min(YEAR)
}

/// What a server's cache has done. Counts since the server was made; from `entries` on as of now.
#[napi(object)]
pub struct NativeCacheStatistics {
    /// Requests that were looked up; one that has waited is looked up again.
    pub lookups: f64,
    /// Answered from the cache.
    pub hits: f64,
    /// Of the hits: with 304.
    pub not_modified: f64,
    /// Of the hits: with a stale response that is being renewed.
    pub stale: f64,
    /// Sent to the application to be stored.
    pub misses: f64,
    /// Sent to the application to renew an entry.
    pub refreshes: f64,
    /// Requests that waited for the response to another.
    pub waits: f64,
    /// Past the cache, by reason.
    pub passes: HashMap<String, f64>,
    /// Responses that were stored.
    pub stores: f64,
    /// Responses that were not, by reason.
    pub not_stored: HashMap<String, f64>,
    /// Entries that left for want of room.
    pub evictions: f64,
    /// Entries that were removed by unsafe methods or by order.
    pub invalidations: f64,
    /// Entries.
    pub entries: f64,
    /// Their bytes, with what it takes to find them.
    pub bytes: f64,
    /// Requests that wait.
    pub waiting: f64,
}

impl From<Statistics> for NativeCacheStatistics {
    fn from(of: Statistics) -> Self {
        let passes = Pass::ALL.iter().map(|&why| (why.as_str().to_owned(), of.passes(why) as f64));
        let not_stored =
            NotStored::ALL.iter().map(|&why| (why.as_str().to_owned(), of.not_stored(why) as f64));
        Self {
            passes: passes.filter(|(_, count)| *count > 0.0).collect(),
            not_stored: not_stored.filter(|(_, count)| *count > 0.0).collect(),
            lookups: of.lookups as f64,
            hits: of.hits as f64,
            not_modified: of.not_modified as f64,
            stale: of.stale as f64,
            misses: of.misses as f64,
            refreshes: of.refreshes as f64,
            waits: of.waits as f64,
            stores: of.stores as f64,
            evictions: of.evictions as f64,
            invalidations: of.invalidations as f64,
            entries: of.entries as f64,
            bytes: of.bytes as f64,
            waiting: of.waiting as f64,
        }
    }
}

/// A stored response.
#[napi(object)]
pub struct NativeCacheEntry {
    /// Through TLS or not.
    pub secure: bool,
    /// `Host`.
    pub host: String,
    /// The request-target.
    pub target: String,
    /// The request's fields that belong to the key, each as `name:value`.
    pub fields: Vec<String>,
    /// The fields that it depends on, as `Vary` has them; empty: none.
    pub vary: String,
    /// Status code.
    pub status: u32,
    /// Bytes of the body.
    pub bytes: f64,
    /// Seconds.
    pub age: f64,
    /// How much longer it is fresh.
    pub fresh_for_ms: f64,
    /// How often it was used.
    pub hits: f64,
}

impl From<Inspected<'_>> for NativeCacheEntry {
    fn from(of: Inspected<'_>) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            secure: of.secure,
            host: text(of.authority),
            target: text(of.target),
            fields: of.fields.split(|&byte| byte == b'\n').skip(1).map(text).collect(),
            vary: text(of.vary.as_bytes()),
            status: of.status.into(),
            bytes: of.body as f64,
            age: of.age as f64,
            fresh_for_ms: of.fresh_for.as_secs_f64() * 1e3,
            hits: of.hits as f64,
        }
    }
}

/// What a server's cache has done; missing: there is no such server.
#[napi]
pub fn stack_cache_statistics(server: u32) -> Result<Option<NativeCacheStatistics>> {
    with(|reactor| reactor.cache(server as usize).map(|cache| cache.statistics().into()))
}

/// What is stored, so many entries at most.
#[napi]
pub fn stack_cache_entries(server: u32, most: u32) -> Result<Vec<NativeCacheEntry>> {
    with(|reactor| {
        let now = reactor.cache_now();
        let Some(cache) = reactor.cache(server as usize) else { return Vec::new() };
        cache.inspect(now).take(most as usize).map(Into::into).collect()
    })
}

/// Entries to be removed; what is missing is the same for all.
#[napi(object)]
pub struct NativeSelection {
    /// Through TLS or not.
    pub secure: Option<bool>,
    /// `Host`, in any form.
    pub host: Option<String>,
    /// Path and query.
    pub path: Option<String>,
    /// What path and query begin with.
    pub prefix: Option<String>,
}

/// Removes entries; gives how many there were. Without a selection: all.
#[napi]
pub fn stack_cache_delete(server: u32, selection: Option<NativeSelection>) -> Result<u32> {
    let removed = with(|reactor| match &selection {
        None => reactor.forget(server as usize, None),
        Some(NativeSelection { secure, host, path, prefix }) => {
            let target = match (path, prefix) {
                (Some(path), _) => Target::Exact(path.as_bytes()),
                (None, prefix) => Target::Prefix(prefix.as_deref().unwrap_or_default().as_bytes()),
            };
            let authority = host.as_deref().map(str::as_bytes);
            let selection = Selection { secure: *secure, authority, target };
            reactor.forget(server as usize, Some(&selection))
        }
    })?;
    // In range: as many as there is memory for.
    Ok(removed as u32)
}

/// How long the response to a request is fresh; `request` counts those of the connection from zero.
#[napi]
pub fn stack_cache_for(connection: u32, request: u32, fresh_ms: f64) -> Result<()> {
    with(|reactor| reactor.cache_for(connection as usize, request, up_to_a_year(fresh_ms)))
}

/// A request that Node's own code has answered.
#[napi(object, object_to_js = false)]
pub struct NativeExchange {
    /// Through TLS or not.
    pub secure: bool,
    /// Its method.
    pub method: String,
    /// The request-target.
    #[napi(ts_type = "Uint8Array")]
    pub target: Bytes,
    /// The value of its only `Host`.
    #[napi(ts_type = "Uint8Array")]
    pub host: Bytes,
    /// The status of the response.
    pub status: u32,
    /// The response's field lines.
    #[napi(ts_type = "Uint8Array")]
    pub fields: Bytes,
}

/// Removes what the response to such a request makes out of date.
#[napi]
pub fn stack_cache_outdate(server: u32, exchange: NativeExchange) -> Result<()> {
    let NativeExchange { secure, method, target, host, status, fields } = &exchange;
    let exchange = Exchange {
        secure: *secure,
        method,
        target: &target.0,
        host: &host.0,
        // Others than those with three digits make nothing out of date.
        status: u16::try_from(*status).unwrap_or_default(),
        fields: &fields.0,
    };
    with(|reactor| reactor.outdate(server as usize, &exchange))
}
