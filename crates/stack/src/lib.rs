//! The server's side of HTTP/1.1: sockets, parsing, ordering and limits, without a word of JavaScript.
//!
//! ```text
//!   Reactor::turn ──> events and the bytes they speak of, in the caller's memory (Batch)
//!   caller        ──> Reactor::send, pause, proceed, close, release
//! ```
//!
//! # The life of a connection
//!
//! ```text
//!   accepted                       reactor/accepting.rs     Event::Open
//!      │   TLS: Handshake, Hello   connection/tls.rs        Hello, then Secure
//!      v
//!   a head arrives                 connection/receiving.rs
//!      ├── the cache answers ────> connection/cache.rs      no event; the next head
//!      ├── another process's ────> connection/owner.rs      no event; the connection leaves
//!      ├── unusual ──────────────> Fallback                 the caller's parser decides, and the connection goes on or is released
//!      v
//!   in flight + 1                  connection/lane.rs       Request, Body ..., End
//!      │   the next head is read at once, unless something blocks it (connection/state.rs)
//!      v
//!   send(bytes, done)              reactor/sending.rs       Drained, if the system did not take all
//!   in flight - done               what leaves is seen by the cache: response_tracker.rs
//!      │   nothing in flight: idle, until the keep-alive time is over (reactor/timers.rs): Idle
//!      v
//!   end(), or the peer's: Eof      the last bytes and the end leave together
//!   close()                        reactor/commands.rs      no event; or Closed, if the peer has broken it
//!      └── what the peer still sends is discarded for a while (reactor/lingering.rs)
//! ```
//!
//! An event is told if the batch has room for all that may happen at once. If not, because it is full or because nobody hears it
//! ([`standby`]), the connection is blocked by its report, and goes on when that was told: the first to wait is the first told.
//! What needs no caller goes on meanwhile.
//!
//! # Where things are
//!
//! - [`reactor`]: the poll descriptor, all listeners and connections of one thread, its turns
//! - `connection`: one connection: transport, what was read and is to be written, its states (`state.rs` draws them), its requests
//!   and responses (`lane.rs`), and what is to be done for it without an event (`work.rs`)
//! - `transport`: a connection's bytes, as they are or through TLS
//! - [`batch`]: events for the caller
//! - [`settings`]: the limits of one server; `server`: these, and its cache
//! - `response_tracker`: what the cache learns from the responses that leave
//! - `keep_alive`: TCP's own probes
//! - [`router`]: ports that are shared, with whom their requests are divided by something outside of this crate; `relay`: the
//!   text of TLS sessions whose requests are answered elsewhere
//! - [`standby`]: a second thread, for as long as the first is busy
//!
//! A reactor belongs to one thread at a time and never blocks: whoever drives it waits for its descriptor
//! to be readable, or for [`Reactor::next_timer`].

#![deny(unsafe_code)]

pub mod batch;
mod connection;
mod keep_alive;
pub mod reactor;
mod relay;
mod response_tracker;
pub mod router;
mod server;
pub mod settings;
pub mod standby;
mod started;
mod transport;

pub use batch::Batch;
pub use connection::rates::Unacknowledged;
pub use millrace_cache as cache;
pub use millrace_net::{seed_random, tls};
pub use reactor::{Exchange, Reactor};
pub use server::ServerCounts;
pub use settings::Settings;
pub use standby::{ReactorHandle, StandbyThread};
