//! The server's side of HTTP/1.1: sockets, parsing, ordering and limits, without a word of JavaScript.
//!
//! ```text
//!   Reactor::turn ──> events and the bytes they speak of, in the caller's memory (Batch)
//!   caller        ──> Reactor::send, pause, proceed, close, release
//! ```
//!
//! - [`reactor`]: the poll descriptor, all listeners and connections of one thread
//! - [`connection`]: one connection: what was read, what is still to be written, where it stands
//! - [`batch`]: events for the caller
//! - [`settings`]: the limits of one server
//!
//! A reactor belongs to one thread at a time and never blocks: whoever drives it waits for its descriptor
//! to be readable, or for [`Reactor::next_timer`].

#![forbid(unsafe_code)]

pub mod batch;
mod connection;
pub mod reactor;
pub mod settings;

pub use batch::Batch;
pub use reactor::Reactor;
pub use settings::Settings;
