//! The reactor: the bytes are a program of what clients send and its caller asks for.
#![no_main]

#[path = "../../crates/stack/tests/integration/program/mod.rs"]
mod program;

use std::sync::Once;

static IGNORED: Once = Once::new();

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    IGNORED.call_once(|| {
        // As in Rust's own programs and in Node.
        // SAFETY: nothing else sets signal handlers.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    });
    program::run(input);
});
