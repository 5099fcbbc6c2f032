//! The socket below a server's TLS session.

use std::io::{self, IoSlice};

use rustls::ConnectionCommon;
use rustls::SideData;

use crate::Read;
use crate::socket::Socket;

/// A socket that carries the records of a session.
#[derive(Debug)]
pub(super) struct TlsSocket {
    pub(super) socket: Socket,
    /// Whether the last read has emptied the socket.
    pub(super) drained: bool,
}

impl TlsSocket {
    pub(super) fn new(socket: Socket) -> Self {
        Self { socket, drained: false }
    }

    /// Sends the session's records; `true` if none is left.
    pub(super) fn flush<S: SideData>(
        &mut self,
        session: &mut ConnectionCommon<S>,
    ) -> io::Result<bool> {
        flush(session, self)
    }

    /// Sends the session's records as the last ones of our side; `true` if none is left.
    #[cfg(unix)]
    pub(super) fn flush_last<S: SideData>(
        &self,
        session: &mut ConnectionCommon<S>,
    ) -> io::Result<bool> {
        flush(session, &mut Last(&self.socket))
    }
}

#[inline]
fn flush<S: SideData>(
    session: &mut ConnectionCommon<S>,
    out: &mut dyn io::Write,
) -> io::Result<bool> {
    while session.wants_write() {
        match session.write_tls(out) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

impl io::Read for TlsSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Read { count, drained } = self.socket.read(buffer)?;
        self.drained = drained;
        Ok(count)
    }
}

impl io::Write for TlsSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match parts {
            [one] => self.socket.write(one),
            parts => self.socket.write_many(parts),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The socket for what is the last before our side ends.
#[cfg(unix)]
struct Last<'a>(&'a Socket);

#[cfg(unix)]
impl io::Write for Last<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_last(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
