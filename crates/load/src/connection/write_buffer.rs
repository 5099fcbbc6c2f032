//! Bytes that are to be sent.

use std::io;

use millrace_net::Transport;

/// Minimum number of sent bytes to remove from the beginning of the buffer: moving the rest has a cost.
const MIN_DROPPED: usize = 64 * 1024;

/// The bytes that a connection's transport has not taken. Positions are those of the stream of all bytes.
#[derive(Debug, Default)]
pub(super) struct WriteBuffer {
    bytes: Vec<u8>,
    /// Number of bytes at the beginning that have been sent.
    flushed: usize,
    /// Position of the first byte.
    start: u64,
}

impl WriteBuffer {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the position of the next byte that is added.
    pub(super) fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// Returns the position up to which all bytes have been sent.
    pub(super) fn sent_to(&self) -> u64 {
        self.start + self.flushed as u64
    }

    /// Sends bytes; what the transport does not take is buffered. Returns the number of bytes that it has taken.
    pub(super) fn send(
        &mut self,
        bytes: &[u8],
        transport: &mut impl Transport,
    ) -> (usize, Option<io::Error>) {
        let (written, failure) =
            if self.bytes.is_empty() { write_all(transport, bytes) } else { (0, None) };
        self.start += written as u64;
        if written < bytes.len() {
            self.bytes.extend_from_slice(&bytes[written..]);
        }
        (written, failure)
    }

    /// Sends buffered bytes. Returns the number of bytes that the transport has taken.
    pub(super) fn flush(&mut self, transport: &mut impl Transport) -> (usize, Option<io::Error>) {
        let (written, failure) = write_all(transport, &self.bytes[self.flushed..]);
        self.flushed += written;
        if self.flushed == self.bytes.len() {
            self.clear();
        } else if self.flushed > MIN_DROPPED && self.flushed > self.bytes.len() / 2 {
            // A server that is always slightly slower never lets the buffer become empty.
            self.bytes.drain(..self.flushed);
            self.start += self.flushed as u64;
            self.flushed = 0;
        }
        (written, failure)
    }

    /// Removes all bytes. A large body's memory is not kept by an idle connection.
    pub(super) fn clear(&mut self) {
        self.start = self.end();
        (self.bytes, self.flushed) = (Vec::new(), 0);
    }

    #[cfg(test)]
    pub(super) fn unsent(&self) -> &[u8] {
        &self.bytes[self.flushed..]
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }
}

/// Writes until all bytes are written, the transport would block, or it fails.
fn write_all(transport: &mut impl Transport, bytes: &[u8]) -> (usize, Option<io::Error>) {
    let mut written = 0;
    while written < bytes.len() {
        match transport.write(&bytes[written..]) {
            Ok(0) => break,
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return (written, Some(error)),
        }
    }
    (written, None)
}
