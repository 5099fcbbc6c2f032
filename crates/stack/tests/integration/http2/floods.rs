//! What clients send that mean harm: each as bytes for one round after the other.

use millrace_http::h2::hpack::{Encoder, Indexing};

use super::frames::*;

const CANCEL: u32 = 8;
pub(crate) const ENHANCE_YOUR_CALM: u32 = 11;
/// Streams, or frames, of one round.
const MANY: u32 = 200;

pub(crate) struct Flood {
    pub(crate) name: &'static str,
    /// The bytes of a round.
    pub(crate) round: fn(u32) -> Vec<u8>,
    /// The code of GOAWAY that it ends with; `None`: it may go on.
    pub(crate) ends: Option<u32>,
}

const REQUEST: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/")];
const POST: [(&str, &str); 4] =
    [(":method", "POST"), (":scheme", "http"), (":authority", "a"), (":path", "/upload")];

/// Something for each stream of a round.
fn each(round: u32, with: impl Fn(u32) -> Vec<u8>) -> Vec<u8> {
    (0..MANY).flat_map(|at| with(1 + 2 * (round * MANY + at))).collect()
}

/// The same for a few streams: what they send is large.
fn some(round: u32, with: impl Fn(u32) -> Vec<u8>) -> Vec<u8> {
    (0..4).flat_map(|at| with(1 + 2 * (round * 4 + at))).collect()
}

/// The same frames as often as there are streams in a round, behind a request that goes on.
fn behind_upload(round: u32, frames: &[u8]) -> Vec<u8> {
    let opening = if round == 0 { headers(1, 0, &POST) } else { Vec::new() };
    [opening, frames.repeat(MANY as usize)].concat()
}

/// A field of 4,000 bytes, named again and again: 16 KiB that mean 64 MiB.
fn bomb() -> Vec<u8> {
    let (mut encoder, mut block) = (Encoder::new(), Vec::new());
    for (name, value) in REQUEST {
        encoder.encode(name.as_bytes(), value.as_bytes(), Indexing::Without, &mut block);
    }
    encoder.encode(b"x-bomb", &[b'y'; 4000], Indexing::Always, &mut block);
    block.resize(16_384, 0x80 | 62);
    block
}

/// As many small fields as a frame has room for.
fn small_fields() -> Vec<u8> {
    let mut block = block(&REQUEST);
    while block.len() < 16_000 {
        block.extend_from_slice(&[0, 1, b'x', 0]);
    }
    block
}

pub(crate) const FLOODS: [Flood; 24] = [
    Flood {
        name: "rapid reset (CVE-2023-44487)",
        round: |round| {
            each(round, |stream| {
                [headers(stream, END_STREAM, &REQUEST), number(RST_STREAM, stream, CANCEL)].concat()
            })
        },
        ends: Some(ENHANCE_YOUR_CALM),
    },
    Flood {
        name: "resets by the server: a window of 0 (CVE-2025-8671)",
        round: |round| {
            each(round, |stream| {
                [headers(stream, END_STREAM, &REQUEST), number(WINDOW_UPDATE, stream, 0)].concat()
            })
        },
        ends: Some(ENHANCE_YOUR_CALM),
    },
    Flood {
        name: "resets by the server: more content than a length says",
        round: |round| {
            each(round, |stream| {
                let head = headers(stream, 0, &[&POST[..], &[("content-length", "1")]].concat());
                [head, data(stream, 0, b"more")].concat()
            })
        },
        ends: Some(ENHANCE_YOUR_CALM),
    },
    Flood {
        name: "resets by the server: a request without its fields",
        round: |round| each(round, |stream| headers(stream, END_STREAM, &REQUEST[..2])),
        ends: Some(ENHANCE_YOUR_CALM),
    },
    Flood {
        name: "resets by the server: two hosts",
        round: |round| {
            let fields = [&REQUEST[..], &[("host", "b")]].concat();
            each(round, |stream| headers(stream, END_STREAM, &fields))
        },
        ends: Some(ENHANCE_YOUR_CALM),
    },
    Flood {
        name: "trailers that are too large",
        round: |round| {
            some(round, |stream| {
                let large = "Z".repeat(16_300);
                let trailers = [("x", large.as_str()), ("y", &large[..2000])];
                let block = block(&trailers);
                let (first, rest) = block.split_at(16_000);
                let first = frame(HEADERS, END_STREAM, stream, first);
                let rest = frame(CONTINUATION, END_HEADERS, stream, rest);
                [headers(stream, 0, &POST), first, rest].concat()
            })
        },
        ends: None,
    },
    Flood {
        name: "a header block without an end (CVE-2024-27983)",
        round: |round| {
            let begin = if round == 0 { frame(HEADERS, 0, 1, &block(&REQUEST)) } else { vec![] };
            let part = frame(CONTINUATION, 0, 1, b"\0\x01x\x01y");
            [begin, part.repeat(MANY as usize)].concat()
        },
        ends: Some(ENHANCE_YOUR_CALM),
    },
    Flood {
        name: "empty parts of a header block",
        round: |round| {
            let begin = if round == 0 { frame(HEADERS, 0, 1, &[]) } else { vec![] };
            [begin, frame(CONTINUATION, 0, 1, &[]).repeat(MANY as usize)].concat()
        },
        ends: Some(ENHANCE_YOUR_CALM),
    },
    Flood {
        name: "empty heads",
        round: |round| each(round, |stream| frame(HEADERS, END_HEADERS, stream, &[])),
        ends: Some(ENHANCE_YOUR_CALM),
    },
    Flood {
        name: "settings",
        round: |_| settings(&[(INITIAL_WINDOW_SIZE, 1000)]).repeat(MANY as usize),
        ends: Some(ENHANCE_YOUR_CALM),
    },
    Flood {
        name: "pings",
        round: |_| frame(PING, 0, 0, &[0; 8]).repeat(MANY as usize),
        ends: Some(ENHANCE_YOUR_CALM),
    },
    Flood {
        name: "empty content",
        round: |round| behind_upload(round, &data(1, 0, b"")),
        ends: Some(ENHANCE_YOUR_CALM),
    },
    Flood {
        name: "padding",
        round: |round| behind_upload(round, &frame(DATA, PADDED, 1, &padded(b"", 255))),
        ends: Some(ENHANCE_YOUR_CALM),
    },
    Flood {
        name: "windows of the connection that open by a byte",
        round: |round| behind_upload(round, &number(WINDOW_UPDATE, 0, 1)),
        ends: Some(ENHANCE_YOUR_CALM),
    },
    Flood {
        name: "windows of a stream that open by a byte",
        round: |round| behind_upload(round, &number(WINDOW_UPDATE, 1, 1)),
        ends: Some(ENHANCE_YOUR_CALM),
    },
    Flood {
        name: "priorities",
        round: |round| each(round, |stream| frame(PRIORITY, 0, stream, &[0; 5])),
        ends: Some(ENHANCE_YOUR_CALM),
    },
    Flood {
        name: "frames of an unknown kind",
        round: |_| frame(77, 0, 0, b"unknown").repeat(MANY as usize),
        ends: Some(ENHANCE_YOUR_CALM),
    },
    Flood {
        name: "streams that are never finished",
        round: |round| each(round, |stream| headers(stream, 0, &POST)),
        ends: Some(ENHANCE_YOUR_CALM),
    },
    Flood {
        name: "tunnels",
        round: |round| {
            let fields = [(":method", "CONNECT"), (":authority", "a:1")];
            each(round, |stream| headers(stream, END_STREAM, &fields))
        },
        ends: Some(ENHANCE_YOUR_CALM),
    },
    Flood {
        name: "header bombs",
        round: |round| {
            let bomb = bomb();
            some(round, |stream| frame(HEADERS, END_HEADERS | END_STREAM, stream, &bomb))
        },
        ends: None,
    },
    Flood {
        name: "heads of many small fields",
        round: |round| {
            let fields = small_fields();
            some(round, |stream| frame(HEADERS, END_HEADERS | END_STREAM, stream, &fields))
        },
        ends: None,
    },
    Flood {
        name: "content of one byte",
        round: |round| behind_upload(round, &data(1, 0, b"x")),
        ends: None,
    },
    Flood {
        name: "content that nobody reads",
        round: |round| match round {
            0 => (0..100).flat_map(|at| headers(1 + 2 * at, 0, &POST)).collect(),
            1..=250 => data(1 + 2 * (round % 100), 0, &[0; 16_384]),
            _ => Vec::new(),
        },
        ends: None,
    },
    Flood {
        name: "responses that nobody takes",
        round: |round| match round {
            0 => {
                let requests = (0..100).flat_map(|at| headers(1 + 2 * at, END_STREAM, &REQUEST));
                [settings(&[(INITIAL_WINDOW_SIZE, 0)]), requests.collect()].concat()
            }
            _ => number(WINDOW_UPDATE, 1 + 2 * (round % 100), 1),
        },
        ends: None,
    },
];
