//! The server's side of HTTP/1.1: sockets, parsing, ordering and limits, without a word of JavaScript.
//!
//! ```text
//!   Reactor::turn ──> events and the bytes they speak of, in the caller's memory (Batch)
//!   caller        ──> Reactor::send, pause, proceed, close, release
//! ```
//!
//! - [`reactor`]: the poll descriptor, all listeners and connections of one thread
//! - [`connection`]: one connection: what was read, what is still to be written, where it stands
//! - `channel`, `handshake`: a connection's bytes, as they are or through TLS
//! - [`batch`]: events for the caller
//! - [`settings`]: the limits of one server
//!
//! A reactor belongs to one thread at a time and never blocks: whoever drives it waits for its descriptor
//! to be readable, or for [`Reactor::next_timer`].

#![forbid(unsafe_code)]

pub mod batch;
mod channel;
mod connection;
mod handshake;
pub mod reactor;
pub mod settings;

pub use batch::Batch;
pub use millrace_net::{secure_context, server_tls};
pub use reactor::Reactor;
pub use settings::Settings;
