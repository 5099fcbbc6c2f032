//! What a server remembers of streams of the client that are closed (RFC 9113, section 5.1).

use super::error::{ConnectionError, ErrorCode};

/// Streams whose late frames are still ignored. A client may have sent them before it knew that its stream was reset.
const REMEMBERED: usize = 1024;

/// Ranges of numbers that are remembered as not opened; others are taken for closed.
const MAX_SKIPPED: usize = 16;

/// Streams that this side has reset lately, and numbers that the client has skipped.
#[derive(Debug, Default)]
pub(crate) struct ClosedStreams {
    reset: Vec<u32>,
    /// The place of the next one in `reset`, once that is full.
    next: usize,
    /// First and last of the numbers.
    skipped: Vec<(u32, u32)>,
}

impl ClosedStreams {
    /// This side has reset a stream.
    pub(crate) fn on_reset(&mut self, id: u32) {
        if self.reset.len() < REMEMBERED {
            self.reset.push(id);
        } else {
            self.reset[self.next] = id;
            self.next = (self.next + 1) % REMEMBERED;
        }
    }

    /// The client has opened a stream; the last one before it was `last`.
    pub(crate) fn on_opened(&mut self, last: u32, id: u32) {
        let first = if last == 0 { 1 } else { last + 2 };
        if id > first && self.skipped.len() < MAX_SKIPPED {
            self.skipped.push((first, id - 2));
        }
    }

    /// Whether a frame of a message is ignored, which came for a stream that is closed.
    pub(crate) fn check(&self, id: u32) -> Result<(), ConnectionError> {
        if self.reset.contains(&id) {
            return Ok(());
        }
        if self.skipped.iter().any(|&(first, last)| (first..=last).contains(&id)) {
            return Err(ConnectionError::protocol("a stream below one that was opened later"));
        }
        let reason = "a frame for a stream that is closed";
        Err(ConnectionError { code: ErrorCode::STREAM_CLOSED, reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_ignored_for_streams_that_were_reset_lately() {
        let mut closed = ClosedStreams::default();
        for id in (1..).step_by(2).take(REMEMBERED + 1) {
            closed.on_reset(id);
        }
        assert_eq!(closed.check(1).map_err(|error| error.code), Err(ErrorCode::STREAM_CLOSED));
        assert_eq!(closed.check(3), Ok(()));
    }

    #[test]
    fn a_number_that_was_skipped_was_never_open() {
        let mut closed = ClosedStreams::default();
        closed.on_opened(0, 5);
        closed.on_opened(5, 7);
        let code = |id| closed.check(id).map_err(|error| error.code);
        assert_eq!(code(1), Err(ErrorCode::PROTOCOL_ERROR));
        assert_eq!(code(3), Err(ErrorCode::PROTOCOL_ERROR));
        assert_eq!(code(5), Err(ErrorCode::STREAM_CLOSED));
    }
}
