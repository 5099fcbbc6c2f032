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

/// The latencies of one window, encoded as those of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowLatency {
    /// All samples.
    pub all: String,
    /// The censored ones among them; `None`: there are none.
    pub censored: Option<String>,
}

/// The windows of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Their length: 100 ms, doubled until there are at most 36,000. The last one may be shorter.
    pub window: Duration,
    /// In order.
    pub windows: Vec<Window>,
    /// Latencies of each window, `None` for one without a sample; empty unless the plan asks for them.
    pub latencies: Vec<Option<WindowLatency>>,
    /// Responses in each whole second.
    pub seconds: Vec<u64>,
}

/// Maximum number of windows of a run: an hour of 100 ms each. A run of days would have millions.
const MAX_WINDOWS: usize = 36_000;

const WINDOWS_PER_SECOND: usize = 10;

/// Windows that have been reported by all workers, and those that wait for some of them.
#[derive(Debug)]
pub(crate) struct WindowSeries {
    /// Windows of 100 ms, of 200 ms, of 400 ms ...: their percentiles are those of all requests that ended in them.
    levels: Vec<Level>,
    /// The first level that has its windows still: those of the others became too many.
    finest: usize,
    most: usize,
    /// Whether the latencies of each window are kept.
    keeps_latencies: bool,
    closed: usize,
    /// Responses in the newest windows of 100 ms.
    recent: VecDeque<u64>,
    seconds: Vec<u64>,
    open: VecDeque<OpenWindow>,
    /// The next window that each worker will report.
    next: Vec<u64>,
}

/// Windows of one length.
#[derive(Debug, Default)]
struct Level {
    windows: Vec<Window>,
    latencies: Vec<Option<WindowLatency>>,
    /// The first half of the next window of the level above.
    half: Option<OpenWindow>,
}

#[derive(Debug, Default)]
struct OpenWindow {
    completed: u64,
    errors: u64,
    latency: Option<Box<DurationHistogram>>,
}

impl OpenWindow {
    fn merge(self, later: Self) -> Self {
        let latency = match (self.latency, later.latency) {
            (Some(mut times), Some(more)) => {
                *times += &*more;
                Some(times)
            }
            (times, more) => times.or(more),
        };
        let completed = self.completed + later.completed;
        Self { completed, errors: self.errors + later.errors, latency }
    }

    fn summarize(&self) -> Window {
        let quantiles = self.latency.as_ref().and_then(|times| times.quantiles([0.5, 0.99]));
        let [p50, p99] = quantiles.map_or([None; 2], |quantiles| quantiles.map(Some));
        Window { completed: self.completed, errors: self.errors, p50, p99 }
    }

    fn encode_latency(&self) -> Option<WindowLatency> {
        let times = self.latency.as_ref()?;
        let censored = (times.censored() > 0).then(|| times.encode_censored());
        Some(WindowLatency { all: times.encode(), censored })
    }
}

impl WindowSeries {
    pub(crate) fn new(workers: usize, keeps_latencies: bool) -> Self {
        Self::with_at_most(MAX_WINDOWS, workers, keeps_latencies)
    }

    fn with_at_most(most: usize, workers: usize, keeps_latencies: bool) -> Self {
        Self {
            levels: Vec::new(),
            finest: 0,
            most,
            keeps_latencies,
            closed: 0,
            recent: VecDeque::new(),
            seconds: Vec::new(),
            open: VecDeque::new(),
            next: vec![0; workers],
        }
    }

    /// Takes a worker's window; it will report none below `next` any more.
    pub(crate) fn add(&mut self, worker: usize, index: u64, next: u64, tally: &WindowStats) {
        let at = (index as usize).saturating_sub(self.closed);
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
        while self.closed < count {
            let window = self.open.pop_front().unwrap_or_default();
            self.closed += 1;
            if self.recent.len() == WINDOWS_PER_SECOND {
                self.recent.pop_front();
            }
            self.recent.push_back(window.completed);
            if self.closed.is_multiple_of(WINDOWS_PER_SECOND) {
                self.seconds.push(self.recent.iter().sum());
            }
            self.push(window);
        }
    }

    /// Adds a window of 100 ms, and the windows of the levels above that it completes.
    fn push(&mut self, window: OpenWindow) {
        let mut window = window;
        for index in 0.. {
            if self.levels.len() == index {
                self.levels.push(Level::default());
            }
            let level = &mut self.levels[index];
            if index >= self.finest {
                level.windows.push(window.summarize());
                if self.keeps_latencies {
                    level.latencies.push(window.encode_latency());
                }
                if level.windows.len() > self.most {
                    (level.windows, level.latencies) = (Vec::new(), Vec::new());
                    self.finest = index + 1;
                }
            }
            match level.half.take() {
                None => {
                    level.half = Some(window);
                    return;
                }
                Some(first) => window = first.merge(window),
            }
        }
    }

    /// The number of windows of 100 ms that are complete.
    pub(crate) fn count(&self) -> usize {
        self.closed
    }

    /// Responses in each of the newest windows of 100 ms: those of the last second.
    pub(crate) fn recent(&self) -> &VecDeque<u64> {
        &self.recent
    }

    /// The windows of a run that lasted this long, to the nearest window.
    pub(crate) fn finish(mut self, duration: Duration) -> Series {
        let windows = (duration + WINDOW / 2).as_nanos() / WINDOW.as_nanos();
        let reported = self.closed + self.open.len();
        self.close(reported.max(usize::try_from(windows).unwrap_or(usize::MAX)));
        let finest = self.finest;
        // Half windows of lower levels came later than those of higher ones.
        let rest = self.levels.drain(..finest).rev().filter_map(|level| level.half);
        let rest = rest.reduce(OpenWindow::merge);
        let Level { mut windows, mut latencies, .. } =
            self.levels.first_mut().map(std::mem::take).unwrap_or_default();
        windows.extend(rest.as_ref().map(OpenWindow::summarize));
        if self.keeps_latencies {
            latencies.extend(rest.as_ref().map(OpenWindow::encode_latency));
        }
        let whole = usize::try_from(duration.as_secs()).unwrap_or(usize::MAX);
        self.seconds.truncate(whole);
        Series { window: WINDOW * (1 << finest), windows, latencies, seconds: self.seconds }
    }
}

#[cfg(test)]
mod tests;
