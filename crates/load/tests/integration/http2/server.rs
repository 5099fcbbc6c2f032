//! A connection of HTTP/2 as a server has it that does what a test tells it, frame by frame.

use std::collections::HashMap;
use std::io::Read as _;

use millrace_http::h2::hpack::Decoder;
use millrace_http::h2::{FieldList, PREFACE};

use super::frames::*;
use crate::peer::{Exchange, Peer};

/// Codes of RST_STREAM and GOAWAY.
pub(super) const NO_ERROR: u32 = 0;
pub(super) const PROTOCOL_ERROR: u32 = 1;
pub(super) const INTERNAL_ERROR: u32 = 2;
pub(super) const FLOW_CONTROL_ERROR: u32 = 3;
pub(super) const REFUSED_STREAM: u32 = 7;
pub(super) const CANCEL: u32 = 8;

pub(super) const MAX_CONCURRENT_STREAMS: u16 = 3;

/// What a client says. The server has answered settings and pings, and has decoded the fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Head { stream: u32, fields: Vec<(String, String)>, ends: bool },
    Data { stream: u32, bytes: Vec<u8>, ends: bool },
    Reset { stream: u32, code: u32 },
    Window { stream: u32, increment: u32 },
    Acknowledged,
    Pong([u8; 8]),
    GoAway { code: u32 },
}

/// A request that has arrived as a whole.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    pub(super) stream: u32,
    pub(super) fields: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Request {
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        fields.find(|field| field.0 == name).map(|(_, value)| &value[..])
    }

    pub(super) fn path(&self) -> &str {
        self.field(":path").unwrap()
    }
}

/// The server's side of a connection.
pub(super) struct Server<'a> {
    exchange: &'a mut Exchange,
    arrived: Vec<u8>,
    decoder: Decoder,
    /// Requests whose ends have not come.
    begun: HashMap<u32, Request>,
    /// Streams that the client has reset, with the codes.
    pub(super) resets: Vec<(u32, u32)>,
    /// The highest number of a stream.
    pub(super) last: u32,
    /// The code of the client's GOAWAY.
    pub(super) farewell: Option<u32>,
}

/// A server whose connections begin with these settings. `serve` is called with each; when it returns it is closed.
pub(super) fn start(
    with: &'static [(u16, u32)],
    serve: impl Fn(&mut Server<'_>) + Send + Sync + 'static,
) -> Peer {
    Peer::start(move |exchange| {
        let Some(mut server) = Server::accept(exchange) else { return };
        server.send(&settings(with));
        serve(&mut server);
    })
}

impl<'a> Server<'a> {
    /// Reads the preface; `None` if the client has gone before its end.
    pub(super) fn accept(exchange: &'a mut Exchange) -> Option<Self> {
        exchange.stream.set_nodelay(true).unwrap();
        let mut preface = [0; PREFACE.len()];
        exchange.stream.read_exact(&mut preface).ok()?;
        assert_eq!(preface, PREFACE);
        Some(Self {
            exchange,
            arrived: Vec::new(),
            decoder: Decoder::default(),
            begun: HashMap::new(),
            resets: Vec::new(),
            last: 0,
            farewell: None,
        })
    }

    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.exchange.send(bytes);
    }

    pub(super) fn stream(&self) -> &std::net::TcpStream {
        &self.exchange.stream
    }

    /// The next frame: kind, flags, stream, payload; `None` at the end of the connection.
    fn frame(&mut self) -> Option<(u8, u8, u32, Vec<u8>)> {
        loop {
            if let Some(&[a, b, c, kind, flags, s0, s1, s2, s3]) = self.arrived.first_chunk() {
                let end = 9 + u32::from_be_bytes([0, a, b, c]) as usize;
                if self.arrived.len() >= end {
                    let payload = self.arrived[9..end].to_vec();
                    self.arrived.drain(..end);
                    return Some((kind, flags, u32::from_be_bytes([s0, s1, s2, s3]), payload));
                }
            }
            let mut buffer = [0; 65_536];
            let count = self.exchange.stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
            self.arrived.extend_from_slice(&buffer[..count]);
        }
    }

    /// What the client says next; `None` at the end of the connection.
    pub(super) fn next(&mut self) -> Option<Said> {
        loop {
            let (kind, flags, stream, payload) = self.frame()?;
            let number = |at: usize| payload[at..].first_chunk().map(|it| u32::from_be_bytes(*it));
            let ends = flags & END_STREAM != 0;
            return Some(match kind {
                HEADERS => {
                    let mut block = payload;
                    let mut flags = flags;
                    while flags & END_HEADERS == 0 {
                        let (kind, more, of, part) = self.frame()?;
                        assert_eq!((kind, of), (CONTINUATION, stream));
                        block.extend(part);
                        flags = more;
                    }
                    self.head(stream, &block, ends)
                }
                DATA => Said::Data { stream, bytes: payload, ends },
                RST_STREAM => {
                    let code = number(0).unwrap();
                    self.resets.push((stream, code));
                    self.begun.remove(&stream);
                    Said::Reset { stream, code }
                }
                WINDOW_UPDATE => Said::Window { stream, increment: number(0).unwrap() },
                SETTINGS if flags & ACK != 0 => Said::Acknowledged,
                SETTINGS => {
                    self.send(&frame(SETTINGS, ACK, 0, &[]));
                    continue;
                }
                PING if flags & ACK != 0 => Said::Pong(payload.try_into().unwrap()),
                GOAWAY => {
                    self.farewell = number(4);
                    Said::GoAway { code: number(4).unwrap() }
                }
                kind => panic!("a client sends a frame of kind {kind}"),
            });
        }
    }

    fn head(&mut self, stream: u32, block: &[u8], ends: bool) -> Said {
        assert!(stream % 2 == 1 && stream > self.last, "stream {stream} behind {}", self.last);
        self.last = stream;
        let mut list = FieldList::default();
        self.decoder.decode(block, &mut list, usize::MAX).unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let fields: Vec<_> = list.iter().map(|(name, value)| (text(name), text(value))).collect();
        let value = |name: &str| fields.iter().find(|field| field.0 == name).unwrap().1.clone();
        self.exchange.record(format!("{} {}", value(":method"), value(":path")));
        Said::Head { stream, fields, ends }
    }

    /// The next request that has arrived as a whole. Its body is read within the windows, which are opened again.
    pub(super) fn request(&mut self) -> Option<Request> {
        loop {
            let (stream, ends) = match self.next()? {
                Said::Head { stream, fields, ends } => {
                    self.begin(stream, fields);
                    (stream, ends)
                }
                Said::Data { stream, bytes, ends } => {
                    let count = bytes.len() as u32;
                    if let Some(request) = self.begun.get_mut(&stream) {
                        request.body.extend(bytes);
                    }
                    if count > 0 {
                        self.send(&number(WINDOW_UPDATE, 0, count));
                    }
                    if count > 0 && !ends {
                        self.send(&number(WINDOW_UPDATE, stream, count));
                    }
                    (stream, ends)
                }
                _ => continue,
            };
            if ends && let Some(request) = self.begun.remove(&stream) {
                return Some(request);
            }
        }
    }

    /// Whether there are bytes that have not been looked at.
    pub(super) fn has_more(&self) -> bool {
        if !self.arrived.is_empty() {
            return true;
        }
        let stream = &self.exchange.stream;
        stream.set_nonblocking(true).unwrap();
        let has_more = stream.peek(&mut [0]).is_ok();
        stream.set_nonblocking(false).unwrap();
        has_more
    }

    /// A request has begun whose body is read frame by frame.
    pub(super) fn begin(&mut self, stream: u32, fields: Vec<(String, String)>) {
        self.begun.insert(stream, Request { stream, fields, body: Vec::new() });
    }

    /// Adds to its body; `None` if it has ended already.
    pub(super) fn add(&mut self, stream: u32, bytes: &[u8]) -> Option<&Request> {
        let request = self.begun.get_mut(&stream)?;
        request.body.extend_from_slice(bytes);
        Some(request)
    }

    pub(super) fn end(&mut self, stream: u32) -> Request {
        self.begun.remove(&stream).unwrap()
    }

    /// So many requests, or as many as come.
    pub(super) fn requests(&mut self, count: usize) -> Vec<Request> {
        std::iter::from_fn(|| self.request()).take(count).collect()
    }

    /// Reads until the client has acknowledged settings.
    pub(super) fn await_acknowledgement(&mut self) {
        while !matches!(self.next().expect("the client is there"), Said::Acknowledged) {}
    }

    /// Reads until the client has ended the connection.
    pub(super) fn await_end(&mut self) {
        while self.next().is_some() {}
    }

    /// Answers a stream with `hi`.
    pub(super) fn answer(&mut self, stream: u32) {
        self.send(&response(stream));
    }

    /// Answers all requests that come, as soon as they have.
    pub(super) fn answer_all(&mut self) {
        while let Some(request) = self.request() {
            self.answer(request.stream);
        }
    }

    pub(super) fn reset(&mut self, stream: u32, code: u32) {
        self.send(&number(RST_STREAM, stream, code));
    }

    pub(super) fn go_away(&mut self, last: u32, code: u32) {
        self.send(&go_away(last, code));
    }
}

/// An ordinary response.
pub(super) fn response(stream: u32) -> Vec<u8> {
    let head = headers(stream, 0, &[(":status", "200"), ("content-length", "2")]);
    [head, data(stream, END_STREAM, b"hi")].concat()
}

/// A response of a status and nothing else.
pub(super) fn empty(stream: u32, status: &str) -> Vec<u8> {
    headers(stream, END_STREAM, &[(":status", status)])
}

pub(super) fn go_away(last: u32, code: u32) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}
