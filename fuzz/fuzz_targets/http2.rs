//! HTTP/2: 8 bytes say which side of a connection it is, what its windows are, and how the others are split. These are what
//! the peer says behind its settings: frames in a short form, or as they are.
#![no_main]

#[path = "../../crates/http/tests/integration/http2/endpoint.rs"]
#[expect(dead_code, reason = "what tests use of it")]
mod endpoint;

use endpoint::{Endpoint, Seen};
use millrace_http::h2::{PREFACE, Role, Settings};

/// How often the payload of a frame is repeated that is to be large.
const REPEATED: usize = 100;

/// An empty SETTINGS frame.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((control, rest)) = input.split_first_chunk::<8>() else { return };
    let is_client = control[0] & 1 == 0;
    let bytes = if control[0] & 2 == 0 { to_frames(rest) } else { rest.to_vec() };
    let window = if control[0] & 4 == 0 { 65_535 } else { u32::from(control[1]) + 1 };
    let sizes = control.iter().cycle().map(|byte| 1 + usize::from(byte % 64));
    let pieces: Vec<usize> = sizes.take(bytes.len()).collect();
    let whole = read(is_client, window, &bytes, &[]);
    assert!(whole.1.len() <= 3 * bytes.len() + 400);
    assert!(whole.0.len() <= bytes.len() / 9 + 2);
    assert_eq!(read(is_client, window, &bytes, &pieces), whole);
});

/// What is seen of the bytes, and what is said to them.
fn read(is_client: bool, window: u32, bytes: &[u8], pieces: &[usize]) -> (Vec<Seen>, Vec<u8>) {
    let local = Settings { initial_window_size: window, ..Settings::default() };
    let mut endpoint = if is_client {
        Endpoint::client(5, local, 0)
    } else {
        let local = Settings { max_concurrent_streams: Some(3), ..local };
        let mut server = Endpoint::new(Role::Server, local, 0);
        server.take(PREFACE, &[]);
        server
    };
    endpoint.take(SETTINGS, &[]);
    endpoint.take(bytes, pieces);
    (endpoint.seen, endpoint.out)
}

/// Frames of a short form: kind, flags, stream and length are a byte each.
fn to_frames(mut rest: &[u8]) -> Vec<u8> {
    let mut frames = Vec::new();
    while let Some((&[kind, flags, stream, length], after)) = rest.split_first_chunk() {
        let (payload, after) = after.split_at(usize::from(length).min(after.len()));
        rest = after;
        let payload = payload.repeat(if kind < 128 { 1 } else { REPEATED });
        frames.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
        frames.extend([kind & 15, flags, 0, 0, 0, stream & 31]);
        frames.extend(payload);
    }
    frames
}
