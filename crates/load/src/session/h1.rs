//! HTTP/1.1: responses come in the order of their requests, so that a late one ends the connection for all of them.
//!
//! `receiving.rs` has what happens from the first byte of a response on, `redirects.rs` how a redirection is followed.

mod receiving;
mod redirects;

use std::collections::VecDeque;
use std::time::Duration;

use millrace_http::h1::{KnownHead, ResponseDecoder};
use millrace_net::Nanos;

use super::{Expired, Rendering, RequestBatch, SessionOptions, Written};
use crate::ErrorKind;
use crate::engine::numbers::{Purpose, random_for};
use crate::metrics::in_flight::{Due, InFlight, Loss, NO_USER};
use crate::metrics::recorder::Recorder;
use crate::rendered::Capture;
use crate::template::Values;
use redirects::RedirectFollower;

/// The bytes of [`H1Session::ack_probe`]. A server ignores an empty line before a request line (RFC 9112, section 2.2).
const EMPTY_LINE: &[u8] = b"\r\n";

/// A session of HTTP/1.1.
#[derive(Debug)]
pub(crate) struct H1Session {
    decoder: ResponseDecoder,
    in_flight: VecDeque<InFlight>,
    /// Requests that begin in the write buffer, in order.
    buffered: VecDeque<Buffered>,
    /// Of the request at the front of `in_flight`; `None` before its first byte.
    partial: Option<Partial>,
    /// The first bytes of the partial response, up to the maximum that is kept.
    begun: Vec<u8>,
    /// How much of the present response goes to a flow.
    capture: Capture,
    /// The part of a response's head that has arrived.
    read_buf: Vec<u8>,
    /// Whether several requests may be in flight.
    pipelines: bool,
    /// Whether a request has been sent on the present connection.
    carried: bool,
    /// `None` where redirections are not followed.
    following: Option<RedirectFollower>,
}

/// A request of which no byte has been sent: all of it is in the write buffer.
#[derive(Clone, Copy, Debug)]
struct Buffered {
    due: Due,
    since: Nanos,
    /// Position of its first byte in the stream.
    start: u64,
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

/// The memory that the sessions of a worker share.
#[derive(Debug, Default)]
pub(super) struct SharedMemory {
    known_head: KnownHead,
    /// Where each request of the present batch begins.
    starts: Vec<usize>,
    /// The body of the request that is being rendered.
    scratch: Vec<u8>,
}

impl H1Session {
    pub(super) fn new(options: SessionOptions) -> Self {
        Self {
            pipelines: options.pipelines,
            decoder: ResponseDecoder::default(),
            in_flight: VecDeque::new(),
            buffered: VecDeque::new(),
            partial: None,
            begun: Vec::new(),
            capture: Capture::Status,
            read_buf: Vec::new(),
            carried: false,
            following: options.redirects.map(RedirectFollower::new),
        }
    }

    pub(super) fn begin(&mut self) {
        self.decoder = ResponseDecoder::default();
        self.read_buf.clear();
        self.carried = false;
    }

    pub(super) fn capacity(&self, depth: usize) -> usize {
        if self.pipelines { depth } else { 1 }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    pub(super) fn buffered(&self) -> usize {
        self.buffered.len()
    }

    pub(super) fn oldest(&self) -> Option<Nanos> {
        let in_flight = self.in_flight.front().map(|request| request.sent);
        in_flight.or_else(|| self.buffered.front().map(|held| held.since))
    }

    /// Renders requests, unless they are the same bytes each time.
    pub(super) fn render<'a>(
        &mut self,
        due: &mut VecDeque<Due>,
        count: usize,
        rendering: &'a mut Rendering<'_>,
    ) -> RequestBatch<'a> {
        let mix: &'a [_] = rendering.mix;
        let traces = rendering.traces;
        rendering.memory.h1.starts.clear();
        let copies = match mix {
            // A user's request has its cookies, and may be the one that follows a redirection.
            [only] if due.front().is_none_or(|due| due.user == NO_USER) => only.batch(count),
            _ => None,
        };
        let bytes = match copies {
            Some(copies) => copies,
            None => {
                rendering.memory.outgoing.clear();
                for due in due.iter_mut().take(count) {
                    let request = &mix[due.request as usize];
                    let number = rendering.number(due);
                    let trace = rendering.trace(number);
                    let super::SharedMemory { outgoing, h1: shared, .. } = &mut *rendering.memory;
                    shared.starts.push(outgoing.len());
                    if due.user == NO_USER {
                        let mut random = random_for(rendering.seed, number, Purpose::Values);
                        let mut values = Values::new(number, &mut random).with_trace(trace);
                        request.render(&mut values, &mut shared.scratch, outgoing);
                    } else {
                        let scratch = &mut shared.scratch;
                        rendering.users.render(due, request, traces, scratch, outgoing);
                    }
                }
                &rendering.memory.outgoing
            }
        };
        RequestBatch { bytes, count, starts: &rendering.memory.h1.starts }
    }

    pub(super) fn submit(
        &mut self,
        due: &mut VecDeque<Due>,
        batch: &RequestBatch<'_>,
        written: Written,
        now: Nanos,
        recorder: &mut Recorder,
    ) {
        if let Some(following) = &mut self.following {
            following.begin(batch.bytes);
        }
        // Those before the first one that begins where nothing has been written.
        let sent = match batch.bytes.len() {
            length if length == written.count => batch.count,
            _ => (0..batch.count).take_while(|index| batch.start(*index) < written.count).count(),
        };
        for index in 0..sent {
            let Some(due) = due.pop_front() else { break };
            self.send(due, batch.length(index), now, recorder);
        }
        if sent < batch.count {
            for (index, due) in (sent..).zip(due.drain(..batch.count - sent)) {
                let start = written.start + batch.start(index) as u64;
                let length = batch.length(index);
                self.buffered.push_back(Buffered { due, since: now, start, length });
            }
            recorder.add_buffered(batch.count - sent);
        }
    }

    pub(super) fn sent_to(&mut self, position: u64, now: Nanos, recorder: &mut Recorder) {
        let sent = self.buffered.iter().take_while(|held| held.start < position).count();
        recorder.remove_buffered(sent);
        for _ in 0..sent {
            let Some(held) = self.buffered.pop_front() else { break };
            self.send(held.due, held.length, now, recorder);
        }
    }

    /// Records that the first byte of a request of this length has been sent.
    fn send(&mut self, due: Due, length: usize, now: Nanos, recorder: &mut Recorder) {
        let Due { intended, request, user, number } = due;
        let request = InFlight { intended, sent: now, request, user, number };
        recorder.sent(&request, self.carried);
        recorder.bytes_sent_for(&request, length);
        self.carried = true;
        self.in_flight.push_back(request);
    }

    pub(super) fn requeue_buffered(
        &mut self,
        due: &mut VecDeque<Due>,
        recorder: &mut Recorder,
    ) -> usize {
        let count = self.buffered.len();
        recorder.remove_buffered(count);
        while let Some(held) = self.buffered.pop_back() {
            due.push_front(held.due);
        }
        count
    }

    /// Returns an empty line, once for each partial response: the segment carries the acknowledgement of the part that has
    /// arrived. It must not come between the bytes of a request.
    pub(super) fn ack_probe(&mut self) -> &'static [u8] {
        match &mut self.partial {
            Some(partial) if !partial.is_probed => {
                partial.is_probed = true;
                EMPTY_LINE
            }
            _ => &[],
        }
    }

    /// Loses all requests: those behind the late one lose their connection, not their time.
    pub(super) fn expire(
        &mut self,
        now: Nanos,
        limit: Duration,
        _outgoing: &mut Vec<u8>,
        recorder: &mut Recorder,
    ) -> Expired {
        let lost = self.lose_all(now, recorder, |_, request| {
            if now.since(request.sent) >= limit {
                (Loss::Timeout, format!("no complete response within {limit:?}"))
            } else {
                let text = "given up with an earlier request's timeout".to_owned();
                (Loss::Transport(ErrorKind::ClosedEarly), text)
            }
        });
        Expired { lost, ends_connection: true }
    }
}
