//! The states of a connection.
//!
//! How it reads, [`ReadState`]:
//!
//! ```text
//!   Handshake ──────────> Head <──────────> Body       (plain connections begin with Head)
//!     │   ^ │               ^ │ │ last request  │
//!     v   │ └─> Secured ────┘ │ └──> Closed <───┘
//!    Hello                    │        │        │
//!                             └────────┴────────┴── Fallback ──> Raw, Through, or back: as the caller decides
//!   all of them ──> Ended: the peer's side has ended, or TLS has failed
//! ```
//!
//! Whether it reads at all, [`Blocked`]. What blocks it is found where a head is read, so that one thing does at a time; what
//! ends that is a [`Change`]. A connection that was blocked looks again at the same head, and may be blocked anew by something
//! else.
//!
//! ```text
//!   Admission ── the caller has seen it ───────────────────────┐
//!   Pipeline ─── half of the requests are answered ────────────┤
//!   Turn ─────── all requests are answered ────────────────────┤
//!   Room ─────── the peer has taken what was sent ─────────────┼──> No ──> what is found next
//!   Fill ─────── the cache has the response, or will not ──────┤
//!   Owner ────── all is answered, or sent ─────────────────────┤
//!   Report ───── the caller was told ──────────────────────────┘
//!   Relayed, Closed: for good
//! ```
//!
//! How it writes, [`WriteState`]:
//!
//! ```text
//!   Open <──> Corked       last bytes wait to leave with the end; the turn's end sends them
//!    │ └──> Ending ─┐      the end waits for bytes that the peer has not taken
//!    └──────────────┴──> Ended
//! ```

use millrace_cache::FillWait;
use millrace_http::h1::BodyDecoder;

/// What the bytes that come next are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReadState {
    /// TLS is being agreed on; requests may have to wait in [`Self::Secured`] then.
    Handshake {
        defers_requests: bool,
    },
    /// The caller chooses what the client's first message of TLS is answered with.
    Hello,
    /// TLS is agreed on, and requests wait for the caller's word.
    Secured,
    Head,
    Body(BodyDecoder),
    /// Empty lines at most: the last request closes the connection.
    Closed,
    /// The caller's parser is asked; nothing is read.
    Fallback,
    /// The host's parser reads on.
    Raw,
    /// Everything is told as it comes.
    Through,
    /// The peer's side has ended, or ours reads no more.
    Ended,
}

/// By what a connection is kept from reading, apart from a caller that has paused it.
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
    /// Its text is another process's to answer.
    Relayed,
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

    /// The next request has arrived and waits here, for the cache, for its turn or for its owner.
    pub(crate) fn holds_request(self) -> bool {
        match self {
            Self::Turn | Self::Room | Self::Fill(_) | Self::Owner | Self::Relayed => true,
            Self::No | Self::Admission | Self::Pipeline | Self::Report | Self::Closed => false,
        }
    }
}

/// Where our side stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WriteState {
    #[default]
    Open,
    /// The last bytes wait for the end, to leave with it.
    Corked,
    /// Our side ends when all is written.
    Ending,
    /// All of ours is written and our side has ended.
    Ended,
}

impl WriteState {
    /// Bytes were sent. `corked`: they wait for the end.
    pub(crate) fn on_sent(&mut self, corked: bool) {
        *self = match *self {
            Self::Open | Self::Corked if corked => Self::Corked,
            Self::Open | Self::Corked => Self::Open,
            Self::Ending | Self::Ended => *self,
        };
    }

    /// Whether bytes waited for an end, which has not come.
    pub(crate) fn uncork(&mut self) -> bool {
        let corked = *self == Self::Corked;
        if corked {
            *self = Self::Open;
        }
        corked
    }

    /// Our side has ended, or is to: nothing more is answered.
    pub(crate) fn is_over(self) -> bool {
        matches!(self, Self::Ending | Self::Ended)
    }

    /// Our side is to end. `true`: it does at once.
    pub(crate) fn end(&mut self, has_written_all: bool) -> bool {
        if *self == Self::Ended {
            return false;
        }
        *self = if has_written_all { Self::Ended } else { Self::Ending };
        has_written_all
    }
}
