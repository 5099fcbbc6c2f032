//! Readiness, time and transports: what the load engine and the server stack have in common.
//!
//! ```text
//!   Clock ──> Nanos           TimerQueue<K> : keys ordered by due time
//!   Poller : readiness of many sockets, woken within microseconds of a given time
//!   Transport : read, write, establish      Stream = tcp | unix | tls over either
//! ```
//!
//! - [`clock`]: monotonic nanoseconds; a manual clock for tests
//! - [`readiness`]: which sockets are ready; [`poll`]: the loop over that with exact wake-ups
//! - [`timers`]: a heap of times
//! - [`transport`]: the interface between a connection and its byte stream
//! - [`stream`]: the transports of production, over [`socket`] and [`tls`]
//! - [`tls`]: TLS for clients and for servers
//! - [`cpu`]: priority of threads, and their time without a core
//! - [`names`]: host names to addresses

#![forbid(unsafe_code)]

pub mod clock;
pub mod cpu;
#[cfg(unix)]
pub mod listener;
pub mod names;
pub mod poll;
pub mod readiness;
pub mod socket;
pub mod stream;
mod timer;
pub mod timers;
pub mod tls;
pub mod transport;

pub use clock::{Clock, ManualClock, Monotonic, Nanos};
#[cfg(unix)]
pub use listener::Listener;
pub use names::Address;
pub use poll::{Poller, Wake};
pub use stream::{SpareSocket, Stream};
pub use timer::TimerFd;
pub use timers::TimerQueue;
pub use tls::seed_random;
pub use transport::{Progress, Read, Transport};
