//! Bounds on what a peer may cost.

use super::error::{ConnectionError, ErrorCode};

/// The largest field section that is accepted, by its size in RFC 9113, section 6.5.2.
pub(crate) const MAX_FIELD_SECTION: usize = 256 * 1024;

/// The largest header block, encoded; the frames of a block are put together before it is decoded.
pub(crate) const MAX_BLOCK: usize = MAX_FIELD_SECTION;

/// CONTINUATION frames of one header block: a field section of the largest size in frames of the default size takes 16. Tiny
/// frames cost the receiver more than the sender (CVE-2024-27983 and others).
const MAX_CONTINUATIONS: u32 = 1024;

/// Frames that carry nothing, until a message is complete: those that only have to be answered, as SETTINGS and PING (CVE-2019-9512,
/// CVE-2019-9515) and streams that break a rule or are refused; of a client also those without any effect (CVE-2019-9518).
const MAX_IDLE_FRAMES: u32 = 10_000;

/// A window that is opened by less carries nothing.
pub(crate) const MIN_INCREMENT: u32 = 64;

/// Counts what costs this side more than the peer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Budget {
    continuations: u32,
    idle: u32,
}

impl Budget {
    /// A header block begins.
    pub(crate) fn begin_block(&mut self) {
        self.continuations = 0;
    }

    /// A header block goes on.
    pub(crate) fn continue_block(&mut self) -> Result<(), ConnectionError> {
        self.continuations += 1;
        let reason = "a header block in more than 1,024 CONTINUATION frames";
        if self.continuations > MAX_CONTINUATIONS { Err(calm_down(reason)) } else { Ok(()) }
    }

    /// A frame arrived that carries nothing.
    pub(crate) fn spend(&mut self) -> Result<(), ConnectionError> {
        self.idle += 1;
        let reason = "more than 10,000 frames that carry nothing (SETTINGS, PING), and no message";
        if self.idle > MAX_IDLE_FRAMES { Err(calm_down(reason)) } else { Ok(()) }
    }

    /// Something else has happened.
    pub(crate) fn progress(&mut self) {
        self.idle = 0;
    }

    /// So many of the frames were long ago.
    pub(crate) fn forgive(&mut self, count: u32) {
        self.idle = self.idle.saturating_sub(count);
    }
}

pub(crate) const fn calm_down(reason: &'static str) -> ConnectionError {
    ConnectionError { code: ErrorCode::ENHANCE_YOUR_CALM, reason }
}
