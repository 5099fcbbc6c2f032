//! The transports of production: TCP and Unix sockets, with or without TLS on top.

use std::io;
#[cfg(target_os = "linux")]
use std::io::Read as _;
use std::net::IpAddr;

use mio::net::TcpStream;
use mio::{Registry, Token};

use crate::socket::Socket;
use crate::tls::{ClientTlsStream, TlsTarget};
use crate::{Address, Progress, Read, Transport};

/// A connection's transport.
#[derive(Debug)]
pub enum Stream {
    /// Without TLS.
    Plain(Socket),
    /// With TLS.
    Tls(Box<ClientTlsStream>),
}

impl Stream {
    /// Begins to connect, from an address of this host or from one that the system chooses, and registers the socket with
    /// `token`.
    pub fn connect(
        address: &Address,
        local: Option<IpAddr>,
        tls: Option<&TlsTarget>,
        registry: &Registry,
        token: Token,
    ) -> io::Result<Self> {
        let socket = Socket::connect(address, local, registry, token)?;
        Ok(match tls {
            None => Self::Plain(socket),
            Some(tls) => Self::Tls(Box::new(ClientTlsStream::new(socket, tls))),
        })
    }
}

impl Stream {
    /// Ends a connection that the peer has closed, and returns its socket, still registered, for another connection. That
    /// saves creating and destroying a socket. If the peer has not closed, or the system cannot do it, returns the stream.
    ///
    /// Only for loopback: there the peer has acknowledged our FIN when `shutdown` returns, so that dissolving the
    /// association cuts nothing off.
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
    /// Begins to connect, as [`Stream::connect`] does. `None` if this socket cannot, for example because of its address
    /// family.
    #[must_use]
    pub fn connect(self, address: &Address) -> Option<Stream> {
        /// Linux: the connect is in progress.
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

    fn discard(&mut self, scratch: &mut [u8]) -> io::Result<Read> {
        match self {
            Self::Plain(socket) => socket.discard(scratch),
            Self::Tls(tls) => tls.discard(scratch.len()),
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
