//! The seam between a connection and its bytes.

use std::io;

/// How far a transport is from carrying bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The peer has not accepted yet.
    Connecting,
    /// Connected; the TLS handshake goes on.
    Handshaking,
    /// Bytes can be sent. `resumed` is `None` without TLS.
    Ready {
        /// The handshake resumed an earlier session.
        resumed: Option<bool>,
    },
}

/// What a read gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Bytes that were put into the buffer; zero at the end of the stream.
    pub count: usize,
    /// Nothing more is there at present: the next readiness event will tell. Once an event has told that
    /// the peer closed, no other will: read on to the end of the stream then.
    pub drained: bool,
}

/// A two-way stream of bytes that never blocks (`WouldBlock` where nothing can be done now).
pub trait Transport {
    /// Goes on with connecting and handshaking. To be called on each event until it is ready; then write
    /// or `flush`, as the end of the handshake may not have gone out yet.
    fn establish(&mut self) -> io::Result<Progress>;

    /// Reads what has arrived.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Read>;

    /// Takes as many of the bytes as can go out now, or may keep for later: see `flush`.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Sends what the transport itself has kept; `true` if nothing is left.
    fn flush(&mut self) -> io::Result<bool>;
}
