//! What those who share a port say to each other: the bytes are their messages, and text between zeros that may be prefixes.
#![no_main]

#[path = "../../crates/share/tests/said/mod.rs"]
mod said;

libfuzzer_sys::fuzz_target!(|input: &[u8]| said::run(input));
