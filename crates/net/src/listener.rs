//! Listening sockets.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use mio::net::{TcpListener, UnixListener};
use mio::{Interest, Registry, Token};

use crate::socket::Socket;

/// A listening socket that never blocks.
#[derive(Debug)]
pub enum Listener {
    /// TCP over IPv4 or IPv6.
    Tcp(TcpListener),
    /// A Unix socket of stream type.
    Unix(UnixListener),
}

impl Listener {
    /// Registers a listening socket with `token`.
    pub fn new(fd: OwnedFd, registry: &Registry, token: Token) -> io::Result<Self> {
        let socket = socket2::Socket::from(fd);
        let is_unix = socket.local_addr()?.is_unix();
        if !socket.is_listener()? {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        socket.set_nonblocking(true)?;
        if is_unix {
            let mut listener = UnixListener::from_std(OwnedFd::from(socket).into());
            registry.register(&mut listener, token, Interest::READABLE)?;
            Ok(Self::Unix(listener))
        } else {
            let mut listener = TcpListener::from_std(OwnedFd::from(socket).into());
            registry.register(&mut listener, token, Interest::READABLE)?;
            Ok(Self::Tcp(listener))
        }
    }

    /// Accepts the next connection; returns its peer's address, if it has one.
    pub fn accept(&self) -> io::Result<(Socket, Option<SocketAddr>)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept()?;
                Ok((Socket::Tcp(stream), Some(peer)))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept()?;
                Ok((Socket::Unix(stream), None))
            }
        }
    }

    /// Returns the socket for reading and setting options.
    #[must_use]
    pub fn options(&self) -> socket2::SockRef<'_> {
        match self {
            Self::Tcp(listener) => socket2::SockRef::from(listener),
            Self::Unix(listener) => socket2::SockRef::from(listener),
        }
    }

    /// Stops accepting; the socket itself closes with its last descriptor.
    pub fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        match self {
            Self::Tcp(listener) => registry.deregister(listener),
            Self::Unix(listener) => registry.deregister(listener),
        }
    }
}
