//! What was seen in all runs, so that a test can say what they no longer reach.

use std::sync::atomic::{AtomicU64, Ordering};

/// Something that runs are to reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Kinds of events, in the order of their numbers.
    Open,
    Request,
    Body,
    End,
    Eof,
    Closed,
    Drained,
    Fallback,
    Idle,
    AcceptFailed,
    Raw,
    Answered,
    BodyReadable,
    Hello,
    Secure,
    Failed,
    /// A first message that somebody else answers, and a handshake that was done without the caller.
    NotOurs,
    SecuredBeside,
    /// A request that has come with the end of a handshake.
    RequestWithHandshake,
    /// A handshake that has taken too long, one that has failed, and a session that has.
    HandshakeTooLong,
    HandshakeFails,
    SessionFails,
    /// An end that was announced, and not yet one of the socket's.
    AnnouncedEnd,
    /// What a connection waits for when all is at rest.
    WaitsForAnswers,
    WaitsForItsTurn,
    WaitsForRoom,
    WaitsForTheCache,
    WaitsToLeave,
    /// Answers of the reactor's own.
    Hit,
    Refusal,
    LateAnswer,
    NobodyHasIt,
    NobodyHasItAnyMore,
    /// A connection that was sent away, told or not, and one that somebody else has.
    SentAway,
    Elsewhere,
    /// A connection that lingers.
    Lingers,
    /// A reset of which the caller was told.
    Reset,
    /// The event loop runs within what the caller does about a batch.
    Nested,
    /// HTTP/2: a response that has arrived, and one that the caller was not asked for.
    StreamEnded,
    StreamHit,
}

impl Sight {
    /// All of them.
    pub const ALL: [Self; 40] = [
        Self::Open,
        Self::Request,
        Self::Body,
        Self::End,
        Self::Eof,
        Self::Closed,
        Self::Drained,
        Self::Fallback,
        Self::Idle,
        Self::AcceptFailed,
        Self::Raw,
        Self::Answered,
        Self::BodyReadable,
        Self::Hello,
        Self::Secure,
        Self::Failed,
        Self::NotOurs,
        Self::SecuredBeside,
        Self::RequestWithHandshake,
        Self::HandshakeTooLong,
        Self::HandshakeFails,
        Self::SessionFails,
        Self::AnnouncedEnd,
        Self::WaitsForAnswers,
        Self::WaitsForItsTurn,
        Self::WaitsForRoom,
        Self::WaitsForTheCache,
        Self::WaitsToLeave,
        Self::Hit,
        Self::Refusal,
        Self::LateAnswer,
        Self::NobodyHasIt,
        Self::NobodyHasItAnyMore,
        Self::SentAway,
        Self::Elsewhere,
        Self::Lingers,
        Self::Reset,
        Self::Nested,
        Self::StreamEnded,
        Self::StreamHit,
    ];

    /// How often it was seen.
    #[must_use]
    pub fn count(self) -> u64 {
        COUNTS[self as usize].load(Ordering::Relaxed)
    }

    /// The event of this kind, if runs reach it.
    pub(crate) fn of_event(kind: i32) -> Option<Self> {
        let at = match kind {
            12 => Self::Hello as usize,
            13 => Self::Secure as usize,
            14 => Self::Failed as usize,
            15 => Self::Answered as usize,
            17 => Self::BodyReadable as usize,
            1..=11 => usize::try_from(kind - 1).ok()?,
            _ => return None,
        };
        Self::ALL.get(at).copied()
    }
}

static COUNTS: [AtomicU64; Sight::ALL.len()] = [const { AtomicU64::new(0) }; Sight::ALL.len()];

pub(crate) fn see(sight: Sight) {
    COUNTS[sight as usize].fetch_add(1, Ordering::Relaxed);
}
