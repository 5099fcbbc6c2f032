//! A client of HTTP/2: what it says, and what it may hear.

use std::collections::BTreeMap;

use fastrand::Rng;
use millrace_http::h2::hpack::{Decoder, Encoder, Indexing};
use millrace_http::h2::{FieldList, PREFACE};
use millrace_net::peer::{Peer, Received};

use super::{content, length_of};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
const REFUSED_STREAM: u32 = 7;
const CANCEL: u32 = 8;
/// The largest window.
const MOST: i64 = (1 << 31) - 1;

/// A stream, as its client has it.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) target: String,
    /// Of a body: how much has not been sent. `None`: the request has ended.
    body_left: Option<usize>,
    body_sent: usize,
    send_window: i64,
    window: i64,
    has_head: bool,
    is_head: bool,
    received: usize,
    pub(super) is_ended: bool,
    pub(super) reset: Option<u32>,
    /// This side has reset it.
    pub(super) is_cancelled: bool,
    /// The caller has closed it before its response was complete, or before its request was.
    pub(super) was_closed: bool,
}

impl Stream {
    /// Nothing more comes.
    pub(super) fn is_over(&self) -> bool {
        self.is_ended || self.reset.is_some() || self.is_cancelled
    }
}

pub(super) struct Client {
    pub(super) peer: Peer,
    number: usize,
    out: Vec<u8>,
    encoder: Encoder,
    decoder: Decoder,
    partial: Vec<u8>,
    pub(super) streams: BTreeMap<u32, Stream>,
    next: u32,
    initial_window: i64,
    /// Sizes of windows that it has said and that are not acknowledged.
    said: Vec<i64>,
    window: i64,
    send_window: i64,
    initial_send_window: i64,
    pub(super) goaway: Option<u32>,
    /// It has left, or has seen the end.
    pub(super) is_gone: bool,
    pub(super) is_over: bool,
}

impl Client {
    pub(super) fn new(peer: Peer, initial_window: u32) -> Self {
        let number = peer.number();
        let mut client = Self {
            peer,
            number,
            out: PREFACE.to_vec(),
            encoder: Encoder::new(),
            decoder: Decoder::default(),
            partial: Vec::new(),
            streams: BTreeMap::new(),
            next: 1,
            initial_window: 65_535,
            said: Vec::new(),
            window: 65_535,
            send_window: 65_535,
            initial_send_window: 65_535,
            goaway: None,
            is_gone: false,
            is_over: false,
        };
        client.change_window(initial_window);
        client
    }

    pub(super) fn is_silent(&self) -> bool {
        self.is_gone || self.is_over
    }

    /// Streams that are open on its side.
    pub(super) fn open(&self) -> usize {
        self.streams.values().filter(|stream| !stream.is_over()).count()
    }

    fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        self.out.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_be_bytes()[1..]);
        self.out.extend_from_slice(&[kind, flags]);
        self.out.extend_from_slice(&stream.to_be_bytes());
        self.out.extend_from_slice(payload);
    }

    /// Says another size of windows.
    pub(super) fn change_window(&mut self, size: u32) {
        let [a, b, c, d] = size.to_be_bytes();
        self.frame(SETTINGS, 0, 0, &[0, 4, a, b, c, d]);
        self.said.push(size.into());
    }

    pub(super) fn ping(&mut self) {
        self.frame(PING, 0, 0, &[7; 8]);
    }

    /// Opens a stream. `body`: a POST with so many bytes.
    pub(super) fn ask(&mut self, target: &str, method: &str, body: Option<usize>) {
        let id = self.next;
        self.next += 2;
        let mut block = Vec::new();
        self.encoder.begin(&mut block);
        let of = format!("{}.{id}", self.number);
        for (name, value) in [
            (":method", method),
            (":scheme", "http"),
            (":authority", "a"),
            (":path", target),
            ("x-of", &of),
        ] {
            self.encoder.encode(name.as_bytes(), value.as_bytes(), Indexing::IfRoom, &mut block);
        }
        let ends = if body.is_none() { END_STREAM } else { 0 };
        self.frame(HEADERS, END_HEADERS | ends, id, &block);
        let stream = Stream {
            target: target.to_owned(),
            body_left: body,
            body_sent: 0,
            send_window: self.initial_send_window,
            window: self.initial_window,
            has_head: false,
            is_head: method == "HEAD",
            received: 0,
            is_ended: false,
            reset: None,
            is_cancelled: false,
            was_closed: false,
        };
        self.streams.insert(id, stream);
    }

    /// Sends a part of the body of some stream, as the windows allow; gives whether there was any.
    pub(super) fn upload(&mut self, chance: &mut Rng, most: usize) -> bool {
        let left = |stream: &Stream| stream.body_left.is_some() && !stream.is_over();
        let uploading = self.streams.iter().filter(|(_, stream)| left(stream)).map(|(id, _)| *id);
        let Some(id) = chance.choice(uploading.collect::<Vec<_>>()) else { return false };
        let Some(stream) = self.streams.get_mut(&id) else { return false };
        let left = stream.body_left.unwrap_or(0);
        let room = stream.send_window.min(self.send_window).max(0) as usize;
        let count = left.min(room).min(most).min(16_384);
        if count == 0 && left > 0 {
            return false;
        }
        let part = content(&stream.target, stream.body_sent, count);
        stream.send_window -= count as i64;
        self.send_window -= count as i64;
        stream.body_sent += count;
        stream.body_left = (left > count).then_some(left - count);
        let ends = stream.body_left.is_none();
        self.frame(DATA, if ends { END_STREAM } else { 0 }, id, &part);
        true
    }

    /// Opens windows: of the connection and of some stream.
    pub(super) fn open_windows(&mut self, chance: &mut Rng, by: u32) {
        if self.window + i64::from(by) <= MOST {
            self.window += i64::from(by);
            self.frame(WINDOW_UPDATE, 0, 0, &by.to_be_bytes());
        }
        let open = self.streams.iter().filter(|(_, stream)| !stream.is_over()).map(|(id, _)| *id);
        if let Some(id) = chance.choice(open.collect::<Vec<_>>()) {
            self.open_window_of(id, by);
        }
    }

    fn open_window_of(&mut self, id: u32, by: u32) {
        // Sizes that were said may come first.
        let pending: i64 = self.said.iter().max().copied().unwrap_or(0);
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if stream.window + pending + i64::from(by) <= MOST {
            stream.window += i64::from(by);
            self.frame(WINDOW_UPDATE, 0, id, &by.to_be_bytes());
        }
    }

    /// Opens all windows far.
    pub(super) fn open_all(&mut self) {
        const FAR: u32 = 1 << 28;
        self.window += i64::from(FAR);
        self.frame(WINDOW_UPDATE, 0, 0, &FAR.to_be_bytes());
        let open = self.streams.iter().filter(|(_, stream)| !stream.is_over()).map(|(id, _)| *id);
        for id in open.collect::<Vec<_>>() {
            self.open_window_of(id, FAR);
        }
    }

    pub(super) fn cancel(&mut self, chance: &mut Rng) {
        let open = self.streams.iter().filter(|(_, stream)| !stream.is_over()).map(|(id, _)| *id);
        let Some(id) = chance.choice(open.collect::<Vec<_>>()) else { return };
        self.frame(RST_STREAM, 0, id, &CANCEL.to_be_bytes());
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.is_cancelled = true;
        }
    }

    /// Sends as much of what it has said as there is room for; gives whether there was anything.
    pub(super) fn send(&mut self, most: usize) -> bool {
        if self.is_silent() {
            return false;
        }
        let count = self.peer.send(&self.out[..self.out.len().min(most)]);
        self.out.drain(..count);
        count > 0
    }

    /// Takes what has come; gives whether there was anything.
    pub(super) fn receive(&mut self, most: usize) -> bool {
        if self.is_silent() {
            return false;
        }
        match self.peer.receive(most) {
            Received::Bytes(bytes) => {
                self.partial.extend_from_slice(&bytes);
                self.take_frames();
                !bytes.is_empty()
            }
            Received::End | Received::Reset(_) => {
                assert!(self.goaway.is_some(), "client {} is left for nothing", self.number);
                self.is_over = true;
                self.peer.close();
                true
            }
        }
    }

    fn take_frames(&mut self) {
        let bytes = std::mem::take(&mut self.partial);
        let mut at = 0;
        while let Some(&[a, b, c, kind, flags, s0, s1, s2, s3]) = bytes[at..].first_chunk::<9>() {
            let end = at + 9 + u32::from_be_bytes([0, a, b, c]) as usize;
            let Some(payload) = bytes.get(at + 9..end) else { break };
            self.take(kind, flags, u32::from_be_bytes([s0, s1, s2, s3]), payload);
            at = end;
        }
        self.partial = bytes[at..].to_vec();
    }

    fn take(&mut self, kind: u8, flags: u8, id: u32, payload: &[u8]) {
        trace!("    client {} hears {kind} {flags} of {id}, {} bytes", self.number, payload.len());
        let number = || u32::from_be_bytes(payload[..4].try_into().unwrap());
        match kind {
            SETTINGS if flags & ACK != 0 => {
                let size = self.said.remove(0);
                let change = size - self.initial_window;
                self.initial_window = size;
                self.streams.values_mut().for_each(|stream| stream.window += change);
            }
            SETTINGS => {
                for setting in payload.chunks(6).filter(|setting| setting[..2] == [0, 4]) {
                    let size = i64::from(u32::from_be_bytes(setting[2..].try_into().unwrap()));
                    let change = size - self.initial_send_window;
                    self.initial_send_window = size;
                    self.streams.values_mut().for_each(|stream| stream.send_window += change);
                }
                self.frame(SETTINGS, ACK, 0, &[]);
            }
            PING => assert!(flags & ACK != 0, "nobody has asked"),
            WINDOW_UPDATE if id == 0 => self.send_window += i64::from(number()),
            WINDOW_UPDATE => self.of(id).send_window += i64::from(number()),
            GOAWAY => {
                let code = u32::from_be_bytes(payload[4..8].try_into().unwrap());
                assert_eq!(code, 0, "client {} is blamed", self.number);
                self.goaway = Some(number());
            }
            RST_STREAM => self.take_reset(id, number()),
            HEADERS => self.take_head(id, flags & END_STREAM != 0, payload),
            DATA => self.take_content(id, flags & END_STREAM != 0, payload),
            kind => panic!("a frame of kind {kind}"),
        }
    }

    fn of(&mut self, id: u32) -> &mut Stream {
        self.streams.get_mut(&id).expect("a stream that was opened")
    }

    fn take_reset(&mut self, id: u32, code: u32) {
        let stream = self.of(id);
        assert_eq!(stream.reset, None, "stream {id} is reset twice");
        let may = match code {
            0 => stream.is_ended,
            REFUSED_STREAM => !stream.has_head,
            _ => stream.was_closed || stream.is_cancelled,
        };
        assert!(may, "stream {id} is reset with {code} for nothing: {stream:?}");
        stream.reset = Some(code);
    }

    fn take_head(&mut self, id: u32, ends: bool, payload: &[u8]) {
        let mut fields = FieldList::default();
        self.decoder.decode(payload, &mut fields, 1 << 20).expect("a valid block");
        let stream = self.of(id);
        assert!(!stream.has_head && !stream.is_ended && stream.reset.is_none(), "{id}: {stream:?}");
        let status = fields.iter().next().map(|(_, value)| value);
        assert_eq!(status, Some(&b"200"[..]), "{fields:?}");
        (stream.has_head, stream.is_ended) = (true, ends);
        stream.check_end(id);
    }

    fn take_content(&mut self, id: u32, ends: bool, payload: &[u8]) {
        self.window -= payload.len() as i64;
        assert!(self.window >= 0, "the window of client {} is exceeded", self.number);
        let stream = self.of(id);
        assert!(stream.has_head && !stream.is_ended && stream.reset.is_none(), "{id}: {stream:?}");
        stream.window -= payload.len() as i64;
        assert!(
            stream.window >= 0 || payload.is_empty(),
            "the window of {id} is exceeded: {stream:?}"
        );
        let expected = content(&stream.target, stream.received, payload.len());
        assert!(payload == expected, "other content on {id}, from {} on", stream.received);
        stream.received += payload.len();
        stream.is_ended = ends;
        stream.check_end(id);
    }
}

impl Stream {
    fn check_end(&self, id: u32) {
        let length = if self.is_head { 0 } else { length_of(&self.target) };
        assert!(self.received <= length, "too much on {id}: {self:?}");
        assert!(!self.is_ended || self.received == length, "too little on {id}: {self:?}");
    }
}
