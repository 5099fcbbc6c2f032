//! The run over time, in windows.

use std::collections::VecDeque;
use std::time::Duration;

use crate::metrics::duration_histogram::DurationHistogram;
use crate::metrics::recorder::WINDOW;
use crate::metrics::window_stats::WindowStats;

/// What one window came to, over all workers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// Responses with any status.
    pub completed: u64,
    /// Status errors, transport errors and timeouts.
    pub errors: u64,
    /// Median latency of the requests that ended.
    pub p50: Option<Duration>,
    /// 99th percentile of the same.
    pub p99: Option<Duration>,
}

/// Windows that have been reported by all workers, and those that wait for some of them.
#[derive(Debug)]
pub(crate) struct WindowSeries {
    windows: Vec<Window>,
    open: VecDeque<OpenWindow>,
    /// The next window that each worker will report.
    next: Vec<u64>,
}

#[derive(Debug, Default)]
struct OpenWindow {
    completed: u64,
    errors: u64,
    latency: Option<Box<DurationHistogram>>,
}

impl WindowSeries {
    pub(crate) fn new(workers: usize) -> Self {
        Self { windows: Vec::new(), open: VecDeque::new(), next: vec![0; workers] }
    }

    /// Takes a worker's window; it will report none below `next` any more.
    pub(crate) fn add(&mut self, worker: usize, index: u64, next: u64, tally: &WindowStats) {
        let at = (index as usize).saturating_sub(self.windows.len());
        while self.open.len() <= at {
            self.open.push_back(OpenWindow::default());
        }
        let window = &mut self.open[at];
        window.completed += tally.counts.arrived();
        window.errors += tally.counts.failures();
        if tally.latency.count() > 0 {
            **window.latency.get_or_insert_default() += &tally.latency;
        }
        self.next[worker] = next;
        self.close(self.next.iter().copied().min().unwrap_or(0) as usize);
    }

    /// A worker will report no more.
    pub(crate) fn finished(&mut self, worker: usize) {
        self.next[worker] = u64::MAX;
        let others = self.next.iter().copied().min().unwrap_or(u64::MAX);
        if others != u64::MAX {
            self.close(others as usize);
        }
    }

    /// No worker will report a window below `count` any more.
    fn close(&mut self, count: usize) {
        while self.windows.len() < count {
            let window = self.open.pop_front().unwrap_or_default();
            let OpenWindow { completed, errors, latency } = window;
            let [p50, p99] = latency
                .and_then(|times| times.quantiles([0.5, 0.99]))
                .map_or([None; 2], |quantiles| quantiles.map(Some));
            self.windows.push(Window { completed, errors, p50, p99 });
        }
    }

    /// The windows that are complete.
    pub(crate) fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// All windows of a run that lasted this long, to the nearest window.
    pub(crate) fn finish(mut self, duration: Duration) -> Vec<Window> {
        let windows = (duration + WINDOW / 2).as_nanos() / WINDOW.as_nanos();
        let reported = self.windows.len() + self.open.len();
        self.close(reported.max(usize::try_from(windows).unwrap_or(usize::MAX)));
        self.windows
    }
}

#[cfg(test)]
mod tests;
