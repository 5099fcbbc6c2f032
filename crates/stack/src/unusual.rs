//! What leaves the fast path: requests that the caller's parser reads, or decides about, counted by reason.

use millrace_http::h1::UnsureReason;

use crate::batch::FallbackReason;

/// Why the caller has to look at the bytes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unusual {
    Head(UnsureReason),
    Body(UnsureReason),
    /// The head asks for another protocol.
    Upgrade,
    /// Bytes behind the last request, which closes the connection.
    AfterClose,
}

impl Unusual {
    /// What the event says of it.
    pub(crate) fn fallback_reason(self) -> FallbackReason {
        match self {
            Self::Head(_) => FallbackReason::Head,
            Self::Body(_) => FallbackReason::Body,
            Self::Upgrade => FallbackReason::Upgrade,
            Self::AfterClose => FallbackReason::Closed,
        }
    }
}

/// Requests of a server that were not read on the fast path alone, by the first reason of each.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnusualCounts {
    unsure: [u64; UnsureReason::ALL.len()],
    upgrade: u64,
    after_close: u64,
}

impl UnusualCounts {
    pub(crate) fn count(&mut self, unusual: Unusual) {
        *match unusual {
            Unusual::Head(reason) | Unusual::Body(reason) => &mut self.unsure[reason as usize],
            Unusual::Upgrade => &mut self.upgrade,
            Unusual::AfterClose => &mut self.after_close,
        } += 1;
    }

    /// The id of each reason, and how many requests had it.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let ids = UnsureReason::ALL.iter().map(|reason| reason.as_str());
        ids.zip(self.unsure).chain([("upgrade", self.upgrade), ("after-close", self.after_close)])
    }
}
