//! A connection's bytes: as they are, through TLS, or as a stream of another connection.

pub(crate) mod stream;

use std::io;

use millrace_net::Read;
use millrace_net::socket::Socket;
use millrace_net::tls::server::{CIPHERTEXT, PLAINTEXT, ServerTlsStream};

use crate::connection::READ;
use crate::router::SessionInfo;
use stream::StreamTransport;

// Text of one read fits where bytes of one read do.
const _: () = assert!(PLAINTEXT == READ);

#[derive(Debug)]
pub(crate) enum Transport {
    Plain(Socket),
    Tls(Box<ServerTlsStream>),
    /// Text of a session that another process has.
    Forwarded(Socket, Box<SessionInfo>),
    /// A stream of a connection of HTTP/2.
    Stream(Box<StreamTransport>),
    /// The socket was given away.
    Detached,
}

impl Transport {
    /// TLS, whose first bytes somebody else may have read.
    pub(crate) fn tls(socket: Socket, begun: Vec<u8>) -> Self {
        Self::Tls(Box::new(ServerTlsStream::begun(socket, begun)))
    }

    pub(crate) fn socket(&self) -> Option<&Socket> {
        match self {
            Self::Plain(socket) | Self::Forwarded(socket, _) => Some(socket),
            Self::Tls(tls) => Some(tls.socket()),
            Self::Stream(_) | Self::Detached => None,
        }
    }

    /// What is known of the session whose text this is.
    pub(crate) fn forwarded(&self) -> Option<&SessionInfo> {
        match self {
            Self::Forwarded(_, session) => Some(session),
            Self::Plain(_) | Self::Tls(_) | Self::Stream(_) | Self::Detached => None,
        }
    }

    /// The stream that it is, of another connection.
    pub(crate) fn stream(&self) -> Option<&StreamTransport> {
        match self {
            Self::Stream(stream) => Some(stream),
            Self::Plain(_) | Self::Tls(_) | Self::Forwarded(..) | Self::Detached => None,
        }
    }

    pub(crate) fn stream_mut(&mut self) -> Option<&mut StreamTransport> {
        match self {
            Self::Stream(stream) => Some(stream),
            Self::Plain(_) | Self::Tls(_) | Self::Forwarded(..) | Self::Detached => None,
        }
    }

    /// It has bytes that were not read.
    pub(crate) fn has_unread(&self) -> bool {
        match self {
            Self::Stream(stream) => stream.has_unread(),
            _ => self.socket().is_some_and(|socket| socket.unread() > 0),
        }
    }

    /// Nobody between the client and this process can read it.
    pub(crate) fn is_secure(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Stream(stream) => stream.is_secure,
            Self::Tls(_) | Self::Forwarded(..) | Self::Detached => true,
        }
    }

    /// The protocol that TLS was agreed on for.
    pub(crate) fn protocol(&self) -> Option<&[u8]> {
        match self {
            Self::Tls(tls) => tls.protocol(),
            Self::Forwarded(_, session) => session.protocol.as_deref(),
            Self::Plain(_) | Self::Stream(_) | Self::Detached => None,
        }
    }

    /// Bytes that [`Self::read`] wants; what it gives is in the first [`READ`] of them.
    pub(crate) fn room(&self) -> usize {
        match self {
            Self::Plain(_) | Self::Forwarded(..) | Self::Stream(_) | Self::Detached => READ,
            Self::Tls(_) => READ + CIPHERTEXT,
        }
    }

    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Read> {
        match self {
            Self::Plain(socket) | Self::Forwarded(socket, _) => socket.read(buffer),
            Self::Tls(tls) => tls.read(buffer),
            Self::Stream(stream) => stream.read(buffer),
            Self::Detached => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// What sending has failed with in a handshake or while text was read.
    pub(crate) fn take_write_error(&mut self) -> Option<io::Error> {
        match self {
            Self::Tls(tls) => tls.take_write_error(),
            Self::Plain(_) | Self::Forwarded(..) | Self::Stream(_) | Self::Detached => None,
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) | Self::Forwarded(socket, _) => socket.write(bytes),
            Self::Tls(tls) => tls.write_two(bytes, &[]),
            Self::Stream(stream) => stream.write(bytes),
            Self::Detached => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    pub(crate) fn write_two(&mut self, first: &[u8], second: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) | Self::Forwarded(socket, _) => socket.write_two(first, second),
            Self::Tls(tls) => tls.write_two(first, second),
            Self::Stream(stream) => stream.write_two(first, second),
            Self::Detached => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Writes what is the last before [`Self::end`], with which it leaves; without, it waits for [`Self::push`].
    pub(crate) fn write_last(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) | Self::Forwarded(socket, _) => socket.write_last(bytes),
            Self::Tls(tls) => tls.write_last(bytes),
            Self::Stream(stream) => stream.write(bytes),
            Self::Detached => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    pub(crate) fn push(&self, no_delay: bool) {
        if let Some(socket) = self.socket() {
            socket.push(no_delay);
        }
    }

    /// Sends what the channel itself has kept; `true` if nothing is left.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        match self {
            Self::Plain(_) | Self::Forwarded(..) | Self::Detached => Ok(true),
            Self::Stream(stream) => Ok(stream.unsent() == 0),
            Self::Tls(tls) => tls.flush(),
        }
    }

    /// Bytes that were taken and have not left.
    pub(crate) fn unsent(&self) -> usize {
        match self {
            Self::Plain(_) | Self::Forwarded(..) | Self::Detached => 0,
            Self::Stream(stream) => stream.unsent(),
            Self::Tls(tls) => tls.unsent(),
        }
    }

    /// Ends our side. An error is that of the socket, which is broken.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        let told = match self {
            Self::Tls(tls) => tls.close_notify(),
            Self::Stream(stream) => {
                stream.end_output();
                Ok(())
            }
            Self::Plain(_) | Self::Forwarded(..) | Self::Detached => Ok(()),
        };
        // Fails where the peer has reset the connection: then reading tells it.
        if let Some(socket) = self.socket() {
            socket.shutdown_write().ok();
        }
        told
    }

    /// The socket, and what was read of it and is not text.
    pub(crate) fn into_parts(self) -> Option<(Socket, Vec<u8>)> {
        match self {
            Self::Plain(socket) | Self::Forwarded(socket, _) => Some((socket, Vec::new())),
            Self::Tls(tls) => Some(tls.into_parts()),
            Self::Stream(_) | Self::Detached => None,
        }
    }
}
