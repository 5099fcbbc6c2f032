//! The results of a run, as JavaScript receives them.

mod conversion;

use std::collections::HashMap;
use std::time::Duration;

use super::by_name::{NativeNameCounts, NativeNameStats};
use super::flow_outcome::{NativeFlowOutcome, NativeIterationCounts};
use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

/// The state of a run in progress.
#[napi(object)]
pub struct NativeSnapshot {
    /// `setup`, `warmup` or `measure`.
    pub phase: String,
    /// Since the start of the phase.
    pub elapsed_ms: f64,
    /// Responses so far.
    pub completed: f64,
    /// Failures so far.
    pub errors: f64,
    /// Of these the timeouts.
    pub timeouts: f64,
    /// Requests of the measurement so far.
    pub sent: f64,
    /// Not sent for want of a connection.
    pub connect_failed: f64,
    /// Samples above each of the plan's bounds.
    pub above: Vec<f64>,
    /// Requests in flight.
    pub in_flight: f64,
    /// Completed per second, over the last second.
    pub throughput: f64,
    /// Median latency so far.
    pub p50_ms: Option<f64>,
    /// 99th percentile so far.
    pub p99_ms: Option<f64>,
    /// Sum of all latencies so far.
    pub latency_sum_ms: f64,
    /// Numbers so far by name, if the plan asks for them and there are several.
    pub names: Vec<NativeNameCounts>,
    /// Iterations so far, if the plan has flows.
    pub iterations: Option<NativeIterationCounts>,
}

/// A distribution in milliseconds; what has no sample is absent.
#[napi(object)]
pub struct NativeDistribution {
    /// Samples.
    pub count: f64,
    /// Samples that entered at their age.
    pub censored: f64,
    /// Of the samples that are not censored.
    pub min: Option<f64>,
    /// Mean.
    pub mean: Option<f64>,
    /// Standard deviation.
    pub stdev: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 75th percentile.
    pub p75: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    #[napi(js_name = "p99_9")]
    pub p99_9: Option<f64>,
    /// 99.99th percentile.
    #[napi(js_name = "p99_99")]
    pub p99_99: Option<f64>,
    /// Longest, censored or not.
    pub max: Option<f64>,
    /// Share up to which percentiles are known; mean, standard deviation and longest are bounds below 1.
    pub known: f64,
    /// Share up to which ten samples lie above a percentile.
    pub supported: f64,
}

/// Load before the measurement.
#[napi(object)]
pub struct NativeWarmup {
    /// Its length.
    pub duration_ms: f64,
    /// Requests that were sent in it.
    pub requests: f64,
    /// Responses to them that came in the measurement.
    pub completed_later: f64,
}

/// Requests that were due and not sent.
#[napi(object)]
pub struct NativeNotSent {
    /// Over the bound.
    pub overflow: f64,
    /// Waiting at the end.
    pub queued_at_end: f64,
    /// No connection.
    pub connect_failed: f64,
}

/// How the requests ended.
#[napi(object)]
pub struct NativeRequests {
    /// First byte sent.
    pub sent: f64,
    /// Redirections that were followed, beyond those.
    pub followed: f64,
    /// A status of a success.
    pub ok: f64,
    /// Another status.
    pub status_errors: f64,
    /// Failed on the way.
    pub transport_errors: f64,
    /// Not answered within the limit.
    pub timeouts: f64,
    /// Not ended when the run ended.
    pub in_flight_at_end: f64,
    /// Due and not sent.
    pub not_sent: NativeNotSent,
}

/// Responses that had begun and not ended.
#[napi(object)]
pub struct NativeUnfinished {
    /// In flight when the run ended.
    pub at_end: f64,
    /// Of these, with a status of a success.
    pub succeeding: f64,
    /// Cut off by the time limit.
    pub timed_out: f64,
    /// First byte of the request to that of the response, on average.
    pub head_ms: Option<f64>,
    /// Bytes received.
    pub bytes: f64,
}

/// Completed requests per second.
#[napi(object)]
pub struct NativeThroughput {
    /// Over the measurement.
    pub mean: f64,
    /// Over whole seconds; absent with fewer than two.
    pub stdev: Option<f64>,
}

/// What happened to connections.
#[napi(object)]
pub struct NativeConnections {
    /// Became ready.
    pub opened: f64,
    /// Requests on a connection that had carried one before.
    pub reused: f64,
    /// Full handshakes.
    pub tls_full: f64,
    /// Resumed handshakes.
    pub tls_resumed: f64,
    /// Attempts that failed.
    pub failed: f64,
    /// Failed while no request was under way on them.
    pub broken: f64,
    /// To be kept, and ended by the server.
    pub closed_by_server: f64,
    /// Transport errors of connections that had answered before, without a byte of the response.
    pub unanswered_on_reuse: f64,
    /// Of those that became ready: HTTP/1.1.
    pub http1: f64,
    /// HTTP/2.
    pub http2: f64,
    /// With GOAWAY.
    pub goaway: f64,
    /// The smallest MAX_CONCURRENT_STREAMS of a server.
    pub max_concurrent_streams: Option<u32>,
}

/// Requests whose bodies waited for a window of the server.
#[napi(object)]
pub struct NativeWindowWaits {
    /// How many.
    pub requests: f64,
    /// For how long in all.
    pub total_ms: f64,
}

/// Errors of one kind.
#[napi(object)]
pub struct NativeErrors {
    /// One of the public kinds.
    pub kind: String,
    /// How many.
    pub count: f64,
    /// One of them in words.
    pub example: Option<String>,
}

/// A response that was kept as it came: the first of its kind.
#[napi(object, object_from_js = false)]
pub struct NativeKeptResponse {
    /// Of a complete response.
    pub status: Option<u32>,
    /// The kind of the error that broke it off.
    pub error: Option<String>,
    /// Index of the request in the plan.
    pub request: u32,
    /// Its first bytes, interim responses before it included.
    pub bytes: Buffer,
}

/// A slow request that has a trace context.
#[napi(object)]
pub struct NativeSlowRequest {
    /// 32 hexadecimal digits.
    pub trace_id: String,
    /// Milliseconds; of one without a complete response its age.
    pub latency_ms: f64,
    /// Index of the request in the plan.
    pub request: u32,
    /// Of a complete response.
    pub status: Option<u32>,
    /// The kind of the error that ended it; absent too if it was in flight at the end.
    pub error: Option<String>,
}

/// Bytes of HTTP.
#[napi(object)]
pub struct NativeBytes {
    /// Requests.
    pub sent: f64,
    /// Responses.
    pub received: f64,
}

/// The generator's own lateness.
#[napi(object)]
pub struct NativeLateness {
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Longest.
    pub max: f64,
}

/// One thread of the engine.
#[napi(object)]
pub struct NativeWorker {
    /// Share of the time in which it did not wait.
    pub busy: f64,
    /// Share in which it had no core.
    pub starved: Option<f64>,
    /// Requests that it sent.
    pub requests: f64,
}

/// Time in which the generator stood still.
#[napi(object)]
pub struct NativeStall {
    /// From the start of the measurement.
    pub at_ms: f64,
    /// Its length.
    pub duration_ms: f64,
}

/// The generator about itself.
#[napi(object)]
pub struct NativeGenerator {
    /// Of the busiest worker.
    pub busy: f64,
    /// Of the most starved worker.
    pub starved: Option<f64>,
    /// Absent where nothing was scheduled.
    pub lateness_ms: Option<NativeLateness>,
    /// Times in which a thread stood still.
    pub stalls: Vec<NativeStall>,
    /// Samples that contain such a time.
    pub stalled_samples: f64,
    /// The longest latency among them.
    pub stalled_max_ms: f64,
    /// Little's law.
    pub little_residual: Option<f64>,
    /// One per thread.
    pub workers: Vec<NativeWorker>,
}

/// A window.
#[napi(object)]
pub struct NativeWindow {
    /// Its start.
    pub t_ms: f64,
    /// Responses.
    pub completed: f64,
    /// Failures.
    pub errors: f64,
    /// Median latency.
    pub p50_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
}

/// The latencies of one window, in HdrHistogram's V2 format, base64, nanoseconds.
#[napi(object)]
pub struct NativeWindowLatency {
    /// All samples; absent without one.
    pub all: Option<String>,
    /// Of these the censored ones; absent without one.
    pub censored: Option<String>,
}

/// Distributions in HdrHistogram's V2 format, base64, nanoseconds.
#[napi(object)]
pub struct NativeHistograms {
    /// Done minus intended.
    pub latency: String,
    /// Of these the censored ones.
    pub latency_censored: String,
    /// Done minus sent.
    pub service_time: String,
    /// Of these the censored ones.
    pub service_time_censored: String,
    /// First byte to last byte.
    pub gap: String,
    /// Of these the censored ones.
    pub gap_censored: String,
    /// Connects.
    pub connect: String,
    /// Handshakes.
    pub tls: String,
    /// The generator's own delays; absent where nothing was scheduled.
    pub lateness: Option<String>,
}

/// Exact sums of all samples, in nanoseconds as decimal digits.
#[napi(object)]
pub struct NativeSums {
    /// Done minus intended.
    pub latency: String,
    /// Done minus sent.
    pub service_time: String,
    /// First byte to last byte.
    pub gap: String,
    /// Connects.
    pub connect: String,
    /// Handshakes.
    pub tls: String,
}

/// Points (percentile, milliseconds).
#[napi(object)]
pub struct NativePercentiles {
    /// Done minus intended.
    pub latency: Vec<Vec<f64>>,
    /// Done minus sent.
    pub service_time: Vec<Vec<f64>>,
}

/// The result of a run.
#[napi(object, object_from_js = false)]
pub struct NativeOutcome {
    /// Length of the measurement.
    pub duration_ms: f64,
    /// By how much the load began later than planned.
    pub start_lateness_ms: f64,
    /// From the first connect to the start of the load.
    pub setup_ms: f64,
    /// Stopped from outside.
    pub interrupted: bool,
    /// In use.
    pub addresses: Vec<String>,
    /// Nobody answered there in set-up, while others did.
    pub refused_addresses: Vec<String>,
    /// Before the measurement.
    pub warmup: NativeWarmup,
    /// How the requests ended.
    pub requests: NativeRequests,
    /// Responses that had begun and not ended.
    pub unfinished: NativeUnfinished,
    /// Completed per second.
    pub throughput: NativeThroughput,
    /// Done minus intended.
    pub latency_ms: NativeDistribution,
    /// Done minus sent.
    pub service_time_ms: NativeDistribution,
    /// First byte to last byte of the responses that came in parts.
    pub gap_ms: NativeDistribution,
    /// Connects.
    pub connect_ms: NativeDistribution,
    /// Handshakes.
    pub tls_ms: NativeDistribution,
    /// What happened to connections.
    pub connections: NativeConnections,
    /// Messages of gRPC in responses.
    pub messages: f64,
    /// Waits for windows of HTTP/2.
    pub window_waits: NativeWindowWaits,
    /// Responses by status.
    pub status_codes: HashMap<String, f64>,
    /// By kind.
    pub errors: Vec<NativeErrors>,
    /// Responses to show, one of a kind.
    pub kept: Vec<NativeKeptResponse>,
    /// The slowest requests that have a trace context, the slowest first.
    pub slowest: Vec<NativeSlowRequest>,
    /// Bytes of HTTP.
    pub bytes: NativeBytes,
    /// The generator about itself.
    pub generator: NativeGenerator,
    /// Requests in flight, averaged.
    pub mean_in_flight: f64,
    /// Length of the windows.
    pub window_ms: f64,
    /// Windows of that length.
    pub series: Vec<NativeWindow>,
    /// The latencies of each window, if the plan asks for them.
    pub window_latencies: Vec<NativeWindowLatency>,
    /// Whole distributions.
    pub histograms: NativeHistograms,
    /// Sums of the samples.
    pub sums: NativeSums,
    /// Figures by name; empty if there is one name only.
    pub names: Vec<NativeNameStats>,
    /// Distributions as points.
    pub percentiles: NativePercentiles,
    /// Figures of flows, if the plan has some.
    pub flows: Option<NativeFlowOutcome>,
}

pub(super) fn ms(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e6
}
