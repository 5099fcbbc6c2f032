//! How many samples lie above each of a plan's bounds.

use std::time::Duration;

use crate::plan::Bound;

/// Bounds in order, so that a sample is placed by a search: a histogram for others has a hundred of them.
#[derive(Debug, Default)]
pub(crate) struct OrderedBounds {
    latency: Vec<Place>,
    service_time: Vec<Place>,
}

/// A bound, and its index in the plan.
#[derive(Clone, Copy, Debug)]
struct Place {
    time: Duration,
    index: usize,
}

/// Numbers of samples by how many bounds they are above.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlacedSamples {
    latency: Vec<u64>,
    service_time: Vec<u64>,
}

impl OrderedBounds {
    pub(crate) fn new(bounds: &[Bound]) -> Self {
        let of = |service_time: bool| {
            let own = bounds.iter().enumerate().filter(|(_, it)| it.service_time == service_time);
            let mut places: Vec<_> =
                own.map(|(index, bound)| Place { time: bound.time, index }).collect();
            places.sort_by_key(|place| place.time);
            places
        };
        Self { latency: of(false), service_time: of(true) }
    }

    /// Room for samples.
    pub(crate) fn room(&self) -> PlacedSamples {
        let Self { latency, service_time } = self;
        PlacedSamples {
            latency: vec![0; latency.len() + 1],
            service_time: vec![0; service_time.len() + 1],
        }
    }

    /// Records a sample of either kind.
    pub(crate) fn record(
        &self,
        samples: &mut PlacedSamples,
        latency: Duration,
        service_time: Duration,
    ) {
        let place = |places: &[Place], time| places.partition_point(|bound| time > bound.time);
        samples.latency[place(&self.latency, latency)] += 1;
        samples.service_time[place(&self.service_time, service_time)] += 1;
    }

    /// Returns the numbers of samples above each bound, in the order of the plan.
    pub(crate) fn above(&self, samples: &PlacedSamples) -> Vec<u64> {
        let mut above = vec![0; self.latency.len() + self.service_time.len()];
        let kinds =
            [(&self.latency, &samples.latency), (&self.service_time, &samples.service_time)];
        for (places, numbers) in kinds {
            let mut beyond = 0;
            for (place, number) in places.iter().zip(&numbers[1..]).rev() {
                beyond += number;
                above[place.index] = beyond;
            }
        }
        above
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_samples_above_each_bound_are_counted(
            bounds in prop::collection::vec((any::<bool>(), 0..50_u64), 0..12),
            samples in prop::collection::vec((0..60_u64, 0..60_u64), 0..40),
        ) {
            let bound = |(service_time, ms)| Bound { service_time, time: Duration::from_millis(ms) };
            let bounds: Vec<_> = bounds.into_iter().map(bound).collect();
            let ordered = OrderedBounds::new(&bounds);
            let mut placed = ordered.room();
            let samples: Vec<_> = samples
                .into_iter()
                .map(|(latency, service)| {
                    (Duration::from_millis(latency), Duration::from_millis(service))
                })
                .collect();
            for (latency, service_time) in &samples {
                ordered.record(&mut placed, *latency, *service_time);
            }
            let expected: Vec<_> = bounds
                .iter()
                .map(|bound| {
                    let is_above = |(latency, service): &&(Duration, Duration)| {
                        *if bound.service_time { service } else { latency } > bound.time
                    };
                    samples.iter().filter(is_above).count() as u64
                })
                .collect();
            prop_assert_eq!(ordered.above(&placed), expected);
        }
    }
}
