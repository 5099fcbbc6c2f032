//! The server's end of a connection.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use mio::{Interest, Token};

use crate::Read;
use crate::connection::Watch;
use crate::network::{Endpoint, Network, with_network};
use crate::readiness::Registry;

/// A socket that never blocks.
#[derive(Debug)]
pub struct Socket {
    /// Stands for it where it is given away.
    fd: Option<OwnedFd>,
    at: usize,
}

impl Socket {
    pub(crate) fn new(fd: OwnedFd, at: usize) -> Self {
        Self { fd: Some(fd), at }
    }

    /// Takes a connected socket.
    pub fn from_fd(fd: OwnedFd) -> io::Result<(Self, Option<SocketAddr>)> {
        match with_network(|network| network.endpoint(&fd)) {
            Some(Endpoint::Connection(at)) => Ok((Self::new(fd, at), None)),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Takes a connected socket.
    #[must_use]
    pub fn from_known(fd: OwnedFd, _: bool) -> Self {
        Self::from_fd(fd).expect("it stands for a connection").0
    }

    /// Reads received bytes. Now and then some arrive a moment later than they were sent.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Read> {
        let length = buffer.len();
        with_network(|network| {
            let unread = network.connections[self.at].to_server.len();
            let mut most = length;
            if unread > 1 && network.chance.u8(..16) == 0 {
                most = most.min(network.chance.usize(1..unread));
            }
            let count = network.connections[self.at].read(&mut buffer[..most])?;
            if count == most && most < length {
                network.notify(Endpoint::Connection(self.at));
            }
            Ok(Read { count, drained: count < length })
        })
    }

    /// Writes as many bytes of both parts as the socket accepts now.
    pub fn write_two(&mut self, first: &[u8], second: &[u8]) -> io::Result<usize> {
        self.write_parts(&[first, second], false)
    }

    /// Writes as many bytes of all parts as the socket accepts now.
    pub fn write_many(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        let parts: Vec<&[u8]> = parts.iter().map(|part| &**part).collect();
        self.write_parts(&parts, false)
    }

    /// Writes as many bytes as the socket accepts now.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_parts(&[bytes], false)
    }

    /// Writes the final bytes, which wait for the end.
    pub fn write_last(&self, bytes: &[u8]) -> io::Result<usize> {
        self.write_parts(&[bytes], true)
    }

    fn write_parts(&self, parts: &[&[u8]], holds: bool) -> io::Result<usize> {
        self.change(|network, at| {
            let was_reset = network.connections[at].server_reset;
            let connection = &mut network.connections[at];
            let count = connection.write(parts)?;
            // What does not fit leaves at once, as in `tcp_sendmsg`.
            let holds = holds && count == parts.iter().map(|part| part.len()).sum();
            connection.held =
                if holds { (connection.held + count).min(connection.to_client.len()) } else { 0 };
            if connection.server_reset && !was_reset {
                network.notify(Endpoint::Connection(at));
            }
            Ok(count)
        })
    }

    /// Sends bytes that [`Self::write_last`] holds back.
    pub fn push(&self, _: bool) {
        self.change(|network, at| network.connections[at].held = 0);
    }

    /// Returns the number of received bytes that have not been read.
    #[must_use]
    pub fn unread(&self) -> u64 {
        self.change(|network, at| network.connections[at].to_server.len() as u64)
    }

    /// Returns the pending error, which is told once.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        let error = self.change(|network, at| network.connections[at].error.take());
        Ok(error.map(io::Error::from_raw_os_error))
    }

    /// Ends our side.
    pub fn shutdown_write(&self) -> io::Result<()> {
        self.change(|network, at| {
            let connection = &mut network.connections[at];
            if connection.server_reset {
                return Err(io::Error::from_raw_os_error(libc::ENOTCONN));
            }
            connection.server_ended = true;
            connection.held = 0;
            // As `inet_shutdown` does.
            network.notify(Endpoint::Connection(at));
            Ok(())
        })
    }

    /// Closing it resets the connection.
    pub fn reset_on_close(&self) -> io::Result<()> {
        self.change(|network, at| network.connections[at].resets = true);
        Ok(())
    }

    /// Registers for readiness in both directions.
    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        self.watch(registry, token, Interest::READABLE | Interest::WRITABLE);
        Ok(())
    }

    /// Registers under another token, for readiness to read.
    pub fn register_again(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        self.watch(registry, token, Interest::READABLE);
        Ok(())
    }

    fn watch(&self, registry: &Registry, token: Token, interest: Interest) {
        let watch = Watch { poll: registry.poll, token, writable: interest.is_writable() };
        self.change(|network, at| network.set_watch(Endpoint::Connection(at), Some(watch)));
    }

    /// Removes the socket from the poll loop.
    pub fn deregister(&mut self, _: &Registry) -> io::Result<()> {
        self.change(|network, at| network.set_watch(Endpoint::Connection(at), None));
        Ok(())
    }

    /// Removes the socket from the poll loop and returns its descriptor.
    pub fn release(mut self, registry: Option<&Registry>) -> io::Result<OwnedFd> {
        if let Some(registry) = registry {
            self.deregister(registry)?;
        }
        self.fd.take().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Returns a socket whose options change nothing.
    #[must_use]
    pub fn options(&self) -> socket2::SockRef<'_> {
        socket2::SockRef::from(self.fd.as_ref().expect("it was not given away"))
    }

    fn change<R>(&self, action: impl FnOnce(&mut Network, usize) -> R) -> R {
        with_network(|network| action(network, self.at))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let Some(fd) = self.fd.take() else { return };
        self.change(|network, at| {
            network.forget(&fd);
            network.connections[at].close_server();
        });
    }
}
