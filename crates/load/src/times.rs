//! A distribution of durations.

use std::ops::AddAssign;
use std::time::Duration;

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};

/// The longest duration that is told apart: 1 h. Longer ones count as this long.
const LONGEST: u64 = 3_600_000_000_000;

/// Durations in an HDR histogram (nanoseconds, 3 significant digits), with what it does not keep: the
/// exact sum, and which samples are censored. Its size does not depend on the number of samples.
#[derive(Clone, Debug)]
pub struct Times {
    histogram: Histogram<u64>,
    /// Nanoseconds.
    sum: u128,
    /// Samples whose true value is at least the recorded one.
    censored: u64,
    /// Of the samples that are not censored; `u64::MAX` without any.
    min: u64,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            histogram: Histogram::new_with_bounds(1, LONGEST, 3)
                .unwrap_or_else(|error| unreachable!("constant bounds: {error}")),
            sum: 0,
            censored: 0,
            min: u64::MAX,
        }
    }
}

impl Times {
    /// Adds a duration that was seen to its end.
    pub fn record(&mut self, duration: Duration) {
        let nanos = self.add(duration);
        self.min = self.min.min(nanos);
    }

    /// Adds the age of something that had not ended.
    pub fn record_censored(&mut self, age: Duration) {
        self.add(age);
        self.censored += 1;
    }

    fn add(&mut self, duration: Duration) -> u64 {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(LONGEST).min(LONGEST);
        self.histogram.saturating_record(nanos);
        self.sum += u128::from(nanos);
        nanos
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        if self.count() > 0 {
            self.histogram.reset();
        }
        (self.sum, self.censored, self.min) = (0, 0, u64::MAX);
    }

    /// Number of samples.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Number of censored samples.
    #[must_use]
    pub fn censored(&self) -> u64 {
        self.censored
    }

    /// Sum of all samples.
    #[must_use]
    pub fn total(&self) -> Duration {
        Duration::from_nanos(u64::try_from(self.sum).unwrap_or(u64::MAX))
    }

    /// The shortest sample that is not censored.
    #[must_use]
    pub fn min(&self) -> Option<Duration> {
        (self.min != u64::MAX).then(|| Duration::from_nanos(self.min))
    }

    /// The longest sample, to the histogram's precision.
    #[must_use]
    pub fn max(&self) -> Option<Duration> {
        (self.count() > 0).then(|| Duration::from_nanos(self.histogram.max()))
    }

    /// The mean of all samples.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.sum.checked_div(u128::from(self.count()))?;
        Some(Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)))
    }

    /// The standard deviation of all samples, to the histogram's precision.
    #[must_use]
    pub fn stdev(&self) -> Option<Duration> {
        (self.count() > 0).then(|| Duration::from_nanos(self.histogram.stdev() as u64))
    }

    /// The value below which a share of the samples lies; `quantile` in [0, 1].
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> Option<Duration> {
        (self.count() > 0).then(|| Duration::from_nanos(self.histogram.value_at_quantile(quantile)))
    }

    /// Points (percentile, value) for a plot: evenly spaced in the number of nines.
    #[must_use]
    pub fn points(&self) -> Vec<(f64, Duration)> {
        const PER_HALVING: u32 = 25;
        self.histogram
            .iter_quantiles(PER_HALVING)
            .map(|step| (step.quantile() * 100.0, Duration::from_nanos(step.value_iterated_to())))
            .collect()
    }

    /// HdrHistogram's V2 format, compressed, in base64.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut bytes = Vec::new();
        // Writing into memory does not fail.
        let _ = V2DeflateSerializer::new().serialize(&self.histogram, &mut bytes);
        base64::engine::general_purpose::STANDARD.encode(bytes)
    }
}

impl AddAssign<&Self> for Times {
    fn add_assign(&mut self, other: &Self) {
        if other.count() > 0 {
            self.histogram
                .add(&other.histogram)
                .unwrap_or_else(|error| unreachable!("equal bounds: {error}"));
        }
        self.sum += other.sum;
        self.censored += other.censored;
        self.min = self.min.min(other.min);
    }
}
