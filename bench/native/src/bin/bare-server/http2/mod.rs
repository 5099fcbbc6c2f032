//! HTTP/2 (RFC 9113), as much of it as answers each request with the same bytes.
//!
//! Header blocks are not decoded, as the answer does not depend on them. The client's windows are
//! ignored: a response is one small DATA frame. The server's own windows are as large as they can be.

mod frame;
mod response;

pub use response::{Response, grpc_response, response};

use frame::{ACK, END_HEADERS, END_STREAM, Header, Kind};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// SETTINGS_INITIAL_WINDOW_SIZE (RFC 9113, section 6.5.2).
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_WINDOW: u32 = (1 << 31) - 1;
/// What a connection's window has before the first WINDOW_UPDATE (section 6.9.2).
const FIRST_WINDOW: u32 = (1 << 16) - 1;
const PING_LENGTH: usize = 8;

/// What has arrived of a connection that is not answered.
#[derive(Default)]
pub struct Unfinished {
    /// The start of the preface, of a frame's header or of a PING.
    head: Vec<u8>,
    place: Place,
}

/// Where in the stream of frames a connection is.
#[derive(Default)]
struct Place {
    /// The preface has arrived.
    greeted: bool,
    /// Bytes that the payload of the current frame lacks.
    missing: usize,
    /// The stream that is complete with this payload.
    complete: Option<u32>,
    /// The header block that goes on in CONTINUATION ends its stream.
    block_ends_stream: bool,
    /// Bytes of DATA since the last WINDOW_UPDATE.
    received: u32,
}

/// What a stretch of input holds.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    requests: usize,
    /// Bytes that are done with.
    length: usize,
    /// The client speaks another protocol.
    close: bool,
}

/// Turns frames into the frames that answer them.
pub struct Answers {
    response: Response,
    output: Vec<u8>,
}

impl Answers {
    pub fn new(response: Response) -> Self {
        Self { response, output: Vec::new() }
    }

    /// The answer to `unfinished` and `input`, whether the connection ends with it, and the number of
    /// requests that it answers. What is incomplete stays in `unfinished`.
    pub fn to(&mut self, unfinished: &mut Unfinished, input: &[u8]) -> (&[u8], bool, usize) {
        self.output.clear();
        let Unfinished { head, place } = unfinished;
        let found = if head.is_empty() {
            let found = self.take(place, input);
            head.extend_from_slice(&input[found.length..]);
            found
        } else {
            head.extend_from_slice(input);
            let found = self.take(place, head);
            head.drain(..found.length);
            found
        };
        (&self.output, found.close, found.requests)
    }

    /// Takes the frames at the start of `input`, and appends what answers them.
    fn take(&mut self, place: &mut Place, input: &[u8]) -> Found {
        let mut found = Found { requests: 0, length: 0, close: false };
        if !place.greeted {
            if !input.starts_with(PREFACE) {
                found.close = !PREFACE.starts_with(input);
                return found;
            }
            self.greet();
            place.greeted = true;
            found.length = PREFACE.len();
        }
        loop {
            let skipped = place.missing.min(input.len() - found.length);
            found.length += skipped;
            place.missing -= skipped;
            if place.missing > 0 {
                return found;
            }
            if let Some(stream) = place.complete.take() {
                self.response.append_to(&mut self.output, stream);
                found.requests += 1;
            }
            let rest = &input[found.length..];
            let Some((header, payload)) = Header::split(rest) else { return found };
            if header.kind == Kind::Ping && payload.len() < PING_LENGTH {
                return found;
            }
            self.begin(place, &header, payload);
            found.length += rest.len() - payload.len();
            place.missing = header.length;
        }
    }

    /// The server's preface: windows that no client fills.
    fn greet(&mut self) {
        Header { kind: Kind::Settings, length: 6, flags: 0, stream: 0 }.append_to(&mut self.output);
        self.output.extend_from_slice(&INITIAL_WINDOW_SIZE.to_be_bytes());
        self.output.extend_from_slice(&MAX_WINDOW.to_be_bytes());
        self.open_window(MAX_WINDOW - FIRST_WINDOW);
    }

    fn open_window(&mut self, bytes: u32) {
        let update = Header { kind: Kind::WindowUpdate, length: 4, flags: 0, stream: 0 };
        update.append_to(&mut self.output);
        self.output.extend_from_slice(&bytes.to_be_bytes());
    }

    /// Does what the header of a frame asks for. Of a payload only that of a PING is needed.
    fn begin(&mut self, place: &mut Place, header: &Header, payload: &[u8]) {
        let ends_stream = header.flags & END_STREAM != 0;
        let ends_block = header.flags & END_HEADERS != 0;
        match header.kind {
            Kind::Data => {
                place.complete = ends_stream.then_some(header.stream);
                place.received += header.length as u32;
                if place.received > MAX_WINDOW / 2 {
                    self.open_window(place.received);
                    place.received = 0;
                }
            }
            Kind::Headers => {
                place.complete = (ends_stream && ends_block).then_some(header.stream);
                place.block_ends_stream = ends_stream;
            }
            Kind::Continuation => {
                place.complete = (place.block_ends_stream && ends_block).then_some(header.stream);
            }
            Kind::Settings if header.flags & ACK == 0 => {
                Header { length: 0, flags: ACK, ..*header }.append_to(&mut self.output);
            }
            Kind::Ping if header.flags & ACK == 0 => {
                Header { length: PING_LENGTH, flags: ACK, ..*header }.append_to(&mut self.output);
                self.output.extend_from_slice(&payload[..PING_LENGTH]);
            }
            Kind::Settings | Kind::Ping | Kind::WindowUpdate | Kind::Other => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Body;

    fn frame(kind: Kind, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        Header { kind, length: payload.len(), flags, stream }.append_to(&mut bytes);
        [&bytes, payload].concat()
    }

    fn answers() -> Answers {
        Answers::new(response(&Body::Bytes(3)).unwrap())
    }

    /// The frames in `bytes`, without their payloads.
    fn headers(mut bytes: &[u8]) -> Vec<(Kind, u8, u32)> {
        let mut all = Vec::new();
        while let Some((header, payload)) = Header::split(bytes) {
            all.push((header.kind, header.flags, header.stream));
            bytes = &payload[header.length..];
        }
        assert!(bytes.is_empty());
        all
    }

    const RESPONSE_1: [(Kind, u8, u32); 2] =
        [(Kind::Headers, END_HEADERS, 1), (Kind::Data, END_STREAM, 1)];

    #[test]
    fn a_request_is_answered_once_wherever_the_bytes_are_split() {
        let input = [
            PREFACE.to_vec(),
            frame(Kind::Settings, 0, 0, &[0, 4, 0, 0, 255, 255]),
            frame(Kind::Ping, 0, 0, b"pingpong"),
            frame(Kind::Headers, 0, 1, b"ab"),
            frame(Kind::Continuation, END_HEADERS, 1, b"cd"),
            frame(Kind::Data, 0, 1, b"body"),
            frame(Kind::WindowUpdate, 0, 0, &[0, 0, 0, 1]),
            frame(Kind::Data, END_STREAM, 1, b""),
            frame(Kind::Other, 0, 0, b"unknown"),
        ]
        .concat();
        for at in 0..=input.len() {
            let (mut answers, mut unfinished) = (answers(), Unfinished::default());
            let mut output = Vec::new();
            let mut requests = 0;
            for part in [&input[..at], &input[at..]] {
                let (bytes, close, count) = answers.to(&mut unfinished, part);
                assert!(!close);
                output.extend_from_slice(bytes);
                requests += count;
            }
            assert_eq!(requests, 1, "split at {at}");
            let greeting = [(Kind::Settings, 0, 0), (Kind::WindowUpdate, 0, 0)];
            let acks = [(Kind::Settings, ACK, 0), (Kind::Ping, ACK, 0)];
            assert_eq!(headers(&output), [&greeting[..], &acks, &RESPONSE_1].concat());
        }
    }

    #[test]
    fn trailers_and_a_block_in_parts_end_a_stream() {
        let (mut answers, mut unfinished) = (answers(), Unfinished::default());
        answers.to(&mut unfinished, PREFACE);
        let trailers = [
            frame(Kind::Headers, END_HEADERS, 1, b""),
            frame(Kind::Data, 0, 1, b"body"),
            frame(Kind::Headers, END_STREAM, 1, b"a"),
        ]
        .concat();
        assert_eq!(answers.to(&mut unfinished, &trailers), (&[][..], false, 0));
        let (output, _, requests) =
            answers.to(&mut unfinished, &frame(Kind::Continuation, END_HEADERS, 1, b"b"));
        assert_eq!((headers(output), requests), (RESPONSE_1.to_vec(), 1));
    }

    #[test]
    fn the_window_is_opened_when_half_of_it_is_used() {
        let (mut answers, mut unfinished) = (answers(), Unfinished::default());
        answers.to(&mut unfinished, PREFACE);
        unfinished.place.received = MAX_WINDOW / 2 - 1;
        assert_eq!(answers.to(&mut unfinished, &frame(Kind::Data, 0, 1, b"a")).0, []);
        let (output, ..) = answers.to(&mut unfinished, &frame(Kind::Data, 0, 1, b"b"));
        assert_eq!(output, frame(Kind::WindowUpdate, 0, 0, &(MAX_WINDOW / 2 + 1).to_be_bytes()));
    }

    #[test]
    fn a_client_of_http1_is_turned_away() {
        let (mut answers, mut unfinished) = (answers(), Unfinished::default());
        assert!(answers.to(&mut unfinished, b"GET / HTTP/1.1\r\n\r\n").1);
    }
}
