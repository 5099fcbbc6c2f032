//! Sessions: the protocol of a connection. Requests become bytes to send; received bytes complete requests.
//!
//! ```text
//!   due ──render──> bytes ──submit──> buffered ──sent_to──> in flight ──receive──> completed
//!                                         │                     └─ expire, lose_all ──> lost
//!    ^────────────── requeue ─────────────┘
//! ```
//!
//! A session knows no schedule, no clock and no transport: it is given the time, and the connection writes what it returns.
//! A connection keeps its session when it ends, so that the next connection of the slot has its memory.

mod h1;
mod h2;
mod other_protocol;

use std::collections::VecDeque;
use std::time::Duration;

use millrace_net::Nanos;

use crate::ErrorKind;
use crate::engine::numbers::Numbers;
use crate::flow::users::Users;
use crate::metrics::in_flight::{Due, InFlight, Loss, NUMBERED_WHEN_SENT};
use crate::metrics::recorder::Recorder;
use crate::plan::Versions;
use crate::redirect::RedirectRule;
use crate::rendered::Rendered;
use crate::trace_context::{TraceContext, TraceContexts};
use h1::H1Session;
use h2::H2Session;

/// Protocols of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    /// HTTP/1.1 (RFC 9112).
    H1,
    /// HTTP/2 (RFC 9113).
    H2,
}

impl Protocol {
    /// Those of the versions, in order of preference.
    fn of(versions: Versions) -> &'static [Self] {
        match versions {
            Versions::Http1 => &[Self::H1],
            Versions::Http2 => &[Self::H2],
            Versions::Either => &[Self::H2, Self::H1],
        }
    }

    /// The name for ALPN (RFC 7301).
    fn alpn_name(self) -> &'static [u8] {
        match self {
            Self::H1 => b"http/1.1",
            Self::H2 => b"h2",
        }
    }
}

/// Returns the protocols that connections with TLS offer, in order of preference (ALPN, RFC 7301).
pub(crate) fn alpn_protocols(versions: Versions) -> Vec<Vec<u8>> {
    Protocol::of(versions).iter().map(|protocol| protocol.alpn_name().to_vec()).collect()
}

/// How the connections to a server speak.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionOptions {
    /// Which redirections are followed.
    pub(crate) redirects: Option<RedirectRule>,
    /// The versions that connections may speak.
    pub(crate) versions: Versions,
    /// `http` or `https`.
    pub(crate) scheme: &'static str,
    /// The windows for what the server sends with HTTP/2.
    pub(crate) window: u32,
    /// Whether HTTP/1.1 may have several requests in flight.
    pub(crate) pipelines: bool,
    /// Whether the statuses are those of gRPC.
    pub(crate) grpc: bool,
}

impl SessionOptions {
    /// Says that a server with TLS speaks none of the versions, and what to do.
    pub(crate) fn describe_refusal(&self) -> &'static str {
        match self.versions {
            Versions::Http1 => {
                "the server speaks no HTTP/1.1 over TLS (ALPN); it may speak HTTP/2: --http2"
            }
            Versions::Http2 if self.grpc => {
                "the server speaks no HTTP/2 over TLS (ALPN), which gRPC needs"
            }
            Versions::Http2 => {
                "the server speaks no HTTP/2 over TLS (ALPN): leave out --http2, or use --prefer-http2"
            }
            Versions::Either => "the server speaks neither HTTP/2 nor HTTP/1.1 over TLS (ALPN)",
        }
    }

    /// The protocol of a connection, after TLS has agreed on the one with this index in [`alpn_protocols`], or on none. `None`:
    /// HTTP/2 needs the agreement.
    fn negotiated(&self, index: Option<usize>) -> Option<Protocol> {
        let offered = Protocol::of(self.versions);
        match index {
            Some(index) => offered.get(index).copied(),
            // Without TLS, HTTP/2 is spoken with prior knowledge.
            None if self.scheme == "http" => offered.first().copied(),
            None => offered.iter().copied().find(|protocol| *protocol == Protocol::H1),
        }
    }
}

/// The protocol of a connection, with its requests.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a box would be another access for each request")]
pub(crate) enum Session {
    /// HTTP/1.1: responses come in the order of their requests.
    H1(H1Session),
    /// HTTP/2: each request is a stream.
    H2(Box<H2Session>),
}

/// Calls the same method of whichever session it is.
macro_rules! dispatch {
    ($self:ident, $session:ident => $call:expr) => {
        match $self {
            Self::H1($session) => $call,
            Self::H2($session) => $call,
        }
    };
}

/// The memory that the sessions of a worker share.
#[derive(Debug, Default)]
pub(crate) struct SharedMemory {
    /// Bytes to send: of requests, or what a session says on its own account.
    pub(crate) outgoing: Vec<u8>,
    h1: h1::SharedMemory,
    h2: h2::SharedMemory,
}

/// What requests are rendered from.
pub(crate) struct Rendering<'a> {
    /// The requests by index.
    pub(crate) mix: &'a [Rendered],
    /// Numbers of requests that have none until they are sent.
    pub(crate) numbers: &'a mut Numbers,
    /// Of the random values of requests.
    pub(crate) seed: u64,
    /// `None`: requests have no trace contexts.
    pub(crate) traces: Option<TraceContexts>,
    pub(crate) memory: &'a mut SharedMemory,
    /// The users of flows, whose requests need their variables.
    pub(crate) users: &'a mut Users,
}

impl Rendering<'_> {
    /// The number of a request that is sent now. It keeps the number if it does not go out.
    pub(crate) fn number(&mut self, due: &mut Due) -> u64 {
        if due.number == NUMBERED_WHEN_SENT {
            due.number = self.numbers.take();
        }
        due.number
    }

    /// The trace context of request `number`, which belongs to no user.
    pub(crate) fn trace(&self, number: u64) -> Option<TraceContext> {
        self.traces.and_then(|traces| traces.get(number, 0))
    }
}

/// Rendered requests, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestBatch<'a> {
    pub(crate) bytes: &'a [u8],
    /// Number of requests, at least one.
    pub(crate) count: usize,
    /// Offset of each; empty if all have the same length.
    pub(crate) starts: &'a [usize],
}

impl RequestBatch<'_> {
    fn start(&self, index: usize) -> usize {
        self.starts.get(index).copied().unwrap_or(index * (self.bytes.len() / self.count))
    }

    fn length(&self, index: usize) -> usize {
        let end = if index + 1 < self.count { self.start(index + 1) } else { self.bytes.len() };
        end - self.start(index)
    }
}

/// How a batch was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// Position of its first byte in the stream of the bytes that are sent.
    pub(crate) start: u64,
    /// Number of its bytes that the transport has taken; the others are in the write buffer.
    pub(crate) count: usize,
}

/// What a session reads next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextRead {
    /// At most so many bytes.
    Bytes(usize),
    /// So many bytes that nobody looks at.
    Discard(u64),
}

/// The state of a worker and of a connection that received bytes are processed with.
pub(crate) struct Receiving<'a> {
    /// The requests by index.
    pub(crate) mix: &'a [Rendered],
    /// What is to be sent at once is added to its `outgoing`.
    pub(crate) memory: &'a mut SharedMemory,
    pub(crate) recorder: &'a mut Recorder,
    /// Whether the peer has closed its side: it will answer no further request.
    pub(crate) peer_closed: bool,
}

/// The result of receiving bytes.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// Number of requests whose responses are complete.
    pub(crate) completed: usize,
    /// Number of requests that have ended without a response while the session continues.
    pub(crate) lost: usize,
    /// Whether the session's capacity has grown.
    pub(crate) has_grown: bool,
    /// Why the connection must be closed; `None` if it stays open.
    pub(crate) end: Option<End>,
}

/// Why a connection ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The response announced it, or each connection carries one request.
    Agreed,
    /// The peer closed it.
    Eof,
    /// It failed.
    Failed(ErrorKind, String),
}

impl End {
    /// Returns how the request in flight at this position, the oldest being at 0, is lost by this end, in words.
    pub(crate) fn loss(&self, position: usize) -> (Loss, String) {
        let (kind, text) = match self {
            Self::Failed(kind, text) if position == 0 => (*kind, &text[..]),
            Self::Agreed => {
                (ErrorKind::ClosedEarly, "closed by an earlier response's Connection: close")
            }
            _ => {
                let text = "the server closed the connection before the response had ended";
                (ErrorKind::ClosedEarly, text)
            }
        };
        (Loss::Transport(kind), text.to_owned())
    }
}

/// The result of a time limit's end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expired {
    /// Number of requests that were lost.
    pub(crate) lost: usize,
    /// Whether the connection must be closed.
    pub(crate) ends_connection: bool,
}

impl Session {
    /// Creates a session for the first connection of a slot.
    pub(crate) fn new(options: SessionOptions) -> Self {
        match options.versions {
            Versions::Http1 => Self::H1(H1Session::new(options)),
            Versions::Http2 | Versions::Either => Self::H2(Box::new(H2Session::new(options))),
        }
    }

    /// Begins the session of a new connection, on whose protocol TLS has agreed by its index in [`alpn_protocols`]. What has
    /// to be sent first is added to `outgoing`. No request of the last connection is left. `None`: TLS has not agreed on a
    /// protocol that may be spoken.
    pub(crate) fn begin(
        &mut self,
        options: SessionOptions,
        negotiated: Option<usize>,
        outgoing: &mut Vec<u8>,
    ) -> Option<()> {
        match (&mut *self, options.negotiated(negotiated)?) {
            (Self::H1(session), Protocol::H1) => session.begin(),
            (Self::H2(session), Protocol::H2) => session.begin(outgoing),
            (_, Protocol::H1) => *self = Self::H1(H1Session::new(options)),
            (_, Protocol::H2) => {
                let mut session = Box::new(H2Session::new(options));
                session.begin(outgoing);
                *self = Self::H2(session);
            }
        }
        Some(())
    }

    /// Whether requests can be sent: with HTTP/2, the server's settings have come.
    pub(crate) fn is_ready(&self) -> bool {
        match self {
            Self::H2(session) => session.is_ready(),
            _ => true,
        }
    }

    /// Describes how the server has ended a connection before a request was sent.
    pub(crate) fn describe_end(&self) -> String {
        match self {
            Self::H1(_) => "the server closed the connection".to_owned(),
            Self::H2(session) => session.describe_end(),
        }
    }

    /// Whether it is one of HTTP/2.
    pub(crate) fn is_http2(&self) -> bool {
        matches!(self, Self::H2(_))
    }

    /// Returns how many requests the session carries at once, where the plan has so many on a connection.
    pub(crate) fn capacity(&self, depth: usize) -> usize {
        dispatch!(self, session => session.capacity(depth))
    }

    /// Returns the number of requests in flight.
    pub(crate) fn in_flight(&self) -> usize {
        dispatch!(self, session => session.in_flight())
    }

    /// Returns the number of buffered requests: no byte of them has been sent.
    pub(crate) fn buffered(&self) -> usize {
        dispatch!(self, session => session.buffered())
    }

    /// Returns when the oldest request in flight was sent; without one, when the oldest one was buffered.
    pub(crate) fn oldest(&self) -> Option<Nanos> {
        dispatch!(self, session => session.oldest())
    }

    /// Whether a part of a response has arrived.
    pub(crate) fn is_within_response(&self) -> bool {
        dispatch!(self, session => session.is_within_response())
    }

    /// Renders the first `count` due requests, within the capacity. [`Self::submit`] must follow.
    pub(crate) fn render<'a>(
        &mut self,
        due: &mut VecDeque<Due>,
        count: usize,
        rendering: &'a mut Rendering<'_>,
    ) -> RequestBatch<'a> {
        dispatch!(self, session => session.render(due, count, rendering))
    }

    /// Takes the requests of a batch, which has been written. A request is in flight when its first byte has been sent; until
    /// then it is buffered.
    pub(crate) fn submit(
        &mut self,
        due: &mut VecDeque<Due>,
        batch: &RequestBatch<'_>,
        written: Written,
        now: Nanos,
        recorder: &mut Recorder,
    ) {
        dispatch!(self, session => session.submit(due, batch, written, now, recorder))
    }

    /// Records that all bytes before this position of the stream have been sent.
    pub(crate) fn sent_to(&mut self, position: u64, now: Nanos, recorder: &mut Recorder) {
        dispatch!(self, session => session.sent_to(position, now, recorder))
    }

    /// Returns what to read next.
    pub(crate) fn next_read(&self, memory: &SharedMemory) -> NextRead {
        match self {
            Self::H1(session) => session.next_read(&memory.h1),
            _ => NextRead::Bytes(usize::MAX),
        }
    }

    /// Processes received bytes. `is_flushed`: the write buffer is empty.
    pub(crate) fn receive(
        &mut self,
        bytes: &[u8],
        is_flushed: bool,
        now: Nanos,
        receiving: &mut Receiving<'_>,
    ) -> Received {
        match self {
            Self::H1(session) => session.receive(bytes, is_flushed, now, receiving),
            Self::H2(session) => session.receive(bytes, now, receiving),
        }
    }

    /// Processes so many bytes that were discarded, at most those of [`NextRead::Discard`].
    pub(crate) fn receive_discarded(
        &mut self,
        count: usize,
        now: Nanos,
        recorder: &mut Recorder,
    ) -> Received {
        match self {
            Self::H1(session) => session.receive_discarded(count, now, recorder),
            // Nothing is discarded.
            _ => Received::default(),
        }
    }

    /// The last read took as much as [`NextRead::Bytes`] allows: the rest may have arrived as well.
    pub(crate) fn cut_read(&mut self) {
        if let Self::H1(session) = self {
            session.cut_read();
        }
    }

    /// Nothing more has arrived: the rest of a partial response is another part.
    pub(crate) fn await_rest(&mut self) {
        if let Self::H1(session) = self {
            session.await_rest();
        }
    }

    /// Processes the end of the stream, which may complete a response.
    pub(crate) fn finish(&mut self, now: Nanos, recorder: &mut Recorder) -> Received {
        match self {
            Self::H1(session) => session.finish(now, recorder),
            Self::H2(session) => session.finish(now, recorder),
        }
    }

    /// Completes requests as the redirections that were followed last, where the server has closed the connection before any
    /// byte of the response to the next request. Returns their number.
    pub(crate) fn complete_redirected(&mut self, now: Nanos, recorder: &mut Recorder) -> usize {
        match self {
            Self::H1(session) => session.complete_redirected(now, recorder),
            Self::H2(session) => session.complete_redirected(0, now, recorder),
        }
    }

    /// Returns the bytes that make the system acknowledge the part of a response that has arrived; empty if there is nothing
    /// to acknowledge. The write buffer is empty.
    pub(crate) fn ack_probe(&mut self) -> &'static [u8] {
        match self {
            Self::H1(session) => session.ack_probe(),
            _ => &[],
        }
    }

    /// Ends the requests that were sent `limit` ago or earlier. What is to be sent is added to `outgoing`, unless the
    /// connection must be closed.
    pub(crate) fn expire(
        &mut self,
        now: Nanos,
        limit: Duration,
        outgoing: &mut Vec<u8>,
        recorder: &mut Recorder,
    ) -> Expired {
        dispatch!(self, session => session.expire(now, limit, outgoing, recorder))
    }

    /// Records all requests in flight as lost, the oldest first; `loss` is given their positions. Returns their number.
    pub(crate) fn lose_all(
        &mut self,
        now: Nanos,
        recorder: &mut Recorder,
        loss: impl FnMut(usize, &InFlight) -> (Loss, String),
    ) -> usize {
        dispatch!(self, session => session.lose_all(now, recorder, loss))
    }

    /// Makes buffered requests due again, before all others, after the connection has ended. Returns their number.
    pub(crate) fn requeue_buffered(
        &mut self,
        due: &mut VecDeque<Due>,
        recorder: &mut Recorder,
    ) -> usize {
        dispatch!(self, session => session.requeue_buffered(due, recorder))
    }
}
