//! The addon: converts between JavaScript and the engines. No logic, and the only crate that knows
//! Node-API. Numbers cross as `f64` (exact to 2^53), durations as milliseconds.

#![deny(unsafe_code)]
#![expect(unreachable_pub, reason = "the macro exports these items to JavaScript")]

mod certificate;
mod ffi;
mod load;
mod stack;
mod time;
