//! A session of HTTP/2 (RFC 9113). Each of its streams is a connection of the reactor of its own, which speaks HTTP/1.1 through
//! [`StreamTransport`](crate::transport::stream::StreamTransport). The session makes text of requests and frames of responses;
//! `reactor/streams.rs` carries both between the connections.
//!
//! ```text
//!   bytes ──receive──> StreamNews: Opened, Arrived, Reset, Freed, Ended ──> connections of streams
//!   frames <── outgoing <──respond, release, close_stream──────────── connections of streams
//! ```
//!
//! A session has at most, whatever its client sends:
//!
//! - content that nobody has read, as much as its windows allow: 4 MiB for all streams of a connection, 1 MiB for one
//! - for each of its streams, of which there are [`Http2Settings::max_concurrent_streams`]: a head of as many bytes as the settings
//!   allow, and what the application has written and the client's windows and socket do not take; of a stored response, 64 KiB
//! - frames for the socket: 256 KiB, and what one turn of reading is answered with; nothing more is read then
//! - parts of one header block: 256 KiB; a frame that has come in part: 16 KiB; the tables of both directions: 4 KiB each
//!
//! Without content and responses that is less than 512 KiB (`tests/http2_memory.rs`). What carries nothing ends it: streams that are
//! reset, above 1,000 and 33 per second; frames without any use, above 10,000 and 1,000 per second.

mod request;
mod response;
mod sending;

use std::collections::VecDeque;
use std::time::Duration;

use millrace_http::h1::HeadLimits;
use millrace_http::h2::hpack::Indexing;
use millrace_http::h2::{Connection, ErrorCode, Event, PREFACE, Role, Settings, StreamKey};
use millrace_net::Nanos;

use crate::connection::id::ConnId;
use request::Rendered;
pub(crate) use request::RequestText;
use response::{HeadWriter, Response};

/// The windows for what a client sends: of a stream, and of all streams of a connection. So much of what it sends a connection
/// holds at most.
const STREAM_WINDOW: u32 = 1024 * 1024;
const CONNECTION_WINDOW: u32 = 4 * 1024 * 1024;

/// Frames that wait for the socket; with more, no content is made into frames.
pub(crate) const MAX_OUTGOING: usize = 256 * 1024;

/// Streams that may be reset at once before their responses are complete, and as many each second (CVE-2023-44487, CVE-2025-8671).
const MAX_RESETS: f64 = 1000.0;
const RESETS_PER_SECOND: f64 = 33.0;

/// Milliseconds after which one more frame may come that carries nothing.
const FORGIVING: u64 = 1;

/// What a field of a head counts beside its bytes (RFC 9113, section 6.5.2).
const FIELD_OVERHEAD: usize = 32;

/// What has happened to a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StreamNews {
    /// A request has begun: [`H2::take_request`].
    Opened(StreamKey),
    /// Content has come, or its end: [`H2::take_content`].
    Arrived(StreamKey),
    /// The stream is over, for this reason; its connection is.
    Reset(ConnId, ErrorCode),
    /// Some of the content that waits for a window has left; so many bytes still wait.
    Sent(ConnId, usize),
    /// Nothing of its response waits for a window any more.
    Freed(ConnId),
    /// The client, which has said all of the request, has ended its side.
    Ended(StreamKey),
}

/// A stream, as its session has it.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// Its connection, once there is one.
    connection: Option<ConnId>,
    request: Option<RequestText>,
    /// Content that has come and is not with the connection.
    content: Vec<u8>,
    /// The end has come, with these lines of trailers.
    end: Option<Vec<u8>>,
    /// There is news of its content.
    has_news: bool,
    response: Response,
    /// It is in [`H2::waiting`].
    waits: bool,
}

/// Content that has come: bytes, and the lines of the trailers if it has ended.
pub(crate) type Content = (ConnId, Vec<u8>, Option<Vec<u8>>);

/// Where a response stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Responded {
    /// Bytes that wait for a window.
    pub(crate) waiting: usize,
    /// All of the response has been sent.
    pub(crate) is_sent: bool,
    /// The stream is over.
    pub(crate) is_over: bool,
    /// What was sent is no response, or ends within one: the stream was reset.
    pub(crate) is_broken: bool,
}

/// What has been counted since somebody asked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct H2Counts {
    pub(crate) streams: u32,
    pub(crate) resets: u32,
    pub(crate) refused: u32,
    pub(crate) errors: u32,
    /// Requests whose head is too large.
    pub(crate) too_large: u32,
}

#[derive(Debug)]
pub(crate) struct H2 {
    http2: Connection<Stream>,
    writer: HeadWriter,
    /// Frames that the channel does not have.
    outgoing: Vec<u8>,
    news: Vec<StreamNews>,
    /// Streams whose content waits for a window.
    waiting: VecDeque<StreamKey>,
    /// Connections of streams whose output waits until the socket has taken what is there.
    stalled: Vec<ConnId>,
    /// Content waits for the socket, not for a window.
    is_full: bool,
    /// Frames are to be sent in this turn.
    pub(crate) is_listed: bool,
    /// Streams that may still be opened.
    streams_left: u32,
    is_going_away: bool,
    /// It was found to have no streams, and none has been opened since.
    rests: bool,
    /// The client has ended its side.
    is_ended: bool,
    has_failed: bool,
    tells_pseudo_fields: bool,
    /// The client's settings have come, and nobody was told of it.
    has_settled: bool,
    /// Resets that count, as of this time.
    resets: f64,
    resets_at: Nanos,
    /// Frames that carry nothing are forgiven as of this time.
    forgiven_at: Nanos,
    counts: H2Counts,
}

/// What a server asks of its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Http2Settings {
    /// Streams of one connection at once.
    pub max_concurrent_streams: u32,
    /// Requests of one connection; `None`: any number.
    pub max_requests: Option<u32>,
    /// The text of a request says which fields it had as one of HTTP/2 (`PSEUDO` in `request.rs`).
    pub tells_pseudo_fields: bool,
}

/// Whether these bytes, which are the first of a connection, begin a session; `None`: that is not known yet.
pub(crate) fn is_preface(bytes: &[u8]) -> Option<bool> {
    match PREFACE.len() <= bytes.len() {
        true => Some(bytes.starts_with(PREFACE)),
        false if PREFACE.starts_with(bytes) => None,
        false => Some(false),
    }
}

impl H2 {
    pub(crate) fn new(settings: Http2Settings, limits: &HeadLimits) -> Self {
        // Whoever reads the text is strict about its length and its number of fields.
        let max_list = limits.bytes.saturating_add(limits.fields.saturating_mul(FIELD_OVERHEAD));
        let local = Settings {
            max_concurrent_streams: Some(settings.max_concurrent_streams),
            initial_window_size: STREAM_WINDOW,
            max_header_list_size: Some(u32::try_from(max_list).unwrap_or(u32::MAX)),
            ..Settings::default()
        };
        let mut http2 = Connection::new(Role::Server, local, CONNECTION_WINDOW);
        let mut outgoing = Vec::new();
        http2.begin(&mut outgoing);
        Self {
            http2,
            writer: HeadWriter::default(),
            outgoing,
            news: Vec::new(),
            waiting: VecDeque::new(),
            stalled: Vec::new(),
            is_full: false,
            is_listed: false,
            streams_left: settings.max_requests.unwrap_or(u32::MAX),
            is_going_away: false,
            rests: true,
            is_ended: false,
            has_failed: false,
            tells_pseudo_fields: settings.tells_pseudo_fields,
            has_settled: false,
            resets: 0.0,
            resets_at: Nanos::default(),
            forgiven_at: Nanos::default(),
            counts: H2Counts::default(),
        }
    }

    // What comes.

    /// Takes received bytes; gives whether a frame has become complete.
    pub(crate) fn receive(&mut self, mut bytes: &[u8], limits: &HeadLimits, now: Nanos) -> bool {
        self.forgive(now);
        let completed = self.http2.completed();
        // However many windows have opened: all that waits is looked at once.
        let mut has_room = false;
        while !self.has_failed {
            let was_settled = self.http2.is_settled();
            match self.http2.next(&mut bytes, &mut self.outgoing) {
                Ok(None) => break,
                Ok(Some(event)) => {
                    self.has_settled |= !was_settled && self.http2.is_settled();
                    match event {
                        Event::Head { stream, ends, .. } => self.on_head(stream, ends, limits, now),
                        Event::Data { stream, bytes, ends, .. } => {
                            self.on_data(stream, bytes, ends);
                        }
                        Event::Trailers { stream, .. } => self.on_trailers(stream, now),
                        Event::HeadTooLarge { stream } => self.on_large_head(stream),
                        Event::Reset { stream, code, .. } => self.on_reset(stream, code, now),
                        Event::Malformed { stream, error } => {
                            self.on_reset(stream, error.code, now);
                        }
                        Event::WindowOpened | Event::Settings => has_room = true,
                        // A client says that it will open no more streams, or that it has had an error; it closes the connection.
                        Event::GoAway { .. } | Event::Interim { .. } => {}
                    }
                }
                Err(error) => self.fail(error.code),
            }
        }
        if has_room && !self.has_failed {
            self.send_waiting();
        }
        self.http2.completed() > completed
    }

    fn forgive(&mut self, now: Nanos) {
        let count = now.since(self.forgiven_at).as_millis() as u64 / FORGIVING;
        if count > 0 {
            self.forgiven_at = now;
            self.http2.forgive(u32::try_from(count).unwrap_or(u32::MAX));
        }
    }

    fn on_large_head(&mut self, key: StreamKey) {
        self.counts.streams += 1;
        self.counts.too_large += 1;
        self.answer(key, b"431");
    }

    fn on_head(&mut self, key: StreamKey, ends: bool, limits: &HeadLimits, now: Nanos) {
        self.counts.streams += 1;
        self.rests = false;
        let number = self.http2.number(key).filter(|_| self.tells_pseudo_fields);
        let rendered = request::render(self.http2.head(), ends, number, limits);
        let is_bodiless = self.http2.head().iter().any(|field| field == (b":method", b"HEAD"));
        match rendered {
            Ok(Rendered::Request(text)) => {
                if let Some(stream) = self.http2.get_mut(key) {
                    stream.request = Some(text);
                    stream.response.is_bodiless = is_bodiless;
                    self.news.push(StreamNews::Opened(key));
                }
            }
            // A tunnel is for HTTP/1.1: as Node's own server of HTTP/2 answers.
            Ok(Rendered::Connect) => self.answer(key, b"405"),
            Err(error) => self.end_stream(key, error.code, now),
        }
        self.streams_left = self.streams_left.saturating_sub(1);
        if self.streams_left == 0 {
            self.go_away();
        }
    }

    /// Answers a request that becomes no connection, with nothing but a status.
    fn answer(&mut self, key: StreamKey, status: &[u8]) {
        self.rests = false;
        let mut block = Vec::new();
        let encoder = self.http2.encoder();
        encoder.begin(&mut block);
        encoder.encode(b":status", status, Indexing::IfRoom, &mut block);
        self.http2.send_head(key, &block, true, &mut self.outgoing);
        self.http2.remove(key, ErrorCode::NO_ERROR, &mut self.outgoing);
        if let Err(error) = self.http2.spend() {
            self.fail(error.code);
        }
    }

    /// The connection itself has released the frame's padding.
    fn on_data(&mut self, key: StreamKey, bytes: &[u8], ends: bool) {
        let Some(stream) = self.http2.get_mut(key) else { return };
        stream.content.extend_from_slice(bytes);
        if ends {
            stream.end = Some(Vec::new());
        }
        self.tell_arrived(key);
    }

    fn on_trailers(&mut self, key: StreamKey, now: Nanos) {
        match request::render_trailers(self.http2.trailers()) {
            Ok(lines) => {
                if let Some(stream) = self.http2.get_mut(key) {
                    stream.end = Some(lines);
                }
                self.tell_arrived(key);
            }
            Err(error) => self.end_stream(key, error.code, now),
        }
    }

    fn tell_arrived(&mut self, key: StreamKey) {
        if let Some(stream) = self.http2.get_mut(key)
            && !std::mem::replace(&mut stream.has_news, true)
        {
            self.news.push(StreamNews::Arrived(key));
        }
    }

    /// The client has reset a stream, or has made this side do it.
    fn on_reset(&mut self, key: StreamKey, code: ErrorCode, now: Nanos) {
        let stream = self.http2.forget(key);
        self.part_with(key, stream, code);
        self.count_reset(now);
    }

    /// A stream is over before its messages are complete: its connection is.
    fn part_with(&mut self, key: StreamKey, stream: Option<Stream>, code: ErrorCode) {
        let Some(Stream { connection, waits, .. }) = stream else { return };
        self.news.extend(connection.map(|connection| StreamNews::Reset(connection, code)));
        if waits {
            self.waiting.retain(|it| *it != key);
        }
    }

    fn count_reset(&mut self, now: Nanos) {
        self.counts.resets += 1;
        let since = now.since(std::mem::replace(&mut self.resets_at, now));
        let forgiven = RESETS_PER_SECOND * since.min(Duration::from_secs(60)).as_secs_f64();
        self.resets = (self.resets - forgiven).max(0.0) + 1.0;
        if self.resets > MAX_RESETS {
            self.fail(ErrorCode::ENHANCE_YOUR_CALM);
        }
    }

    /// The connection ends with an error, and all of its streams do.
    fn fail(&mut self, code: ErrorCode) {
        self.counts.errors += 1;
        self.has_failed = true;
        self.http2.go_away(code, &mut self.outgoing);
        while let Some(key) = self.http2.first() {
            let stream = self.http2.forget(key);
            self.part_with(key, stream, code);
        }
    }

    /// The client has made this side end a stream.
    fn end_stream(&mut self, key: StreamKey, code: ErrorCode, now: Nanos) {
        let stream = self.http2.remove(key, code, &mut self.outgoing);
        self.part_with(key, stream, code);
        self.count_reset(now);
    }

    /// The client has ended its side. What it has asked is answered as far as its windows allow; requests that are not complete will
    /// not be. A client that is gone wholly resets the connection when it hears of it.
    pub(crate) fn end_input(&mut self) {
        (self.is_ended, self.is_going_away) = (true, true);
        self.http2.go_away(ErrorCode::NO_ERROR, &mut self.outgoing);
        let mut next = self.http2.first();
        while let Some(key) = next {
            next = self.http2.after(key);
            if self.http2.is_received(key) {
                self.news.push(StreamNews::Ended(key));
            } else {
                self.give_up(key);
            }
        }
        self.send_waiting();
    }

    /// Resets a stream of a client that has ended its side: its messages cannot become complete.
    fn give_up(&mut self, key: StreamKey) {
        let stream = self.http2.remove(key, ErrorCode::CANCEL, &mut self.outgoing);
        self.part_with(key, stream, ErrorCode::CANCEL);
    }

    /// The client has ended its side.
    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended
    }

    // What its streams have.

    /// Takes the news, in order. The memory comes back with [`Self::recycle`].
    pub(crate) fn take_news(&mut self) -> Vec<StreamNews> {
        std::mem::take(&mut self.news)
    }

    pub(crate) fn recycle(&mut self, mut news: Vec<StreamNews>) {
        if self.news.is_empty() {
            news.clear();
            self.news = news;
        }
    }

    /// Takes a request that has begun, for the connection that the stream has from now on. `None`: it has been reset.
    pub(crate) fn take_request(&mut self, key: StreamKey, id: ConnId) -> Option<RequestText> {
        let stream = self.http2.get_mut(key)?;
        let request = stream.request.take()?;
        stream.connection = Some(id);
        Some(request)
    }

    /// The connection of a stream.
    pub(crate) fn connection(&self, key: StreamKey) -> Option<ConnId> {
        self.http2.get(key)?.connection
    }

    /// Takes content that has come. `None`: the stream has been reset.
    pub(crate) fn take_content(&mut self, key: StreamKey) -> Option<Content> {
        let stream = self.http2.get_mut(key)?;
        let id = stream.connection?;
        stream.has_news = false;
        Some((id, std::mem::take(&mut stream.content), stream.end.take()))
    }

    /// A stream, if it is still the one of this connection: keys are used again.
    fn own(&mut self, key: StreamKey, id: ConnId) -> Option<&mut Stream> {
        self.http2.get_mut(key).filter(|stream| stream.connection == Some(id))
    }

    /// So much content was read: the client may send as much again.
    pub(crate) fn release(&mut self, key: StreamKey, id: ConnId, count: usize) {
        if self.own(key, id).is_some() {
            self.http2.release(key, count, &mut self.outgoing);
        }
    }

    // The session itself.

    /// Frames that are to be sent. The memory comes back with [`Self::give_back`].
    pub(crate) fn take_frames(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.outgoing)
    }

    pub(crate) fn give_back(&mut self, mut frames: Vec<u8>) {
        if self.outgoing.is_empty() {
            frames.clear();
            if frames.capacity() > 2 * MAX_OUTGOING {
                frames.shrink_to(MAX_OUTGOING);
            }
            self.outgoing = frames;
        }
    }

    pub(crate) fn outgoing(&self) -> usize {
        self.outgoing.len()
    }

    /// The client may open no more streams; those that are open come to their ends.
    pub(crate) fn go_away(&mut self) {
        if !std::mem::replace(&mut self.is_going_away, true) && !self.has_failed {
            self.http2.go_away(ErrorCode::NO_ERROR, &mut self.outgoing);
        }
    }

    /// Its connections, of the streams that are open.
    pub(crate) fn connections(&self) -> impl Iterator<Item = ConnId> {
        let keys = std::iter::successors(self.http2.first(), |key| self.http2.after(*key));
        keys.filter_map(|key| self.http2.get(key)?.connection)
    }

    /// Its last stream has ended since the last call.
    pub(crate) fn begins_rest(&mut self) -> bool {
        let rests = !self.has_streams();
        let rested = std::mem::replace(&mut self.rests, rests);
        rests && !rested
    }

    pub(crate) fn has_streams(&self) -> bool {
        self.http2.open_streams() > 0
    }

    /// Nothing more comes or leaves.
    pub(crate) fn is_over(&self) -> bool {
        (self.has_failed || self.is_going_away) && !self.has_streams() && self.outgoing.is_empty()
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Whether the client's settings have come since the last call.
    pub(crate) fn take_settled(&mut self) -> bool {
        std::mem::take(&mut self.has_settled)
    }

    /// The client has sent a part of a frame, or of a header block, which its limit of time holds for.
    pub(crate) fn is_within_head(&self) -> bool {
        !self.http2.is_settled() || self.http2.is_within_frame()
    }

    pub(crate) fn take_counts(&mut self) -> H2Counts {
        self.counts.refused += self.http2.take_refused();
        std::mem::take(&mut self.counts)
    }
}
