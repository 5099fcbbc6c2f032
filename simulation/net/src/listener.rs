//! Listening sockets.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

use mio::Token;

use crate::connection::Watch;
use crate::network::{Endpoint, with_network};
use crate::readiness::Registry;
use crate::socket::Socket;

/// A listening socket that never blocks.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
    at: usize,
}

impl Listener {
    /// Registers a listening socket with `token`.
    pub fn new(fd: OwnedFd, registry: &Registry, token: Token) -> io::Result<Self> {
        let poll = registry.poll;
        with_network(|network| {
            let Some(endpoint @ Endpoint::Listener(at)) = network.endpoint(&fd) else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            network.set_watch(endpoint, Some(Watch { poll, token, writable: false }));
            Ok(Self { fd, at })
        })
    }

    /// Accepts the next connection; returns its peer's address.
    pub fn accept(&self) -> io::Result<(Socket, Option<SocketAddr>)> {
        with_network(|network| {
            let error = network.aborted.take().or(network.shortage);
            let waiting = &mut network.listeners[self.at].waiting;
            if let (Some(error), false) = (error, waiting.is_empty()) {
                return Err(io::Error::from_raw_os_error(error));
            }
            let at = waiting.pop_front().ok_or(io::ErrorKind::WouldBlock)?;
            let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1024 + (at % 60_000) as u16));
            let fd = network.descriptor(Endpoint::Connection(at));
            Ok((Socket::new(fd, at), Some(peer)))
        })
    }

    /// Returns a socket whose options change nothing.
    #[must_use]
    pub fn options(&self) -> socket2::SockRef<'_> {
        socket2::SockRef::from(&self.fd)
    }

    /// Stops accepting.
    pub fn deregister(&mut self, _: &Registry) -> io::Result<()> {
        with_network(|network| network.set_watch(Endpoint::Listener(self.at), None));
        Ok(())
    }
}

impl Drop for Listener {
    /// Whoever waits is reset.
    fn drop(&mut self) {
        with_network(|network| {
            network.forget(&self.fd);
            network.listeners[self.at].watch = None;
            while let Some(at) = network.listeners[self.at].waiting.pop_front() {
                network.connections[at].resets = true;
                network.connections[at].close_server();
            }
        });
    }
}
