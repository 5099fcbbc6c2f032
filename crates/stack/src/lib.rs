//! The server's side of HTTP: sockets, parsing, ordering and limits, without a word of JavaScript.
//!
//! ```text
//!   Reactor::turn ──> events and the bytes they speak of, in the caller's memory (Batch)
//!   caller        ──> Reactor::send, pause, proceed, close, release
//! ```
//!
//! # The life of a connection
//!
//! ```text
//!   accepted                       reactor/accepting.rs     Event::Open; at a shared address only with the first request for this
//!      │                                                    server. With `requires_admission` the caller decides first (Admission)
//!      │   TLS                     session/handshake.rs     Hello, Secure, Failed; without them, where the caller is busy and the
//!      v                                                    server has a context. Requests may wait for the caller's word then
//!   a head arrives                 session/h1.rs
//!      ├── answered at once ─────> connection/cache.rs      no event, the next head: a stored response; or a refusal (503) while
//!      │                                                    the caller is busy. Answered, if it is the connection's last
//!      ├── another's ────────────> connection/routing.rs    the connection leaves (Closed, if the caller knows it), or its TLS
//!      │                                                    session stays (session/tunnel.rs); nobody's is answered (404, 503)
//!      ├── unusual ──────────────> Fallback                 the caller's parser decides, and the connection goes on or is released
//!      v
//!   in flight + 1                  connection/lane.rs       Request, Body ..., End. Of a long body the caller receives the parts itself
//!      │                                                    (BodyReadable, receive_body), so that they are copied once
//!      │   the next head is read at once, unless something blocks it (connection/blocked.rs) or the caller has paused it
//!      v
//!   send(bytes, done)              reactor/sending.rs       Drained, if the system did not take all. While the caller is busy for
//!      │                                                    too long, the response is given up (reactor/standby.rs)
//!   in flight - done               what leaves is seen by the cache: response_tracker.rs
//!      │   nothing in flight: idle, until nothing has come for the keep-alive time: Idle (connection/activity.rs)
//!      v
//!   the peer ends its side         connection/receiving.rs  Eof; requests before it are still answered
//!   end()                          reactor/commands.rs      our last bytes and the end leave together
//!   close(), or the peer breaks it                          no event, or Closed, behind what has arrived before; the number stays
//!      │                                                    taken until the batch is taken
//!      └── what the peer still sends is discarded for a while (reactor/lingering.rs)
//! ```
//!
//! A plain connection is registered with the poller after its first batch: one that is over by then costs no registration.
//!
//! An event is told if the batch has room for all that may happen at once. If not, because it is full or because nobody hears it
//! ([`standby`]), it is reported in a later batch: the first to wait is the first told. A connection that cannot go on without it
//! is blocked by its report; what needs no caller goes on. Each connection has a share of a batch, so that none fills it.
//!
//! # HTTP/2
//!
//! ```text
//!   connection: socket ──> session (h2.rs) ──> news of streams ─── reactor/streams.rs ──> connection of a stream: as above
//!                     <── frames ──────────<── text of responses ──────────────────────<── its transport (transport/stream.rs)
//! ```
//!
//! A stream is a connection with one request, whose bytes are text of HTTP/1.1. The caller hears of it with its request (Open, which
//! names the connection of the session), and not at all if the cache answers. What a session has to send leaves when a turn or a
//! command ends. A connection whose session is over is told as Closed.
//!
//! # Where things are
//!
//! - [`reactor`]: the poll descriptor, all listeners and connections of one thread, its turns
//! - `connection`: one connection, of three parts: its socket and the bytes that come and go (`channel.rs`), the protocol that it
//!   speaks (`session.rs`), and what the caller has of it (`lane.rs`). `receiving.rs` reads, and lets the session take what came
//! - `transport`: a channel's bytes, as they are, through TLS, or as a stream of another connection
//! - [`batch`]: events for the caller
//! - [`settings`]: the limits of one server; `server`: these, and its cache
//! - `response_tracker`: what the cache learns from the responses that leave
//! - `keep_alive`: TCP's own probes
//! - `unusual`: why requests leave the fast path, counted
//! - [`router`]: ports that are shared, with whom their requests are divided by something outside of this crate
//! - [`standby`]: a second thread, for as long as the first is busy
//! - [`driver`]: how an event loop drives a reactor
//!
//! A reactor belongs to one thread at a time and never blocks: whoever drives it waits for its descriptor
//! to be readable, or for [`Reactor::next_timer`].

#![deny(unsafe_code)]

pub mod batch;
mod connection;
pub mod driver;
mod keep_alive;
pub mod reactor;
mod response_tracker;
pub mod router;
mod server;
pub mod settings;
pub mod standby;
mod started;
mod transport;
mod unusual;

pub use batch::Batch;
pub use connection::rates::Unacknowledged;
pub use millrace_cache as cache;
pub use millrace_net::{seed_random, tls};
pub use reactor::{Exchange, Reactor};
pub use server::{Http2Counts, ServerCounts};
pub use settings::Settings;
pub use standby::{ReactorHandle, StandbyThread};
pub use unusual::UnusualCounts;
