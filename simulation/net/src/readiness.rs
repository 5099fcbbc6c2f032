//! Which sockets are ready, edge-triggered, as mio and epoll tell it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

pub use mio::event::Source;
pub use mio::{Interest, Token};

use crate::connection::Ready;
use crate::network::{Listed, with_network};

/// A poll set.
#[derive(Debug)]
pub struct Poll {
    registry: Registry,
}

/// Where sockets are registered.
#[derive(Debug)]
pub struct Registry {
    pub(crate) poll: usize,
}

impl Poll {
    /// Creates an empty one.
    pub fn new() -> io::Result<Self> {
        let poll = with_network(|network| {
            network.polls.push(VecDeque::new());
            network.polls.len() - 1
        });
        Ok(Self { registry: Registry { poll } })
    }

    /// Returns its registry.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Takes what is ready now, whatever the time.
    pub fn poll(&mut self, events: &mut Events, _: Option<Duration>) -> io::Result<()> {
        events.list.clear();
        with_network(|network| {
            network.take_events(self.registry.poll, events.capacity, &mut events.list);
        });
        Ok(())
    }
}

impl AsRawFd for Poll {
    /// The number of the poll set, for [`crate::network::is_ready`].
    fn as_raw_fd(&self) -> RawFd {
        // There are a few of them.
        self.registry.poll as RawFd
    }
}

impl Registry {
    /// Refuses sockets of the system.
    pub fn register(
        &self,
        _: &mut (impl Source + ?Sized),
        _: Token,
        _: Interest,
    ) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Refuses sockets of the system.
    pub fn deregister(&self, _: &mut (impl Source + ?Sized)) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Wakes a poll.
#[derive(Debug)]
pub struct Waker {
    poll: usize,
    token: Token,
}

impl Waker {
    /// Creates one that tells by this token.
    pub fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        Ok(Self { poll: registry.poll, token })
    }

    /// Wakes it.
    pub fn wake(&self) -> io::Result<()> {
        with_network(|network| {
            let listed = &mut network.polls[self.poll];
            if !listed.iter().any(|listed| matches!(listed, Listed::Waker(_))) {
                listed.push_back(Listed::Waker(self.token));
            }
        });
        Ok(())
    }
}

/// What a poll has told.
#[derive(Debug)]
pub struct Events {
    list: Vec<Event>,
    capacity: usize,
}

impl Events {
    /// Creates room for so many.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { list: Vec::new(), capacity }
    }

    /// Returns them in their order.
    pub fn iter(&self) -> std::slice::Iter<'_, Event> {
        self.list.iter()
    }
}

impl<'a> IntoIterator for &'a Events {
    type Item = &'a Event;
    type IntoIter = std::slice::Iter<'a, Event>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// What a poll has told of one socket.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    token: Token,
    ready: Ready,
}

impl Event {
    pub(crate) fn new(token: Token, ready: Ready) -> Self {
        Self { token, ready }
    }

    pub(crate) fn of_waker(token: Token) -> Self {
        Self { token, ready: Ready { readable: true, ..Ready::default() } }
    }

    /// Returns the token that the socket was registered with.
    #[must_use]
    pub fn token(&self) -> Token {
        self.token
    }

    /// Whether something can be read, the end and an error included.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.ready.readable
    }

    /// Whether something can be written.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.ready.writable
    }

    /// Whether the peer has ended.
    #[must_use]
    pub fn is_read_closed(&self) -> bool {
        self.ready.read_closed
    }

    /// Whether there is an error.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.ready.error
    }
}
