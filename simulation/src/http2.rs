//! HTTP/2: a world of its own, with the reactor's streams, clients that open and reset them within windows that they open, and a
//! caller that answers, pauses, closes and forgets.
//!
//! - what is told of a stream is what its client has sent, in order; what arrives is what was answered, or nothing behind a reset
//! - no window is exceeded in either direction
//! - at rest, each request has its whole response, unless somebody has reset its stream; when all have left, nothing is left

mod caller;
mod client;
mod world;

pub(crate) use world::run;

/// The content that belongs to a target, from `at` on.
fn content(target: &str, at: usize, length: usize) -> Vec<u8> {
    let first: usize = target.bytes().map(usize::from).sum();
    (first + at..first + at + length).map(|at| (at % 251) as u8).collect()
}

/// The length that a target ends with.
fn length_of(target: &str) -> usize {
    let length = target.rsplit('/').next().and_then(|length| length.parse().ok());
    length.expect("a target ends with a length")
}
