//! The text of a response as frames.

use millrace_http::h1::{Method, ResponseHead, ResponseSink, ResponseSplitter, field_lines};
use millrace_http::h2::hpack::{Encoder, Indexing};
use millrace_http::h2::{Connection, StreamKey, is_connection_field};

use super::Stream;

/// The response of a stream.
#[derive(Debug, Default)]
pub(crate) struct Response {
    splitter: ResponseSplitter,
    /// To HEAD: it has no content.
    pub(super) is_bodiless: bool,
    /// Content that waits for a window.
    waiting: Content,
    /// It ends behind that, with these lines of trailers.
    end: Option<Vec<u8>>,
}

/// Bytes of which some have been sent.
#[derive(Debug, Default)]
struct Content {
    bytes: Vec<u8>,
    at: usize,
}

impl Content {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn advance(&mut self, count: usize) {
        self.at += count;
        if self.at == self.bytes.len() {
            *self = Self::default();
        }
    }
}

/// A response that is none, or that has not come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// What responses of a session are made with.
#[derive(Debug, Default)]
pub(super) struct HeadWriter {
    block: Vec<u8>,
    name: Vec<u8>,
    /// The last head that changed nothing in the encoder's table, its block, and the generation of that table.
    last: Vec<u8>,
    last_block: Vec<u8>,
    generation: Option<u64>,
}

impl HeadWriter {
    /// Encodes a response's head; most of a server's responses within a second are the same.
    fn encode(&mut self, status: u16, head: &[u8], encoder: &mut Encoder) {
        let before = encoder.generation();
        if self.generation == Some(before) && self.last == head {
            self.block.clone_from(&self.last_block);
            return;
        }
        self.begin(encoder);
        let digits = [status / 100, status / 10 % 10, status % 10].map(|digit| b'0' + digit as u8);
        encoder.encode(b":status", &digits, Indexing::IfRoom, &mut self.block);
        let line = head.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.add(&head[line..], encoder);
        self.generation = None;
        if encoder.generation() == before {
            self.generation = Some(before);
            self.last.clear();
            self.last.extend_from_slice(head);
            self.last_block.clone_from(&self.block);
        }
    }

    fn encode_trailers(&mut self, lines: &[u8], encoder: &mut Encoder) {
        self.begin(encoder);
        self.add(lines, encoder);
    }

    fn begin(&mut self, encoder: &mut Encoder) {
        self.block.clear();
        encoder.begin(&mut self.block);
    }

    /// Adds field lines, without the fields of a connection (RFC 9113, section 8.2.2).
    fn add(&mut self, lines: &[u8], encoder: &mut Encoder) {
        for (name, value) in field_lines(lines) {
            self.name.clear();
            self.name.extend(name.iter().map(u8::to_ascii_lowercase));
            // `te` is of requests, and clients take no other than `trailers`.
            if !is_connection_field(&self.name) && self.name != b"te" {
                encoder.encode(&self.name, value, indexing(&self.name), &mut self.block);
            }
        }
    }
}

/// Fields with values that are rarely those of the next response stay out of the table.
fn indexing(name: &[u8]) -> Indexing {
    match name {
        b"content-length" | b"content-range" | b"date" | b"age" | b"etag" | b"last-modified"
        | b"location" | b"expires" => Indexing::Without,
        b"set-cookie" | b"authorization" | b"www-authenticate" => Indexing::Never,
        _ => Indexing::IfRoom,
    }
}

/// Makes frames of what the splitter finds.
struct FrameSink<'a> {
    http2: &'a mut Connection<Stream>,
    writer: &'a mut HeadWriter,
    out: &'a mut Vec<u8>,
    key: StreamKey,
    is_bodiless: bool,
    /// A head was encoded, and is sent with the end if that follows at once.
    has_head: bool,
    waiting: Content,
    trailers: Vec<u8>,
    is_ended: bool,
}

impl FrameSink<'_> {
    fn send_head(&mut self, ends: bool) {
        if std::mem::take(&mut self.has_head) {
            self.http2.send_head(self.key, &self.writer.block, ends, self.out);
        }
    }
}

impl ResponseSink for FrameSink<'_> {
    fn interim(&mut self, head: &ResponseHead, bytes: &[u8]) {
        self.send_head(false);
        self.writer.encode(head.status, bytes, self.http2.encoder());
        self.has_head = true;
        self.send_head(false);
    }

    fn head(&mut self, head: &ResponseHead, bytes: &[u8]) -> Option<Method> {
        if self.is_ended {
            return None;
        }
        self.writer.encode(head.status, bytes, self.http2.encoder());
        self.has_head = true;
        Some(if self.is_bodiless { Method::Head } else { Method::Get })
    }

    fn data(&mut self, bytes: &[u8], is_last: bool) {
        self.send_head(false);
        let taken = match self.waiting.rest() {
            [] => self.http2.send_data(self.key, bytes, is_last, self.out),
            _ => 0,
        };
        self.waiting.push(&bytes[taken..]);
    }

    fn trailers(&mut self, lines: &[u8]) {
        self.trailers.extend_from_slice(lines);
    }

    fn end(&mut self) {
        self.is_ended = true;
    }
}

/// Makes frames of the bytes that a stream's response has next, as far as windows allow. `is_last`: it ends behind them. The rest
/// waits: [`send_waiting`].
pub(super) fn respond(
    http2: &mut Connection<Stream>,
    writer: &mut HeadWriter,
    key: StreamKey,
    (bytes, is_last): (&[u8], bool),
    out: &mut Vec<u8>,
) -> Result<(), Broken> {
    let Some(stream) = http2.get_mut(key) else { return Ok(()) };
    let response = &mut stream.response;
    // What an application sends beyond its response is dropped, as by clients of HTTP/1.1.
    if response.end.is_some() {
        return Ok(());
    }
    let mut splitter = std::mem::take(&mut response.splitter);
    let (is_bodiless, waiting) = (response.is_bodiless, std::mem::take(&mut response.waiting));
    let (trailers, is_ended) = (Vec::new(), false);
    let mut sink = FrameSink {
        http2,
        writer,
        out,
        key,
        is_bodiless,
        has_head: false,
        waiting,
        trailers,
        is_ended,
    };
    let is_understood = splitter.split(bytes, &mut sink).is_ok() || sink.is_ended;
    sink.is_ended |= is_last && splitter.ends_with_connection();
    let is_empty = sink.waiting.rest().is_empty() && sink.trailers.is_empty();
    sink.send_head(sink.is_ended && is_empty);
    let FrameSink { waiting, trailers, is_ended, .. } = sink;
    if let Some(stream) = http2.get_mut(key) {
        let end = is_ended.then_some(trailers);
        stream.response = Response { splitter, is_bodiless, waiting, end };
    }
    if is_ended {
        send_end(http2, writer, key, out);
    }
    if is_understood && (is_ended || !is_last) { Ok(()) } else { Err(Broken) }
}

/// Sends content that waits, at most `most` bytes, and the end behind all of it. Gives how many bytes were sent.
pub(super) fn send_waiting(
    http2: &mut Connection<Stream>,
    writer: &mut HeadWriter,
    key: StreamKey,
    most: usize,
    out: &mut Vec<u8>,
) -> usize {
    let Some(stream) = http2.get_mut(key) else { return 0 };
    let mut waiting = std::mem::take(&mut stream.response.waiting);
    let ends = stream.response.end.as_ref().is_some_and(Vec::is_empty);
    let rest = waiting.rest();
    let part = &rest[..rest.len().min(most)];
    let taken = match part {
        [] => 0,
        part => http2.send_data(key, part, ends && part.len() == rest.len(), out),
    };
    waiting.advance(taken);
    if let Some(stream) = http2.get_mut(key) {
        stream.response.waiting = waiting;
    }
    send_end(http2, writer, key, out);
    taken
}

/// Sends the end of a response of which nothing waits, unless it was sent.
fn send_end(
    http2: &mut Connection<Stream>,
    writer: &mut HeadWriter,
    key: StreamKey,
    out: &mut Vec<u8>,
) {
    let is_sent = http2.is_sent(key);
    let Some(stream) = http2.get(key) else { return };
    if is_sent || !stream.response.waiting.rest().is_empty() {
        return;
    }
    let Some(trailers) = &stream.response.end else { return };
    if trailers.is_empty() {
        http2.send_data(key, &[], true, out);
    } else {
        let lines = trailers.clone();
        writer.encode_trailers(&lines, http2.encoder());
        http2.send_head(key, &writer.block, true, out);
    }
}

impl Response {
    /// Bytes of content that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.rest().len()
    }
}
