//! What `crates/net` is to the stack, with the same names, on a simulated clock, poll and network. Everything that happens on
//! a thread belongs to its [`network`], which a seed drives.
//!
//! - [`network`]: the connections, listeners and poll sets of this thread, and its clock
//! - [`peer`]: the client's end of a connection
//! - [`readiness`], [`socket`], [`listener`], [`clock`]: the stack's side
//! - [`tls`]: the real streams over toy sessions

#![forbid(unsafe_code)]

pub mod clock;
mod connection;
pub mod listener;
pub mod network;
pub mod peer;
pub mod readiness;
pub mod socket;
#[path = "../../../crates/net/src/timer.rs"]
mod timer;
#[path = "../../../crates/net/src/timers.rs"]
pub mod timers;
pub mod tls;
#[path = "../../../crates/net/src/transport.rs"]
pub mod transport;

pub use clock::{Clock, Monotonic, Nanos};
pub use listener::Listener;
pub use timer::TimerFd;
pub use timers::TimerQueue;
pub use tls::seed_random;
pub use transport::{Progress, Read, Transport};
