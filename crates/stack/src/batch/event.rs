//! The events: what happened to a lane, as numbers for JavaScript.

use millrace_http::h1::Method;
use millrace_net::tls::secure_context::CertificateVerdict;

use crate::connection::id::LaneId;

/// Numbers of one event: kind, connection, and what the kind says.
pub const EVENT_LENGTH: usize = 8;

/// What happened. The numbers are part of the interface to JavaScript (`src/http/reactor/events.ts`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Kind {
    /// A connection was accepted: server; of a stream of HTTP/2, the connection of its session, counted from one.
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
    /// Bytes that only the host's parser can judge: offset, length, [`FallbackReason`], what leads another parser there, and where
    /// begins what was read last. Nothing more is read.
    Fallback = 8,
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
    /// The socket has more of a long body: [`crate::Reactor::receive_body`] gives it.
    BodyReadable = 17,
}

/// A part of a batch's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    start: usize,
    length: usize,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self { start, length: end - start }
    }

    pub(crate) fn length(self) -> usize {
        self.length
    }

    pub(crate) fn end(self) -> usize {
        self.start + self.length
    }

    /// The same as numbers of an event.
    fn numbers(self) -> [i32; 2] {
        [number(self.start), number(self.length)]
    }
}

/// What happened to a connection, or to the socket of a server: see [`Kind`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Open {
        server: usize,
        /// The lane of the session's connection, of a stream of HTTP/2.
        session: Option<LaneId>,
    },
    Request {
        head: Span,
        /// Of [`flag`].
        flags: i32,
        fields: usize,
        /// Its start and end within the head.
        target: (usize, usize),
        method: Method,
    },
    Body(Span),
    BodyReadable,
    End {
        trailers: Span,
    },
    Eof {
        within_message: bool,
    },
    Closed {
        error: i32,
    },
    Drained,
    Fallback {
        bytes: Span,
        reason: FallbackReason,
        /// Of [`millrace_http::h1::BodyDecoder::prelude`].
        prelude: usize,
        /// Where begins what was read last.
        packet: usize,
    },
    Idle,
    AcceptFailed {
        error: i32,
        server: usize,
    },
    Raw(Span),
    Hello {
        name: Span,
        is_unsure: bool,
    },
    Secure {
        name: Span,
        suite: u16,
        /// Of [`secure`].
        flags: i32,
        verdict: CertificateVerdict,
    },
    Failed {
        /// Of [`failed`].
        how: i32,
        alert: u8,
        text: Span,
        in_handshake: bool,
    },
    Answered,
    Forwarded {
        name: Span,
        suite: u16,
        flags: i32,
        /// Bytes of the protocol, which follow the name.
        protocol: usize,
    },
}

/// A request's flags have the number of its fields above them.
const FIELDS_SHIFT: usize = 8;

impl Event {
    /// The numbers for JavaScript, as [`Kind`] describes them.
    pub(super) fn encode(self) -> (Kind, [i32; EVENT_LENGTH - 2]) {
        match self {
            Self::Open { server, session } => {
                let session = session.map_or(0, |session| number(session.number()) + 1);
                (Kind::Open, [number(server), session, 0, 0, 0, 0])
            }
            Self::Request { head, flags, fields, target, method } => {
                let [start, length] = head.numbers();
                let flags = flags | number(fields << FIELDS_SHIFT);
                let [target, end] = [target.0, target.1].map(number);
                (Kind::Request, [start, length, flags, target, end, method.id().into()])
            }
            Self::Body(bytes) => (Kind::Body, with_span(bytes, [0; 4])),
            Self::BodyReadable => (Kind::BodyReadable, [0; 6]),
            Self::End { trailers } => (Kind::End, with_span(trailers, [0; 4])),
            Self::Eof { within_message } => (Kind::Eof, [within_message.into(), 0, 0, 0, 0, 0]),
            Self::Closed { error } => (Kind::Closed, [error, 0, 0, 0, 0, 0]),
            Self::Drained => (Kind::Drained, [0; 6]),
            Self::Fallback { bytes, reason, prelude, packet } => {
                let rest = [reason as i32, number(prelude), number(packet), 0];
                (Kind::Fallback, with_span(bytes, rest))
            }
            Self::Idle => (Kind::Idle, [0; 6]),
            Self::AcceptFailed { error, server } => {
                (Kind::AcceptFailed, [error, number(server), 0, 0, 0, 0])
            }
            Self::Raw(bytes) => (Kind::Raw, with_span(bytes, [0; 4])),
            Self::Hello { name, is_unsure } => {
                (Kind::Hello, with_span(name, [is_unsure.into(), 0, 0, 0]))
            }
            Self::Secure { name, suite, flags, verdict } => {
                let rest = [suite.into(), flags, verdict_number(verdict), 0];
                (Kind::Secure, with_span(name, rest))
            }
            Self::Failed { how, alert, text, in_handshake } => {
                let [start, length] = text.numbers();
                (Kind::Failed, [how, alert.into(), start, length, in_handshake.into(), 0])
            }
            Self::Answered => (Kind::Answered, [0; 6]),
            Self::Forwarded { name, suite, flags, protocol } => {
                let rest = [suite.into(), flags, number(protocol), 0];
                (Kind::Forwarded, with_span(name, rest))
            }
        }
    }
}

fn with_span(span: Span, [a, b, c, d]: [i32; 4]) -> [i32; EVENT_LENGTH - 2] {
    let [start, length] = span.numbers();
    [start, length, a, b, c, d]
}

/// An offset within a batch's memory, an index or a small count.
pub(super) fn number(value: usize) -> i32 {
    // In range: a batch has a few megabytes, a process far fewer than 2^31 descriptors.
    value as i32
}

/// What is unusual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum FallbackReason {
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
