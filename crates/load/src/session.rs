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
#[cfg(test)]
pub(crate) mod streams;

use std::collections::VecDeque;
use std::time::Duration;

use millrace_net::Nanos;

use crate::ErrorKind;
use crate::flow::users::Users;
use crate::metrics::in_flight::{Due, InFlight, Loss};
use crate::metrics::recorder::Recorder;
use crate::redirect::RedirectRule;
use crate::rendered::Rendered;
use h1::H1Session;

/// Protocols of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    /// HTTP/1.1 (RFC 9112).
    H1,
}

impl Protocol {
    /// All, in order of preference.
    const ALL: [Self; 1] = [Self::H1];

    /// The name for ALPN (RFC 7301).
    fn alpn_name(self) -> &'static [u8] {
        match self {
            Self::H1 => b"http/1.1",
        }
    }

    /// The protocol with this index in [`alpn_protocols`]; the one that needs no negotiation if there was none.
    fn negotiated(index: Option<usize>) -> Self {
        index.and_then(|index| Self::ALL.get(index)).copied().unwrap_or(Self::H1)
    }
}

/// Returns the protocols that connections can speak, in order of preference (ALPN, RFC 7301).
pub(crate) fn alpn_protocols() -> Vec<Vec<u8>> {
    Protocol::ALL.iter().map(|protocol| protocol.alpn_name().to_vec()).collect()
}

/// The protocol of a connection, with its requests.
#[derive(Debug)]
#[cfg_attr(
    test,
    expect(clippy::large_enum_variant, reason = "a box would be another access for each request")
)]
pub(crate) enum Session {
    /// HTTP/1.1: responses come in the order of their requests.
    H1(H1Session),
    /// Not HTTP: shows what the engine does where requests end one by one.
    #[cfg(test)]
    Streams(streams::StreamSession),
}

/// Calls the same method of whichever session it is.
macro_rules! dispatch {
    ($self:ident, $session:ident => $call:expr) => {
        match $self {
            Self::H1($session) => $call,
            #[cfg(test)]
            Self::Streams($session) => $call,
        }
    };
}

/// The memory that the sessions of a worker share.
#[derive(Debug, Default)]
pub(crate) struct SharedMemory {
    /// Bytes to send: of requests, or what a session says on its own account.
    pub(crate) outgoing: Vec<u8>,
    h1: h1::SharedMemory,
}

/// What requests are rendered from.
pub(crate) struct Rendering<'a> {
    /// The requests by index.
    pub(crate) mix: &'a [Rendered],
    /// Number of the next request, and the distance to the one after that.
    pub(crate) sequence: &'a mut (u64, u64),
    pub(crate) random: &'a mut fastrand::Rng,
    pub(crate) memory: &'a mut SharedMemory,
    /// The users of flows, whose requests need their variables.
    pub(crate) users: &'a mut Users,
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
    /// Number of requests that are due again while the session continues.
    pub(crate) requeued: usize,
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
    /// Creates a session for the first connection of a slot. `redirects`: which redirections are followed.
    pub(crate) fn new(redirects: Option<RedirectRule>) -> Self {
        Self::H1(H1Session::new(redirects))
    }

    /// Begins the session of a new connection, of the protocol that was negotiated ([`alpn_protocols`]). No request of the
    /// last connection is left.
    pub(crate) fn begin(&mut self, protocol: Option<usize>) {
        match (self, Protocol::negotiated(protocol)) {
            (Self::H1(session), Protocol::H1) => session.begin(),
            #[cfg(test)]
            (Self::Streams(session), Protocol::H1) => session.begin(),
        }
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
        due: &VecDeque<Due>,
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
        dispatch!(self, session => session.next_read(&memory.h1))
    }

    /// Processes received bytes. `is_flushed`: the write buffer is empty. Requests that are due again are put back into
    /// `due`, before all others.
    pub(crate) fn receive(
        &mut self,
        bytes: &[u8],
        is_flushed: bool,
        now: Nanos,
        due: &mut VecDeque<Due>,
        receiving: &mut Receiving<'_>,
    ) -> Received {
        dispatch!(self, session => session.receive(bytes, is_flushed, now, due, receiving))
    }

    /// Processes so many bytes that were discarded, at most those of [`NextRead::Discard`].
    pub(crate) fn receive_discarded(
        &mut self,
        count: usize,
        now: Nanos,
        recorder: &mut Recorder,
    ) -> Received {
        dispatch!(self, session => session.receive_discarded(count, now, recorder))
    }

    /// The last read took as much as [`NextRead::Bytes`] allows: the rest may have arrived as well.
    pub(crate) fn cut_read(&mut self) {
        dispatch!(self, session => session.cut_read())
    }

    /// Nothing more has arrived: the rest of a partial response is another part.
    pub(crate) fn await_rest(&mut self) {
        dispatch!(self, session => session.await_rest())
    }

    /// Processes the end of the stream, which may complete a response.
    pub(crate) fn finish(&mut self, now: Nanos, recorder: &mut Recorder) -> Received {
        dispatch!(self, session => session.finish(now, recorder))
    }

    /// Completes requests as the redirections that were followed last, where the server has closed the connection before any
    /// byte of the response to the next request. Returns their number.
    pub(crate) fn complete_redirected(&mut self, now: Nanos, recorder: &mut Recorder) -> usize {
        dispatch!(self, session => session.complete_redirected(now, recorder))
    }

    /// Returns the bytes that make the system acknowledge the part of a response that has arrived; empty if there is nothing
    /// to acknowledge. The write buffer is empty.
    pub(crate) fn ack_probe(&mut self) -> &'static [u8] {
        dispatch!(self, session => session.ack_probe())
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
