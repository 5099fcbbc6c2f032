//! Why a session fails, and how its peer hears of that.

use std::fmt;

/// An alert (RFC 8446, section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlertDescription(pub u8);

impl AlertDescription {
    /// The sender sends no more.
    pub const CLOSE_NOTIFY: Self = Self(0);
    /// A message that was not due.
    pub const UNEXPECTED_MESSAGE: Self = Self(10);
    /// A record whose checksum is wrong.
    pub const BAD_RECORD_MAC: Self = Self(20);
    /// A client without a certificate.
    pub const CERTIFICATE_REQUIRED: Self = Self(116);
}

impl From<AlertDescription> for u8 {
    fn from(alert: AlertDescription) -> Self {
        alert.0
    }
}

/// Why a session has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The peer has sent this alert.
    AlertReceived(AlertDescription),
    /// The client has shown no certificate.
    NoCertificatesPresented,
    /// The checksum of a record is wrong.
    DecryptError,
    /// These bytes are no record, or not the message that is due.
    InappropriateMessage,
    /// Both sides have no version or no protocol in common.
    PeerIncompatible,
}

impl Error {
    /// What the peer is told of it.
    pub(crate) fn alert(&self) -> Option<AlertDescription> {
        match self {
            Self::AlertReceived(_) => None,
            Self::NoCertificatesPresented => Some(AlertDescription::CERTIFICATE_REQUIRED),
            Self::DecryptError => Some(AlertDescription::BAD_RECORD_MAC),
            Self::InappropriateMessage | Self::PeerIncompatible => {
                Some(AlertDescription::UNEXPECTED_MESSAGE)
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl std::error::Error for Error {}
