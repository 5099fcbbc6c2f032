//! Responses that had begun and not ended: their head had arrived when the run ended, or when the time limit was over.

use std::ops::AddAssign;
use std::time::Duration;

/// Numbers of responses whose head had arrived and whose end had not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unended {
    /// Those that were in flight when the run ended.
    pub at_end: u64,
    /// Of these, those with a status of a success.
    pub succeeding: u64,
    /// Those that the time limit cut off.
    pub timed_out: u64,
    /// First byte of the request to that of the response, summed over all of them.
    pub head: Duration,
    /// Bytes received of all of them.
    pub bytes: u64,
}

impl AddAssign<&Self> for Unended {
    fn add_assign(&mut self, other: &Self) {
        let Self { at_end, succeeding, timed_out, head, bytes } = other;
        self.at_end += at_end;
        self.succeeding += succeeding;
        self.timed_out += timed_out;
        self.head += *head;
        self.bytes += bytes;
    }
}
