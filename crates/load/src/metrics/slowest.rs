//! The slowest requests that have a trace context.

use std::time::Duration;

use millrace_net::Nanos;

use crate::ErrorKind;
use crate::metrics::in_flight::{InFlight, Loss};
use crate::trace_context::TraceContexts;

/// How many are kept.
pub const MAX_SLOWEST: usize = 10;

/// A slow request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowRequest {
    /// The id of its trace.
    pub trace_id: u128,
    /// Done minus intended; of one without a complete response its age.
    pub latency: Duration,
    /// Index into the plan's requests.
    pub request: u32,
    /// How it ended.
    pub end: RequestEnd,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestEnd {
    /// With a response of this status.
    Status(u16),
    /// Without a complete response.
    Error(ErrorKind),
    /// Not before the run.
    InFlight,
}

impl From<Loss> for RequestEnd {
    fn from(loss: Loss) -> Self {
        match loss {
            Loss::Timeout => Self::Error(ErrorKind::Timeout),
            Loss::Transport(kind) => Self::Error(kind),
            Loss::InFlightAtEnd => Self::InFlight,
        }
    }
}

/// The slowest requests of one worker.
#[derive(Debug)]
pub(crate) struct SlowestRequests {
    contexts: TraceContexts,
    /// The slowest first. The memory is that of the beginning.
    kept: Vec<SlowRequest>,
}

impl SlowestRequests {
    pub(crate) fn new(contexts: TraceContexts) -> Self {
        Self { contexts, kept: Vec::with_capacity(MAX_SLOWEST + 1) }
    }

    /// Adds a request that has ended now, if it is one of the slowest and has a trace context.
    pub(crate) fn add(&mut self, request: &InFlight, now: Nanos, end: RequestEnd) {
        let latency = now.since(request.intended);
        let is_full = self.kept.len() == MAX_SLOWEST;
        if is_full && self.kept.last().is_some_and(|last| latency <= last.latency) {
            return;
        }
        let Some(context) = self.contexts.get(request.number, 0) else { return };
        let at = self.kept.partition_point(|other| other.latency >= latency);
        let slow =
            SlowRequest { trace_id: context.trace_id, latency, request: request.request, end };
        self.kept.insert(at, slow);
        self.kept.truncate(MAX_SLOWEST);
    }

    pub(crate) fn take(&mut self) -> Vec<SlowRequest> {
        std::mem::take(&mut self.kept)
    }
}

/// Merges the slowest requests of several workers.
pub(crate) fn merge_slowest(parts: impl Iterator<Item = SlowRequest>) -> Vec<SlowRequest> {
    let mut all: Vec<_> = parts.collect();
    all.sort_by_key(|slow| std::cmp::Reverse(slow.latency));
    all.truncate(MAX_SLOWEST);
    all
}
