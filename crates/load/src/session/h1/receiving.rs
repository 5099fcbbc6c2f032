//! How responses are received, from their first bytes to their ends.

use millrace_http::h1::{Decoded, Error, KnownHead};
use millrace_net::Nanos;

use super::redirects::{MAX_HEAD, RedirectFollower};
use super::{H1Session, Partial, SharedMemory};
use crate::ErrorKind;
use crate::metrics::in_flight::{InFlight, Loss, NO_USER};
use crate::metrics::kept::{self, KeepReason};
use crate::metrics::recorder::Recorder;
use crate::rendered::Capture;
use crate::session::other_protocol::detect_other;
use crate::session::{End, NextRead, Received, Receiving};

/// Minimum number of bytes of a body that are discarded and not read: what is not much more than a head is as fast to read,
/// maybe with the next response.
const MIN_DISCARDED: u64 = 16 * 1024;

/// How much of a response is read first: of one that is like the last one, and large, what is looked at.
fn first_read(known: &KnownHead) -> usize {
    match known.content_length() {
        Some(length) if length >= 2 * MIN_DISCARDED => known.length() + 2 * kept::MAX_KEPT_BODY,
        _ => usize::MAX,
    }
}

impl H1Session {
    pub(in crate::session) fn next_read(&self, memory: &SharedMemory) -> NextRead {
        match self.discardable() {
            ..MIN_DISCARDED if self.is_within_response() => NextRead::Bytes(usize::MAX),
            ..MIN_DISCARDED => NextRead::Bytes(first_read(&memory.known_head)),
            count => NextRead::Discard(count),
        }
    }

    /// Returns how many of the bytes that come next are data that nobody looks at: so much of the response has been kept
    /// that the report needs no more.
    fn discardable(&self) -> u64 {
        let keeps = self.following.is_some() || self.room_to_keep() > 0;
        if keeps || !self.read_buf.is_empty() { 0 } else { self.decoder.data_ahead() }
    }

    pub(in crate::session) fn is_within_response(&self) -> bool {
        self.partial.is_some()
    }

    pub(in crate::session) fn cut_read(&mut self) {
        if let Some(partial) = &mut self.partial {
            partial.is_cut = true;
        }
    }

    pub(in crate::session) fn await_rest(&mut self) {
        if let Some(partial) = &mut self.partial {
            partial.is_cut = false;
        }
    }

    pub(in crate::session) fn receive_discarded(
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

    pub(in crate::session) fn receive(
        &mut self,
        bytes: &[u8],
        is_flushed: bool,
        now: Nanos,
        receiving: &mut Receiving<'_>,
    ) -> Received {
        receiving.recorder.bytes_received(bytes.len());
        if let Some(following) = &mut self.following {
            following.receive(bytes);
        }
        if self.read_buf.is_empty() {
            let (received, consumed) = self.decode(bytes, is_flushed, now, receiving);
            if received.end.is_none() {
                self.read_buf.extend_from_slice(&bytes[consumed..]);
            }
            return received;
        }
        let mut stash = std::mem::take(&mut self.read_buf);
        stash.extend_from_slice(bytes);
        let (received, consumed) = self.decode(&stash, is_flushed, now, receiving);
        stash.drain(..consumed);
        self.read_buf = stash;
        received
    }

    fn decode(
        &mut self,
        bytes: &[u8],
        is_flushed: bool,
        now: Nanos,
        receiving: &mut Receiving<'_>,
    ) -> (Received, usize) {
        let Receiving { mix, memory, recorder, peer_closed } = receiving;
        let mut received = Received::default();
        let mut at = 0;
        while at < bytes.len() {
            let Some(request) = self.in_flight.front() else {
                let (consumed, end) = classify_unsolicited(&bytes[at..]);
                at += consumed;
                received.end = end;
                break;
            };
            let rendered = &mix[request.request as usize];
            self.capture = rendered.capture;
            let known_head = &mut memory.h1.known_head;
            match self.decoder.decode_with(known_head, &bytes[at..], rendered.head) {
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
                    // Bytes of this read came before the next request was sent: they do not answer it. A request that is
                    // still on its way comes first.
                    let may_follow =
                        persistent && !*peer_closed && is_flushed && is_line_ends(&bytes[at..]);
                    if may_follow && self.follow(status, last, &mut memory.outgoing, recorder) {
                        at = bytes.len();
                        break;
                    }
                    self.complete(now, status, last, recorder);
                    received.completed += 1;
                    if !persistent {
                        received.end = Some(End::Agreed);
                        break;
                    }
                }
                Err(error) => {
                    let other = matches!(error, Error::StatusLine | Error::Version);
                    let other = other.then(|| detect_other(&bytes[at..])).flatten();
                    let why = other.unwrap_or_else(|| error.description()).to_owned();
                    received.end = Some(End::Failed(ErrorKind::Protocol, why));
                    self.keep_bytes(&bytes[at..]);
                    at = bytes.len();
                    break;
                }
            }
        }
        (received, at)
    }

    pub(in crate::session) fn finish(&mut self, now: Nanos, recorder: &mut Recorder) -> Received {
        let mut received = Received { end: Some(End::Eof), ..Received::default() };
        received.completed = self.complete_redirected(now, recorder);
        if received.completed == 0
            && let Ok(Some(Decoded::Complete { status, .. })) =
                self.decoder.finish(self.read_buf.len())
        {
            self.complete(now, status, &[], recorder);
            received.completed = 1;
        }
        received
    }

    /// Completes the request in flight as the redirection that was followed last, if there is one.
    pub(in crate::session) fn complete_redirected(
        &mut self,
        now: Nanos,
        recorder: &mut Recorder,
    ) -> usize {
        let redirection = self.following.as_mut().and_then(RedirectFollower::take_unanswered);
        let Some((status, response)) = redirection else { return 0 };
        self.partial = None;
        self.begun.clear();
        self.complete(now, status, &response, recorder);
        1
    }

    /// Keeps the first bytes of a partial response: for the report, and for `Location`.
    fn keep_bytes(&mut self, bytes: &[u8]) {
        let room = self.room_to_keep().min(bytes.len());
        self.begun.extend_from_slice(&bytes[..room]);
    }

    /// Returns how many more bytes of the partial response are kept.
    fn room_to_keep(&self) -> usize {
        let max = match self.capture {
            Capture::Status if self.following.is_none() => kept::MAX_KEPT,
            _ => MAX_HEAD,
        };
        let body = match self.capture {
            // The framing of chunks is kept as well; it may be several times as long as what is in them.
            Capture::Body(most) => most.saturating_mul(2).max(kept::MAX_KEPT_BODY),
            _ => kept::MAX_KEPT_BODY,
        };
        let head = self.decoder.head_length();
        let max_kept = head.map_or(max, |head| match self.capture {
            Capture::Body(_) => head.saturating_add(body),
            _ => max.min(head + body),
        });
        max_kept.saturating_sub(self.begun.len())
    }

    /// Completes the request at the front; `last` are the bytes of its response, or the last ones.
    #[inline]
    fn complete(&mut self, now: Nanos, status: u16, last: &[u8], recorder: &mut Recorder) {
        let Some(request) = self.in_flight.pop_front() else { return };
        recorder.completed(&request, now, status);
        if self.capture != Capture::Status && request.user != NO_USER {
            let before = self.partial.map_or(0, |partial| partial.bytes);
            recorder.ends.capture([&self.begun, last], before > self.begun.len() as u64);
        }
        let why = KeepReason::Status(status);
        if recorder.wants(why, &request) {
            recorder.keep(why, &request, [&self.begun, last]);
        }
        self.begun.clear();
        if let Some(Partial { first, is_cut: false, .. }) = self.partial.take() {
            recorder.came_in_parts(&request, first, now);
        }
    }

    /// Follows a redirection: adds the next request to `outgoing`; `last` are the bytes of the redirection, or the last ones.
    fn follow(
        &mut self,
        status: u16,
        last: &[u8],
        outgoing: &mut Vec<u8>,
        recorder: &mut Recorder,
    ) -> bool {
        let Some(following) = &mut self.following else { return false };
        let next = following.next(status, [&self.begun, last]);
        let (Some(next), Some(request)) = (next, self.in_flight.front()) else { return false };
        recorder.followed(request);
        recorder.bytes_sent_for(request, next.len());
        outgoing.extend_from_slice(next);
        self.begun.clear();
        self.partial = None;
        true
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

    pub(in crate::session) fn lose_all(
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

/// Whether these bytes are empty lines, which a client passes over before a status line.
pub(super) fn is_line_ends(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, b'\r' | b'\n'))
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
    let why = detect_other(bytes).unwrap_or("bytes that answer no request");
    (0, Some(End::Failed(ErrorKind::Protocol, why.to_owned())))
}
