//! Kept responses: the first of each status that the report shows, and the received part of the first response for each
//! kind of error.

use crate::ErrorKind;
use crate::metrics::in_flight::InFlight;
use crate::metrics::statuses::StatusSet;

/// Maximum bytes of a body that are kept: one more than the report shows, so that it can tell that there was more.
pub(crate) const MAX_KEPT_BODY: usize = 1024 + 1;

/// Maximum bytes of a response that are kept; longer heads are cut.
pub(crate) const MAX_KEPT: usize = 8 * 1024 + MAX_KEPT_BODY;

/// Why a response was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepReason {
    /// It is complete, and the first with this status.
    Status(u16),
    /// It is the first that was broken off by an error of this kind.
    Error(ErrorKind),
}

/// A response, or the part of it that had come.
#[derive(Clone, Debug)]
pub struct KeptResponse {
    /// Why it was kept.
    pub why: KeepReason,
    /// The request that it answers, by its index in the plan.
    pub request: u32,
    /// Its first bytes: head and body as they came, interim responses before it included.
    pub bytes: Box<[u8]>,
}

impl KeptResponse {
    /// The response to `request`, which consists of these parts.
    pub(crate) fn new(why: KeepReason, request: &InFlight, parts: [&[u8]; 2]) -> Self {
        let bytes = parts.into_iter().flatten().take(MAX_KEPT).copied().collect();
        Self { why, request: request.request, bytes }
    }
}

/// Kinds of responses of which a worker has not kept one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstResponses {
    statuses: StatusSet,
    errors: [bool; ErrorKind::ALL.len()],
}

impl FirstResponses {
    /// Every status that is not `expected` or a redirection, and every kind of error.
    pub(crate) fn new(expected: &StatusSet) -> Self {
        let statuses = expected.complement_with(&StatusSet::redirections());
        Self { statuses, errors: [true; ErrorKind::ALL.len()] }
    }

    pub(crate) fn has(&self, why: KeepReason) -> bool {
        match why {
            KeepReason::Status(status) => self.statuses.contains(status),
            KeepReason::Error(kind) => self.errors[kind as usize],
        }
    }

    /// Removes a kind, of which one is kept now; `false` if one was kept before.
    #[cold]
    pub(crate) fn remove(&mut self, why: KeepReason) -> bool {
        let had = self.has(why);
        match why {
            KeepReason::Status(status) => self.statuses.remove(status),
            KeepReason::Error(kind) => self.errors[kind as usize] = false,
        }
        had
    }
}
