//! Connections to one server that requests share: who is free, and who waits.

use std::collections::VecDeque;

use crate::metrics::in_flight::Due;

/// Connections by index. Of those that are idle the one that was used last is used next, so that a low rate does not keep
/// every connection idle for as long as possible, about until the server closes it. Where none is idle those that have room
/// for another request are used in turn.
#[derive(Debug, Default)]
pub(crate) struct ConnectionPool {
    /// Connections without a request, the one that was used last at the end.
    idle: Vec<u32>,
    /// Connections with room for another request.
    busy: VecDeque<u32>,
    /// Where each connection is listed, by its distance from the first one.
    listed: Vec<Listed>,
    first: u32,
    closed: Vec<u32>,
    /// Arrivals that wait for a free connection, in order.
    queue: VecDeque<Due>,
    /// Connections that are being opened.
    opening: usize,
}

/// The list that a connection is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Listed {
    #[default]
    Nowhere,
    Idle,
    Busy,
}

impl ConnectionPool {
    /// Creates a pool of connections that are closed; no connection of it has an index below `first`.
    pub(crate) fn new(closed: Vec<u32>, first: u32) -> Self {
        Self { closed, first, ..Self::default() }
    }

    /// A connection for those that wait, if there are any. It was free when it was listed; the caller checks
    /// that it still is.
    pub(crate) fn take_free(&mut self) -> Option<u32> {
        if self.queue.is_empty() {
            return None;
        }
        let connection = self.idle.pop().or_else(|| self.busy.pop_front())?;
        self.listed[(connection - self.first) as usize] = Listed::Nowhere;
        Some(connection)
    }

    /// Lists a connection that has room for another request, `idle`: has none.
    pub(crate) fn add_free(&mut self, connection: u32, idle: bool) {
        let index = (connection - self.first) as usize;
        if self.listed.len() <= index {
            self.listed.resize(index + 1, Listed::Nowhere);
        }
        let listed = &mut self.listed[index];
        match (*listed, idle) {
            (Listed::Idle, _) | (Listed::Busy, false) => {}
            (Listed::Nowhere, false) => {
                *listed = Listed::Busy;
                self.busy.push_back(connection);
            }
            (before, true) => {
                *listed = Listed::Idle;
                if before == Listed::Busy {
                    self.busy.retain(|busy| *busy != connection);
                }
                self.idle.push(connection);
            }
        }
    }

    pub(crate) fn wait(&mut self, due: Due) {
        self.queue.push_back(due);
    }

    /// Puts requests back that could not be sent, before all others.
    pub(crate) fn wait_first(&mut self, due: impl DoubleEndedIterator<Item = Due>) {
        for due in due.rev() {
            self.queue.push_front(due);
        }
    }

    pub(crate) fn take_waiting(&mut self) -> Option<Due> {
        self.queue.pop_front()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// A closed connection that should be opened, if more arrivals wait than connections are on their
    /// way.
    pub(crate) fn take_closed(&mut self) -> Option<u32> {
        if self.queue.len() <= self.opening {
            return None;
        }
        let connection = self.closed.pop()?;
        self.opening += 1;
        Some(connection)
    }

    /// A connection that is not in the pool's lists is being opened before the start.
    pub(crate) fn set_up(&mut self) {
        self.opening += 1;
    }

    pub(crate) fn opened(&mut self) {
        self.opening = self.opening.saturating_sub(1);
    }

    pub(crate) fn add_closed(&mut self, connection: u32) {
        self.closed.push(connection);
    }
}

#[cfg(test)]
mod tests;
