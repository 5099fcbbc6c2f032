//! The bytes of a stream of HTTP/2, as those of a connection of HTTP/1.1: a request comes as text, with content in chunks, and
//! text is written as its response.

use std::io::{self, Write as _};

use millrace_http::h1::RequestFraming;
use millrace_http::h2::{ErrorCode, StreamKey};
use millrace_net::Read;

use crate::connection::id::ConnId;

/// Bytes written that become frames at once.
const MAX_OUTPUT: usize = 64 * 1024;
/// Room for the size of a chunk and its line ends.
const CHUNK_OVERHEAD: usize = 16;

/// What has come of a request, and what was written of its response and is not with the session.
#[derive(Debug)]
pub(crate) struct StreamTransport {
    /// The connection whose session has the stream.
    pub(crate) session: ConnId,
    pub(crate) key: StreamKey,
    /// The session is one of TLS.
    pub(crate) is_secure: bool,
    /// How the request's body ends, whatever its head says; `None`: as the head says.
    pub(crate) framing: Option<RequestFraming>,
    head: Input,
    content: Input,
    /// The trailers, which end the content; empty if there are none.
    end: Option<Vec<u8>>,
    /// The end of the content was read.
    is_end_read: bool,
    /// The peer has reset the stream, or the session is gone.
    pub(crate) is_reset: bool,
    /// The code with which the peer has reset it, or with which this side does.
    pub(crate) code: Option<ErrorCode>,
    /// Both messages are complete.
    pub(crate) is_complete: bool,
    /// The request is complete, and its client has ended its side of the session.
    pub(crate) peer_ended: bool,
    /// Bytes of content that were read since the session was told.
    taken: usize,
    output: Vec<u8>,
    is_output_ended: bool,
    /// Bytes that the session has and that wait for a window.
    pub(crate) waiting: usize,
    /// The session takes no output for now.
    pub(crate) is_stalled: bool,
}

/// Bytes of which some have been read.
#[derive(Debug, Default)]
struct Input {
    bytes: Vec<u8>,
    at: usize,
}

impl Input {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    fn push(&mut self, bytes: Vec<u8>) {
        if self.rest().is_empty() {
            *self = Self { bytes, at: 0 };
        } else {
            self.bytes.drain(..std::mem::take(&mut self.at));
            self.bytes.extend_from_slice(&bytes);
        }
    }

    fn advance(&mut self, count: usize) {
        self.at += count;
        if self.at == self.bytes.len() {
            *self = Self::default();
        }
    }
}

impl StreamTransport {
    /// A stream whose request has this head, as text.
    pub(crate) fn new(
        session: ConnId,
        key: StreamKey,
        is_secure: bool,
        head: Vec<u8>,
        framing: Option<RequestFraming>,
    ) -> Self {
        Self {
            session,
            key,
            is_secure,
            framing,
            head: Input { bytes: head, at: 0 },
            content: Input::default(),
            end: None,
            is_end_read: framing == Some(RequestFraming::None),
            is_reset: false,
            code: None,
            is_complete: false,
            peer_ended: false,
            taken: 0,
            output: Vec::new(),
            is_output_ended: false,
            waiting: 0,
            is_stalled: false,
        }
    }

    /// Content has come.
    pub(crate) fn push(&mut self, content: Vec<u8>) {
        if !content.is_empty() {
            self.content.push(content);
        }
    }

    /// The content has ended, with these lines of trailers.
    pub(crate) fn end_content(&mut self, trailers: Vec<u8>) {
        self.end = Some(trailers);
    }

    /// There is something to read.
    pub(crate) fn has_unread(&self) -> bool {
        !self.head.rest().is_empty()
            || !self.content.rest().is_empty()
            || self.end.is_some() && !self.is_end_read
            || self.is_reset
            || self.is_complete
            || self.peer_ended
    }

    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Read> {
        let mut count = self.head.rest().len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.head.rest()[..count]);
        self.head.advance(count);
        if self.head.rest().is_empty() {
            count += self.read_content(&mut buffer[count..]);
        }
        match count {
            0 if self.is_reset => Err(io::ErrorKind::ConnectionReset.into()),
            // The end of what the peer says.
            0 if self.is_complete || self.peer_ended => Ok(Read { count: 0, drained: true }),
            0 => Err(io::ErrorKind::WouldBlock.into()),
            count => Ok(Read { count, drained: !self.has_unread() }),
        }
    }

    /// Writes what has come of the content as one chunk, and its end behind all of it.
    fn read_content(&mut self, buffer: &mut [u8]) -> usize {
        let (room, mut at) = (buffer.len(), 0);
        let length = self.content.rest().len().min(room.saturating_sub(CHUNK_OVERHEAD));
        if length > 0 {
            let mut rest = &mut buffer[..];
            // There is room, as was seen above.
            let written = write!(rest, "{length:x}\r\n")
                .and_then(|()| rest.write_all(&self.content.rest()[..length]))
                .and_then(|()| rest.write_all(b"\r\n"));
            let left = rest.len();
            if written.is_ok() {
                at = room - left;
                self.content.advance(length);
                self.taken += length;
            }
        }
        if self.content.rest().is_empty()
            && !self.is_end_read
            && let Some(trailers) = &self.end
            && room - at >= trailers.len() + CHUNK_OVERHEAD
        {
            for part in [b"0\r\n", &trailers[..], b"\r\n"] {
                buffer[at..at + part.len()].copy_from_slice(part);
                at += part.len();
            }
            self.is_end_read = true;
        }
        at
    }

    /// Takes bytes of the response, unless some wait already.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_reset {
            return Err(io::Error::from_raw_os_error(RESET));
        }
        if self.waiting > 0 || self.is_stalled || self.output.len() >= MAX_OUTPUT {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let taken = bytes.len().min(MAX_OUTPUT - self.output.len());
        self.output.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    /// The same for bytes in two places.
    pub(crate) fn write_two(&mut self, first: &[u8], second: &[u8]) -> io::Result<usize> {
        let taken = self.write(first)?;
        match taken == first.len() && self.output.len() < MAX_OUTPUT {
            true => Ok(taken + self.write(second)?),
            false => Ok(taken),
        }
    }

    /// The response ends behind what was written.
    pub(crate) fn end_output(&mut self) {
        self.is_output_ended = true;
    }

    /// Bytes that were written and have not become frames.
    pub(crate) fn unsent(&self) -> usize {
        self.output.len() + self.waiting
    }

    /// There is something for the session.
    pub(crate) fn has_output(&self) -> bool {
        self.taken > 0 || !self.output.is_empty() || self.is_output_ended
    }

    /// Takes what was written, and whether the response ends behind it.
    pub(crate) fn take_output(&mut self) -> (Vec<u8>, bool) {
        (std::mem::take(&mut self.output), std::mem::take(&mut self.is_output_ended))
    }

    /// Gives memory back that [`Self::take_output`] gave.
    pub(crate) fn recycle(&mut self, mut output: Vec<u8>) {
        output.clear();
        self.output = output;
    }

    /// Takes the number of bytes of content that were read.
    pub(crate) fn take_read(&mut self) -> usize {
        std::mem::take(&mut self.taken)
    }
}

/// ECONNRESET.
pub(crate) const RESET: i32 = if cfg!(target_os = "macos") { 54 } else { 104 };
