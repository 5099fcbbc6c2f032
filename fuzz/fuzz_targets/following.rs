//! Responses on their way out: 8 bytes say what was asked and how the others, which are sent, are split.
#![no_main]

#[path = "../../crates/stack/tests/integration/followed.rs"]
mod followed;

libfuzzer_sys::fuzz_target!(|input: &[u8]| followed::run(input));
