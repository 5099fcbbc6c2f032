//! A distribution of durations.

use std::ops::AddAssign;
use std::time::Duration;

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};

use crate::metrics::estimate::Estimate;

/// Maximum duration in nanoseconds: 1 h. Longer ones count as this long.
pub(crate) const MAX_NANOS: u64 = 3_600_000_000_000;

/// Durations in HDR histograms (nanoseconds, 3 significant digits), one of all samples and one of those
/// that are censored, with the exact sum. Its size does not depend on the number of samples. Figures are
/// estimates of the durations themselves, not of what was seen of them.
#[derive(Clone, Debug)]
pub struct DurationHistogram {
    all: Histogram<u64>,
    /// Samples whose true value is at least the recorded one; `None` before the first.
    censored: Option<Box<Histogram<u64>>>,
    /// Of all samples, nanoseconds.
    sum: u128,
    /// Of the samples that are not censored; `u64::MAX` without any.
    min: u64,
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, MAX_NANOS, 3)
        .unwrap_or_else(|error| unreachable!("constant bounds: {error}"))
}

fn add(to: &mut Histogram<u64>, other: &Histogram<u64>) {
    to.add(other).unwrap_or_else(|error| unreachable!("equal bounds: {error}"));
}

impl Default for DurationHistogram {
    fn default() -> Self {
        Self { all: histogram(), censored: None, sum: 0, min: u64::MAX }
    }
}

impl DurationHistogram {
    /// Returns a histogram of samples that were counted elsewhere: durations in nanoseconds with their numbers, those of
    /// the censored ones again, the exact sum, and the least one that is not censored.
    pub(crate) fn from_counts(
        all: impl Iterator<Item = (u64, u64)>,
        censored: impl Iterator<Item = (u64, u64)>,
        sum: u128,
        min: Option<u64>,
    ) -> Self {
        let mut times = Self { sum, min: min.unwrap_or(u64::MAX), ..Self::default() };
        for (nanos, count) in all {
            times.all.saturating_record_n(nanos, count);
        }
        for (nanos, count) in censored {
            times
                .censored
                .get_or_insert_with(|| Box::new(histogram()))
                .saturating_record_n(nanos, count);
        }
        times
    }

    /// Adds a duration that was observed to its end.
    pub fn record(&mut self, duration: Duration) {
        let nanos = self.add(duration);
        self.min = self.min.min(nanos);
    }

    /// Adds the age of a request that has not ended (a censored sample).
    pub fn record_censored(&mut self, age: Duration) {
        let nanos = self.add(age);
        self.censored.get_or_insert_with(|| Box::new(histogram())).saturating_record(nanos);
    }

    fn add(&mut self, duration: Duration) -> u64 {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(MAX_NANOS).min(MAX_NANOS);
        self.all.saturating_record(nanos);
        self.sum += u128::from(nanos);
        nanos
    }

    /// Removes all samples; keeps the memory.
    pub fn clear(&mut self) {
        if self.count() > 0 {
            self.all.reset();
        }
        if let Some(censored) = self.censored.as_mut().filter(|censored| !censored.is_empty()) {
            censored.reset();
        }
        (self.sum, self.min) = (0, u64::MAX);
    }

    /// Returns the number of samples.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.all.len()
    }

    /// Returns the number of censored samples.
    #[must_use]
    pub fn censored(&self) -> u64 {
        self.censored.as_ref().map_or(0, |censored| censored.len())
    }

    /// Sum of all samples, of the censored ones their ages.
    #[must_use]
    pub fn total(&self) -> Duration {
        Duration::from_nanos(u64::try_from(self.sum).unwrap_or(u64::MAX))
    }

    /// The exact sum of all samples in nanoseconds, of the censored ones their ages.
    #[must_use]
    pub fn sum_nanos(&self) -> u128 {
        self.sum
    }

    /// The shortest sample that is not censored.
    #[must_use]
    pub fn min(&self) -> Option<Duration> {
        (self.min != u64::MAX).then(|| Duration::from_nanos(self.min))
    }

    /// The longest sample, censored or not, to the histogram's precision.
    #[must_use]
    pub fn max(&self) -> Option<Duration> {
        (self.count() > 0).then(|| Duration::from_nanos(self.all.max()))
    }

    /// The mean duration: exact without censored samples, else to the histogram's precision. Restricted to
    /// `max` where `known` is below 1.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        if self.censored() > 0 {
            return Some(Duration::from_nanos(self.estimate().mean().round() as u64));
        }
        let mean = self.sum.checked_div(u128::from(self.count()))?;
        Some(Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)))
    }

    /// The standard deviation, to the histogram's precision. Restricted where the mean is.
    #[must_use]
    pub fn stdev(&self) -> Option<Duration> {
        (self.count() > 0).then(|| Duration::from_nanos(self.estimate().stdev() as u64))
    }

    /// The duration that a share of them does not exceed; `quantile` in [0, 1]. Above `known` it is `max`,
    /// and the truth at least that.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> Option<Duration> {
        self.quantiles([quantile]).map(|[duration]| duration)
    }

    /// Returns the number of samples above a time, without those that the histogram cannot distinguish from it.
    #[must_use]
    pub fn above(&self, time: Duration) -> u64 {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(MAX_NANOS).min(MAX_NANOS);
        self.all.count_between(self.all.next_non_equivalent(nanos), u64::MAX)
    }

    /// Returns several quantiles.
    #[must_use]
    pub fn quantiles<const N: usize>(&self, quantiles: [f64; N]) -> Option<[Duration; N]> {
        let estimate = (self.count() > 0).then(|| self.estimate())?;
        Some(quantiles.map(|quantile| Duration::from_nanos(estimate.quantile(quantile))))
    }

    /// The share of the durations up to which quantiles are known: below 1 where a censored sample is older
    /// than all that ended.
    #[must_use]
    pub fn known(&self) -> f64 {
        if self.censored() == 0 { 1.0 } else { self.estimate().known() }
    }

    /// The share of the durations up to which at least ten samples lie above a quantile.
    #[must_use]
    pub fn supported(&self) -> f64 {
        self.estimate().supported()
    }

    /// Points (percentile, value) for a plot: evenly spaced in the number of nines. They end where the
    /// estimate does.
    #[must_use]
    pub fn points(&self) -> Vec<(f64, Duration)> {
        const PER_HALVING: u32 = 25;
        let points = self.estimate().points(PER_HALVING);
        points
            .into_iter()
            .map(|(share, nanos)| (share * 100.0, Duration::from_nanos(nanos)))
            .collect()
    }

    fn estimate(&self) -> Estimate {
        Estimate::new(&self.all, self.censored.as_deref())
    }

    /// All samples in HdrHistogram's V2 format, compressed, in base64.
    #[must_use]
    pub fn encode(&self) -> String {
        encode(&self.all)
    }

    /// The censored samples, the same way.
    #[must_use]
    pub fn encode_censored(&self) -> String {
        self.censored.as_ref().map_or_else(|| encode(&histogram()), |censored| encode(censored))
    }
}

fn encode(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    // Writing into memory does not fail.
    let _ = V2DeflateSerializer::new().serialize(histogram, &mut bytes);
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

impl AddAssign<&Self> for DurationHistogram {
    fn add_assign(&mut self, other: &Self) {
        if other.count() > 0 {
            add(&mut self.all, &other.all);
        }
        if let Some(censored) = other.censored.as_ref().filter(|censored| !censored.is_empty()) {
            add(self.censored.get_or_insert_with(|| Box::new(histogram())), censored);
        }
        self.sum += other.sum;
        self.min = self.min.min(other.min);
    }
}
