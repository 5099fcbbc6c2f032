//! A client's TLS over a socket: large reads, and large writes of many records.
//!
//! ```text
//!   socket ──one read──> scratch ──decrypted in place──> the reader's buffer     begun: a record's beginning
//!                                                    └─> text, if it has no room
//!   the writer's bytes ──encrypted──> scratch ──one write──> socket              unsent: what it did not take
//! ```
//!
//! The scratch memory is shared by the connections of a thread: it stays in the processor's cache, and idle connections have
//! none.

use std::io;
use std::sync::PoisonError;

use super::client::TlsTarget;
use super::client_session::ClientSession;
use crate::socket::Socket;
use crate::{Progress, Read};

/// Bytes of ciphertext of one read, if so many are wanted.
const MAX_READ: usize = 64 * 1024;
/// Bytes of ciphertext of any read: the largest record.
const MIN_READ: usize = 5 + 16 * 1024 + 256;
/// Bytes of text of one write: whole records.
const MAX_WRITE: usize = 64 * 1024;

/// Memory for the present read or write.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    received: Vec<u8>,
    records: Vec<u8>,
}

/// A client's TLS over a socket.
#[derive(Debug)]
pub struct ClientTlsStream {
    socket: Socket,
    target: TlsTarget,
    /// Whether the connect has completed.
    connected: bool,
    /// `None` before the handshake.
    session: Option<ClientSession>,
    /// Whether the last read has emptied the socket.
    drained: bool,
    /// Decrypted bytes that wait to be read, from `taken` on.
    text: Vec<u8>,
    taken: usize,
    /// Records that wait to be sent, from `sent` on.
    unsent: Vec<u8>,
    sent: usize,
}

impl ClientTlsStream {
    pub(crate) fn new(socket: Socket, target: &TlsTarget) -> Self {
        Self {
            socket,
            target: target.clone(),
            connected: false,
            session: None,
            drained: false,
            text: Vec::new(),
            taken: 0,
            unsent: Vec::new(),
            sent: 0,
        }
    }

    pub(crate) fn establish(&mut self) -> io::Result<Progress> {
        if !self.connected {
            if self.socket.establish()? == Progress::Connecting {
                return Ok(Progress::Connecting);
            }
            self.connected = true;
            return Ok(Progress::Handshaking);
        }
        if self.session.is_none() {
            self.session = Some(ClientSession::new(&self.target, &mut self.unsent)?);
        }
        loop {
            let session = begun(&mut self.session)?;
            // The client's last message stays until something is sent after it: both in one segment.
            if !session.is_handshaking() {
                // What the socket gave to the handshake says nothing about what has come since.
                self.drained = false;
                let (protocols, chosen) = (&self.target.config.alpn_protocols, session.protocol());
                let protocol = protocols.iter().position(|protocol| Some(&protocol[..]) == chosen);
                return Ok(Progress::Ready { resumed: Some(session.is_resumed()), protocol });
            }
            if session.end()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if !self.flush()? {
                return Ok(Progress::Handshaking);
            }
            match self.fill(MIN_READ, &mut Sink::Nowhere) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Progress::Handshaking);
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Read> {
        let most = buffer.len().clamp(MIN_READ, MAX_READ);
        self.read_into(most, &mut Sink::Buffer { buffer, count: 0 })
    }

    pub(crate) fn discard(&mut self, most: usize) -> io::Result<Read> {
        self.read_into(MAX_READ, &mut Sink::Discard { most, count: 0 })
    }

    fn read_into(&mut self, most: usize, sink: &mut Sink<'_>) -> io::Result<Read> {
        self.taken += sink.take(&self.text[self.taken..]);
        if self.taken == self.text.len() {
            self.text.clear();
            self.taken = 0;
        }
        loop {
            let session = begun(&mut self.session)?;
            if sink.count() > 0 || session.end()? {
                let drained = self.drained && self.text.is_empty() && session.is_open();
                return Ok(Read { count: sink.count(), drained });
            }
            // No text: only the socket itself can say that there is no more, or that it has ended.
            if self.fill(most, sink)? == 0 {
                let why = "the server closed the connection without TLS's close_notify";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
            }
        }
    }

    /// Reads from the socket, once, and passes the text to the sink; what it does not take waits. Returns the number of
    /// bytes that the socket had.
    fn fill(&mut self, most: usize, sink: &mut Sink<'_>) -> io::Result<usize> {
        let session = begun(&mut self.session)?;
        let mut scratch = self.target.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let received = &mut scratch.received;
        let begun = session.put_begun(received, most);
        let Read { count, drained } = self.socket.read(&mut received[begun..begun + most])?;
        self.drained = drained;
        if count == 0 {
            return Ok(0);
        }
        let (waiting, handshaking) = (self.unsent.len(), session.is_handshaking());
        let text = &mut self.text;
        session.receive(&mut received[..begun + count], &mut self.unsent, |bytes| {
            let taken = sink.take(bytes);
            text.extend_from_slice(&bytes[taken..]);
        });
        drop(scratch);
        if self.unsent.len() > waiting && (!handshaking || !session.is_open()) {
            // An alert, or a key update; if it cannot go out now it goes with the next bytes. Where nothing can go out any
            // more, what the peer said before is still to be read: why it refuses a body, for one.
            let _ = self.flush();
        }
        Ok(count)
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.unsent.len() - self.sent >= MAX_WRITE && !self.flush()? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let bytes = &bytes[..bytes.len().min(MAX_WRITE)];
        let mut scratch = self.target.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let records = &mut scratch.records;
        let end = begun(&mut self.session)?.seal(bytes, records, 0)?;
        let records = &records[..end];
        let waiting = &self.unsent[self.sent..];
        let written = match waiting {
            [] => self.socket.write(records),
            waiting => self.socket.write_two(waiting, records),
        };
        // The session has taken the bytes, and some may be out: an error is told by the next call.
        let written = written.unwrap_or(0);
        match written.checked_sub(waiting.len()) {
            None => {
                self.sent += written;
                // A server that is always slightly slower never lets all of it leave.
                if self.sent >= MAX_WRITE {
                    self.unsent.drain(..self.sent);
                    self.sent = 0;
                }
                self.unsent.extend_from_slice(records);
            }
            Some(written) => {
                self.sent = 0;
                self.unsent.clear();
                self.unsent.extend_from_slice(&records[written..]);
            }
        }
        Ok(bytes.len())
    }

    /// Sends the records that wait; `true` if none is left.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        while self.sent < self.unsent.len() {
            match self.socket.write(&self.unsent[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        // An idle connection keeps no memory.
        (self.unsent, self.sent) = (Vec::new(), 0);
        Ok(true)
    }
}

/// The session, once the handshake has begun.
fn begun(session: &mut Option<ClientSession>) -> io::Result<&mut ClientSession> {
    session.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
}

/// Where decrypted text goes.
enum Sink<'a> {
    /// A reader's buffer, which has been filled up to `count`.
    Buffer { buffer: &'a mut [u8], count: usize },
    /// Nobody looks at so many bytes.
    Discard { most: usize, count: usize },
    /// Nobody reads yet.
    Nowhere,
}

impl Sink<'_> {
    /// Takes the first bytes, as many as it has room for.
    fn take(&mut self, text: &[u8]) -> usize {
        match self {
            Self::Buffer { buffer, count } => {
                let taken = text.len().min(buffer.len() - *count);
                buffer[*count..*count + taken].copy_from_slice(&text[..taken]);
                *count += taken;
                taken
            }
            Self::Discard { most, count } => {
                let taken = text.len().min(*most - *count);
                *count += taken;
                taken
            }
            Self::Nowhere => 0,
        }
    }

    /// Number of bytes taken.
    fn count(&self) -> usize {
        match self {
            Self::Buffer { count, .. } | Self::Discard { count, .. } => *count,
            Self::Nowhere => 0,
        }
    }
}

#[cfg(all(test, unix))]
mod tests;
