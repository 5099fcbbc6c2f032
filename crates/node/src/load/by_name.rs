use std::collections::HashMap;

use millrace_load::metrics::by_name::{NameCounts, NameStats};
use napi_derive::napi;

use super::outcome::{
    NativeDistribution, NativeErrors, NativeKeptResponse, NativeNotSent, NativeUnfinished, ms,
};

/// Numbers of the requests with one name.
#[napi(object)]
pub struct NativeNameCounts {
    /// First byte sent.
    pub sent: f64,
    /// A success.
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
    /// Bytes of the requests.
    pub bytes_sent: f64,
    /// Bytes of the responses.
    pub bytes_received: f64,
    /// Sum of the latencies of those that ended.
    pub latency_sum_ms: f64,
    /// Responses by status.
    pub status_codes: HashMap<String, f64>,
    /// By kind.
    pub errors: Vec<NativeErrors>,
    /// Samples above each of the plan's bounds; empty at the end of the run.
    pub above: Vec<f64>,
}

/// Figures of the requests with one name.
#[napi(object, object_from_js = false)]
pub struct NativeNameStats {
    /// Numbers.
    pub counts: NativeNameCounts,
    /// Responses that had begun and not ended.
    pub unfinished: NativeUnfinished,
    /// Sum of the service times.
    pub service_time_sum_ms: f64,
    /// Done minus intended.
    pub latency_ms: NativeDistribution,
    /// Done minus sent.
    pub service_time_ms: NativeDistribution,
    /// The first response that was no success, or was broken off.
    pub failing: Option<NativeKeptResponse>,
    /// Whole distributions.
    pub histograms: NativeNameHistograms,
    /// Sums of the samples.
    pub sums: NativeNameSums,
}

/// Exact sums of the samples of one name, in nanoseconds as decimal digits.
#[napi(object)]
pub struct NativeNameSums {
    /// Done minus intended.
    pub latency: String,
    /// Done minus sent.
    pub service_time: String,
}

/// Distributions of one name, as those of all requests.
#[napi(object)]
pub struct NativeNameHistograms {
    /// Done minus intended.
    pub latency: String,
    /// Of these the censored ones.
    pub latency_censored: String,
    /// Done minus sent.
    pub service_time: String,
    /// Of these the censored ones.
    pub service_time_censored: String,
}

impl From<&NameCounts> for NativeNameCounts {
    fn from(counts: &NameCounts) -> Self {
        let statuses = counts.statuses.iter();
        let errors = counts.errors().map(|(kind, count)| NativeErrors {
            kind: kind.name().into(),
            count: count as f64,
            example: None,
        });
        Self {
            sent: counts.sent as f64,
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
            bytes_sent: counts.bytes_sent as f64,
            bytes_received: counts.bytes_received as f64,
            latency_sum_ms: ms(counts.latency),
            status_codes: statuses.map(|(code, count)| (code.to_string(), *count as f64)).collect(),
            errors: errors.collect(),
            above: counts.above.iter().map(|count| *count as f64).collect(),
        }
    }
}

impl From<&NameStats> for NativeNameStats {
    fn from(stats: &NameStats) -> Self {
        // Two dense histograms at a time: one name after the other.
        let latency = stats.latency.to_histogram();
        let service_time = stats.service_time.to_histogram();
        Self {
            counts: (&stats.counts).into(),
            unfinished: (&stats.unended).into(),
            service_time_sum_ms: ms(service_time.total()),
            latency_ms: (&latency).into(),
            service_time_ms: (&service_time).into(),
            failing: stats.failing.as_ref().map(NativeKeptResponse::from),
            histograms: NativeNameHistograms {
                latency: latency.encode(),
                latency_censored: latency.encode_censored(),
                service_time: service_time.encode(),
                service_time_censored: service_time.encode_censored(),
            },
            sums: NativeNameSums {
                latency: latency.sum_nanos().to_string(),
                service_time: service_time.sum_nanos().to_string(),
            },
        }
    }
}
