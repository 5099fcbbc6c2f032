//! By what a lane is kept from being read, [`Blocked`], and what ends that, a [`Change`].
//!
//! What blocks a lane is found where a head is read, so that one thing does at a time. A lane that was blocked looks again at
//! the same head, and may be blocked anew by something else.
//!
//! ```text
//!   Admission ── the caller has seen it ───────────────────────┐
//!   Pipeline ─── half of the requests are answered ────────────┤
//!   Turn ─────── all requests are answered ────────────────────┤
//!   Room ─────── the peer has taken what was sent ─────────────┼──> No ──> what is found next
//!   Fill ─────── the cache has the response, or will not ──────┤
//!   Owner ────── all is answered, or sent ─────────────────────┤
//!   Report ───── the caller was told ──────────────────────────┘
//!   Closed: for good
//! ```

use millrace_cache::FillWait;

use super::session::Next;

/// By what a lane is kept from being read, apart from a caller that has paused it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Blocked {
    #[default]
    No,
    /// The caller has not seen the connection, and decides about it first.
    Admission,
    /// As many requests as may be are with the caller: the body of the last one is read, the next head is not. It waits until
    /// half of them are answered, so that what is kept is not looked through for each.
    Pipeline,
    /// The answer to the next request is there, and those before it are not complete.
    Turn,
    /// The peer has to take what was sent: the body of the last request is read, the next head is not.
    Room,
    /// The response to another request may be for the next one as well.
    Fill(FillWait),
    /// The next request is another process's, and what came before is not answered and sent.
    Owner,
    /// Something has to be reported first, and could not be told in its turn.
    Report,
    /// It is broken: its end was told, or is to be.
    Closed,
}

/// What may end a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The caller has seen the connection.
    Admitted,
    /// Requests were answered: so many are left, of so many that may be.
    Answered { left: u32, most: u32 },
    /// The peer has taken all that was sent.
    Drained,
    /// All is answered, and has been sent.
    Quiet,
    /// A fill of the cache has ended.
    Filled,
    /// What was to be reported has been.
    Reported,
}

impl Blocked {
    /// Ends the block if this was what it waited for; gives whether it was.
    pub(crate) fn end_by(&mut self, change: Change) -> bool {
        let ends = match (*self, change) {
            (Self::Pipeline, Change::Answered { left, most }) => left <= most / 2,
            (Self::Turn | Self::Owner, Change::Answered { left, .. }) => left == 0,
            (Self::Admission, Change::Admitted)
            | (Self::Room | Self::Owner, Change::Drained)
            | (Self::Owner, Change::Quiet)
            | (Self::Fill(_), Change::Filled)
            | (Self::Report, Change::Reported) => true,
            _ => false,
        };
        if ends {
            *self = Self::No;
        }
        ends
    }

    /// Keeps a lane, which the caller may have `paused`, from what comes next.
    pub(super) fn holds(self, next: Next, paused: bool) -> bool {
        match (self, next) {
            (_, Next::Nothing) => true,
            // It is nobody's here.
            (_, Next::Text) => self == Self::Closed,
            (Self::No | Self::Pipeline | Self::Room, Next::Handshake) => false,
            (Self::Pipeline | Self::Room, Next::Head) => true,
            (Self::No, Next::Head) | (Self::No | Self::Pipeline | Self::Room, Next::Rest) => paused,
            (
                Self::Admission
                | Self::Turn
                | Self::Fill(_)
                | Self::Owner
                | Self::Report
                | Self::Closed,
                Next::Handshake | Next::Head | Next::Rest,
            ) => true,
        }
    }

    /// Something has to be reported before more is read. What was found at the next head is found again then.
    pub(super) fn wait_for_report(&mut self) {
        match self {
            Self::No | Self::Pipeline | Self::Turn | Self::Room | Self::Owner => {
                *self = Self::Report;
            }
            Self::Admission | Self::Fill(_) | Self::Report | Self::Closed => {}
        }
    }

    /// The next request has arrived and waits here, for the cache, for its turn or for its owner.
    pub(crate) fn holds_request(self) -> bool {
        match self {
            Self::Turn | Self::Room | Self::Fill(_) | Self::Owner => true,
            Self::No | Self::Admission | Self::Pipeline | Self::Report | Self::Closed => false,
        }
    }
}
