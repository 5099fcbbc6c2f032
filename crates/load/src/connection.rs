//! A connection: sends requests and receives their responses in order.
//!
//! ```text
//!   Closed ──open──> Opening ──ready──> Open ──close──> Closed
//!            due ──send──> in flight ──response──> completed
//!             ^ └──> buffered ──flush──^ │
//!             └────────┴─────────────────┴── the connection ends: buffered ones are due again, others lost
//! ```
//!
//! A connection knows no schedule and no socket: time and transport are parameters.

use std::collections::VecDeque;
use std::io;

use millrace_http::{Decoded, Error, KnownHead, ResponseDecoder};
use millrace_net::{Clock, Nanos, Progress, Transport};

use crate::ErrorKind;
use crate::metrics::kept::{self, KeepReason};
use crate::metrics::recorder::{InFlight, Loss, Recorder};
use crate::protocol;
use crate::redirect::{self, RedirectFollower, is_line_ends};
use crate::rendered::Rendered;

/// A request that is due and has not been sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    /// When it was due.
    pub(crate) intended: Nanos,
    /// Index into the mix.
    pub(crate) request: u32,
}

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
}

/// Minimum number of sent bytes to remove from the beginning of the write buffer: moving the rest has a cost.
const MIN_DROPPED: usize = 64 * 1024;

/// The bytes that [`Connection::send_ack_probe`] sends.
const EMPTY_LINE: &[u8] = b"\r\n";

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

/// The state that the connections of a worker share for receiving.
pub(crate) struct Receiving<'a> {
    /// The requests by index.
    pub(crate) mix: &'a [Rendered],
    pub(crate) known_head: &'a mut KnownHead,
    pub(crate) recorder: &'a mut Recorder,
    /// Whether the peer has closed its side: it will answer no further request.
    pub(crate) peer_closed: bool,
}

/// The result of receiving bytes.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// Number of requests that have ended.
    pub(crate) completed: usize,
    /// Why the connection must be closed; `None` if it stays open.
    pub(crate) end: Option<End>,
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

    /// Continues opening; `true` when the connection has become ready.
    pub(crate) fn establish(&mut self, now: Nanos, recorder: &mut Recorder) -> io::Result<bool> {
        let State::Opening { transport, since, connected } = &mut self.state else {
            return Ok(false);
        };
        let progress = transport.establish()?;
        if progress == Progress::Connecting {
            return Ok(false);
        }
        let connected = *connected.get_or_insert(now);
        let Progress::Ready { resumed } = progress else { return Ok(false) };
        recorder.opened(connected.since(*since), now.since(connected), resumed);
        if let State::Opening { transport, .. } = std::mem::replace(&mut self.state, State::Closed)
        {
            self.state = State::Open(transport);
        }
        Ok(true)
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

    /// Reads once; see [`Transport::read`].
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<millrace_net::Read> {
        match &mut self.state {
            State::Open(transport) => transport.read(buffer),
            _ => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// Returns how many of the bytes that come next are data that nobody looks at: so much of the response has been kept
    /// that the report needs no more.
    pub(crate) fn discardable(&self) -> u64 {
        let keeps = self.following.is_some() || self.room_to_keep() > 0;
        if keeps || !self.read_buf.is_empty() { 0 } else { self.decoder.data_ahead() }
    }

    /// Whether a response has begun and not ended.
    pub(crate) fn is_within_response(&self) -> bool {
        self.partial.is_some()
    }

    /// The last read took only the beginning of what may have arrived of a response.
    pub(crate) fn cut_read(&mut self) {
        if let Some(partial) = &mut self.partial {
            partial.is_cut = true;
        }
    }

    /// Nothing more has arrived: the rest of a partial response is another part.
    pub(crate) fn await_rest(&mut self) {
        if let Some(partial) = &mut self.partial {
            partial.is_cut = false;
        }
    }

    /// Reads bytes that nobody looks at, at most [`Self::discardable`]; see [`Transport::discard`].
    pub(crate) fn discard(&mut self, scratch: &mut [u8]) -> io::Result<millrace_net::Read> {
        match &mut self.state {
            State::Open(transport) => transport.discard(scratch),
            _ => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// Processes so many bytes that were discarded.
    pub(crate) fn receive_discarded(
        &mut self,
        count: usize,
        now: Nanos,
        recorder: &mut Recorder,
    ) -> Received {
        let mut received = Received::default();
        recorder.bytes_received(count);
        if let Some(request) = self.in_flight.front() {
            recorder.bytes_received_for(request, count);
        }
        if let Decoded::Complete { status, persistent, .. } = self.decoder.skip(count) {
            self.complete(now, status, &[], recorder);
            received.completed = 1;
            received.end = (!persistent).then_some(End::Agreed);
        }
        received
    }

    /// Processes received bytes, and completes the requests that they answer.
    pub(crate) fn receive(
        &mut self,
        bytes: &[u8],
        now: Nanos,
        receiving: &mut Receiving<'_>,
    ) -> Received {
        receiving.recorder.bytes_received(bytes.len());
        if let Some(following) = &mut self.following {
            following.receive(bytes);
        }
        if self.read_buf.is_empty() {
            let (fed, consumed) = self.decode(bytes, now, receiving);
            if fed.end.is_none() {
                self.read_buf.extend_from_slice(&bytes[consumed..]);
            }
            return fed;
        }
        let mut stash = std::mem::take(&mut self.read_buf);
        stash.extend_from_slice(bytes);
        let (fed, consumed) = self.decode(&stash, now, receiving);
        stash.drain(..consumed);
        self.read_buf = stash;
        fed
    }

    fn decode(
        &mut self,
        bytes: &[u8],
        now: Nanos,
        receiving: &mut Receiving<'_>,
    ) -> (Received, usize) {
        let Receiving { mix, known_head, recorder, peer_closed } = receiving;
        let mut fed = Received::default();
        let mut at = 0;
        while at < bytes.len() {
            let Some(request) = self.in_flight.front() else {
                let (consumed, end) = classify_unsolicited(&bytes[at..]);
                at += consumed;
                fed.end = end;
                break;
            };
            match self.decoder.decode_with(
                known_head,
                &bytes[at..],
                mix[request.request as usize].head,
            ) {
                Ok(Decoded::More { consumed }) => {
                    recorder.bytes_received_for(request, consumed);
                    self.keep_bytes(&bytes[at..at + consumed]);
                    at += consumed;
                    let (is_probed, is_cut) = (false, false);
                    self.partial.get_or_insert(Partial { first: now, is_probed, is_cut });
                    break;
                }
                Ok(Decoded::Complete { consumed, status, persistent }) => {
                    let last = &bytes[at..at + consumed];
                    at += consumed;
                    recorder.bytes_received_for(request, consumed);
                    // Bytes of this read came before the next request was sent: they do not answer it.
                    let may_follow = persistent && !*peer_closed && is_line_ends(&bytes[at..]);
                    if may_follow && self.follow(status, last, recorder) {
                        at = bytes.len();
                        break;
                    }
                    self.complete(now, status, last, recorder);
                    fed.completed += 1;
                    if !persistent {
                        fed.end = Some(End::Agreed);
                        break;
                    }
                }
                Err(error) => {
                    let other = matches!(error, Error::StatusLine | Error::Version);
                    let other = other.then(|| protocol::detect_other(&bytes[at..])).flatten();
                    let why = other.unwrap_or_else(|| error.description()).to_owned();
                    fed.end = Some(End::Failed(ErrorKind::Protocol, why));
                    self.keep_bytes(&bytes[at..]);
                    at = bytes.len();
                    break;
                }
            }
        }
        (fed, at)
    }

    /// Processes the end of the stream, which completes a response that ends with the connection.
    pub(crate) fn finish(&mut self, now: Nanos, recorder: &mut Recorder) -> Received {
        let mut fed = Received { completed: 0, end: Some(End::Eof) };
        if self.complete_redirected(now, recorder) {
            fed.completed = 1;
        } else if let Ok(Some(Decoded::Complete { status, .. })) =
            self.decoder.finish(self.read_buf.len())
        {
            self.complete(now, status, &[], recorder);
            fed.completed = 1;
        }
        fed
    }

    /// Completes the request in flight as the redirection that was followed last, where the server has closed the
    /// connection before any byte of the response to the next request. `false` if there is no such redirection.
    pub(crate) fn complete_redirected(&mut self, now: Nanos, recorder: &mut Recorder) -> bool {
        let redirection = self.following.as_mut().and_then(RedirectFollower::take_unanswered);
        let Some((status, response)) = redirection else { return false };
        self.partial = None;
        self.begun.clear();
        self.complete(now, status, &response, recorder);
        true
    }

    /// Keeps the first bytes of a partial response: for the report, and for `Location`.
    fn keep_bytes(&mut self, bytes: &[u8]) {
        let room = self.room_to_keep().min(bytes.len());
        self.begun.extend_from_slice(&bytes[..room]);
    }

    /// Returns how many more bytes of the partial response are kept.
    fn room_to_keep(&self) -> usize {
        let max = if self.following.is_some() { redirect::MAX_HEAD } else { kept::MAX_KEPT };
        let max_kept =
            self.decoder.head_length().map_or(max, |head| max.min(head + kept::MAX_KEPT_BODY));
        max_kept.saturating_sub(self.begun.len())
    }

    /// Completes the request at the front; `last` are the bytes of its response, or the last ones.
    fn complete(&mut self, now: Nanos, status: u16, last: &[u8], recorder: &mut Recorder) {
        let Some(request) = self.in_flight.pop_front() else { return };
        recorder.completed(&request, now, status);
        let why = KeepReason::Status(status);
        if recorder.wants(why, &request) {
            recorder.keep(why, &request, [&self.begun, last]);
        }
        self.begun.clear();
        if let Some(Partial { first, is_cut: false, .. }) = self.partial.take() {
            recorder.came_in_parts(&request, first, now);
        }
    }

    /// Follows a redirection: sends the next request; `last` are the bytes of the redirection, or the last ones. Does not
    /// follow while the write buffer still contains bytes, of the request's body or of an acknowledgement probe: it would
    /// grow with each redirection.
    fn follow(&mut self, status: u16, last: &[u8], recorder: &mut Recorder) -> bool {
        let (Some(following), State::Open(transport)) = (&mut self.following, &mut self.state)
        else {
            return false;
        };
        if !self.write_buf.is_empty() {
            return false;
        }
        let next = following.next(status, [&self.begun, last]);
        let (Some(next), Some(request)) = (next, self.in_flight.front()) else { return false };
        recorder.followed(request);
        recorder.bytes_sent_for(request, next.len());
        // A failure is the connection's: the next read or flush tells.
        let (written, _) = write_all(transport, next);
        recorder.bytes_sent(written);
        self.write_buf.extend_from_slice(&next[written..]);
        self.begun.clear();
        self.partial = None;
        true
    }

    /// Sends an empty line, once for each partial response: the segment carries the acknowledgement of the part that has
    /// arrived. A server ignores the line before a request line (RFC 9112, section 2.2), so it is never sent between the
    /// bytes of a request.
    pub(crate) fn send_ack_probe(&mut self, recorder: &mut Recorder) {
        let (State::Open(transport), Some(partial)) = (&mut self.state, &mut self.partial) else {
            return;
        };
        if partial.is_probed || !self.write_buf.is_empty() {
            return;
        }
        partial.is_probed = true;
        // A failure is the connection's: the next read or flush tells.
        let (written, _) = write_all(transport, EMPTY_LINE);
        recorder.bytes_sent(written);
        self.write_buf.extend_from_slice(&EMPTY_LINE[written..]);
    }

    /// Keeps the partial response to a lost request, if it is the first for this kind of error.
    fn keep_broken_off(&mut self, request: &InFlight, loss: Loss, recorder: &mut Recorder) {
        let begun = std::mem::take(&mut self.begun);
        let why = match loss {
            _ if begun.is_empty() && self.read_buf.is_empty() => return,
            Loss::Timeout => KeepReason::Error(ErrorKind::Timeout),
            Loss::Transport(kind) => KeepReason::Error(kind),
            Loss::InFlightAtEnd => return,
        };
        if recorder.wants(why, request) {
            recorder.keep(why, request, [&begun, &self.read_buf]);
        }
    }

    /// Records all requests in flight as lost. Returns their number.
    pub(crate) fn lose_all(
        &mut self,
        now: Nanos,
        recorder: &mut Recorder,
        mut loss: impl FnMut(usize, &InFlight) -> (Loss, String),
    ) -> usize {
        if let (Some(Partial { first, .. }), Some(request)) =
            (self.partial.take(), self.in_flight.front())
        {
            recorder.lost_in_parts(request, first, now);
        }
        let mut count = 0;
        while let Some(request) = self.in_flight.pop_front() {
            let (loss, example) = loss(count, &request);
            recorder.lost(&request, now, loss, || example);
            if count == 0 {
                self.keep_broken_off(&request, loss, recorder);
            }
            count += 1;
        }
        count
    }
}

/// Classifies bytes that arrive while no request is in flight. Returns how many are consumed, and whether they end the
/// connection.
fn classify_unsolicited(bytes: &[u8]) -> (usize, Option<End>) {
    // A line end too many after the last response.
    if is_line_ends(bytes) {
        return (bytes.len(), None);
    }
    // How some servers say that a connection was idle for too long (RFC 9110, section 15.5.9).
    if bytes.starts_with(b"HTTP/1.1 408") || bytes.starts_with(b"HTTP/1.0 408") {
        return (0, Some(End::Eof));
    }
    let why = protocol::detect_other(bytes).unwrap_or("bytes that answer no request");
    (0, Some(End::Failed(ErrorKind::Protocol, why.to_owned())))
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
