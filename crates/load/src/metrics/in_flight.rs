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
    /// Its number in the run, that of its iteration if a user sends it, or [`NUMBERED_WHEN_SENT`].
    pub(crate) number: u64,
}

impl Due {
    /// A request that the one before it has made due.
    pub(crate) fn new(intended: Nanos, request: u32) -> Self {
        Self { intended, request, user: NO_USER, number: NUMBERED_WHEN_SENT }
    }
}

/// The number of requests of a closed run: they are numbered when they are sent, so that there are no gaps.
pub(crate) const NUMBERED_WHEN_SENT: u64 = u64::MAX;

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
    /// As that of [`Due`]; of a request that is the same each time it may be [`NUMBERED_WHEN_SENT`].
    pub(crate) number: u64,
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
