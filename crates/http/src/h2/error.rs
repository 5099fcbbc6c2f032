//! Errors of connections and of streams.

use std::fmt;

/// Error codes (RFC 9113, section 7). Codes that a peer invents are as good as any.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// Nothing went wrong.
    pub const NO_ERROR: Self = Self(0x0);
    /// The peer broke the protocol.
    pub const PROTOCOL_ERROR: Self = Self(0x1);
    /// Something went wrong on this side.
    pub const INTERNAL_ERROR: Self = Self(0x2);
    /// The peer sent more than its window allows.
    pub const FLOW_CONTROL_ERROR: Self = Self(0x3);
    /// Settings were not acknowledged in time.
    pub const SETTINGS_TIMEOUT: Self = Self(0x4);
    /// A frame came for a stream that is half-closed.
    pub const STREAM_CLOSED: Self = Self(0x5);
    /// A frame has an invalid size.
    pub const FRAME_SIZE_ERROR: Self = Self(0x6);
    /// The stream was refused before anything was done for it.
    pub const REFUSED_STREAM: Self = Self(0x7);
    /// The stream is no longer needed.
    pub const CANCEL: Self = Self(0x8);
    /// A header block cannot be decoded.
    pub const COMPRESSION_ERROR: Self = Self(0x9);
    /// The connection of a CONNECT request failed.
    pub const CONNECT_ERROR: Self = Self(0xa);
    /// The peer behaves in a way that might overload this side.
    pub const ENHANCE_YOUR_CALM: Self = Self(0xb);
    /// The transport is not secure enough.
    pub const INADEQUATE_SECURITY: Self = Self(0xc);
    /// The request needs HTTP/1.1.
    pub const HTTP_1_1_REQUIRED: Self = Self(0xd);

    /// Returns the name that RFC 9113 gives it; `None` for a code of the peer's own.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::NO_ERROR => "NO_ERROR",
            Self::PROTOCOL_ERROR => "PROTOCOL_ERROR",
            Self::INTERNAL_ERROR => "INTERNAL_ERROR",
            Self::FLOW_CONTROL_ERROR => "FLOW_CONTROL_ERROR",
            Self::SETTINGS_TIMEOUT => "SETTINGS_TIMEOUT",
            Self::STREAM_CLOSED => "STREAM_CLOSED",
            Self::FRAME_SIZE_ERROR => "FRAME_SIZE_ERROR",
            Self::REFUSED_STREAM => "REFUSED_STREAM",
            Self::CANCEL => "CANCEL",
            Self::COMPRESSION_ERROR => "COMPRESSION_ERROR",
            Self::CONNECT_ERROR => "CONNECT_ERROR",
            Self::ENHANCE_YOUR_CALM => "ENHANCE_YOUR_CALM",
            Self::INADEQUATE_SECURITY => "INADEQUATE_SECURITY",
            Self::HTTP_1_1_REQUIRED => "HTTP_1_1_REQUIRED",
            _ => return None,
        })
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "error code {:#x}", self.0),
        }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An error that ends the connection (RFC 9113, section 5.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionError {
    /// The code for GOAWAY.
    pub code: ErrorCode,
    /// What the peer did, in words.
    pub reason: &'static str,
}

impl ConnectionError {
    pub(crate) const fn protocol(reason: &'static str) -> Self {
        Self { code: ErrorCode::PROTOCOL_ERROR, reason }
    }

    pub(crate) const fn frame_size(reason: &'static str) -> Self {
        Self { code: ErrorCode::FRAME_SIZE_ERROR, reason }
    }

    pub(crate) const fn flow_control(reason: &'static str) -> Self {
        Self { code: ErrorCode::FLOW_CONTROL_ERROR, reason }
    }
}

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason)
    }
}

impl std::error::Error for ConnectionError {}

/// An error that ends a stream and spares the connection (RFC 9113, section 5.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamError {
    /// The code for RST_STREAM.
    pub code: ErrorCode,
    /// What the peer did, in words.
    pub reason: &'static str,
}

impl StreamError {
    pub(crate) const fn protocol(reason: &'static str) -> Self {
        Self { code: ErrorCode::PROTOCOL_ERROR, reason }
    }
}
