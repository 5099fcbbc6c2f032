//! Commands and questions about connections.

use std::collections::HashMap;
use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};

use millrace_stack::settings::KeepAlive;
use millrace_stack::{Http2Counts, ServerCounts};
use napi::Result;
use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

use super::{duplicate, system_error, with};
use crate::ffi::descriptor::unacknowledged;
use crate::time::{milliseconds, positive};

/// Stops or resumes reading.
#[napi]
pub fn stack_pause(connection: u32, paused: bool) -> Result<()> {
    with(|reactor| reactor.pause(connection as usize, paused))
}

/// Takes an upgrade for an ordinary request.
#[napi]
pub fn stack_proceed(connection: u32) -> Result<()> {
    with(|reactor| reactor.proceed(connection as usize))
}

/// Hands on the next bytes as they come.
#[napi]
pub fn stack_proceed_raw(connection: u32) -> Result<()> {
    with(|reactor| reactor.proceed_raw(connection as usize))
}

/// Reads on: a body ended behind the first `taken` bytes of those told last.
#[napi]
pub fn stack_proceed_behind(connection: u32, taken: u32) -> Result<()> {
    with(|reactor| reactor.proceed_behind(connection as usize, taken as usize))
}

/// Ends this side when all is written.
#[napi]
pub fn stack_end(connection: u32) -> Result<()> {
    with(|reactor| reactor.end(connection as usize))
}

/// Closes at once; gives how many bytes were read of it.
#[napi]
pub fn stack_close(connection: u32, reset: bool) -> Result<f64> {
    with(|reactor| {
        let read = reactor.bytes_read(connection as usize);
        reactor.close(connection as usize, reset);
        read as f64
    })
}

/// Bytes that were read of a connection, told or not.
#[napi]
pub fn stack_bytes_read(connection: u32) -> Result<f64> {
    with(|reactor| reactor.bytes_read(connection as usize) as f64)
}

/// Duplicates a descriptor; the new one is the caller's.
#[napi]
pub fn stack_duplicate(fd: i32) -> Result<i32> {
    Ok(duplicate(fd)?.into_raw_fd())
}

/// Duplicates a connection's descriptor; the new one is the caller's.
#[napi]
pub fn stack_duplicate_connection(connection: u32) -> Result<i32> {
    let gone = || io::Error::from(io::ErrorKind::NotConnected);
    with(|reactor| reactor.socket(connection as usize).ok_or_else(gone)?.try_clone())?
        .map(|socket| OwnedFd::from(socket).into_raw_fd())
        .map_err(system_error)
}

/// A connection that was given away.
#[napi(object)]
pub struct NativeReleased {
    /// Its descriptor, now the caller's.
    pub fd: i32,
    /// Where in the input memory the bytes end that were told in this batch.
    pub told: u32,
    /// Bytes that were read and not told.
    pub bytes: Buffer,
    /// How many bytes were read in all.
    pub read: f64,
}

/// Gives a connection away.
#[napi]
pub fn stack_release(connection: u32) -> Result<NativeReleased> {
    with(|reactor| {
        let read = reactor.bytes_read(connection as usize) as f64;
        let (fd, told, bytes) = reactor.release(connection as usize).map_err(system_error)?;
        // In range: an offset within a batch's memory.
        Ok(NativeReleased { fd: fd.into_raw_fd(), told: told as u32, bytes: bytes.into(), read })
    })?
}

/// One end of a connection.
#[napi(object)]
pub struct NativeAddress {
    /// Without brackets.
    pub address: String,
    /// IPv4 or IPv6.
    pub family: String,
    /// Port.
    pub port: u32,
}

/// Both ends of a connection; empty where they have no address.
#[napi(object)]
pub struct NativeAddresses {
    /// This side.
    pub local: Option<NativeAddress>,
    /// The peer's.
    pub remote: Option<NativeAddress>,
}

/// Both ends of a connection.
#[napi]
pub fn stack_addresses(connection: u32) -> Result<NativeAddresses> {
    let (local, remote) = with(|reactor| reactor.addresses(connection as usize))?;
    let convert = |address: std::net::SocketAddr| NativeAddress {
        address: address.ip().to_string(),
        family: if address.is_ipv6() { "IPv6" } else { "IPv4" }.into(),
        port: address.port().into(),
    };
    Ok(NativeAddresses { local: local.map(convert), remote: remote.map(convert) })
}

/// TCP's own settings; no effect where the socket is not TCP.
#[napi]
pub fn stack_set_no_delay(connection: u32, on: bool) -> Result<()> {
    with(|reactor| {
        if let Some(socket) = reactor.socket(connection as usize) {
            socket.set_tcp_nodelay(on).ok();
        }
    })
}

/// TCP's probes of a peer that is silent: after so much time, so far apart, so many at most.
#[napi]
pub fn stack_set_keep_alive(
    connection: u32,
    on: bool,
    after_ms: f64,
    interval_ms: f64,
    probes: u32,
) -> Result<()> {
    let (after, interval) = (milliseconds(after_ms), milliseconds(interval_ms));
    let keep_alive = on.then_some(KeepAlive { after, interval, probes });
    with(|reactor| reactor.keep_alive(connection as usize, keep_alive))
}

/// What a server has done without JavaScript.
#[napi(object)]
pub struct NativeCounts {
    /// Connections that were accepted and could not be taken.
    pub lost: f64,
    /// Connections that were given to others, where the port is shared.
    pub moved: f64,
    /// TLS connections whose text went to another server, where the port is shared.
    pub relayed: f64,
    /// Requests that nobody has, where the port is shared.
    pub unowned: f64,
    /// Requests refused while JavaScript was busy.
    pub refused: f64,
    /// Responses given up while JavaScript was busy.
    pub timed_out: f64,
    /// Requests that were left to Node's parser, by reason.
    pub unusual: HashMap<String, f64>,
    /// HTTP/2.
    pub http2: NativeHttp2Counts,
}

/// What a server has seen of HTTP/2.
#[napi(object)]
pub struct NativeHttp2Counts {
    /// Connections that speak it.
    pub connections: f64,
    /// Streams that clients have opened.
    pub streams: f64,
    /// Streams that clients have reset, or that broke a rule.
    pub resets: f64,
    /// Streams that were refused.
    pub refused: f64,
    /// Connections that ended with an error of the protocol.
    pub errors: f64,
    /// Streams whose request is another process's, where the port is shared.
    pub misdirected: f64,
}

impl From<Http2Counts> for NativeHttp2Counts {
    fn from(counts: Http2Counts) -> Self {
        let Http2Counts { connections, streams, resets, refused, errors, misdirected } = counts;
        let [connections, streams, resets, refused, errors, misdirected] =
            [connections, streams, resets, refused, errors, misdirected].map(|count| count as f64);
        Self { connections, streams, resets, refused, errors, misdirected }
    }
}

/// What a server has done without JavaScript.
#[napi]
pub fn stack_counts(server: u32) -> Result<NativeCounts> {
    let ServerCounts { lost, moved, relayed, unowned, refused, timed_out, unusual, http2 } =
        with(|reactor| reactor.counts(server as usize))?;
    let [lost, moved, relayed, unowned, refused, timed_out] =
        [lost, moved, relayed, unowned, refused, timed_out].map(|count| count as f64);
    let occurred = unusual.iter().filter(|(_, count)| *count > 0);
    let unusual = occurred.map(|(id, count)| (id.to_owned(), count as f64)).collect();
    let http2 = http2.into();
    Ok(NativeCounts { lost, moved, relayed, unowned, refused, timed_out, unusual, http2 })
}

/// Whether the response to a connection was given up while JavaScript was busy.
#[napi]
pub fn stack_is_timed_out(connection: u32) -> Result<bool> {
    with(|reactor| reactor.is_timed_out(connection as usize))
}

/// Connections whose request takes too long to arrive; 0: no limit.
#[napi]
pub fn stack_late(server: u32, head_ms: f64, whole_ms: f64) -> Result<Vec<u32>> {
    let (head, whole) = (positive(head_ms), positive(whole_ms));
    let late = with(|reactor| reactor.late(server as usize, head, whole))?;
    Ok(late.into_iter().map(|id| id as u32).collect())
}

/// Connections that are slower than they have to be.
#[napi(object)]
pub struct NativeSlow {
    /// Their bodies arrive slowly.
    pub receiving: Vec<u32>,
    /// They take responses slowly.
    pub sending: Vec<u32>,
}

/// Connections that send, or take, fewer bytes per second than this; 0: no limit.
#[napi]
pub fn stack_slow(server: u32, receive: f64, send: f64) -> Result<NativeSlow> {
    let (receiving, sending) =
        with(|reactor| reactor.slow(server as usize, receive, send, unacknowledged))?;
    let numbers = |ids: Vec<usize>| ids.into_iter().map(|id| id as u32).collect();
    Ok(NativeSlow { receiving: numbers(receiving), sending: numbers(sending) })
}

/// Milliseconds since bytes last came from a connection's peer or left for it; missing: there is no such connection.
///
/// What counts: parts of heads, trailers and bodies, whether told or not; bytes of upgraded connections; records of TLS, those of
/// the handshake included; answers from the cache; bytes that the system takes from the queue of a slow reader. What does not:
/// bytes that the system has taken already and the peer takes now, as with Node's own sockets.
#[napi]
pub fn stack_idle_for(connection: u32) -> Result<Option<f64>> {
    let idle = with(|reactor| reactor.inactive_for(connection as usize))?;
    Ok(idle.map(|idle| idle.as_secs_f64() * 1e3))
}

/// Whether a connection speaks HTTP/2.
#[napi]
pub fn stack_is_http2(connection: u32) -> Result<bool> {
    with(|reactor| reactor.is_http2(connection as usize))
}

/// The client of a connection of HTTP/2 may open no more streams; it ends when those that are open have.
#[napi]
pub fn stack_go_away(connection: u32) -> Result<()> {
    with(|reactor| reactor.go_away(connection as usize))
}

/// The code with which the client has reset a stream; missing: it has not.
#[napi]
pub fn stack_reset_code(connection: u32) -> Result<Option<u32>> {
    with(|reactor| reactor.reset_code(connection as usize))
}

/// A stream is reset with this code if its connection is closed before its messages are complete.
#[napi]
pub fn stack_set_reset_code(connection: u32, code: u32) -> Result<()> {
    with(|reactor| reactor.set_reset_code(connection as usize, code))
}

/// Whether nothing has happened on a connection since it was told to be idle.
#[napi]
pub fn stack_is_idle(connection: u32) -> Result<bool> {
    with(|reactor| reactor.is_idle(connection as usize))
}

/// Connections on which no request is arriving, each followed by how many of its requests were told; `unused`: those that
/// have sent nothing yet among them.
#[napi]
pub fn stack_idle(server: u32, unused: bool) -> Result<Vec<u32>> {
    let both = |(id, requests)| [id as u32, requests];
    with(|reactor| reactor.idle(server as usize, unused).flat_map(both).collect())
}

/// Bytes of a connection that have not left.
#[napi]
pub fn stack_queued(connection: u32) -> Result<u32> {
    Ok(with(|reactor| reactor.queued(connection as usize))? as u32)
}
