//! A client's TLS session: records in, text out, and the reverse. It knows no socket.
//!
//! ```text
//!   Open ──close_notify──> Closed
//!     └──bad record, alert──> Failed      the text before it has been delivered
//! ```
//!
//! Records are decrypted where they are: in the buffer that the socket was read into. What is kept of it is the beginning of
//! a record whose rest has not arrived, and of a handshake message.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, EncryptError};
use rustls::{Error, HandshakeKind};

use super::client::{TlsTarget, tls_error};

/// Maximum bytes of ciphertext that wait for what completes them: the longest handshake message (64 KiB) in records that are
/// not tiny.
const MAX_BEGUN: usize = 256 * 1024;

/// What can still come from the server.
#[derive(Debug)]
enum Incoming {
    /// More records.
    Open,
    /// Nothing: it has sent `close_notify`.
    Closed,
    /// Nothing: the session has failed.
    Failed(Error),
}

/// The client's side of a session.
pub(super) struct ClientSession {
    session: UnbufferedClientConnection,
    incoming: Incoming,
    /// Ciphertext that is not complete.
    begun: Vec<u8>,
}

impl fmt::Debug for ClientSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSession").field("incoming", &self.incoming).finish_non_exhaustive()
    }
}

impl ClientSession {
    /// Begins a session. Its first message is added to `outgoing`.
    pub(super) fn new(target: &TlsTarget, outgoing: &mut Vec<u8>) -> io::Result<Self> {
        let session =
            UnbufferedClientConnection::new(Arc::clone(&target.config), target.name.clone())
                .map_err(tls_error)?;
        let mut session = Self { session, incoming: Incoming::Open, begun: Vec::new() };
        session.process(&mut [], outgoing, &mut |_| {});
        Ok(session)
    }

    /// Whether the handshake is in progress.
    pub(super) fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    /// Whether the handshake resumed an earlier session.
    pub(super) fn is_resumed(&self) -> bool {
        self.session.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Returns the negotiated protocol (RFC 7301).
    pub(super) fn protocol(&self) -> Option<&[u8]> {
        self.session.alpn_protocol()
    }

    /// Whether the server may send more.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.incoming, Incoming::Open)
    }

    /// Returns the end of what the server sends: `true` if it has announced it, `false` if more may come.
    pub(super) fn end(&self) -> io::Result<bool> {
        match &self.incoming {
            Incoming::Open => Ok(false),
            Incoming::Closed => Ok(true),
            Incoming::Failed(error) => Err(tls_error(error.clone())),
        }
    }

    /// Puts what is not complete at the beginning of a buffer, which is made longer if it has no room for `most` bytes
    /// behind it. Returns its length.
    pub(super) fn put_begun(&self, buffer: &mut Vec<u8>, most: usize) -> usize {
        let length = self.begun.len();
        if buffer.len() < length + most {
            buffer.resize(length + most, 0);
        }
        buffer[..length].copy_from_slice(&self.begun);
        length
    }

    /// Processes what has been received: what [`Self::put_begun`] has put into the buffer, and what has come behind it.
    /// Passes on the text, and adds to `outgoing` what is to be sent, such as an alert or the answer to a key update.
    pub(super) fn receive(
        &mut self,
        received: &mut [u8],
        outgoing: &mut Vec<u8>,
        mut text: impl FnMut(&[u8]),
    ) {
        // What comes behind the end is ignored (RFC 8446, section 6.1).
        if !self.is_open() {
            return;
        }
        let processed = self.process(received, outgoing, &mut text);
        self.begun.clear();
        if self.is_open() {
            self.begun.extend_from_slice(&received[processed..]);
            if self.begun.len() > MAX_BEGUN {
                self.incoming =
                    Incoming::Failed(Error::General("handshake message too long".into()));
            }
        }
    }

    /// Processes records until one is not complete, and returns the number of bytes that need no more processing.
    fn process(
        &mut self,
        received: &mut [u8],
        outgoing: &mut Vec<u8>,
        text: &mut impl FnMut(&[u8]),
    ) -> usize {
        let mut processed = 0;
        loop {
            let status = self.session.process_tls_records(&mut received[processed..]);
            let mut done = status.discard;
            match status.state {
                Ok(ConnectionState::ReadTraffic(mut records)) => {
                    while let Some(Ok(record)) = records.next_record() {
                        done += record.discard;
                        text(record.payload);
                    }
                }
                Ok(ConnectionState::EncodeTlsData(mut message)) => encode(&mut message, outgoing),
                Ok(ConnectionState::TransmitTlsData(sent)) => sent.done(),
                Ok(ConnectionState::PeerClosed) => self.incoming = Incoming::Closed,
                // It waits for the server, or can send text.
                Ok(_) => return processed + done,
                Err(error) => {
                    self.incoming = Incoming::Failed(error);
                    self.take_alert(outgoing);
                    return processed + done;
                }
            }
            processed += done;
        }
    }

    /// Adds the alert that tells the server of a failure. What it has sent is processed no more.
    fn take_alert(&mut self, outgoing: &mut Vec<u8>) {
        while self.session.wants_write()
            && let Ok(ConnectionState::EncodeTlsData(mut message)) =
                self.session.process_tls_records(&mut []).state
        {
            encode(&mut message, outgoing);
        }
    }

    /// Encrypts text into `records` from `at` on; makes it longer if it has no room. Returns the end of the records.
    pub(super) fn seal(
        &mut self,
        text: &[u8],
        records: &mut Vec<u8>,
        mut at: usize,
    ) -> io::Result<usize> {
        // A session that has failed sends nothing any more.
        self.end()?;
        let mut begun = std::mem::take(&mut self.begun);
        let sealed = loop {
            // All that could be processed of this has been.
            match self.session.process_tls_records(&mut begun).state {
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    match traffic.encrypt(text, &mut records[at..]) {
                        Ok(count) => break Ok(at + count),
                        Err(EncryptError::InsufficientSize(size)) => {
                            records.resize(at + size.required_size, 0);
                        }
                        Err(EncryptError::EncryptExhausted) => break Err(Error::EncryptError),
                    }
                }
                Ok(ConnectionState::EncodeTlsData(mut message)) => {
                    records.truncate(at);
                    encode(&mut message, records);
                    at = records.len();
                }
                Ok(ConnectionState::TransmitTlsData(sent)) => sent.done(),
                Ok(ConnectionState::PeerClosed) => self.incoming = Incoming::Closed,
                Ok(_) => break Err(Error::HandshakeNotComplete),
                Err(error) => break Err(error),
            }
        };
        self.begun = begun;
        sealed.map_err(tls_error)
    }
}

/// Adds a message to `outgoing`.
fn encode<Data>(message: &mut EncodeTlsData<'_, Data>, outgoing: &mut Vec<u8>) {
    let at = outgoing.len();
    // Without room it says how much it needs.
    if let Err(EncodeError::InsufficientSize(size)) = message.encode(&mut []) {
        outgoing.resize(at + size.required_size, 0);
        // It fits.
        let _ = message.encode(&mut outgoing[at..]);
    }
}

#[cfg(test)]
mod tests;
