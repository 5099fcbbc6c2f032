//! What is to be done for connections without an event of their sockets.

use std::collections::VecDeque;

use super::Connection;
use super::id::{ConnId, Connections};

/// A set of things to do for a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work(u8);

impl Work {
    /// Reads on.
    pub(crate) const READ: Self = Self(1);
    /// Frees its place, as its end was reported.
    pub(crate) const FREE: Self = Self(1 << 1);
    /// Registers its socket with the poller.
    pub(crate) const REGISTER: Self = Self(1 << 2);
    /// Sends last bytes, which waited to leave with the end of our side.
    pub(crate) const UNCORK: Self = Self(1 << 3);
    /// Sends the end of a handshake, which waited to leave with the first response.
    pub(crate) const FLUSH_HANDSHAKE: Self = Self(1 << 4);
    /// Reads on, as the caller has seen the connection and has not closed it.
    pub(crate) const ADMIT: Self = Self(1 << 5);

    /// These, and those of `other`.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Takes those out that are in `other`.
    fn take(&mut self, other: Self) -> Self {
        let taken = Self(self.0 & other.0);
        self.0 &= !other.0;
        taken
    }
}

/// Connections with work of certain kinds, in the order in which they got it. Each is in it once, as long as any of these
/// kinds is in its [`Connection::work`]. Those that are gone are passed over.
#[derive(Debug)]
pub(crate) struct Queue {
    kinds: Work,
    ids: VecDeque<ConnId>,
}

impl Queue {
    pub(crate) fn new(kinds: Work) -> Self {
        Self { kinds, ids: VecDeque::new() }
    }

    /// Adds work of this queue's kinds to a connection.
    pub(crate) fn push(&mut self, connection: &mut Connection, work: Work) {
        if !connection.work.intersects(self.kinds) {
            self.ids.push_back(connection.id);
        }
        connection.work = connection.work.and(work);
    }

    /// Takes the first connection and its work out. A pass over the queue calls this [`Self::len`] times; `None`: this one
    /// is gone.
    pub(crate) fn pop<'a>(
        &mut self,
        connections: &'a mut Connections,
    ) -> Option<(&'a mut Connection, Work)> {
        self.pop_some(connections, self.kinds)
    }

    /// The same for work of some kinds only. A connection that has other work stays, behind the others.
    pub(crate) fn pop_some<'a>(
        &mut self,
        connections: &'a mut Connections,
        kinds: Work,
    ) -> Option<(&'a mut Connection, Work)> {
        let connection = connections.get_mut(self.ids.pop_front()?)?;
        let work = connection.work.take(kinds);
        if connection.work.intersects(self.kinds) {
            self.ids.push_back(connection.id);
        }
        Some((connection, work))
    }

    /// The connection that [`Self::pop`] takes out; `None`: it is gone, or there is none.
    pub(crate) fn first<'a>(&self, connections: &'a Connections) -> Option<&'a Connection> {
        connections.get(*self.ids.front()?)
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}
