//! When requests of an open run are due. Pure: numbers in, times out.

use std::time::Duration;

use super::numbers::{Numbers, Purpose, random_for};
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

/// An arrival of a schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// Its number in the run.
    pub number: u64,
    /// When it is due, from the start.
    pub after: Duration,
}

/// The arrivals that one thread takes, in order. They are those of one schedule, whoever takes which.
#[derive(Clone, Debug)]
pub struct Arrivals {
    profile: RateProfile,
    spacing: Spacing,
    numbers: Numbers,
}

/// How positions follow each other.
#[derive(Clone, Debug)]
enum Spacing {
    /// Arrival `k` is at position `k`.
    Even,
    /// The gaps are exponential, with a mean of one position.
    Poisson(PoissonProcess),
}

impl Arrivals {
    /// Those with these numbers.
    #[must_use]
    pub fn new(profile: RateProfile, poisson: bool, numbers: Numbers, seed: u64) -> Self {
        let spacing =
            if poisson { Spacing::Poisson(PoissonProcess::new(seed)) } else { Spacing::Even };
        Self { profile, spacing, numbers }
    }

    /// Takes the next arrival; `None` if it never comes.
    pub fn take(&mut self) -> Option<Arrival> {
        let number = self.numbers.take();
        let position = match &mut self.spacing {
            Spacing::Even => number as f64,
            Spacing::Poisson(process) => process.position(number),
        };
        let after = Duration::try_from_secs_f64(self.profile.time_of(position)).ok()?;
        Some(Arrival { number, after })
    }
}

/// Gaps that one logarithm stands for. The product of so many random numbers is above the least normal number.
const BLOCK: u64 = 16;

/// The positions of a Poisson process with one arrival per unit. All threads go through all gaps: a sum of exponential gaps
/// is the negative logarithm of a product, so a gap that another thread takes costs a multiplication.
#[derive(Clone, Debug)]
struct PoissonProcess {
    seed: u64,
    /// Number of the present block of gaps, and the position at its start.
    block: u64,
    start: f64,
    random: fastrand::Rng,
    /// Gaps of the block that were drawn, and their product.
    drawn: u64,
    product: f64,
}

impl PoissonProcess {
    fn new(seed: u64) -> Self {
        let random = random_for(seed, 0, Purpose::Arrivals);
        Self { seed, block: 0, start: 0.0, random, drawn: 0, product: 1.0 }
    }

    /// The position of arrival `number`; numbers come in ascending order.
    fn position(&mut self, number: u64) -> f64 {
        while self.block < number / BLOCK {
            self.draw(BLOCK);
            self.start -= self.product.ln();
            self.block += 1;
            self.random = random_for(self.seed, self.block, Purpose::Arrivals);
            (self.drawn, self.product) = (0, 1.0);
        }
        self.draw(number % BLOCK + 1);
        self.start - self.product.ln()
    }

    /// Draws the gaps of the block up to this number.
    fn draw(&mut self, count: u64) {
        while self.drawn < count {
            // In (0, 1]: the logarithm is finite.
            self.product *= 1.0 - self.random.f64();
            self.drawn += 1;
        }
    }
}
