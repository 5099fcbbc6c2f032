//! Sockets that accept connections, and the connections they give.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use mio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use mio::{Interest, Registry, Token};

use crate::Stream;
use crate::stream::Socket;

/// A listening socket that never blocks.
#[derive(Debug)]
pub enum Listener {
    /// TCP over IPv4 or IPv6.
    Tcp(TcpListener),
    /// A Unix socket of stream type.
    Unix(UnixListener),
}

impl Listener {
    /// Takes a socket that listens already, and registers it with `token`.
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

    /// The next connection, and its peer where that has an address.
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

    /// The options that socket2 knows.
    #[must_use]
    pub fn options(&self) -> socket2::SockRef<'_> {
        match self {
            Self::Tcp(listener) => socket2::SockRef::from(listener),
            Self::Unix(listener) => socket2::SockRef::from(listener),
        }
    }

    /// Accepts no more; the socket itself closes when its last descriptor does.
    pub fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        match self {
            Self::Tcp(listener) => registry.deregister(listener),
            Self::Unix(listener) => registry.deregister(listener),
        }
    }
}

impl Socket {
    /// Takes a connected socket.
    pub fn from_fd(fd: OwnedFd) -> io::Result<(Self, Option<SocketAddr>)> {
        let socket = socket2::Socket::from(fd);
        // What is no socket is left as it is: others may have it, too.
        let is_unix = socket.local_addr()?.is_unix();
        socket.set_nonblocking(true)?;
        let peer = socket.peer_addr().ok().and_then(|peer| peer.as_socket());
        if is_unix {
            Ok((Self::Unix(UnixStream::from_std(OwnedFd::from(socket).into())), peer))
        } else {
            Ok((Self::Tcp(TcpStream::from_std(OwnedFd::from(socket).into())), peer))
        }
    }

    /// Takes a connected socket that does not block, from whoever knows it.
    #[must_use]
    pub fn from_known(fd: OwnedFd, is_unix: bool) -> Self {
        match is_unix {
            true => Self::Unix(UnixStream::from_std(fd.into())),
            false => Self::Tcp(TcpStream::from_std(fd.into())),
        }
    }

    /// Asks for readiness in both directions.
    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let both = Interest::READABLE | Interest::WRITABLE;
        match self {
            Self::Tcp(stream) => registry.register(stream, token, both),
            Self::Unix(stream) => registry.register(stream, token, both),
        }
    }

    /// Asks, under another token, for readiness to be read.
    pub fn register_again(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => registry.reregister(stream, token, Interest::READABLE),
            Self::Unix(stream) => registry.reregister(stream, token, Interest::READABLE),
        }
    }

    /// Leaves the loop in which it is registered.
    pub fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => registry.deregister(stream),
            Self::Unix(stream) => registry.deregister(stream),
        }
    }

    /// The same, and gives the descriptor away.
    pub fn release(mut self, registry: Option<&Registry>) -> io::Result<OwnedFd> {
        if let Some(registry) = registry {
            self.deregister(registry)?;
        }
        Ok(match self {
            Self::Tcp(stream) => stream.into(),
            Self::Unix(stream) => stream.into(),
        })
    }

    /// Writes what is the last before our side ends: it leaves with the end, in one segment where that can be.
    /// Without an end, what is less than a segment waits for [`Self::push`].
    pub fn write_last(&self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(target_os = "linux")]
        const MORE: i32 = rustix::net::SendFlags::MORE.bits() as i32;
        #[cfg(not(target_os = "linux"))]
        const MORE: i32 = 0;
        self.options().send_with_flags(bytes, MORE)
    }

    /// Sends what [`Self::write_last`] has left waiting. `no_delay`: as the option is set.
    pub fn push(&self, no_delay: bool) {
        // Setting it sends what waits (tcp(7)). It fails where there is no TCP, and nothing waits.
        self.options().set_tcp_nodelay(true).ok();
        if !no_delay {
            self.options().set_tcp_nodelay(false).ok();
        }
    }

    /// The options that socket2 knows.
    #[must_use]
    pub fn options(&self) -> socket2::SockRef<'_> {
        match self {
            Self::Tcp(stream) => socket2::SockRef::from(stream),
            Self::Unix(stream) => socket2::SockRef::from(stream),
        }
    }
}

impl Stream {
    /// The socket below.
    #[must_use]
    pub fn socket(&self) -> Option<&Socket> {
        match self {
            Self::Plain(socket) => Some(socket),
            Self::Tls(_) => None,
        }
    }
}
