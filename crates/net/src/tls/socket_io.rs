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
    /// Bytes that the socket has given and taken.
    pub(super) traffic: u64,
}

impl TlsSocket {
    pub(super) fn new(socket: Socket) -> Self {
        Self { socket, drained: false, traffic: 0 }
    }

    /// Reads bytes of records.
    pub(super) fn read_records(&mut self, buffer: &mut [u8]) -> io::Result<Read> {
        let read = self.socket.read(buffer)?;
        self.traffic += read.count as u64;
        Ok(read)
    }

    /// Counts bytes that the socket has taken.
    fn count_written(&mut self, written: io::Result<usize>) -> io::Result<usize> {
        let count = written?;
        self.traffic += count as u64;
        Ok(count)
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
        &mut self,
        session: &mut ConnectionCommon<S>,
    ) -> io::Result<bool> {
        flush(session, &mut Last(self))
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
        let Read { count, drained } = self.read_records(buffer)?;
        self.drained = drained;
        Ok(count)
    }
}

impl io::Write for TlsSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.socket.write(bytes);
        self.count_written(written)
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let written = match parts {
            [one] => self.socket.write(one),
            parts => self.socket.write_many(parts),
        };
        self.count_written(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The socket for what is the last before our side ends.
#[cfg(unix)]
struct Last<'a>(&'a mut TlsSocket);

#[cfg(unix)]
impl io::Write for Last<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.socket.write_last(bytes);
        self.0.count_written(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
