//! The output cache: the bytes are two requests and a response, divided by zeros.
#![no_main]

#[path = "../../crates/cache/tests/integration/exchange.rs"]
mod exchange;

libfuzzer_sys::fuzz_target!(|input: &[u8]| exchange::run(input));
