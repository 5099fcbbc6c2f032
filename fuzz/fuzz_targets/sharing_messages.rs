//! What those who share a port say to each other: the bytes are their messages, and text between zeros that may be prefixes.
#![no_main]

#[expect(dead_code, reason = "the crate's own, of which this takes a part")]
#[path = "../../crates/share/src/message.rs"]
mod message;
#[path = "../../crates/share/tests/integration/said.rs"]
mod said;

libfuzzer_sys::fuzz_target!(|input: &[u8]| said::run(input));
