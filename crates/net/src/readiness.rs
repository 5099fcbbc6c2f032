//! Which sockets are ready, edge-triggered. Whoever takes these names from here, and not from mio, runs in the simulation
//! (`simulation/`) as well.

pub use mio::event::{Event, Source};
pub use mio::{Events, Interest, Poll, Registry, Token, Waker};
