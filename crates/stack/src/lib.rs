//! The server's side of HTTP/1.1: sockets, parsing, ordering and limits, without a word of JavaScript.
//!
//! ```text
//!   Reactor::turn ──> events and the bytes they speak of, in the caller's memory (Batch)
//!   caller        ──> Reactor::send, pause, proceed, close, release
//! ```
//!
//! - [`reactor`]: the poll descriptor, all listeners and connections of one thread
//! - [`connection`]: one connection: what was read, what is still to be written, where it stands (`connection/state.rs` draws its
//!   states, `connection/work.rs` the queues of what no event announces)
//! - `transport`: a connection's bytes, as they are or through TLS (`connection/tls.rs`)
//! - [`batch`]: events for the caller
//! - [`settings`]: the limits of one server; `server`: these, and its cache
//! - `connection/cache.rs`, `response_tracker`: which requests the cache answers, and what it learns from the responses to the others
//! - `keep_alive`: TCP's own probes
//! - [`sharing`]: one port for several processes
//! - [`companion`]: a second thread, for as long as the first is busy; `watchdog`: how it knows
//!
//! A reactor belongs to one thread at a time and never blocks: whoever drives it waits for its descriptor
//! to be readable, or for [`Reactor::next_timer`].

#![deny(unsafe_code)]

pub mod batch;
pub mod companion;
mod connection;
mod forwarded;
mod keep_alive;
pub mod reactor;
mod response_tracker;
mod server;
pub mod settings;
pub mod sharing;
mod transport;
mod watchdog;

pub use batch::Batch;
pub use companion::{Companion, Shared};
pub use connection::rates::Unacknowledged;
pub use millrace_cache as cache;
pub use millrace_net::{seed_random, tls};
pub use reactor::{Exchange, Reactor};
pub use server::ServerCounts;
pub use settings::Settings;
