//! What the times of a distribution are where some were not seen to their end.

use hdrhistogram::Histogram;

/// Samples that must lie above a percentile for it to be more than chance.
const ENOUGH_ABOVE: f64 = 10.0;

/// Shares are sums and products of fractions: closer ones are equal.
const EQUAL: f64 = 1e-12;

/// The product-limit estimate (Kaplan and Meier 1958) of a distribution of nanoseconds of which some
/// samples are right-censored: of these it is known that the time is longer, not how long it is.
///
/// The share that is longer than `t` is the product, over all times `v <= t` at which `ended` samples
/// ended, of `1 - ended / at_risk`; at risk are the samples that are not shorter than `v`, censored or
/// not. So a censored sample counts for as long as it was watched, and its share is then borne by those
/// that were watched for longer. Without censored samples it is the empirical distribution.
#[derive(Clone, Debug)]
pub(crate) struct Estimate {
    /// Ascending; a step for each bucket in which something ended.
    steps: Vec<Step>,
    /// Share of which nothing is known but that it is longer than `end`.
    rest: f64,
    /// The longest time that was seen, ended or not.
    end: Value,
}

/// A bucket of the histogram.
#[derive(Clone, Copy, Debug, Default)]
struct Value {
    middle: u64,
    highest: u64,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    at: Value,
    /// Share of the times up to here.
    reached: f64,
    /// How many samples without a censored one would tell as much of what lies from here on: those at risk,
    /// over the share of the times that are not shorter.
    worth: f64,
}

impl Estimate {
    /// Of all samples, and those of them that are censored.
    pub(crate) fn new(all: &Histogram<u64>, censored: Option<&Histogram<u64>>) -> Self {
        let mut estimate = Self { steps: Vec::new(), rest: 1.0, end: Value::default() };
        let mut at_risk = all.len();
        // Between two censored samples the product is a quotient: nothing is lost to rounding.
        let (mut share, mut of) = (1.0, at_risk);
        for bucket in all.iter_recorded() {
            let highest = bucket.value_iterated_to();
            let count = bucket.count_since_last_iteration();
            let lost = censored.map_or(0, |censored| censored.count_at(highest));
            let above = at_risk - (count - lost);
            let worth = at_risk as f64 / estimate.rest;
            estimate.end = Value { middle: all.median_equivalent(highest), highest };
            if count > lost {
                estimate.rest = share * above as f64 / of as f64;
                let reached = 1.0 - estimate.rest;
                estimate.steps.push(Step { at: estimate.end, reached, worth });
            }
            at_risk -= count;
            if lost > 0 {
                (share, of) = (estimate.rest, at_risk);
            }
        }
        estimate
    }

    /// The least time that this share of the times does not exceed; where the estimate ends below the
    /// share, the longest time that was seen.
    pub(crate) fn quantile(&self, quantile: f64) -> u64 {
        let step = self.steps.partition_point(|step| step.reached + EQUAL < quantile);
        self.steps.get(step).map_or(self.end, |step| step.at).highest
    }

    /// The share up to which quantiles are known: 1 where no sample outlasted all that ended.
    pub(crate) fn known(&self) -> f64 {
        1.0 - self.rest
    }

    /// The share up to which enough samples lie above a quantile.
    pub(crate) fn supported(&self) -> f64 {
        let mut supported = 0.0;
        for step in &self.steps {
            let enough = 1.0 - ENOUGH_ABOVE / step.worth;
            supported = f64::max(supported, enough.min(step.reached));
            if enough < step.reached {
                break;
            }
        }
        supported
    }

    /// The mean; where the estimate ends below 1, restricted: what is longer counts as the longest time
    /// that was seen.
    pub(crate) fn mean(&self) -> f64 {
        self.expected(|value| value)
    }

    /// The standard deviation, restricted where the mean is.
    pub(crate) fn stdev(&self) -> f64 {
        let mean = self.mean();
        self.expected(|value| (value - mean).powi(2)).sqrt()
    }

    fn expected(&self, of: impl Fn(f64) -> f64) -> f64 {
        let mut before = 0.0;
        let mut sum = self.rest * of(self.end.middle as f64);
        for step in &self.steps {
            sum += (step.reached - before) * of(step.at.middle as f64);
            before = step.reached;
        }
        sum
    }

    /// Points (share, time), about so many for each halving of what is left.
    pub(crate) fn points(&self, per_halving: u32) -> Vec<(f64, u64)> {
        let mut points = Vec::new();
        let mut next = 0.0;
        for (index, step) in self.steps.iter().enumerate() {
            let last = index + 1 == self.steps.len();
            if step.reached + EQUAL < next && !last {
                continue;
            }
            points.push((step.reached, step.at.highest));
            let halvings = (1.0 - step.reached).max(EQUAL).log2().ceil();
            next = step.reached + halvings.exp2() / f64::from(2 * per_halving);
        }
        points
    }
}

#[cfg(test)]
mod tests;
