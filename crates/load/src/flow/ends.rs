//! Ends of users' requests, which the engine takes from the recorder when it has handled an event.

use std::ops::Range;

use millrace_net::Nanos;

use crate::metrics::in_flight::Loss;

/// The end of a user's request.
#[derive(Clone, Debug)]
pub(crate) struct StepEnd {
    pub(crate) user: u32,
    /// Index into the mix.
    pub(crate) request: u32,
    /// Whether it belongs to the measurement.
    pub(crate) is_measured: bool,
    pub(crate) how: HowEnded,
}

#[derive(Clone, Debug)]
pub(crate) enum HowEnded {
    /// A response has come at this time. `bytes`: where it is among the captured ones; `is_cut`: a part of it is missing.
    Answered {
        at: Nanos,
        status: u16,
        bytes: Range<usize>,
        is_cut: bool,
    },
    Lost(Loss),
    /// No connection could be opened.
    Unconnected,
}

/// The ends that have not been taken, with the responses.
#[derive(Debug, Default)]
pub(crate) struct StepEnds {
    list: Vec<StepEnd>,
    captured: Vec<u8>,
}

impl StepEnds {
    pub(crate) fn push(&mut self, end: StepEnd) {
        self.list.push(end);
    }

    /// Adds the response to the last end, which it consists of in these parts.
    pub(crate) fn capture(&mut self, parts: [&[u8]; 2], missing: bool) {
        let start = self.captured.len();
        parts.iter().for_each(|part| self.captured.extend_from_slice(part));
        let end = self.captured.len();
        if let Some(StepEnd { how: HowEnded::Answered { bytes, is_cut, .. }, .. }) =
            self.list.last_mut()
        {
            (*bytes, *is_cut) = (start..end, missing);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Exchanges them for empty ones, whose memory is reused.
    pub(crate) fn swap(&mut self, empty: &mut Self) {
        std::mem::swap(self, empty);
    }

    pub(crate) fn ends(&self) -> &[StepEnd] {
        &self.list
    }

    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.captured[range]
    }

    pub(crate) fn clear(&mut self) {
        /// What a large body took is given back.
        const MOST: usize = 1 << 20;
        self.list.clear();
        self.captured.clear();
        self.captured.shrink_to(MOST);
    }
}
