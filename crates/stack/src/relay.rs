//! TLS connections whose requests are another process's: their text goes through the one that has the session.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;

use millrace_net::readiness::{Interest, Registry, Token};
use mio::net::UnixStream;

/// The way between a session and the process that has its requests.
#[derive(Debug)]
pub(crate) struct Relay {
    socket: UnixStream,
    /// Text from the client that the other has not taken.
    pending: VecDeque<u8>,
    /// The client sends no more, and the other knows.
    pub(crate) client_ended: bool,
    /// The other sends no more.
    pub(crate) owner_ended: bool,
}

impl Relay {
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

    /// Takes text from the client; `true`: more can be taken. If the other wants no more, that is the end of it, while what it
    /// has said can still be taken.
    pub(crate) fn give(&mut self, bytes: &[u8]) -> bool {
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
    pub(crate) fn end(&mut self) {
        self.client_ended = true;
        // Fails where the other is gone: then reading tells it.
        self.socket.shutdown(Shutdown::Write).ok();
    }

    /// Text for the client; zero: the other sends no more.
    pub(crate) fn take(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.socket.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}
