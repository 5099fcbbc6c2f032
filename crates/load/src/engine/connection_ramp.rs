//! How many connections of a closed run are in use over time. Pure: times in, numbers out.

use std::time::Duration;

use crate::plan::ConnectionStage;

/// A number over time, piecewise linear; a step takes place when the line has reached the next whole number.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionRamp {
    segments: Vec<Segment>,
    last: f64,
}

/// From `from` to `to` over `length` seconds, which may be zero.
#[derive(Clone, Copy, Debug)]
struct Segment {
    start: f64,
    length: f64,
    from: f64,
    to: f64,
}

/// Tolerance for rounding errors of the line, in connections.
const ROUNDING: f64 = 1e-6;

impl ConnectionRamp {
    /// `first` connections for the time of `hold`, then the stages, then the last number without end.
    pub(crate) fn new(first: usize, hold: Duration, stages: &[ConnectionStage]) -> Self {
        let (mut start, mut from) = (hold.as_secs_f64(), first as f64);
        let mut segments = Vec::with_capacity(stages.len());
        for stage in stages {
            let (length, to) = (stage.duration.as_secs_f64(), stage.connections as f64);
            segments.push(Segment { start, length, from, to });
            start += length;
            from = to;
        }
        Self { segments, last: from }
    }

    /// The number of connections so long after the start of the load.
    pub(crate) fn count_at(&self, elapsed: Duration) -> u64 {
        let at = elapsed.as_secs_f64();
        let present = self.segments.iter().find(|segment| at < segment.start + segment.length);
        let value = present.map_or(self.last, |segment| segment.value_at(at));
        let rising = present.is_none_or(|segment| segment.to >= segment.from);
        // In range: numbers of connections.
        (if rising { (value + ROUNDING).floor() } else { (value - ROUNDING).ceil() }) as u64
    }

    /// When the number changes next after `elapsed`; `None` if it does not.
    pub(crate) fn next_change(&self, elapsed: Duration) -> Option<Duration> {
        let (at, count) = (elapsed.as_secs_f64(), self.count_at(elapsed) as f64);
        let later = self.segments.iter().filter(|segment| at < segment.start + segment.length);
        let sloped = later.filter(|segment| segment.from != segment.to).map(|segment| {
            let from = if at < segment.start { segment.from } else { count };
            let next = from + (segment.to - segment.from).signum();
            segment.start + segment.length * (next - segment.from) / (segment.to - segment.from)
        });
        // Stages without a length are steps.
        let steps = self.segments.iter().filter(|segment| segment.length == 0.0);
        let steps = steps.map(|segment| segment.start).filter(|start| *start > at);
        let next = sloped.chain(steps).fold(f64::INFINITY, f64::min);
        Duration::try_from_secs_f64(next.max(at)).ok().map(|next| next + Duration::from_nanos(1))
    }
}

impl Segment {
    fn value_at(&self, at: f64) -> f64 {
        let part = ((at - self.start) / self.length).clamp(0.0, 1.0);
        self.from + (self.to - self.from) * part
    }
}

#[cfg(test)]
mod tests;
