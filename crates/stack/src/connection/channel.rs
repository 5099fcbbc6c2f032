//! A connection's socket: the bytes that come from it and go to it.
//!
//! How it writes, [`WriteState`]:
//!
//! ```text
//!   Open <──> Corked       last bytes wait to leave with the end; the turn's end sends them
//!    │ └──> Ending ─┐      the end waits for bytes that the peer has not taken
//!    └──────────────┴──> Ended
//! ```

use std::io;

use millrace_net::socket::Socket;
use millrace_net::{Nanos, Read};

use super::queue::Queue;
use super::session::is_beginning;
use crate::transport::Transport;

/// Memory for what was read and not taken that a connection keeps: for a part of a head.
const KEPT: usize = 2 * 1024;

#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) transport: Transport,
    /// Bytes that were read and not taken.
    pub(super) input: Vec<u8>,
    /// What reading or writing has failed with. It is told behind what was received before.
    pub(super) failure: Option<io::Error>,
    /// The socket may hold more.
    pub(crate) readable: bool,
    /// The peer has ended its side: no event will tell of what is still unread.
    pub(crate) peer_ended: bool,
    /// All bytes that were read, TLS apart.
    pub(crate) bytes_read: u64,
    /// Bytes that were sent and not taken by the system.
    pub(super) output: Queue,
    pub(crate) write_state: WriteState,
    /// Bytes that the system has taken, so far.
    pub(super) given: u64,
    /// Since when bytes wait to be sent, as far as anybody has looked, and how many the peer had taken then.
    pub(super) waiting_since: Nanos,
    pub(super) taken_before: i64,
}

impl Channel {
    pub(super) fn new(transport: Transport) -> Self {
        Self {
            transport,
            input: Vec::new(),
            failure: None,
            readable: true,
            peer_ended: false,
            bytes_read: 0,
            output: Queue::default(),
            write_state: WriteState::Open,
            given: 0,
            waiting_since: Nanos::NEVER,
            taken_before: 0,
        }
    }

    /// Something has arrived, or the peer is gone.
    pub(crate) fn on_readable(&mut self, peer_ended: bool) {
        self.readable = true;
        self.peer_ended |= peer_ended;
    }

    /// It is broken; that is found when it is read, behind what has arrived before.
    pub(super) fn fail_behind_input(&mut self, error: io::Error) {
        self.failure.get_or_insert(error);
        self.readable = true;
    }

    /// Our side ends, now or when all is written. Gives whether it has. An error is that of the socket, which is broken.
    pub(crate) fn end(&mut self, at_once: bool) -> io::Result<bool> {
        let ends = self.write_state.end(at_once);
        if ends {
            self.transport.end()?;
        }
        Ok(ends)
    }

    /// A socket that was found to be broken while TLS was read is told to be behind what has arrived.
    pub(super) fn find_write_error(&mut self) {
        if let Some(error) = self.transport.take_write_error() {
            self.fail_behind_input(error);
        }
    }

    /// Whoever writes to a socket that is known to be broken has the error that was found: the system tells it once.
    pub(super) fn check_writable(&self) -> io::Result<()> {
        match self.failure.as_ref().and_then(io::Error::raw_os_error) {
            Some(number) => Err(io::Error::from_raw_os_error(number)),
            // What has failed may be TLS alone.
            None => Ok(()),
        }
    }

    /// There is something to take, or may be.
    pub(super) fn has_input(&self) -> bool {
        self.readable || !self.input.is_empty()
    }

    /// What was read and not taken is more than empty lines.
    pub(super) fn has_begun_request(&self) -> bool {
        is_beginning(&self.input)
    }

    /// Bytes have come that were not taken.
    pub(super) fn holds_bytes(&self) -> bool {
        !self.input.is_empty() || self.has_unread()
    }

    /// The socket holds bytes that were not read.
    pub(super) fn has_unread(&self) -> bool {
        self.transport.has_unread()
    }

    pub(super) fn count_read(&mut self, read: &Read) {
        self.bytes_read += read.count as u64;
        self.readable = !read.drained || self.peer_ended;
    }

    /// The error of a socket that is not read.
    pub(super) fn take_socket_error(&self) -> Option<io::Error> {
        self.transport.socket()?.take_error().ok().flatten()
    }

    /// Of what has arrived, the peer's end alone was not told: it is told with the last request.
    pub(super) fn has_only_end_left(&self) -> bool {
        let Transport::Plain(socket) = &self.transport else { return false };
        self.peer_ended && self.input.is_empty() && socket.unread() == 0
    }

    /// Keeps what was read and not taken, in memory that was for more only if it is not much more.
    pub(super) fn keep(&mut self, rest: &[u8]) {
        let capacity = self.input.capacity();
        if capacity > KEPT && capacity / 4 > rest.len() {
            self.input = rest.to_vec();
        } else {
            self.input.extend_from_slice(rest);
        }
    }

    pub(super) fn drop_input(&mut self, count: usize) {
        self.input.drain(..count.min(self.input.len()));
        if self.input.is_empty() {
            self.input = Vec::new();
        }
    }

    /// These bytes come first; an event tells of more.
    pub(crate) fn set_input(&mut self, bytes: Vec<u8>) {
        self.readable = bytes.is_empty();
        self.bytes_read = bytes.len() as u64;
        self.input = bytes;
    }

    /// Bytes that were read and not taken.
    pub(crate) fn take_input(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.input)
    }

    /// The socket, and bytes that were read and not taken, for whoever takes the connection over.
    pub(crate) fn into_parts(self) -> Option<(Socket, Vec<u8>)> {
        let (socket, mut bytes) = self.transport.into_parts()?;
        bytes.extend_from_slice(&self.input);
        Some((socket, bytes))
    }

    #[cfg(test)]
    pub(crate) fn kept_memory(&self) -> usize {
        self.input.capacity()
    }

    /// Bytes that were read and not taken, and memory for them.
    #[cfg(simulated)]
    pub(crate) fn kept(&self) -> (usize, usize) {
        (self.input.len(), self.input.capacity())
    }
}

/// Where our side stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WriteState {
    #[default]
    Open,
    /// The last bytes wait for the end, to leave with it.
    Corked,
    /// Our side ends when all is written.
    Ending,
    /// All of ours is written and our side has ended.
    Ended,
}

impl WriteState {
    /// Bytes were sent. `corked`: they wait for the end.
    pub(crate) fn on_sent(&mut self, corked: bool) {
        *self = match *self {
            Self::Open | Self::Corked if corked => Self::Corked,
            Self::Open | Self::Corked => Self::Open,
            Self::Ending | Self::Ended => *self,
        };
    }

    /// Whether bytes waited for an end, which has not come.
    pub(crate) fn uncork(&mut self) -> bool {
        let corked = *self == Self::Corked;
        if corked {
            *self = Self::Open;
        }
        corked
    }

    /// Our side has ended, or is to: nothing more is answered.
    pub(crate) fn is_over(self) -> bool {
        matches!(self, Self::Ending | Self::Ended)
    }

    /// Our side is to end. `true`: it does at once.
    pub(crate) fn end(&mut self, has_written_all: bool) -> bool {
        if *self == Self::Ended {
            return false;
        }
        *self = if has_written_all { Self::Ended } else { Self::Ending };
        has_written_all
    }
}
