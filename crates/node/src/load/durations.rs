use millrace_load::metrics::duration_histogram::DurationHistogram;
use millrace_load::metrics::sparse_durations::SparseDurations;
use millrace_load::metrics::stored::StoredDurations;
use napi::{Error, Result};
use napi_derive::napi;

use super::outcome::{NativeDistribution, ms};

/// A distribution as a result has it.
#[napi(object)]
pub struct NativeStoredDurations {
    /// All samples, in HdrHistogram's V2 format, base64, nanoseconds.
    pub all: String,
    /// Of these the censored ones; absent: none.
    pub censored: Option<String>,
    /// The exact sum of all samples in nanoseconds, as decimal digits; absent: not known.
    pub sum: Option<String>,
    /// The shortest sample that is not censored, in nanoseconds; absent: not known, or none.
    pub min_ns: Option<f64>,
}

/// The figures of distributions that were added up.
#[napi(object, object_from_js = false)]
pub struct NativeMergedDurations {
    /// Figures.
    pub ms: NativeDistribution,
    /// All samples.
    pub all: String,
    /// Of these the censored ones.
    pub censored: String,
    /// The exact sum of all samples in nanoseconds, as decimal digits.
    pub sum: String,
    /// Points (percentile, milliseconds).
    pub points: Vec<Vec<f64>>,
}

/// The figures of the latencies of a window.
#[napi(object, object_from_js = false)]
pub struct NativeMergedWindow {
    /// Median; absent without a sample.
    pub p50_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// All samples.
    pub all: String,
    /// Of these the censored ones; absent without one.
    pub censored: Option<String>,
}

/// Distributions of several results, added up.
#[napi]
#[derive(Default)]
pub struct NativeDurations {
    sum: SparseDurations,
}

#[napi]
impl NativeDurations {
    /// Without a sample.
    #[napi(constructor)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a stored distribution and returns the number of its samples; throws an error with its fault if it is damaged, and nothing is added then.
    #[napi]
    pub fn add(&mut self, stored: NativeStoredDurations) -> Result<f64> {
        let NativeStoredDurations { all, censored, sum, min_ns } = stored;
        let stored = StoredDurations {
            all: &all,
            censored: censored.as_deref(),
            sum: sum.as_deref(),
            // Nanoseconds, which are below 2^53.
            min: min_ns.map(|nanos| nanos as u64),
        };
        let added = self.sum.add_stored(&stored);
        added.map(|samples| samples as f64).map_err(|fault| Error::from_reason(fault.to_string()))
    }

    /// Adds the samples of another sum.
    // The macro knows no `Self` in arguments.
    #[napi]
    pub fn merge(&mut self, other: &NativeDurations) {
        self.sum += &other.sum;
    }

    /// The figures and the encoded histograms of all samples.
    #[napi]
    #[must_use]
    pub fn figures(&self) -> NativeMergedDurations {
        let times = self.sum.to_histogram();
        NativeMergedDurations {
            ms: (&times).into(),
            all: times.encode(),
            censored: times.encode_censored(),
            sum: times.sum_nanos().to_string(),
            points: to_points(&times),
        }
    }

    /// The figures of a window.
    #[napi]
    #[must_use]
    pub fn window(&self) -> NativeMergedWindow {
        let times = self.sum.to_histogram();
        let [p50_ms, p99_ms] = times
            .quantiles([0.5, 0.99])
            .map_or([None; 2], |times| times.map(|time| Some(ms(time))));
        let censored = (times.censored() > 0).then(|| times.encode_censored());
        NativeMergedWindow { p50_ms, p99_ms, all: times.encode(), censored }
    }
}

/// Points of a distribution, as JavaScript receives them.
pub(super) fn to_points(times: &DurationHistogram) -> Vec<Vec<f64>> {
    times.points().into_iter().map(|(percentile, at)| vec![percentile, ms(at)]).collect()
}
