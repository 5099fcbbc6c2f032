//! The transports of production: TCP and Unix sockets, with or without TLS on top.

use std::io::{self, Read as _, Write as _};

use mio::net::TcpStream;
#[cfg(unix)]
use mio::net::UnixStream;
use mio::{Interest, Registry, Token};

use crate::tls::{ClientTlsStream, TlsTarget};
use crate::{Address, Progress, Read, Transport};

/// A connection's transport.
#[derive(Debug)]
pub enum Stream {
    /// Bytes as they are.
    Plain(Socket),
    /// Bytes through TLS.
    Tls(Box<ClientTlsStream>),
}

impl Stream {
    /// Begins to connect, and registers the socket with `token`.
    pub fn connect(
        address: &Address,
        tls: Option<&TlsTarget>,
        registry: &Registry,
        token: Token,
    ) -> io::Result<Self> {
        let socket = Socket::connect(address, registry, token)?;
        Ok(match tls {
            None => Self::Plain(socket),
            Some(tls) => Self::Tls(Box::new(ClientTlsStream::new(socket, tls)?)),
        })
    }
}

impl Stream {
    /// Ends a connection that the peer has closed already, and keeps its socket, which stays registered,
    /// for another one. That saves the system making and unmaking a socket, a part of what a connection
    /// costs. Where the peer has not closed, or it cannot be done, the stream is given back.
    ///
    /// To be used over loopback only: there the peer has acknowledged our FIN when `shutdown` returns, and
    /// nothing is cut off by taking the socket away.
    pub fn into_spare(self) -> Result<SpareSocket, Self> {
        match self {
            Self::Plain(Socket::Tcp(mut socket)) => match disconnect(&mut socket) {
                Ok(()) => Ok(SpareSocket(socket)),
                Err(_) => Err(Self::Plain(Socket::Tcp(socket))),
            },
            other => Err(other),
        }
    }
}

/// A registered socket without a connection.
#[derive(Debug)]
pub struct SpareSocket(TcpStream);

impl SpareSocket {
    /// Begins to connect, as [`Stream::connect`] does. `None` where this socket cannot: one of the other
    /// address family, among others.
    #[must_use]
    pub fn connect(self, address: &Address) -> Option<Stream> {
        /// Linux: the connect goes on.
        const IN_PROGRESS: i32 = 115;
        let Address::Inet(address) = address else { return None };
        match socket2::SockRef::from(&self.0).connect(&(*address).into()) {
            Err(error) if error.raw_os_error() != Some(IN_PROGRESS) => None,
            _ => Some(Stream::Plain(Socket::Tcp(self.0))),
        }
    }
}

#[cfg(target_os = "linux")]
fn disconnect(socket: &mut TcpStream) -> io::Result<()> {
    // The end of the stream must have come: then our FIN is the last one.
    if socket.read(&mut [0])? > 0 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    socket.shutdown(std::net::Shutdown::Write)?;
    // Linux: a connect to "no address" dissolves the association, man connect(2).
    Ok(rustix::net::connect_unspec(&*socket)?)
}

#[cfg(not(target_os = "linux"))]
fn disconnect(_: &mut TcpStream) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Transport for Stream {
    fn establish(&mut self) -> io::Result<Progress> {
        match self {
            Self::Plain(socket) => socket.establish(),
            Self::Tls(tls) => tls.establish(),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Read> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Tls(tls) => tls.read(buffer),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Tls(tls) => tls.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<bool> {
        match self {
            Self::Plain(_) => Ok(true),
            Self::Tls(tls) => tls.flush(),
        }
    }
}

/// Refuses a path that does not fit into a socket's address, man unix(7): the system's own error does not name it.
#[cfg(unix)]
fn check_length(path: &std::path::Path) -> io::Result<()> {
    /// Bytes, without the one of 0 that ends the path.
    const MAX: usize =
        if cfg!(any(target_os = "linux", target_os = "android")) { 107 } else { 103 };
    let length = path.as_os_str().len();
    if length <= MAX {
        return Ok(());
    }
    let text =
        format!("the path of the Unix socket is too long: at most {MAX} bytes (got {length})");
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

/// A read that did not fill the buffer has emptied the socket: man epoll(7), question 9. On Windows the
/// next readiness is told only after a `WouldBlock`.
const SHORT_READ_DRAINS: bool = cfg!(unix);

/// A socket that never blocks.
#[derive(Debug)]
pub enum Socket {
    /// TCP over IPv4 or IPv6.
    Tcp(TcpStream),
    /// A Unix socket of stream type.
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Socket {
    fn connect(address: &Address, registry: &Registry, token: Token) -> io::Result<Self> {
        let both = Interest::READABLE | Interest::WRITABLE;
        match address {
            Address::Inet(address) => {
                let mut stream = TcpStream::connect(*address)?;
                // A request's last, short segment must not wait for an acknowledgement.
                stream.set_nodelay(true)?;
                registry.register(&mut stream, token, both)?;
                Ok(Self::Tcp(stream))
            }
            #[cfg(unix)]
            Address::Unix(path) => {
                check_length(path)?;
                let mut stream = UnixStream::connect(path)?;
                registry.register(&mut stream, token, both)?;
                Ok(Self::Unix(stream))
            }
            #[cfg(not(unix))]
            Address::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Connected once the socket has a peer; until then a pending error is the connect's.
    pub(crate) fn establish(&mut self) -> io::Result<Progress> {
        let peer = match self {
            Self::Tcp(stream) => stream.peer_addr().map(drop),
            #[cfg(unix)]
            Self::Unix(stream) => stream.peer_addr().map(drop),
        };
        match peer {
            Ok(()) => Ok(Progress::Ready { resumed: None }),
            Err(error) if error.kind() != io::ErrorKind::NotConnected => Err(error),
            Err(_) => match self.take_error()? {
                Some(error) => Err(error),
                None => Ok(Progress::Connecting),
            },
        }
    }

    fn take_error(&self) -> io::Result<Option<io::Error>> {
        match self {
            Self::Tcp(stream) => stream.take_error(),
            #[cfg(unix)]
            Self::Unix(stream) => stream.take_error(),
        }
    }

    /// Reads what has arrived.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Read> {
        loop {
            let result = match self {
                Self::Tcp(stream) => stream.read(buffer),
                #[cfg(unix)]
                Self::Unix(stream) => stream.read(buffer),
            };
            match result {
                Ok(count) => {
                    return Ok(Read { count, drained: SHORT_READ_DRAINS && count < buffer.len() });
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes as many of the bytes of both as can go out now.
    pub fn write_two(&mut self, first: &[u8], second: &[u8]) -> io::Result<usize> {
        self.write_many(&[io::IoSlice::new(first), io::IoSlice::new(second)])
    }

    /// Takes as many of the bytes of all parts as can go out now.
    pub fn write_many(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        loop {
            let result = match self {
                Self::Tcp(stream) => stream.write_vectored(parts),
                #[cfg(unix)]
                Self::Unix(stream) => stream.write_vectored(parts),
            };
            match result {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    /// Takes as many of the bytes as can go out now.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let result = match self {
                Self::Tcp(stream) => stream.write(bytes),
                #[cfg(unix)]
                Self::Unix(stream) => stream.write(bytes),
            };
            match result {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

impl Socket {
    /// Bytes that have arrived and were not read, as far as the system says.
    #[must_use]
    pub fn unread(&self) -> u64 {
        #[cfg(target_os = "linux")]
        {
            rustix::io::ioctl_fionread(&*self.options()).unwrap_or(0)
        }
        #[cfg(not(target_os = "linux"))]
        {
            0
        }
    }
}
