use std::collections::HashMap;
use std::time::Duration;

use super::by_name::{NativeNameCounts, NativeNameStats};
use millrace_load::metrics::duration_histogram::DurationHistogram;
use millrace_load::metrics::kept::{KeepReason, KeptResponse};
use millrace_load::metrics::unended::Unended;
use millrace_load::{Outcome, Snapshot, SnapshotPhase, Window, WorkerOutcome};
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
    /// Status below 400.
    pub ok: f64,
    /// Status 400 and above.
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
    /// Responses by status.
    pub status_codes: HashMap<String, f64>,
    /// By kind.
    pub errors: Vec<NativeErrors>,
    /// Responses to show, one of a kind.
    pub kept: Vec<NativeKeptResponse>,
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
    /// Whole distributions.
    pub histograms: NativeHistograms,
    /// Sums of the samples.
    pub sums: NativeSums,
    /// Figures by name; empty if there is one name only.
    pub names: Vec<NativeNameStats>,
    /// Distributions as points.
    pub percentiles: NativePercentiles,
}

pub(super) fn ms(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e6
}

impl From<Snapshot> for NativeSnapshot {
    fn from(snapshot: Snapshot) -> Self {
        let Snapshot {
            phase,
            elapsed,
            completed,
            errors,
            timeouts,
            sent,
            connect_failed,
            above,
            in_flight,
            throughput,
            p50,
            p99,
            latency_sum,
            names,
        } = snapshot;
        let phase = match phase {
            SnapshotPhase::SetUp => "setup",
            SnapshotPhase::Warmup => "warmup",
            SnapshotPhase::Measure => "measure",
        };
        Self {
            phase: phase.into(),
            elapsed_ms: ms(elapsed),
            completed: completed as f64,
            errors: errors as f64,
            timeouts: timeouts as f64,
            sent: sent as f64,
            connect_failed: connect_failed as f64,
            above: above.into_iter().map(|count| count as f64).collect(),
            in_flight: in_flight as f64,
            throughput,
            p50_ms: p50.map(ms),
            p99_ms: p99.map(ms),
            latency_sum_ms: ms(latency_sum),
            names: names.iter().map(NativeNameCounts::from).collect(),
        }
    }
}

impl From<&DurationHistogram> for NativeDistribution {
    fn from(times: &DurationHistogram) -> Self {
        let quantile = |q| times.quantile(q).map(ms);
        Self {
            count: times.count() as f64,
            censored: times.censored() as f64,
            min: times.min().map(ms),
            mean: times.mean().map(ms),
            stdev: times.stdev().map(ms),
            p50: quantile(0.5),
            p75: quantile(0.75),
            p90: quantile(0.9),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p99_9: quantile(0.999),
            p99_99: quantile(0.9999),
            max: times.max().map(ms),
            known: times.known(),
            supported: times.supported(),
        }
    }
}

impl From<&KeptResponse> for NativeKeptResponse {
    fn from(KeptResponse { why, request, bytes }: &KeptResponse) -> Self {
        let (status, error) = match why {
            KeepReason::Status(status) => (Some(u32::from(*status)), None),
            KeepReason::Error(kind) => (None, Some(kind.name().to_owned())),
        };
        Self { status, error, request: *request, bytes: bytes.to_vec().into() }
    }
}

impl From<&Unended> for NativeUnfinished {
    fn from(Unended { at_end, succeeding, timed_out, head, bytes }: &Unended) -> Self {
        let count = (at_end + timed_out) as f64;
        Self {
            at_end: *at_end as f64,
            succeeding: *succeeding as f64,
            timed_out: *timed_out as f64,
            head_ms: (count > 0.0).then(|| ms(*head) / count),
            bytes: *bytes as f64,
        }
    }
}

impl From<WorkerOutcome> for NativeWorker {
    fn from(WorkerOutcome { busy, starved, requests }: WorkerOutcome) -> Self {
        Self { busy, starved, requests: requests as f64 }
    }
}

impl NativeOutcome {
    /// Converts; `warmup` is the plan's.
    pub(crate) fn new(outcome: Outcome, warmup: Duration) -> Self {
        let Outcome {
            duration,
            set_up,
            warmup_requests,
            interrupted,
            total,
            series,
            workers,
            little_residual,
            mean_in_flight,
            stalls,
            addresses,
            ruled_out,
            names,
        } = outcome;
        let counts = &total.counts;
        let seconds = duration.as_secs_f64();
        let mean = if seconds > 0.0 { counts.arrived() as f64 / seconds } else { 0.0 };
        let lateness = &total.lateness;
        let lateness_ms = (lateness.count() > 0).then(|| NativeLateness {
            p50: lateness.quantile(0.5).map_or(0.0, ms),
            p99: lateness.quantile(0.99).map_or(0.0, ms),
            max: lateness.max().map_or(0.0, ms),
        });
        let points = |times: &DurationHistogram| {
            times.points().into_iter().map(|(percentile, at)| vec![percentile, ms(at)]).collect()
        };
        Self {
            duration_ms: ms(duration),
            setup_ms: ms(set_up),
            interrupted,
            addresses,
            refused_addresses: ruled_out,
            warmup: NativeWarmup {
                duration_ms: ms(warmup),
                requests: warmup_requests as f64,
                completed_later: counts.completed_of_warmup as f64,
            },
            requests: NativeRequests {
                sent: counts.sent as f64,
                followed: counts.followed as f64,
                ok: counts.ok as f64,
                status_errors: counts.status_errors as f64,
                transport_errors: counts.transport_errors as f64,
                timeouts: counts.timeouts as f64,
                in_flight_at_end: counts.in_flight_at_end as f64,
                not_sent: NativeNotSent {
                    overflow: counts.overflow as f64,
                    queued_at_end: counts.queued_at_end as f64,
                    connect_failed: counts.connect_failed as f64,
                },
            },
            unfinished: (&counts.unended).into(),
            throughput: NativeThroughput { mean, stdev: deviation(&series.seconds) },
            latency_ms: (&total.latency).into(),
            service_time_ms: (&total.service_time).into(),
            gap_ms: (&total.gap).into(),
            connect_ms: (&total.connect).into(),
            tls_ms: (&total.tls).into(),
            connections: NativeConnections {
                opened: counts.opened as f64,
                reused: counts.reused as f64,
                tls_full: counts.tls_full as f64,
                tls_resumed: counts.tls_resumed as f64,
                failed: counts.failed as f64,
                broken: counts.broken as f64,
                closed_by_server: counts.closed_by_server as f64,
                unanswered_on_reuse: counts.unanswered_on_reuse as f64,
            },
            status_codes: counts
                .statuses()
                .map(|(status, count)| (status.to_string(), count as f64))
                .collect(),
            errors: counts
                .errors()
                .map(|(kind, count, example)| NativeErrors {
                    kind: kind.name().into(),
                    count: count as f64,
                    example: example.map(str::to_owned),
                })
                .collect(),
            kept: total.kept.iter().map(NativeKeptResponse::from).collect(),
            bytes: NativeBytes {
                sent: counts.bytes_sent as f64,
                received: counts.bytes_received as f64,
            },
            generator: NativeGenerator {
                busy: workers.iter().map(|worker| worker.busy).fold(0.0, f64::max),
                starved: workers.iter().filter_map(|worker| worker.starved).reduce(f64::max),
                lateness_ms,
                stalls: stalls
                    .into_iter()
                    .map(|(at, length)| NativeStall { at_ms: ms(at), duration_ms: ms(length) })
                    .collect(),
                stalled_samples: counts.stalled as f64,
                stalled_max_ms: ms(counts.longest_stalled),
                little_residual,
                workers: workers.into_iter().map(NativeWorker::from).collect(),
            },
            mean_in_flight,
            window_ms: ms(series.window),
            series: (0..)
                .zip(&series.windows)
                .map(|(index, window)| to_window(index, window, series.window))
                .collect(),
            histograms: NativeHistograms {
                latency: total.latency.encode(),
                latency_censored: total.latency.encode_censored(),
                service_time: total.service_time.encode(),
                service_time_censored: total.service_time.encode_censored(),
                gap: total.gap.encode(),
                gap_censored: total.gap.encode_censored(),
                connect: total.connect.encode(),
                tls: total.tls.encode(),
            },
            sums: NativeSums {
                latency: nanos(&total.latency),
                service_time: nanos(&total.service_time),
                gap: nanos(&total.gap),
                connect: nanos(&total.connect),
                tls: nanos(&total.tls),
            },
            names: names.iter().map(NativeNameStats::from).collect(),
            percentiles: NativePercentiles {
                latency: points(&total.latency),
                service_time: points(&total.service_time),
            },
        }
    }
}

/// The exact sum: more than a number of JavaScript may hold.
fn nanos(times: &DurationHistogram) -> String {
    times.sum_nanos().to_string()
}

fn to_window(index: u32, window: &Window, length: Duration) -> NativeWindow {
    let Window { completed, errors, p50, p99 } = *window;
    NativeWindow {
        t_ms: f64::from(index) * ms(length),
        completed: completed as f64,
        errors: errors as f64,
        p50_ms: p50.map(ms),
        p99_ms: p99.map(ms),
    }
}

/// Standard deviation of the completed requests per whole second.
fn deviation(seconds: &[u64]) -> Option<f64> {
    if seconds.len() < 2 {
        return None;
    }
    let number = seconds.len() as f64;
    let mean = seconds.iter().sum::<u64>() as f64 / number;
    let squares: f64 = seconds.iter().map(|second| (*second as f64 - mean).powi(2)).sum();
    Some((squares / (number - 1.0)).sqrt())
}
