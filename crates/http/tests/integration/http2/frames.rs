//! Frames as bytes, right or wrong.

use millrace_http::h2::hpack::{Encoder, Indexing};

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 0x1;
pub(crate) const ACK: u8 = 0x1;
pub(crate) const END_HEADERS: u8 = 0x4;
pub(crate) const PADDED: u8 = 0x8;
pub(crate) const PRIORITIZED: u8 = 0x20;

pub(crate) const HEADER_TABLE_SIZE: u16 = 1;
pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;
pub(crate) const MAX_FRAME_SIZE: u16 = 5;

/// A frame of any kind.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = (payload.len() as u32).to_be_bytes();
    [&length[..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A SETTINGS frame.
pub(crate) fn settings(settings: &[(u16, u32)]) -> Vec<u8> {
    let setting = |(id, value): &(u16, u32)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
    frame(SETTINGS, 0, 0, &settings.iter().flat_map(setting).collect::<Vec<_>>())
}

/// A header block whose fields are in no dynamic table.
pub(crate) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let (mut encoder, mut block) = (Encoder::new(), Vec::new());
    for (name, value) in fields {
        encoder.encode(name.as_bytes(), value.as_bytes(), Indexing::Without, &mut block);
    }
    block
}

/// A header block in one frame. `flags`: beside END_HEADERS.
pub(crate) fn headers(stream: u32, flags: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    frame(HEADERS, flags | END_HEADERS, stream, &block(fields))
}

/// A DATA frame.
pub(crate) fn data(stream: u32, flags: u8, bytes: &[u8]) -> Vec<u8> {
    frame(DATA, flags, stream, bytes)
}

/// A RST_STREAM or WINDOW_UPDATE frame: what it says is a number.
pub(crate) fn number(kind: u8, stream: u32, number: u32) -> Vec<u8> {
    frame(kind, 0, stream, &number.to_be_bytes())
}

/// The payload of a padded frame.
pub(crate) fn padded(bytes: &[u8], padding: u8) -> Vec<u8> {
    [&[padding][..], bytes, &vec![0; padding.into()]].concat()
}

/// The frames that these bytes consist of: kind, flags, stream, payload.
pub(crate) fn parse(mut bytes: &[u8]) -> Vec<(u8, u8, u32, &[u8])> {
    let mut frames = Vec::new();
    while let Some((&[a, b, c, kind, flags, s0, s1, s2, s3], rest)) = bytes.split_first_chunk() {
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        let (payload, rest) = rest.split_at(length);
        frames.push((kind, flags, u32::from_be_bytes([s0, s1, s2, s3]), payload));
        bytes = rest;
    }
    assert!(bytes.is_empty(), "a frame is cut off");
    frames
}

/// The numbers that frames of a kind have at their beginning, with their streams.
pub(crate) fn numbers(bytes: &[u8], kind: u8) -> Vec<(u32, u32)> {
    let frames = parse(bytes).into_iter().filter(|frame| frame.0 == kind);
    let number = |payload: &[u8]| u32::from_be_bytes(*payload.first_chunk().unwrap());
    frames.map(|(_, _, stream, payload)| (stream, number(payload))).collect()
}
