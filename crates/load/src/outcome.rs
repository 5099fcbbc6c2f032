//! What a run gives: numbers only.

use std::time::Duration;

use crate::metrics::by_name::{NameCounts, NameStats};
use crate::metrics::flow_stats::{FlowStats, IterationCounts};
use crate::metrics::slowest::SlowRequest;
use crate::metrics::window_series::Series;
use crate::metrics::window_stats::WindowStats;

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Length of the measurement.
    pub duration: Duration,
    /// By how much the load began later than [`Plan::start_after`](crate::Plan::start_after).
    pub start_lateness: Duration,
    /// From the first connect to the start of the load.
    pub set_up: Duration,
    /// Requests that were sent before the measurement.
    pub warmup_requests: u64,
    /// The run was stopped from outside.
    pub interrupted: bool,
    /// Everything of the measurement, and connections from set-up on.
    pub total: WindowStats,
    /// The slowest requests that have a trace context, the slowest first.
    pub slowest: Vec<SlowRequest>,
    /// Figures by name; empty if there is one name only.
    pub names: Vec<NameStats>,
    /// Figures of flows, if the plan has some.
    pub flows: Option<FlowStats>,
    /// Its windows.
    pub series: Series,
    /// One per thread.
    pub workers: Vec<WorkerOutcome>,
    /// `|N - X·R| / N`, where N is given beforehand: closed, flat out, for a given time.
    pub little_residual: Option<f64>,
    /// Requests in flight, averaged over the measurement.
    pub mean_in_flight: f64,
    /// Times in which a worker stood still, in order and without overlaps: from the start of the measurement, and their
    /// lengths.
    pub stalls: Vec<(Duration, Duration)>,
    /// Addresses in use.
    pub addresses: Vec<String>,
    /// Addresses at which nobody answered in set-up while others did.
    pub ruled_out: Vec<String>,
}

/// What one thread had to do.
#[derive(Clone, Copy, Debug)]
pub struct WorkerOutcome {
    /// Share of the measurement in which it did not wait for events.
    pub busy: f64,
    /// Share in which it was ready to run and had no core.
    pub starved: Option<f64>,
    /// Requests that it sent.
    pub requests: u64,
}

/// The state of a run in progress.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Set-up, warm-up or measurement.
    pub phase: SnapshotPhase,
    /// Since the start of the phase.
    pub elapsed: Duration,
    /// Responses so far; in the warm-up, requests sent so far.
    pub completed: u64,
    /// Status errors, transport errors and timeouts so far.
    pub errors: u64,
    /// Of these the timeouts.
    pub timeouts: u64,
    /// Requests of the measurement that were sent so far.
    pub sent: u64,
    /// And those that were due on connections which could not be opened.
    pub connect_failed: u64,
    /// Samples of the measurement above each of the plan's bounds.
    pub above: Vec<u64>,
    /// Requests in flight.
    pub in_flight: u64,
    /// Completed per second, over the last second.
    pub throughput: f64,
    /// Median latency so far.
    pub p50: Option<Duration>,
    /// 99th percentile so far.
    pub p99: Option<Duration>,
    /// Sum of all latencies so far.
    pub latency_sum: Duration,
    /// Numbers so far by name, if the plan asks for them and there are several.
    pub names: Vec<NameCounts>,
    /// Iterations so far, if the plan has flows.
    pub iterations: Option<IterationCounts>,
}

/// The phase of a run in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotPhase {
    /// Connections are being opened.
    SetUp,
    /// Load without statistics.
    Warmup,
    /// The measurement.
    Measure,
}
