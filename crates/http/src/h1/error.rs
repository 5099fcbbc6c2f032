//! Errors of messages.

use std::fmt;

/// Why bytes are not an HTTP/1.1 message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// A chunk's size is not hexadecimal, too large, or its line does not end in CRLF.
    ChunkSize,
    /// A chunk's data does not end in CRLF.
    ChunkEnd,
    /// Content-Length is not a number, or there are several that differ.
    ContentLength,
    /// A field line without a colon, with white space before it, or with a control character.
    Field,
    /// A head, a trailer section or a chunk extension exceeds its limit.
    TooLarge,
    /// The request's method, target or a field holds a byte that would break its framing.
    Request,
    /// Transfer-Encoding and Content-Length in one message: two ways to find its end.
    Framing,
    /// The status line is not `HTTP/1.x NNN reason`.
    StatusLine,
    /// The stream ended in the middle of a message.
    UnexpectedEnd,
    /// The message's version is not HTTP/1.0 or HTTP/1.1.
    Version,
}

impl Error {
    /// The error in words.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::ChunkSize => "invalid chunk size",
            Self::ChunkEnd => "chunk data does not end in CRLF",
            Self::ContentLength => "invalid or contradictory Content-Length",
            Self::Field => "invalid field line",
            Self::TooLarge => "head, trailer or chunk extension too large",
            Self::Request => "a request cannot hold this byte",
            Self::Framing => "both Transfer-Encoding and Content-Length",
            Self::StatusLine => "invalid status line",
            Self::UnexpectedEnd => "closed in the middle of a response",
            Self::Version => "not HTTP/1.0 or HTTP/1.1",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.description())
    }
}

impl std::error::Error for Error {}
