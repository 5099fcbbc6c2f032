//! Responses: 8 bytes say how the others are split, and which requests were a HEAD.
#![no_main]

#[path = "../../crates/http/tests/integration/stream.rs"]
mod stream;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((control, bytes)) = input.split_first_chunk::<8>() else { return };
    let bytes = [bytes, b"\r\n\r\n"].concat();
    let sizes = control.iter().cycle().map(|byte| 1 + usize::from(byte % 64));
    let pieces: Vec<usize> = sizes.take(bytes.len()).collect();
    let heads = control.map(|byte| byte >= 192);
    assert_eq!(stream::read(&bytes, &pieces, &heads), stream::read(&bytes, &[], &heads));
});
