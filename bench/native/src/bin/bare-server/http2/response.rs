use crate::body::Body;

use super::frame::{END_HEADERS, END_STREAM, Header, Kind};

/// SETTINGS_MAX_FRAME_SIZE that every client starts with.
const MAX_FRAME_SIZE: usize = 1 << 14;
/// Where in the header of a frame its stream is.
const STREAM_AT: usize = 5;

/// `:status: 200`, from the static table (RFC 7541, appendix A).
const STATUS_200: &[u8] = &[0x88];
/// Starts of fields without indexing (section 6.2.2) whose names are in the static table.
const CONTENT_LENGTH: &[u8] = &[0x0f, 28 - 15];
const CONTENT_TYPE: &[u8] = &[0x0f, 31 - 15];
const DATE: &[u8] = &[0x0f, 33 - 15];
/// `grpc-status: 0`, its name spelt out.
const GRPC_STATUS_OK: &[u8] = b"\x00\x0bgrpc-status\x010";

/// The frames of a response, for any stream.
pub struct Response {
    bytes: Vec<u8>,
    /// Where the number of the stream belongs.
    streams: Vec<usize>,
}

/// A response with this body.
///
/// # Errors
/// One line if the body needs more than a frame.
pub fn response(body: &Body) -> Result<Response, String> {
    let content = body.content();
    let length = content.len().to_string();
    let block = [STATUS_200, &date(), &field(CONTENT_LENGTH, &length)].concat();
    frames(&[(Kind::Headers, END_HEADERS, &block), (Kind::Data, END_STREAM, &content)])
}

/// A response of gRPC: a message whose field 1 is this body, and trailers with the status OK.
///
/// # Errors
/// One line if the body needs more than a frame.
pub fn grpc_response(body: &Body) -> Result<Response, String> {
    let content = body.content();
    let message = [&[0x0a][..], &varint(content.len()), &content].concat();
    // Not compressed, and its length.
    let prefix = [&[0][..], &(message.len() as u32).to_be_bytes()].concat();
    let block = [STATUS_200, &date(), &field(CONTENT_TYPE, "application/grpc")].concat();
    frames(&[
        (Kind::Headers, END_HEADERS, &block),
        (Kind::Data, 0, &[prefix, message].concat()),
        (Kind::Headers, END_HEADERS | END_STREAM, GRPC_STATUS_OK),
    ])
}

impl Response {
    /// Appends the response on `stream`.
    pub fn append_to(&self, output: &mut Vec<u8>, stream: u32) {
        let start = output.len();
        output.extend_from_slice(&self.bytes);
        for at in &self.streams {
            output[start + at..][..4].copy_from_slice(&stream.to_be_bytes());
        }
    }
}

fn frames(parts: &[(Kind, u8, &[u8])]) -> Result<Response, String> {
    let mut response = Response { bytes: Vec::new(), streams: Vec::new() };
    for &(kind, flags, payload) in parts {
        let length = payload.len();
        if length > MAX_FRAME_SIZE {
            return Err(format!("the body needs {length} bytes: a frame has {MAX_FRAME_SIZE}"));
        }
        response.streams.push(response.bytes.len() + STREAM_AT);
        Header { kind, length, flags, stream: 0 }.append_to(&mut response.bytes);
        response.bytes.extend_from_slice(payload);
    }
    Ok(response)
}

fn date() -> Vec<u8> {
    field(DATE, "Thu, 01 Jan 1970 00:00:00 GMT")
}

/// A field with a short value, not in Huffman code.
fn field(start: &[u8], value: &str) -> Vec<u8> {
    [start, &[value.len() as u8], value.as_bytes()].concat()
}

/// A number as protobuf writes it.
fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
