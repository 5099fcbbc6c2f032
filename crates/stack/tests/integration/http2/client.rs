//! A client that says frames as a test wants them, and keeps what the server says.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use millrace_http::h2::hpack::Decoder;
use millrace_http::h2::{FieldList, PREFACE};

use super::frames::*;

/// What was received on a stream.
#[derive(Default)]
pub(crate) struct Answer {
    /// The fields of each head, and of the trailers.
    pub(crate) heads: Vec<Vec<(String, String)>>,
    pub(crate) content: Vec<u8>,
    pub(crate) is_ended: bool,
    /// The code of RST_STREAM.
    pub(crate) reset: Option<u32>,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { heads, content, is_ended, reset } = self;
        write!(f, "{heads:?}, {} bytes, ended {is_ended}, reset {reset:?}", content.len())
    }
}

impl Answer {
    /// The value of a field of the first head that has it.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let field = self.heads.iter().flatten().find(|(of, _)| of == name);
        field.map(|(_, value)| value.as_str())
    }

    pub(crate) fn statuses(&self) -> Vec<&str> {
        let status =
            |head: &'_ Vec<(String, String)>| head.iter().position(|(name, _)| name == ":status");
        self.heads.iter().filter_map(|head| Some(head[status(head)?].1.as_str())).collect()
    }
}

pub(crate) struct Client {
    stream: UnixStream,
    pub(crate) connection: usize,
    decoder: Decoder,
    /// What has come of the next frame.
    partial: Vec<u8>,
    pub(crate) answers: BTreeMap<u32, Answer>,
    /// DATA frames in the order in which they came: stream and length.
    pub(crate) order: Vec<(u32, usize)>,
    /// Increments of windows, with their streams.
    pub(crate) windows: Vec<(u32, u32)>,
    /// The last stream and the code of each GOAWAY.
    pub(crate) goaways: Vec<(u32, u32)>,
    /// Acknowledgements of PING and SETTINGS.
    pub(crate) acknowledged: usize,
    pub(crate) is_over: bool,
    /// By a reset.
    pub(crate) is_reset: bool,
}

impl Client {
    pub(crate) fn begin(stream: UnixStream, connection: usize, said: &[(u16, u32)]) -> Self {
        let mut client = Self::new(stream, connection);
        client.send(&[PREFACE, &settings(said), &frame(SETTINGS, ACK, 0, &[])].concat());
        client
    }

    /// One that never acknowledges the server's settings.
    pub(crate) fn unacknowledging(stream: UnixStream, connection: usize) -> Self {
        let mut client = Self::new(stream, connection);
        client.send(&[PREFACE, &settings(&[])].concat());
        client
    }

    fn new(stream: UnixStream, connection: usize) -> Self {
        Self {
            stream,
            connection,
            decoder: Decoder::default(),
            partial: Vec::new(),
            answers: BTreeMap::new(),
            order: Vec::new(),
            windows: Vec::new(),
            goaways: Vec::new(),
            acknowledged: 0,
            is_over: false,
            is_reset: false,
        }
    }

    /// Sends all of it; the socket has room.
    #[track_caller]
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Sends nothing more, and still takes what comes.
    pub(crate) fn end(&mut self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }

    /// Sends as much as the socket takes; `None`: the server has closed it.
    pub(crate) fn send_some(&mut self, bytes: &[u8]) -> Option<usize> {
        match self.stream.write(bytes) {
            Ok(count) => Some(count),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Some(0),
            Err(_) => None,
        }
    }

    pub(crate) fn get(&mut self, stream: u32, target: &str) {
        self.send(&headers(stream, END_STREAM, &request("GET", target)));
    }

    pub(crate) fn post(&mut self, stream: u32, target: &str) {
        self.send(&headers(stream, 0, &request("POST", target)));
    }

    /// Takes what has come; gives whether there was anything.
    pub(crate) fn receive(&mut self) -> bool {
        let (mut part, before) = ([0; 64 * 1024], self.partial.len());
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => break self.is_over = true,
                Ok(count) => self.partial.extend_from_slice(&part[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => break (self.is_over, self.is_reset) = (true, true),
            }
        }
        let has_received = self.partial.len() > before;
        let mut bytes = std::mem::take(&mut self.partial);
        let mut at = 0;
        while let Some(&[a, b, c, ..]) = bytes[at..].first_chunk::<9>() {
            let end = at + 9 + u32::from_be_bytes([0, a, b, c]) as usize;
            let Some(frame) = bytes.get(at..end) else { break };
            for (kind, flags, stream, payload) in parse(frame) {
                self.take(kind, flags, stream, payload);
            }
            at = end;
        }
        bytes.drain(..at);
        self.partial = bytes;
        has_received
    }

    fn take(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let number = |at: usize| u32::from_be_bytes(payload[at..at + 4].try_into().unwrap());
        match kind {
            SETTINGS | PING => self.acknowledged += usize::from(flags & ACK != 0),
            WINDOW_UPDATE => self.windows.push((stream, number(0))),
            GOAWAY => self.goaways.push((number(0), number(4))),
            RST_STREAM => self.answers.entry(stream).or_default().reset = Some(number(0)),
            DATA => {
                self.order.push((stream, payload.len()));
                let answer = self.answers.entry(stream).or_default();
                assert!(!answer.is_ended, "DATA behind the end of stream {stream}");
                answer.content.extend_from_slice(payload);
                answer.is_ended = flags & END_STREAM != 0;
            }
            HEADERS => {
                assert!(flags & END_HEADERS != 0, "heads are small");
                let mut fields = FieldList::default();
                self.decoder.decode(payload, &mut fields, 1 << 20).unwrap();
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                let fields = fields.iter().map(|(name, value)| (text(name), text(value)));
                let answer = self.answers.entry(stream).or_default();
                assert!(!answer.is_ended, "a head behind the end of stream {stream}");
                answer.heads.push(fields.collect());
                answer.is_ended = flags & END_STREAM != 0;
            }
            kind => panic!("a frame of kind {kind}"),
        }
    }

    /// What has come on a stream.
    #[track_caller]
    pub(crate) fn answer(&self, stream: u32) -> &Answer {
        self.answers
            .get(&stream)
            .unwrap_or_else(|| panic!("nothing on {stream}: {:?}", self.answers))
    }

    /// So many answers are complete.
    pub(crate) fn completed(&self) -> usize {
        self.answers.values().filter(|answer| answer.is_ended).count()
    }
}

pub(crate) fn request<'a>(method: &'a str, target: &'a str) -> [(&'a str, &'a str); 4] {
    [(":method", method), (":scheme", "http"), (":authority", "a"), (":path", target)]
}
