//! Conversion of an outcome and of snapshots from the engine's types.

use std::time::Duration;

use millrace_load::metrics::duration_histogram::DurationHistogram;
use millrace_load::metrics::kept::{KeepReason, KeptResponse};
use millrace_load::metrics::slowest::{RequestEnd, SlowRequest};
use millrace_load::metrics::unended::Unended;
use millrace_load::{Outcome, Snapshot, SnapshotPhase, Window, WindowLatency, WorkerOutcome};

use super::{
    NativeBytes, NativeConnections, NativeDistribution, NativeErrors, NativeGenerator,
    NativeHistograms, NativeKeptResponse, NativeLateness, NativeNotSent, NativeOutcome,
    NativePercentiles, NativeRequests, NativeSlowRequest, NativeSnapshot, NativeStall, NativeSums,
    NativeThroughput, NativeUnfinished, NativeWarmup, NativeWindow, NativeWindowLatency,
    NativeWindowWaits, NativeWorker, ms,
};
use crate::load::by_name::{NativeNameCounts, NativeNameStats};
use crate::load::durations::to_points;
use crate::load::flow_outcome::{NativeFlowOutcome, NativeIterationCounts};

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
            iterations,
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
            iterations: iterations.as_ref().map(NativeIterationCounts::from),
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

impl From<&SlowRequest> for NativeSlowRequest {
    fn from(SlowRequest { trace_id, latency, request, end }: &SlowRequest) -> Self {
        let (status, error) = match end {
            RequestEnd::Status(status) => (Some(u32::from(*status)), None),
            RequestEnd::Error(kind) => (None, Some(kind.name().to_owned())),
            RequestEnd::InFlight => (None, None),
        };
        let trace_id = format!("{trace_id:032x}");
        Self { trace_id, latency_ms: ms(*latency), request: *request, status, error }
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
            start_lateness,
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
            slowest,
            names,
            flows,
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
        Self {
            duration_ms: ms(duration),
            start_lateness_ms: ms(start_lateness),
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
                http1: counts.opened.saturating_sub(counts.http2) as f64,
                http2: counts.http2 as f64,
                goaway: counts.goaway as f64,
                max_concurrent_streams: counts.max_streams,
            },
            messages: counts.messages as f64,
            window_waits: NativeWindowWaits {
                requests: counts.window_waited as f64,
                total_ms: ms(counts.window_wait),
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
            slowest: slowest.iter().map(NativeSlowRequest::from).collect(),
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
            window_latencies: series.latencies.into_iter().map(to_window_latency).collect(),
            histograms: NativeHistograms {
                latency: total.latency.encode(),
                latency_censored: total.latency.encode_censored(),
                service_time: total.service_time.encode(),
                service_time_censored: total.service_time.encode_censored(),
                gap: total.gap.encode(),
                gap_censored: total.gap.encode_censored(),
                connect: total.connect.encode(),
                tls: total.tls.encode(),
                lateness: (lateness.count() > 0).then(|| lateness.encode()),
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
                latency: to_points(&total.latency),
                service_time: to_points(&total.service_time),
            },
            flows: flows.as_ref().map(NativeFlowOutcome::from),
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

fn to_window_latency(latency: Option<WindowLatency>) -> NativeWindowLatency {
    match latency {
        Some(WindowLatency { all, censored }) => NativeWindowLatency { all: Some(all), censored },
        None => NativeWindowLatency { all: None, censored: None },
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
