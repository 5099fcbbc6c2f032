//! A connection: sends requests and receives their responses in order.
//!
//! ```text
//!   Closed ──open──> Opening ──ready──> Open ──close──> Closed
//!            due ──send──> in flight ──response──> completed
//!             ^ └──> buffered ──flush──^ │
//!             └────────┴─────────────────┴── the connection ends: buffered ones are due again, others lost
//! ```
//!
//! `receiving.rs` has what happens from the first byte of a response on. A connection knows no schedule and no socket: time
//! and transport are parameters.

mod receiving;

use std::collections::VecDeque;
use std::io;

use millrace_http::h1::ResponseDecoder;
use millrace_net::{Clock, Nanos, Progress, Transport};

use crate::ErrorKind;
use crate::metrics::in_flight::{Due, InFlight};
use crate::metrics::recorder::Recorder;
use crate::redirect::RedirectFollower;
pub(crate) use receiving::Receiving;

/// A request of which no byte has been sent: all of it is in the write buffer.
#[derive(Clone, Copy, Debug)]
struct Buffered {
    due: Due,
    since: Nanos,
    /// Its offset in the write buffer.
    start: usize,
    length: usize,
}

/// A response that has arrived in part.
#[derive(Clone, Copy, Debug)]
struct Partial {
    /// When the read that returned its first byte ended.
    first: Nanos,
    /// Whether an acknowledgement probe has been sent for it.
    is_probed: bool,
    /// Whether its rest may have been there as well: the read took only the beginning.
    is_cut: bool,
    /// Number of its bytes that have arrived.
    bytes: u64,
}

/// Minimum number of sent bytes to remove from the beginning of the write buffer: moving the rest has a cost.
const MIN_DROPPED: usize = 64 * 1024;

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

#[derive(Debug)]
enum State<T> {
    Closed,
    Opening {
        transport: T,
        since: Nanos,
        /// When the connect ended and the handshake began.
        connected: Option<Nanos>,
    },
    Open(T),
}

/// A connection with its requests.
#[derive(Debug)]
pub(crate) struct Connection<T> {
    state: State<T>,
    decoder: ResponseDecoder,
    in_flight: VecDeque<InFlight>,
    /// Of the request at the front of `in_flight`; `None` before its first byte.
    partial: Option<Partial>,
    /// The first bytes of the partial response, up to the maximum that is kept.
    begun: Vec<u8>,
    /// Requests that are due on this connection, in order.
    pub(crate) due: VecDeque<Due>,
    /// The part of a response's head that has arrived.
    read_buf: Vec<u8>,
    /// Bytes to send; those before `flushed` have been sent.
    write_buf: Vec<u8>,
    flushed: usize,
    /// Requests that begin in the write buffer, in order.
    buffered: VecDeque<Buffered>,
    /// Whether a request has been sent on the present connection.
    carried: bool,
    /// `None` where redirections are not followed.
    following: Option<RedirectFollower>,
}

impl<T> Default for Connection<T> {
    fn default() -> Self {
        Self::new(None)
    }
}

impl<T> Connection<T> {
    pub(crate) fn new(following: Option<RedirectFollower>) -> Self {
        Self {
            state: State::Closed,
            decoder: ResponseDecoder::default(),
            in_flight: VecDeque::new(),
            partial: None,
            begun: Vec::new(),
            due: VecDeque::new(),
            read_buf: Vec::new(),
            write_buf: Vec::new(),
            flushed: 0,
            buffered: VecDeque::new(),
            carried: false,
            following,
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
        self.in_flight.len()
    }

    /// Returns the number of buffered requests.
    pub(crate) fn buffered(&self) -> usize {
        self.buffered.len()
    }

    /// Returns the number of requests that have not ended: in flight, buffered or due.
    pub(crate) fn accepted(&self) -> usize {
        self.in_flight.len() + self.buffered.len() + self.due.len()
    }

    /// Returns when the present wait began: when the oldest request in flight was sent, or the oldest one was buffered,
    /// or the connect or the handshake began.
    pub(crate) fn waiting_since(&self) -> Option<Nanos> {
        match &self.state {
            State::Closed => None,
            State::Opening { since, connected, .. } => Some(connected.unwrap_or(*since)),
            State::Open(_) => {
                let in_flight = self.in_flight.front().map(|request| request.sent);
                in_flight.or_else(|| self.buffered.front().map(|held| held.since))
            }
        }
    }

    /// Whether the TLS handshake is in progress.
    pub(crate) fn is_handshaking(&self) -> bool {
        matches!(self.state, State::Opening { connected: Some(_), .. })
    }

    /// Takes over a transport that has begun to connect.
    pub(crate) fn open(&mut self, transport: T, now: Nanos) {
        self.state = State::Opening { transport, since: now, connected: None };
        self.carried = false;
    }

    /// Continues opening; returns the time when the connection has become ready.
    pub(crate) fn establish(
        &mut self,
        clock: &impl Clock,
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
        let Progress::Ready { resumed, protocol: _ } = progress else { return Ok(None) };
        if resumed.is_some() {
            now = clock.now();
        }
        let connected = connected.unwrap_or(now);
        recorder.opened(connected.since(*since), now.since(connected), resumed);
        if let State::Opening { transport, .. } = std::mem::replace(&mut self.state, State::Closed)
        {
            self.state = State::Open(transport);
        }
        Ok(Some(now))
    }

    /// Closes the connection and returns its transport.
    pub(crate) fn close(&mut self) -> Option<T> {
        self.decoder = ResponseDecoder::default();
        self.read_buf.clear();
        self.write_buf.clear();
        self.flushed = 0;
        match std::mem::replace(&mut self.state, State::Closed) {
            State::Closed => None,
            State::Opening { transport, .. } | State::Open(transport) => Some(transport),
        }
    }

    /// Sends the first requests that are due. A request counts as sent when its first byte has been sent; until then it is
    /// buffered.
    pub(crate) fn send(
        &mut self,
        batch: &RequestBatch<'_>,
        now: Nanos,
        recorder: &mut Recorder,
    ) -> io::Result<()> {
        let State::Open(transport) = &mut self.state else { return Ok(()) };
        if let Some(following) = &mut self.following {
            following.begin(batch.bytes);
        }
        let (written, failure) =
            if self.write_buf.is_empty() { write_all(transport, batch.bytes) } else { (0, None) };
        recorder.bytes_sent(written);
        // Those before the first one that begins where nothing has been written.
        let sent = match batch.bytes.len() {
            length if length == written => batch.count,
            _ => (0..batch.count).take_while(|index| batch.start(*index) < written).count(),
        };
        for index in 0..sent {
            let Some(due) = self.due.pop_front() else { break };
            self.begin(due, batch.length(index), now, recorder);
        }
        if written < batch.bytes.len() {
            let before = self.write_buf.len();
            self.write_buf.extend_from_slice(&batch.bytes[written..]);
            for (index, due) in (sent..).zip(self.due.drain(..batch.count - sent)) {
                let start = before + batch.start(index) - written;
                let length = batch.length(index);
                self.buffered.push_back(Buffered { due, since: now, start, length });
            }
            recorder.add_buffered(batch.count - sent);
        }
        failure.map_or(Ok(()), Err)
    }

    /// Records that the first byte of a request of this length has been sent.
    fn begin(&mut self, due: Due, length: usize, now: Nanos, recorder: &mut Recorder) {
        let Due { intended, request } = due;
        let request = InFlight { intended, sent: now, request };
        recorder.sent(&request, self.carried);
        recorder.bytes_sent_for(&request, length);
        self.carried = true;
        self.in_flight.push_back(request);
    }

    /// Sends buffered bytes.
    pub(crate) fn flush(&mut self, clock: &impl Clock, recorder: &mut Recorder) -> io::Result<()> {
        let State::Open(transport) = &mut self.state else { return Ok(()) };
        if !transport.flush()? || self.write_buf.is_empty() {
            return Ok(());
        }
        let now = clock.now();
        let (written, failure) = write_all(transport, &self.write_buf[self.flushed..]);
        recorder.bytes_sent(written);
        self.flushed += written;
        let begun = self.buffered.iter().take_while(|held| held.start < self.flushed).count();
        recorder.remove_buffered(begun);
        for _ in 0..begun {
            let Some(held) = self.buffered.pop_front() else { break };
            self.begin(held.due, held.length, now, recorder);
        }
        if self.flushed == self.write_buf.len() {
            // A large body's memory is not kept by an idle connection.
            (self.write_buf, self.flushed) = (Vec::new(), 0);
        } else if self.flushed > MIN_DROPPED && self.flushed > self.write_buf.len() / 2 {
            self.drop_flushed();
        }
        failure.map_or(Ok(()), Err)
    }

    /// Removes sent bytes from the write buffer, which never becomes empty if the server is always slightly slower.
    fn drop_flushed(&mut self) {
        self.write_buf.drain(..self.flushed);
        for held in &mut self.buffered {
            held.start -= self.flushed;
        }
        self.flushed = 0;
    }

    /// Makes buffered requests due again, before all others, after the connection has ended. Returns their number.
    pub(crate) fn requeue_buffered(&mut self, recorder: &mut Recorder) -> usize {
        let count = self.buffered.len();
        recorder.remove_buffered(count);
        while let Some(held) = self.buffered.pop_back() {
            self.due.push_front(held.due);
        }
        count
    }
}

/// Writes until all bytes are written, the transport would block, or it fails.
fn write_all(transport: &mut impl Transport, bytes: &[u8]) -> (usize, Option<io::Error>) {
    let mut written = 0;
    while written < bytes.len() {
        match transport.write(&bytes[written..]) {
            Ok(0) => break,
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return (written, Some(error)),
        }
    }
    (written, None)
}

#[cfg(test)]
mod tests;
