//! The interface between a connection and its byte stream.

use std::io;

/// The state of a transport that is being opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The peer has not accepted yet.
    Connecting,
    /// Connected; the TLS handshake is in progress, or about to begin.
    Handshaking,
    /// Bytes can be sent.
    Ready {
        /// Whether the handshake resumed an earlier session; `None` without TLS.
        resumed: Option<bool>,
        /// The negotiated protocol, by its index in [`TlsOptions::protocols`](crate::tls::TlsOptions::protocols); `None` if
        /// there was no negotiation.
        protocol: Option<usize>,
    },
}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Number of bytes read; zero at the end of the stream.
    pub count: usize,
    /// Whether everything has been read for now: a readiness event will announce more. After the event that announces the
    /// end of the peer there is no other: then read to the end of the stream.
    pub drained: bool,
}

/// A two-way byte stream that never blocks (`WouldBlock`).
pub trait Transport {
    /// Continues connect and handshake. Call it on each event until it returns `Ready`, and once more when it first returns
    /// `Handshaking`: it has connected then, and the next call begins the handshake. After `Ready` write or `flush`, as the
    /// end of the handshake may not have been sent.
    fn establish(&mut self) -> io::Result<Progress>;

    /// Reads received bytes.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Read>;

    /// Reads received bytes that nobody looks at: what `scratch` contains afterwards is not defined. A transport may save
    /// copying them.
    fn discard(&mut self, scratch: &mut [u8]) -> io::Result<Read> {
        self.read(scratch)
    }

    /// Accepts as many bytes as it can send now, or buffer: see `flush`.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Sends buffered bytes; `true` if none are left.
    fn flush(&mut self) -> io::Result<bool>;
}
