//! HTTP/2: streams of a session are connections to the caller.

mod attacks;
mod cached;
mod client;
mod closing;
mod floods;
#[path = "../../../../http/tests/integration/http2/frames.rs"]
#[expect(dead_code, reason = "what tests of the protocol use of it")]
mod frames;
mod messages;
mod program;
mod refused;
mod windows;
mod world;
