//! The connections to one server in an open run: who is free, and who waits.

use std::collections::VecDeque;

use crate::connection::Due;

/// Connections by index. Those that are free are used in turn, so that each carries its share.
#[derive(Debug, Default)]
pub(crate) struct ConnectionPool {
    /// Each connection at most once.
    free: VecDeque<u32>,
    /// By connection: it is in `free`.
    listed: Vec<bool>,
    closed: Vec<u32>,
    /// Arrivals that wait for a free connection, in order.
    queue: VecDeque<Due>,
    /// Connections that are being opened.
    opening: usize,
}

impl ConnectionPool {
    pub(crate) fn new(closed: Vec<u32>) -> Self {
        Self { closed, ..Self::default() }
    }

    /// A connection for those that wait, if there are any. It was free when it was listed; the caller checks
    /// that it still is.
    pub(crate) fn take_free(&mut self) -> Option<u32> {
        if self.queue.is_empty() {
            return None;
        }
        let connection = self.free.pop_front()?;
        self.listed[connection as usize] = false;
        Some(connection)
    }

    /// Lists a connection as free, unless it is listed.
    pub(crate) fn add_free(&mut self, connection: u32) {
        let index = connection as usize;
        if self.listed.len() <= index {
            self.listed.resize(index + 1, false);
        }
        if !std::mem::replace(&mut self.listed[index], true) {
            self.free.push_back(connection);
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
