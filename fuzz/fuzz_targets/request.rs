//! Requests: 8 bytes say how the others are split, and what the limits are.
#![no_main]

#[path = "../../crates/http/tests/integration/received_stream.rs"]
mod received_stream;

use received_stream::read;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((control, bytes)) = input.split_first_chunk::<8>() else { return };
    let sizes = control.iter().cycle().map(|byte| 1 + usize::from(byte % 64));
    let pieces: Vec<usize> = sizes.take(bytes.len()).collect();
    let (limit, fields) = (usize::from(control[0]), usize::from(control[1]));
    let limits = millrace_http::h1::HeadLimits { bytes: 16 + 16 * limit, fields };
    assert_eq!(read(bytes, &pieces, &limits), read(bytes, &[], &limits));
});
