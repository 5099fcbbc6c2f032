//! What those who share a port say to each other: the bytes are their messages, and text between zeros that may be prefixes.
#![no_main]

#[expect(dead_code)]
#[path = "../../crates/stack/src/forwarded.rs"]
mod forwarded;
#[path = "../../crates/stack/tests/said/mod.rs"]
mod said;

libfuzzer_sys::fuzz_target!(|input: &[u8]| said::run(input));
