//! A connection: its transport, and what is written to it and read from it. The protocol is its session's.
//!
//! ```text
//!   Closed ──open──> Opening ──> Greeting (HTTP/2) ──ready──> Open ──close──> Closed
//!            due ──send──> in flight ──response──> completed
//!             ^ └──> buffered ──flush──^ │
//!             └────────┴─────────────────┴── the connection ends: buffered ones are due again, others lost
//! ```
//!
//! A connection knows no schedule and no socket: time and transport are parameters.

mod reading;
mod write_buffer;

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use millrace_net::tls::is_protocol_refused;
use millrace_net::{Clock, Nanos, Progress, Transport};

use crate::error::describe;
use crate::metrics::in_flight::{Due, InFlight, Loss};
use crate::metrics::recorder::{Opened, Recorder};
use crate::session::{
    Expired, Rendering, RequestBatch, Session, SessionOptions, SharedMemory, Written,
};
pub(crate) use reading::{ReadBuffers, ReadResult};
use write_buffer::WriteBuffer;

#[derive(Debug)]
enum State<T> {
    Closed,
    Opening {
        transport: T,
        since: Nanos,
        /// When the connect ended and the handshake began.
        connected: Option<Nanos>,
    },
    /// The transport is open, and the server's first words are awaited.
    Greeting {
        transport: T,
        since: Nanos,
        opened: Opened,
    },
    Open(T),
}

/// A connection with its requests.
#[derive(Debug)]
pub(crate) struct Connection<T> {
    state: State<T>,
    options: SessionOptions,
    session: Session,
    /// Requests that are due on this connection, in order.
    pub(crate) due: VecDeque<Due>,
    write_buffer: WriteBuffer,
}

impl<T> Connection<T> {
    /// Creates a closed connection.
    pub(crate) fn new(options: SessionOptions) -> Self {
        Self {
            state: State::Closed,
            options,
            session: Session::new(options),
            due: VecDeque::new(),
            write_buffer: WriteBuffer::default(),
        }
    }
}

impl<T: Transport> Connection<T> {
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// Returns the number of requests in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.session.in_flight()
    }

    /// Returns the number of buffered requests.
    pub(crate) fn buffered(&self) -> usize {
        self.session.buffered()
    }

    /// Returns the number of requests that have not ended: in flight, buffered or due.
    pub(crate) fn accepted(&self) -> usize {
        self.session.in_flight() + self.session.buffered() + self.due.len()
    }

    /// Returns how many requests more the connection can carry, where the plan has `depth` on one.
    pub(crate) fn room(&self, depth: usize) -> usize {
        self.session.capacity(depth).saturating_sub(self.accepted())
    }

    /// Returns how many of the requests that are due can be sent, where the plan has `depth` on one connection.
    pub(crate) fn sendable(&self, depth: usize) -> usize {
        let under_way = self.session.in_flight() + self.session.buffered();
        self.session.capacity(depth).saturating_sub(under_way).min(self.due.len())
    }

    /// Whether a part of a response has arrived.
    pub(crate) fn is_within_response(&self) -> bool {
        self.session.is_within_response()
    }

    /// Returns when the present wait began: when the oldest request in flight was sent, or the oldest one was buffered,
    /// or the connect or the handshake began.
    pub(crate) fn waiting_since(&self) -> Option<Nanos> {
        match &self.state {
            State::Closed => None,
            State::Opening { since, connected, .. } => Some(connected.unwrap_or(*since)),
            State::Greeting { since, .. } => Some(*since),
            State::Open(_) => self.session.oldest(),
        }
    }

    /// Describes an error of opening for the report.
    pub(crate) fn describe(&self, error: &io::Error) -> String {
        match is_protocol_refused(error) {
            true => self.options.describe_refusal().to_owned(),
            false => describe(error),
        }
    }

    /// Whether the TLS handshake is in progress.
    pub(crate) fn is_handshaking(&self) -> bool {
        matches!(self.state, State::Opening { connected: Some(_), .. })
    }

    /// Whether the transport is open, and the server's first words are awaited.
    pub(crate) fn is_greeting(&self) -> bool {
        matches!(self.state, State::Greeting { .. })
    }

    /// Describes how the server has ended a connection before a request was sent.
    pub(crate) fn describe_end(&self) -> String {
        self.session.describe_end()
    }

    /// Takes over a transport that has begun to connect.
    pub(crate) fn open(&mut self, transport: T, now: Nanos) {
        self.state = State::Opening { transport, since: now, connected: None };
    }

    /// Continues opening; returns the time when the transport has become ready. Then the connection is open, or it waits for
    /// the server's first words ([`Self::is_greeting`]).
    pub(crate) fn establish(
        &mut self,
        clock: &impl Clock,
        memory: &mut SharedMemory,
        recorder: &mut Recorder,
    ) -> io::Result<Option<Nanos>> {
        let State::Opening { transport, since, connected } = &mut self.state else {
            return Ok(None);
        };
        let mut progress = transport.establish()?;
        if progress == Progress::Connecting {
            return Ok(None);
        }
        let mut now = clock.now();
        if progress == Progress::Handshaking && connected.is_none() {
            // The handshake begins now.
            *connected = Some(now);
            progress = transport.establish()?;
        }
        let Progress::Ready { resumed, protocol } = progress else { return Ok(None) };
        if resumed.is_some() {
            now = clock.now();
        }
        let connected = connected.unwrap_or(now);
        let (connect, tls) = (connected.since(*since), now.since(connected));
        memory.outgoing.clear();
        let Some(()) = self.session.begin(self.options, protocol, &mut memory.outgoing) else {
            return Err(io::Error::other(self.options.describe_refusal()));
        };
        let opened = Opened { connect, tls, resumed, http2: self.session.is_http2() };
        if let State::Opening { transport, .. } = std::mem::replace(&mut self.state, State::Closed)
        {
            self.state = State::Greeting { transport, since: now, opened };
        }
        if !memory.outgoing.is_empty() {
            self.send_of_session(&memory.outgoing, recorder);
        }
        self.finish_opening(recorder);
        Ok(Some(now))
    }

    /// Opens a connection whose session is ready; `false` if it is not.
    pub(crate) fn finish_opening(&mut self, recorder: &mut Recorder) -> bool {
        if !self.session.is_ready() {
            return false;
        }
        match std::mem::replace(&mut self.state, State::Closed) {
            State::Greeting { transport, opened, .. } => {
                recorder.opened(opened);
                self.state = State::Open(transport);
            }
            state => self.state = state,
        }
        true
    }

    /// Closes the connection and returns its transport.
    pub(crate) fn close(&mut self) -> Option<T> {
        self.write_buffer.clear();
        match std::mem::replace(&mut self.state, State::Closed) {
            State::Closed => None,
            State::Opening { transport, .. }
            | State::Greeting { transport, .. }
            | State::Open(transport) => Some(transport),
        }
    }

    /// Sends the first `count` requests that are due, at most [`Self::sendable`], in one write. A request counts as sent when
    /// its first byte has been sent; until then it is buffered.
    pub(crate) fn send(
        &mut self,
        count: usize,
        rendering: &mut Rendering<'_>,
        now: Nanos,
        recorder: &mut Recorder,
    ) -> io::Result<()> {
        if !self.is_open() {
            return Ok(());
        }
        let batch = self.session.render(&mut self.due, count, rendering);
        self.write(&batch, now, recorder)
    }

    fn write(
        &mut self,
        batch: &RequestBatch<'_>,
        now: Nanos,
        recorder: &mut Recorder,
    ) -> io::Result<()> {
        let State::Open(transport) = &mut self.state else { return Ok(()) };
        let start = self.write_buffer.end();
        let (written, failure) = self.write_buffer.send(batch.bytes, transport);
        recorder.bytes_sent(written);
        let written = Written { start, count: written };
        self.session.submit(&mut self.due, batch, written, now, recorder);
        failure.map_or(Ok(()), Err)
    }

    /// Sends buffered bytes.
    pub(crate) fn flush(&mut self, clock: &impl Clock, recorder: &mut Recorder) -> io::Result<()> {
        let (State::Greeting { transport, .. } | State::Open(transport)) = &mut self.state else {
            return Ok(());
        };
        if !transport.flush()? || self.write_buffer.is_empty() {
            return Ok(());
        }
        let now = clock.now();
        let (written, failure) = self.write_buffer.flush(transport);
        recorder.bytes_sent(written);
        self.session.sent_to(self.write_buffer.sent_to(), now, recorder);
        failure.map_or(Ok(()), Err)
    }

    /// Sends what the session says on its own account. A failure is the connection's: the next read or flush tells.
    fn send_of_session(&mut self, bytes: &[u8], recorder: &mut Recorder) {
        let (State::Greeting { transport, .. } | State::Open(transport)) = &mut self.state else {
            return;
        };
        let (written, _) = self.write_buffer.send(bytes, transport);
        recorder.bytes_sent(written);
    }

    /// Makes the system acknowledge the part of a response that has arrived, unless bytes wait to be sent.
    pub(crate) fn send_ack_probe(&mut self, recorder: &mut Recorder) {
        if self.is_open() && self.write_buffer.is_empty() {
            match self.session.ack_probe() {
                [] => {}
                probe => self.send_of_session(probe, recorder),
            }
        }
    }

    /// Completes requests as the redirections that were followed last, where the server has closed the connection before any
    /// byte of the response to the next request. Returns their number.
    pub(crate) fn complete_redirected(&mut self, now: Nanos, recorder: &mut Recorder) -> usize {
        self.session.complete_redirected(now, recorder)
    }

    /// Ends the requests that were sent `limit` ago or earlier.
    pub(crate) fn expire(
        &mut self,
        now: Nanos,
        limit: Duration,
        memory: &mut SharedMemory,
        recorder: &mut Recorder,
    ) -> Expired {
        memory.outgoing.clear();
        let expired = self.session.expire(now, limit, &mut memory.outgoing, recorder);
        if !memory.outgoing.is_empty() {
            self.send_of_session(&memory.outgoing, recorder);
        }
        expired
    }

    /// Records all requests in flight as lost, the oldest first; `loss` is given their positions. Returns their number.
    pub(crate) fn lose_all(
        &mut self,
        now: Nanos,
        recorder: &mut Recorder,
        loss: impl FnMut(usize, &InFlight) -> (Loss, String),
    ) -> usize {
        self.session.lose_all(now, recorder, loss)
    }

    /// Makes buffered requests due again, before all others, after the connection has ended. Returns their number.
    pub(crate) fn requeue_buffered(&mut self, recorder: &mut Recorder) -> usize {
        self.session.requeue_buffered(&mut self.due, recorder)
    }
}

#[cfg(test)]
mod tests;
