//! Errors of requests and of runs.

use std::fmt;
use std::io;

use millrace_net::tls::{self, is_tls_error};

/// Kinds of transport errors; their names are part of the public result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorKind {
    /// No process listens at the address.
    ConnectRefused,
    /// No connection within the limit.
    ConnectTimeout,
    /// The name has no address.
    Dns,
    /// The handshake failed, or a record could not be read.
    Tls,
    /// The peer reset the connection.
    Reset,
    /// The peer closed the connection before the response had ended.
    ClosedEarly,
    /// No complete response within the limit.
    Timeout,
    /// What the peer sends violates the protocol.
    Protocol,
    /// The peer reset the stream.
    StreamReset,
    /// The peer refused the stream, and did nothing for it.
    RefusedStream,
    /// The peer sent more than the windows of HTTP/2 allow.
    FlowControl,
    /// No descriptor left in this process or on this system.
    FdLimit,
    /// Anything else that the system reports.
    Other,
}

impl ErrorKind {
    /// All kinds, in the order of their discriminants.
    pub const ALL: [Self; 13] = [
        Self::ConnectRefused,
        Self::ConnectTimeout,
        Self::Dns,
        Self::Tls,
        Self::Reset,
        Self::ClosedEarly,
        Self::Timeout,
        Self::Protocol,
        Self::StreamReset,
        Self::RefusedStream,
        Self::FlowControl,
        Self::FdLimit,
        Self::Other,
    ];

    /// The name in the result.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ConnectRefused => "connect-refused",
            Self::ConnectTimeout => "connect-timeout",
            Self::Dns => "dns",
            Self::Tls => "tls",
            Self::Reset => "reset",
            Self::ClosedEarly => "closed-early",
            Self::Timeout => "timeout",
            Self::Protocol => "protocol",
            Self::StreamReset => "stream-reset",
            Self::RefusedStream => "refused-stream",
            Self::FlowControl => "flow-control",
            Self::FdLimit => "fd-limit",
            Self::Other => "other",
        }
    }

    /// The kind of an error of a connection that was established. One whose bytes the server acknowledges no more has not
    /// failed to connect: it is given up by the system.
    #[must_use]
    pub fn of_established(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut => Self::Reset,
            _ => Self::of(error),
        }
    }

    /// The kind of an error that a connect, a socket or TLS session reports.
    #[must_use]
    pub fn of(error: &io::Error) -> Self {
        /// `EMFILE` and `ENFILE`, which have no `io::ErrorKind` of their own.
        const NO_DESCRIPTORS: [i32; 2] = [24, 23];
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::ConnectRefused,
            // A Unix socket's path that does not exist is a port nobody listens at.
            io::ErrorKind::NotFound => Self::ConnectRefused,
            // A Unix socket's listen queue is full.
            io::ErrorKind::WouldBlock => Self::ConnectRefused,
            io::ErrorKind::TimedOut => Self::ConnectTimeout,
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => Self::Reset,
            io::ErrorKind::UnexpectedEof => Self::ClosedEarly,
            _ if is_tls_error(error) => Self::Tls,
            _ if error.raw_os_error().is_some_and(|code| NO_DESCRIPTORS.contains(&code)) => {
                Self::FdLimit
            }
            _ => Self::Other,
        }
    }
}

/// Describes an error of a socket for the report.
pub(crate) fn describe(error: &io::Error) -> String {
    if let Some(words) = tls::describe(error) {
        return words;
    }
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            "connection reset by the server".to_owned()
        }
        io::ErrorKind::TimedOut => "connection timed out".to_owned(),
        io::ErrorKind::WouldBlock => "the listen queue is full".to_owned(),
        // One of a local address that was asked for has a text of its own.
        io::ErrorKind::AddrNotAvailable if error.raw_os_error().is_some() => {
            "no local port is left: they are in use, or wait in TIME-WAIT after closed \
             connections; or this host has no address of that kind"
                .to_owned()
        }
        // Of the system: EINVAL. Others, as of a socket's path, have a text of their own.
        io::ErrorKind::InvalidInput if error.raw_os_error().is_some() => {
            "invalid address: a link-local one needs its zone, as in [fe80::1%eth0]".to_owned()
        }
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or_default().to_owned()
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a run has no outcome.
#[derive(Debug)]
pub enum RunError {
    /// The plan cannot be carried out: one line that says what was given and what is accepted.
    Usage(String),
    /// No connection could be opened.
    Unreachable {
        /// Kind of the most frequent failure.
        kind: ErrorKind,
        /// Address and reason in words.
        message: String,
    },
    /// The engine itself could not get what it needs from the system.
    System(io::Error),
    /// The requests do not add up: a defect of the engine, never reported as a result.
    Accounting(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) => f.write_str(message),
            Self::Unreachable { message, .. } => f.write_str(message),
            Self::System(error) => write!(f, "the load engine could not start: {error}"),
            Self::Accounting(what) => write!(f, "internal error: requests do not add up: {what}"),
        }
    }
}

impl std::error::Error for RunError {}

impl From<io::Error> for RunError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_address_is_named() {
        /// Linux: invalid argument.
        const EINVAL: i32 = 22;
        let zone = describe(&io::Error::from_raw_os_error(EINVAL));
        assert!(zone.contains("link-local"), "{zone}");
        let path = "the path of the Unix socket is too long: at most 107 bytes (got 200)";
        assert_eq!(describe(&io::Error::new(io::ErrorKind::InvalidInput, path)), path);
    }
}
