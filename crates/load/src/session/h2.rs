//! HTTP/2: each request is a stream, and streams end one by one, in any order.
//!
//! `sending.rs` has how requests become frames, `receiving.rs` what happens with events, `request_block.rs` how fields are
//! encoded, `captured.rs` what is kept of a response, `redirects.rs` how redirections are followed,
//! `grpc.rs` what gRPC adds.

mod captured;
mod grpc;
mod receiving;
mod redirects;
mod request_block;
mod sending;

use std::collections::VecDeque;
use std::time::Duration;

use millrace_http::h2::{Connection, ErrorCode, Role, Settings, StreamKey};
use millrace_net::Nanos;

use super::{Expired, SessionOptions};
use crate::ErrorKind;
use crate::metrics::in_flight::{Due, InFlight, Loss, NO_USER, NUMBERED_WHEN_SENT};
use crate::metrics::recorder::Recorder;
use captured::Captured;
use grpc::Messages;
use redirects::Redirects;
use request_block::RequestBlocks;

/// Pieces of memory for responses that are kept.
const MAX_SPARE: usize = 16;

/// A session of HTTP/2.
#[derive(Debug)]
pub(crate) struct H2Session {
    connection: Connection<Exchange>,
    options: SessionOptions,
    blocks: RequestBlocks,
    /// The streams of the present batch, which has not been written.
    rendered: Vec<StreamKey>,
    /// Streams that begin in the write buffer, in order.
    buffered: VecDeque<Buffered>,
    /// Streams whose bodies wait for a window of the server, in order.
    uploading: VecDeque<StreamKey>,
    /// How the connection ends, if the server has announced it.
    goaway: Option<GoAway>,
    /// The first bytes of the server, before its settings have come.
    greeting: Vec<u8>,
    /// Whether a request has been sent on the present connection.
    carried: bool,
    /// Memory for responses that are kept.
    #[expect(clippy::vec_box, reason = "a stream has the box or nothing")]
    spare: Vec<Box<Captured>>,
}

/// A request that begins in the write buffer.
#[derive(Clone, Copy, Debug)]
struct Buffered {
    /// Position of its first byte in what the connection sends.
    start: u64,
    stream: StreamKey,
}

/// What a server has said by GOAWAY.
#[derive(Clone, Copy, Debug)]
struct GoAway {
    /// It answers no stream above this number.
    last_stream: u32,
    code: ErrorCode,
}

impl GoAway {
    fn describe_refusal(self) -> String {
        format!("the server refused the stream by GOAWAY: {}", self.code)
    }
}

/// A request and what has come of its response.
#[derive(Debug)]
struct Exchange {
    /// Its time of sending is, while it is buffered, when it was buffered.
    request: InFlight,
    /// Whether its first byte waits in the write buffer.
    is_buffered: bool,
    /// Number of bytes of its frames in the batch.
    length: u32,
    /// The status of the final head; 0 before.
    status: u16,
    /// When the first part of the response came.
    first: Option<Nanos>,
    /// Bytes of the response so far.
    bytes: u64,
    /// The rest of its body.
    upload: Option<Box<Upload>>,
    /// Whether a body of the request has waited for a window: that of a redirection may wait again.
    has_waited: bool,
    /// What is kept of the response.
    captured: Option<Box<Captured>>,
    /// What is needed to follow a redirection.
    redirects: Option<Box<Redirects>>,
    /// The messages of a response of gRPC; `None` for others, and before the head.
    messages: Option<Messages>,
}

impl Default for Exchange {
    fn default() -> Self {
        let now = Nanos::default();
        Self {
            request: InFlight {
                intended: now,
                sent: now,
                request: 0,
                user: NO_USER,
                number: NUMBERED_WHEN_SENT,
            },
            is_buffered: true,
            length: 0,
            status: 0,
            first: None,
            bytes: 0,
            upload: None,
            has_waited: false,
            captured: None,
            redirects: None,
            messages: None,
        }
    }
}

/// A body that waits for a window.
#[derive(Debug)]
struct Upload {
    /// The request as text; `None`: that of the mix.
    text: Option<Vec<u8>>,
    /// Where its rest begins.
    at: usize,
    /// When the wait began.
    since: Nanos,
}

/// The memory that the sessions of a worker share.
#[derive(Debug, Default)]
pub(super) struct SharedMemory {
    /// Where each request of the present batch begins.
    starts: Vec<usize>,
    /// The text of the request that is being rendered, and its body.
    text: Vec<u8>,
    scratch: Vec<u8>,
    /// The header block that is being encoded.
    block: Vec<u8>,
}

impl H2Session {
    pub(super) fn new(options: SessionOptions) -> Self {
        let settings = Settings {
            enable_push: false,
            initial_window_size: options.window,
            ..Settings::default()
        };
        Self {
            connection: Connection::new(Role::Client, settings, options.window),
            options,
            blocks: RequestBlocks::default(),
            rendered: Vec::new(),
            buffered: VecDeque::new(),
            uploading: VecDeque::new(),
            goaway: None,
            greeting: Vec::new(),
            carried: false,
            spare: Vec::new(),
        }
    }

    /// Begins a connection: appends the preface.
    pub(super) fn begin(&mut self, outgoing: &mut Vec<u8>) {
        self.connection.begin(outgoing);
        self.blocks.clear();
        self.rendered.clear();
        self.buffered.clear();
        self.uploading.clear();
        self.goaway = None;
        self.greeting.clear();
        self.carried = false;
    }

    /// Describes how the server has ended a connection before a request was sent.
    pub(super) fn describe_end(&self) -> String {
        match (self.is_ready(), self.goaway) {
            (_, Some(GoAway { code, .. })) => {
                format!("the server ended the connection before a request (GOAWAY, {code})")
            }
            (true, None) => "the server closed the connection before a request".to_owned(),
            (false, None) => "the server closed the connection before its SETTINGS frame: it may \
                              speak no HTTP/2"
                .to_owned(),
        }
    }

    /// Whether the server's settings have come.
    pub(super) fn is_ready(&self) -> bool {
        self.connection.is_settled()
    }

    pub(super) fn capacity(&self, depth: usize) -> usize {
        if !self.is_ready() || self.goaway.is_some() || !self.connection.has_numbers() {
            return 0;
        }
        let most = self.connection.peer().max_concurrent_streams;
        most.map_or(depth, |most| depth.min(most as usize))
    }

    pub(super) fn in_flight(&self) -> usize {
        self.connection.open_streams() - self.buffered.len()
    }

    pub(super) fn buffered(&self) -> usize {
        self.buffered.len()
    }

    pub(super) fn oldest(&self) -> Option<Nanos> {
        let oldest = self.connection.get(self.connection.first()?)?;
        Some(oldest.request.sent)
    }

    pub(super) fn is_within_response(&self) -> bool {
        self.streams().any(|(_, exchange)| exchange.first.is_some())
    }

    /// The open streams in the order of opening.
    fn streams(&self) -> impl Iterator<Item = (StreamKey, &Exchange)> {
        std::iter::successors(self.connection.first(), |key| self.connection.after(*key))
            .filter_map(|key| Some((key, self.connection.get(key)?)))
    }

    /// Records that a stream has ended without a response. It has been removed.
    fn lose(
        &mut self,
        exchange: Exchange,
        now: Nanos,
        loss: Loss,
        example: impl FnOnce() -> String,
        recorder: &mut Recorder,
    ) {
        let Exchange { request, status, first, bytes, messages, captured, .. } = exchange;
        if let Some(upload) = exchange.upload {
            recorder.window_waited(&request, now.since(upload.since), !exchange.has_waited);
        }
        if let Some(first) = first {
            recorder.lost_in_parts(&request, first, now);
            if status > 0 {
                // A call of gRPC has its status at the end: so far it is well.
                let status = if messages.is_some() { grpc::OK } else { status };
                recorder.unended(&request, loss, status, (first, bytes));
            }
        }
        recorder.lost(&request, now, loss, example);
        self.keep_memory(captured);
    }

    /// Removes a stream that ends before its response has.
    fn cancel(&mut self, stream: StreamKey, outgoing: &mut Vec<u8>) -> Option<Exchange> {
        let exchange = self.connection.remove(stream, ErrorCode::CANCEL, outgoing)?;
        self.stop_upload(stream, &exchange);
        Some(exchange)
    }

    /// What is left of a request's body will not be sent: the answer came first. It waited for no window then.
    fn give_up_upload(&mut self, stream: StreamKey) {
        let Some(exchange) = self.connection.get_mut(stream) else { return };
        if exchange.upload.take().is_some() {
            self.uploading.retain(|key| *key != stream);
        }
    }

    /// Keeps the memory of a response for the next one.
    fn keep_memory(&mut self, captured: Option<Box<Captured>>) {
        if self.spare.len() < MAX_SPARE {
            self.spare.extend(captured);
        }
    }

    /// A stream with this key has been removed: it waits for no window.
    fn stop_upload(&mut self, stream: StreamKey, exchange: &Exchange) {
        if exchange.upload.is_some() {
            self.uploading.retain(|key| *key != stream);
        }
    }

    /// Resets the streams that are late. A request that could not even be sent ends the connection, and with it all others.
    pub(super) fn expire(
        &mut self,
        now: Nanos,
        limit: Duration,
        outgoing: &mut Vec<u8>,
        recorder: &mut Recorder,
    ) -> Expired {
        let mut lost = 0;
        let late = || format!("no complete response within {limit:?}");
        while let Some(stream) = self.connection.first() {
            let Some(exchange) = self.connection.get(stream) else { break };
            if now.since(exchange.request.sent) < limit {
                break;
            }
            if exchange.is_buffered {
                lost += self.lose_all(now, recorder, |_, request| {
                    if now.since(request.sent) >= limit {
                        return (Loss::Timeout, late());
                    }
                    let text = "given up with a request that the server did not read";
                    (Loss::Transport(ErrorKind::ClosedEarly), text.to_owned())
                });
                return Expired { lost, ends_connection: true };
            }
            let Some(exchange) = self.cancel(stream, outgoing) else { break };
            self.lose(exchange, now, Loss::Timeout, late, recorder);
            lost += 1;
        }
        // After GOAWAY the last stream ends the connection.
        let ends_connection = self.is_drained();
        Expired { lost, ends_connection }
    }

    /// Whether nothing more happens on the connection.
    fn is_drained(&self) -> bool {
        match self.goaway {
            None => !self.connection.has_numbers() && self.connection.open_streams() == 0,
            // Requests that wait in the write buffer go to the next connection.
            Some(_) => self.streams().all(|(stream, _)| self.is_refused(stream)),
        }
    }

    /// Whether the server has announced that it does not answer this stream.
    fn is_refused(&self, stream: StreamKey) -> bool {
        let number = self.connection.number(stream);
        self.goaway.is_some_and(|it| number.is_some_and(|number| number > it.last_stream))
    }

    pub(super) fn lose_all(
        &mut self,
        now: Nanos,
        recorder: &mut Recorder,
        mut loss: impl FnMut(usize, &InFlight) -> (Loss, String),
    ) -> usize {
        let mut count = 0;
        let mut next = self.connection.first();
        while let Some(stream) = next {
            next = self.connection.after(stream);
            if self.connection.get(stream).is_none_or(|exchange| exchange.is_buffered) {
                continue;
            }
            // One that went out of the write buffer behind GOAWAY.
            let refusal = self.goaway.filter(|_| self.is_refused(stream));
            let Some(exchange) = self.connection.forget(stream) else { continue };
            self.stop_upload(stream, &exchange);
            // What ends the connection ends all other streams alike.
            let (loss, example) = match refusal {
                Some(it) => (Loss::Transport(ErrorKind::RefusedStream), it.describe_refusal()),
                None => loss(0, &exchange.request),
            };
            self.lose(exchange, now, loss, || example, recorder);
            count += 1;
        }
        count
    }

    pub(super) fn requeue_buffered(
        &mut self,
        due: &mut VecDeque<Due>,
        recorder: &mut Recorder,
    ) -> usize {
        let count = self.buffered.len();
        recorder.remove_buffered(count);
        while let Some(Buffered { stream, .. }) = self.buffered.pop_back() {
            let Some(exchange) = self.connection.forget(stream) else { continue };
            self.stop_upload(stream, &exchange);
            let InFlight { intended, request, user, number, .. } = exchange.request;
            due.push_front(Due { intended, request, user, number });
        }
        count
    }
}
