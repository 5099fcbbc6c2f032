//! How a connection receives: bytes, and the responses in them.

use std::io;

use millrace_http::h1::{Decoded, Error, KnownHead};
use millrace_net::{Nanos, Transport};

use super::{Connection, End, Partial, State, write_all};
use crate::ErrorKind;
use crate::metrics::in_flight::{InFlight, Loss};
use crate::metrics::kept::{self, KeepReason};
use crate::metrics::recorder::Recorder;
use crate::protocol;
use crate::redirect::{self, RedirectFollower, is_line_ends};
use crate::rendered::Rendered;

/// The bytes that [`Connection::send_ack_probe`] sends.
const EMPTY_LINE: &[u8] = b"\r\n";

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
        if let Some(partial) = &mut self.partial {
            partial.bytes += count as u64;
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
                    let begun = Partial { first: now, is_probed: false, is_cut: false, bytes: 0 };
                    self.partial.get_or_insert(begun).bytes += consumed as u64;
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
        let begun = self.partial.take();
        if let (Some(Partial { first, .. }), Some(request)) = (&begun, self.in_flight.front()) {
            recorder.lost_in_parts(request, *first, now);
        }
        // Without a status the head has not arrived as a whole.
        let begun = begun.zip(self.decoder.pending_status());
        let mut count = 0;
        while let Some(request) = self.in_flight.pop_front() {
            let (loss, example) = loss(count, &request);
            if let (0, Some((Partial { first, bytes, .. }, status))) = (count, begun) {
                recorder.unended(&request, loss, status, (first, bytes));
            }
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
