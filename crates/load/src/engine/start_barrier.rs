//! The barrier at which the workers wait for each other after set-up, so that all start at the same time.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use millrace_net::Nanos;

/// Time from the last arrival to the start, in which every worker sees it: some turns of its loop.
const HEAD_START: Duration = Duration::from_millis(4);

/// The start barrier and the stop flag of a run. The workers read the flag once per turn of their loops.
#[derive(Debug)]
pub(crate) struct StartBarrier {
    expected: usize,
    arrived: AtomicUsize,
    /// Connections that were opened in set-up.
    opened: AtomicU64,
    /// Nanoseconds; zero before the start is set, `u64::MAX` if the run will not start.
    start: AtomicU64,
    /// When the start is planned; `None`: as early as possible.
    planned: Option<Nanos>,
    stop: AtomicBool,
}

/// The state of the barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Other workers are not ready, or the planned start is still to come.
    Wait,
    /// Start at this time.
    Start(Nanos),
    /// No worker has a connection: do not start.
    Unreachable,
}

impl StartBarrier {
    pub(crate) fn new(expected: usize, planned: Option<Nanos>) -> Self {
        Self {
            expected,
            arrived: AtomicUsize::new(0),
            opened: AtomicU64::new(0),
            start: AtomicU64::new(0),
            planned,
            stop: AtomicBool::new(false),
        }
    }

    /// By how much the start was later than planned.
    pub(crate) fn lateness(&self) -> Duration {
        match (self.planned, self.start.load(Ordering::SeqCst)) {
            (None, _) | (_, u64::MAX) => Duration::ZERO,
            (Some(planned), start) => Nanos(start).since(planned),
        }
    }

    /// Records that a worker is ready with `opened` connections.
    pub(crate) fn wait(&self, opened: u64, now: Nanos) {
        self.opened.fetch_add(opened, Ordering::SeqCst);
        if self.arrived.fetch_add(1, Ordering::SeqCst) + 1 == self.expected {
            let unreachable = self.opened.load(Ordering::SeqCst) == 0;
            let earliest = self.planned.unwrap_or_default().max(now + HEAD_START);
            let start = if unreachable { Nanos::NEVER } else { earliest };
            self.start.store(start.0, Ordering::SeqCst);
        }
    }

    pub(crate) fn signal(&self, now: Nanos) -> Signal {
        match self.start.load(Ordering::Relaxed) {
            0 => Signal::Wait,
            u64::MAX => Signal::Unreachable,
            start if now + HEAD_START < Nanos(start) => Signal::Wait,
            start => Signal::Start(Nanos(start)),
        }
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;
