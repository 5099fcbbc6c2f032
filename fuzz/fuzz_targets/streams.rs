//! HTTP/2 on the reactor: the bytes are a program of what a client sends and the caller asks for.
#![no_main]

#[path = "../../crates/stack/tests/integration/http2/client.rs"]
#[expect(dead_code, reason = "what tests of streams use of it")]
mod client;
#[path = "../../crates/http/tests/integration/http2/frames.rs"]
#[expect(dead_code, reason = "what tests of the protocol use of it")]
mod frames;
#[path = "../../crates/stack/tests/integration/http2/program.rs"]
mod program;
#[path = "../../crates/stack/tests/integration/http2/world.rs"]
#[expect(dead_code, reason = "what tests of streams use of it")]
mod world;

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
