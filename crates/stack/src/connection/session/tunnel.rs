//! TLS connections whose requests are another process's: a session cannot move, so its text goes through whoever has it.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;

use millrace_net::readiness::{Interest, Registry, Token};
use mio::net::UnixStream;

use crate::batch::Batch;
use crate::connection::channel::{Channel, WriteState};
use crate::connection::{Flow, READ};

/// Reads in each direction before everything else has its turn.
const READS: usize = 4;

/// The way between a session and the process that has its requests.
#[derive(Debug)]
pub(crate) struct Tunnel {
    socket: UnixStream,
    /// Text from the client that the other has not taken.
    pending: VecDeque<u8>,
    /// The client sends no more, and the other knows.
    pub(super) client_ended: bool,
    /// The other sends no more.
    owner_ended: bool,
}

impl Tunnel {
    /// A way, and its other end. `bytes` were read before.
    pub(crate) fn new(
        registry: &Registry,
        token: Token,
        bytes: Vec<u8>,
    ) -> io::Result<(Self, OwnedFd)> {
        let (here, there) = StdStream::pair()?;
        here.set_nonblocking(true)?;
        there.set_nonblocking(true)?;
        let mut socket = UnixStream::from_std(here);
        registry.register(&mut socket, token, Interest::READABLE | Interest::WRITABLE)?;
        let (client_ended, owner_ended) = (false, false);
        Ok((Self { socket, pending: bytes.into(), client_ended, owner_ended }, there.into()))
    }

    /// Moves text both ways. An error is the connection's.
    pub(crate) fn receive(
        &mut self,
        channel: &mut Channel,
        batch: &mut Batch<'_>,
    ) -> io::Result<Flow> {
        match channel.failure.take() {
            Some(error) => Err(error),
            None => self.pump(channel, batch),
        }
    }

    fn pump(&mut self, channel: &mut Channel, batch: &mut Batch<'_>) -> io::Result<Flow> {
        let room = channel.transport.room();
        let scratch = batch.memory.scratch();
        if scratch.len() < room {
            return Ok(Flow::Again);
        }
        let more = self.forward(channel, scratch)?;
        let mut again = more;
        for _ in 0..READS {
            if self.owner_ended || channel.queued() > 0 {
                again = more;
                break;
            }
            match self.take(&mut scratch[..READ]) {
                Ok(0) => self.owner_ended = true,
                Ok(count) => drop(channel.send(&scratch[..count], false)?),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    again = more;
                    break;
                }
                // It has left what it was sent; all that it has said is here.
                Err(_) => self.owner_ended = true,
            }
            again = true;
        }
        if self.owner_ended && channel.queued() == 0 {
            channel.end(true)?;
        }
        // Whoever has answered all and ended wants no more; a client that goes on would not be heard.
        let over = channel.write_state == WriteState::Ended;
        Ok(match (over, again) {
            (true, _) => Flow::Broken(0),
            (false, true) => Flow::Again,
            (false, false) => Flow::Idle,
        })
    }

    /// Text from the client; `true`: there is more.
    fn forward(&mut self, channel: &mut Channel, scratch: &mut [u8]) -> io::Result<bool> {
        for _ in 0..READS {
            if self.client_ended || !self.give(&[]) || !channel.readable {
                return Ok(false);
            }
            match channel.transport.read(scratch) {
                Ok(read) if read.count == 0 => self.end(),
                Ok(read) => {
                    channel.readable = !read.drained || channel.peer_ended;
                    self.give(&scratch[..read.count]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => channel.readable = false,
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Takes text from the client; `true`: more can be taken. If the other wants no more, that is the end of it, while what it
    /// has said can still be taken.
    fn give(&mut self, bytes: &[u8]) -> bool {
        self.pending.extend(bytes);
        while !self.pending.is_empty() {
            let (first, _) = self.pending.as_slices();
            match self.socket.write(first) {
                Ok(count) => drop(self.pending.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.pending.clear();
                    self.client_ended = true;
                }
            }
        }
        !self.client_ended
    }

    /// The client sends no more.
    fn end(&mut self) {
        self.client_ended = true;
        // Fails where the other is gone: then reading tells it.
        self.socket.shutdown(Shutdown::Write).ok();
    }

    /// Text for the client; zero: the other sends no more.
    fn take(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.socket.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}
