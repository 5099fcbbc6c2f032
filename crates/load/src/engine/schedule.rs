//! When requests of an open run are due. Pure: numbers in, times out.

use std::time::Duration;

use crate::plan::Stage;

/// A rate over time, piecewise linear. Position `k` on it is the time at which `k` arrivals have become
/// due: the inverse of the integral of the rate.
#[derive(Clone, Debug)]
pub struct RateProfile {
    segments: Vec<Segment>,
}

/// Rate from `from` to `to` (per second) over `length` (seconds; infinite for the last one).
#[derive(Clone, Copy, Debug)]
struct Segment {
    start: f64,
    /// Arrivals before this segment.
    before: f64,
    length: f64,
    from: f64,
    to: f64,
}

impl RateProfile {
    /// `rate` for the time of `hold`, then the stages, then the last rate without end.
    #[must_use]
    pub fn new(rate: f64, hold: Duration, stages: &[Stage]) -> Self {
        let mut segments = Vec::with_capacity(stages.len() + 2);
        let (mut start, mut before, mut from) = (0.0, 0.0, rate);
        let hold = Stage { duration: hold, rate };
        for stage in std::iter::once(&hold).chain(stages) {
            let length = stage.duration.as_secs_f64();
            segments.push(Segment { start, before, length, from, to: stage.rate });
            before += length * (from + stage.rate) / 2.0;
            start += length;
            from = stage.rate;
        }
        segments.push(Segment { start, before, length: f64::INFINITY, from, to: from });
        Self { segments }
    }

    /// Seconds after the start at which `position` arrivals have become due; infinite if they never do.
    #[must_use]
    pub fn time_of(&self, position: f64) -> f64 {
        let after = self.segments.partition_point(|segment| segment.before <= position);
        let segment = self.segments[after.saturating_sub(1)];
        segment.start + segment.time_of(position - segment.before)
    }
}

impl Segment {
    /// Solves `from·t + slope/2·t² = count` for t in the form that does not cancel.
    fn time_of(&self, count: f64) -> f64 {
        if self.from == 0.0 && self.to == 0.0 {
            return f64::INFINITY;
        }
        if count <= 0.0 {
            return 0.0;
        }
        let slope = if self.length.is_finite() { (self.to - self.from) / self.length } else { 0.0 };
        let root = (self.from * self.from + 2.0 * slope * count).max(0.0).sqrt();
        2.0 * count / (self.from + root)
    }
}

/// The arrivals that one thread takes, in order.
#[derive(Clone, Debug)]
pub struct Arrivals {
    profile: RateProfile,
    spacing: Spacing,
    position: f64,
}

/// How positions follow each other.
#[derive(Clone, Debug)]
enum Spacing {
    /// Thread `w` of `n` takes positions w, w + n, w + 2n ...: all threads together are evenly spaced.
    Even { index: u64, step: u64 },
    /// Exponential gaps with a mean of `n` positions: independent Poisson processes of rate r/n add up
    /// to one of rate r.
    Poisson { mean: f64, random: fastrand::Rng },
}

impl Arrivals {
    /// Those of thread `worker` of `workers`.
    #[must_use]
    pub fn new(profile: RateProfile, poisson: bool, worker: u64, workers: u64, seed: u64) -> Self {
        let spacing = if poisson {
            let seed = seed ^ (worker + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            Spacing::Poisson { mean: workers as f64, random: fastrand::Rng::with_seed(seed) }
        } else {
            Spacing::Even { index: worker, step: workers }
        };
        let mut arrivals = Self { profile, spacing, position: worker as f64 };
        if poisson {
            arrivals.position = 0.0;
            arrivals.advance();
        }
        arrivals
    }

    /// When the next arrival is due, from the start; `None` if there never is one.
    #[must_use]
    pub fn next(&self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.profile.time_of(self.position)).ok()
    }

    /// Goes on to the arrival after that.
    pub fn advance(&mut self) {
        match &mut self.spacing {
            Spacing::Even { index, step } => {
                *index += *step;
                self.position = *index as f64;
            }
            Spacing::Poisson { mean, random } => {
                // 1 - f64() lies in (0, 1]: its logarithm is finite.
                self.position -= *mean * (1.0 - random.f64()).ln();
            }
        }
    }
}
