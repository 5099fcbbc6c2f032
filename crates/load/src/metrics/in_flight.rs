//! A request in flight, and its ends without a response.

use millrace_net::Nanos;

use crate::ErrorKind;

/// A request that is due and has not been sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    /// When it was due.
    pub(crate) intended: Nanos,
    /// Index into the mix.
    pub(crate) request: u32,
    /// The user of a flow that it belongs to, or [`NO_USER`].
    pub(crate) user: u32,
}

/// The user of requests that belong to no flow.
pub(crate) const NO_USER: u32 = u32::MAX;

/// A request that was sent and has not ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    /// When it was due.
    pub(crate) intended: Nanos,
    /// When its first byte was written.
    pub(crate) sent: Nanos,
    /// Index into the mix.
    pub(crate) request: u32,
    /// As that of [`Due`].
    pub(crate) user: u32,
}

/// How a request ended without a complete response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The limit for the whole request has passed.
    Timeout,
    /// The connection failed.
    Transport(ErrorKind),
    /// The run ended first.
    InFlightAtEnd,
}
