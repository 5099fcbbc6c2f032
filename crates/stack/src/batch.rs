//! Events for the caller, and the bytes they speak of.

use millrace_net::tls::secure_context::CertificateVerdict;

use crate::connection::id::ConnId;

/// Numbers of one event: kind, connection, and what the kind says.
pub const EVENT_LENGTH: usize = 8;

/// What happened. The numbers are part of the interface to JavaScript (`src/http/reactor/events.ts`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Kind {
    /// A connection was accepted: server.
    Open = 1,
    /// A request's head: offset, length, flags, target's start and end within the head, method.
    Request = 2,
    /// A part of a body: offset, length.
    Body = 3,
    /// A request's body is complete: offset and length of the trailers.
    End = 4,
    /// The peer sends no more: 1 if that was in the middle of a message.
    Eof = 5,
    /// The connection is gone: the system's error number, or 0.
    Closed = 6,
    /// All that was sent has left.
    Drained = 7,
    /// Bytes that only the host's parser can judge: offset, length, [`Doubt`], what leads another parser there, and where
    /// begins what was read last. Nothing more is read.
    Unsure = 8,
    /// No request within the keep-alive time.
    Idle = 9,
    /// The server's socket failed to accept: the system's error number, server.
    AcceptFailed = 10,
    /// Bytes as they came, after [`crate::Reactor::proceed_raw`]: offset, length. Nothing more is read.
    Raw = 11,
    /// TLS: a client has begun; [`crate::Reactor::choose`] goes on: offset and length of the server name that it
    /// asks for, and 1 if its bytes are not TLS as the reactor knows it.
    Hello = 12,
    /// TLS: the handshake is done: offset and length of the server name, suite, [`secure`] flags, verdict.
    Secure = 13,
    /// TLS has failed: what kind ([`failed`]), alert, offset and length of a text, 1 if that was in the handshake.
    Failed = 14,
    /// A connection's last request was answered from the cache: when that has left, the connection is to be closed.
    Answered = 15,
    /// A connection is the text of a TLS session that another process has: offset and length of the server name, suite,
    /// [`secure`] flags, length of the protocol behind the name.
    Forwarded = 16,
}

/// What is unusual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Doubt {
    /// The head of a request.
    Head = 0,
    /// The head asks for another protocol; [`crate::Reactor::proceed`] takes it as a request.
    Upgrade = 1,
    /// The body of a request whose head was told.
    Body = 2,
    /// There was to be nothing behind the last request: it closes the connection.
    Closed = 3,
}

/// Flags of a request.
pub mod flag {
    /// The connection may stay open.
    pub const KEEP_ALIVE: i32 = 1;
    /// HTTP/1.0.
    pub const HTTP_1_0: i32 = 2;
    /// A body follows.
    pub const BODY: i32 = 4;
    /// There is an Expect field.
    pub const EXPECT: i32 = 8;
    /// There is a Host field.
    pub const HOST: i32 = 16;
    /// The response is to be stored: [`crate::Reactor::cache_for`] may say for how long.
    pub const STORED: i32 = 32;
}

/// Flags of a finished handshake. Above them stands which protocol was chosen, counted from one.
pub mod secure {
    /// An earlier session was resumed.
    pub const RESUMED: i32 = 1;
    /// TLS 1.3.
    pub const TLS13: i32 = 2;
    /// Of a session that another process has: the client was asked for a certificate.
    pub const ASKED: i32 = 4;
    /// Where the protocol stands.
    pub const PROTOCOL_SHIFT: usize = 8;
}

/// What is to be said of a client's certificate, in an event.
#[must_use]
pub fn verdict_number(verdict: CertificateVerdict) -> i32 {
    match verdict {
        CertificateVerdict::NotAsked => 0,
        CertificateVerdict::Missing => 1,
        CertificateVerdict::Valid => 2,
        CertificateVerdict::Untrusted => 3,
    }
}

/// How TLS has failed.
pub mod failed {
    /// As the text says.
    pub const OTHER: i32 = 0;
    /// By the peer's alert.
    pub const ALERT: i32 = 1;
    /// For want of a client's certificate.
    pub const NO_CERTIFICATE: i32 = 2;
    /// At a record that is not the session's.
    pub const DECRYPT: i32 = 3;
    /// The handshake has taken too long.
    pub const TIMEOUT: i32 = 4;
}

/// The caller's memory for one turn. Bytes are read into `bytes` and stay where they are.
#[derive(Debug)]
pub struct Batch<'a> {
    events: &'a mut [i32],
    pub(crate) bytes: &'a mut [u8],
    count: usize,
    pub(crate) used: usize,
    /// Nothing may be told.
    pub(crate) silent: bool,
}

impl<'a> Batch<'a> {
    /// An empty batch over this memory.
    pub fn new(events: &'a mut [i32], bytes: &'a mut [u8]) -> Self {
        Self { events, bytes, count: 0, used: 0, silent: false }
    }

    /// One of a turn in which nobody can be told of anything: see [`crate::companion`].
    pub(crate) fn silent(bytes: &'a mut [u8]) -> Self {
        Self { events: &mut [], bytes, count: 0, used: 0, silent: true }
    }

    /// Events so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Events that there may be.
    pub(crate) fn capacity(&self) -> usize {
        self.events.len() / EVENT_LENGTH
    }

    /// Events for which there is room.
    pub(crate) fn room(&self) -> usize {
        if self.silent { usize::MAX } else { self.events.len() / EVENT_LENGTH - self.count }
    }

    /// Keeps bytes for an event, as far as there is room; gives where they are.
    pub(crate) fn keep(&mut self, bytes: &[u8]) -> (i32, i32) {
        let start = self.used;
        let length = bytes.len().min(self.bytes.len() - start);
        self.bytes[start..start + length].copy_from_slice(&bytes[..length]);
        self.used += length;
        // In range: offsets within a batch's memory.
        (start as i32, length as i32)
    }

    /// Adds an event; the caller has seen to it that there is room.
    pub(crate) fn push(&mut self, kind: Kind, connection: ConnId, details: &[i32]) {
        let at = self.count * EVENT_LENGTH;
        let Some(event) = self.events.get_mut(at..at + EVENT_LENGTH) else { return };
        event[0] = kind as i32;
        // In range: a process has far fewer than 2^31 descriptors.
        event[1] = connection.index() as i32;
        event[2..2 + details.len()].copy_from_slice(details);
        self.count += 1;
    }
}
