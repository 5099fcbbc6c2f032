//! Distributions of durations against what is known on paper.

use std::time::Duration;

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use millrace_load::metrics::duration_histogram::DurationHistogram;
use proptest::prelude::*;

const HOUR: Duration = Duration::from_secs(3600);

fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

fn record(durations: impl IntoIterator<Item = Duration>) -> DurationHistogram {
    let mut times = DurationHistogram::default();
    durations.into_iter().for_each(|duration| times.record(duration));
    times
}

/// Three significant digits.
#[track_caller]
fn assert_close(found: Option<Duration>, expected: Duration) {
    let found = found.expect("there are samples");
    let tolerance = expected / 1000 + Duration::from_nanos(1);
    assert!(found.abs_diff(expected) <= tolerance, "{found:?}, not {expected:?}");
}

fn summary(times: &DurationHistogram) -> impl PartialEq + std::fmt::Debug + use<> {
    let quantiles = [0.0, 0.5, 0.9, 0.999, 1.0].map(|q| times.quantile(q));
    let exact = (times.count(), times.censored(), times.total(), times.min(), times.max());
    let encoded = (times.encode(), times.encode_censored());
    (quantiles, exact, times.mean(), times.stdev(), encoded)
}

#[test]
fn without_samples_there_are_no_figures() {
    let times = DurationHistogram::default();
    assert_eq!((times.count(), times.censored(), times.total()), (0, 0, Duration::ZERO));
    let figures = [times.min(), times.max(), times.mean(), times.stdev(), times.quantile(0.5)];
    assert_eq!(figures, [None; 5]);
    assert!(times.points().iter().all(|(_, value)| value.is_zero()));
}

#[test]
fn a_constant_has_itself_everywhere_and_no_deviation() {
    let times = record([micros(12_345); 1000]);
    for quantile in [0.0, 0.5, 0.99, 0.9999, 1.0] {
        assert_close(times.quantile(quantile), micros(12_345));
    }
    assert_close(times.max(), micros(12_345));
    assert_eq!(times.min(), Some(micros(12_345)));
    assert_eq!(times.mean(), Some(micros(12_345)));
    assert!(times.stdev().unwrap() < micros(13));
}

#[test]
fn evenly_spread_samples_have_the_percentiles_of_their_ranks() {
    let times = record((1..=100_000).map(micros));
    for (quantile, expected) in
        [(0.5, 50_000), (0.75, 75_000), (0.9, 90_000), (0.99, 99_000), (0.9999, 99_990)]
    {
        assert_close(times.quantile(quantile), micros(expected));
    }
    assert_eq!(times.min(), Some(micros(1)));
    assert_close(times.max(), micros(100_000));
    assert_eq!(times.mean(), Some(Duration::from_nanos(50_000_500)));
    // (n² - 1) / 12, and its root.
    assert_close(times.stdev(), Duration::from_secs_f64(1e-6 * (1e10f64 / 12.0).sqrt()));
}

#[test]
fn two_values_are_told_apart_where_their_shares_meet() {
    let slow = std::iter::repeat_n(Duration::from_secs(1), 50);
    let times = record(std::iter::repeat_n(micros(10_000), 950).chain(slow));
    assert_close(times.quantile(0.95), micros(10_000));
    assert_close(times.quantile(0.951), Duration::from_secs(1));
    assert_close(times.quantile(0.99), Duration::from_secs(1));
    assert_eq!(times.mean(), Some(micros(59_500)));
}

#[test]
fn the_extremes_are_kept_in_range() {
    let times = record([Duration::ZERO, Duration::from_nanos(1), HOUR * 2, Duration::MAX]);
    assert_eq!(times.count(), 4);
    assert_eq!(times.min(), Some(Duration::ZERO));
    assert_close(times.max(), HOUR);
    assert_eq!(times.total(), HOUR * 2 + Duration::from_nanos(1));
}

#[test]
fn nanoseconds_are_exact_as_long_as_three_digits_hold_them() {
    let times = record((0..2000).map(Duration::from_nanos));
    assert_eq!(times.quantile(0.5), Some(Duration::from_nanos(999)));
    assert_eq!(times.max(), Some(Duration::from_nanos(1999)));
}

#[test]
fn what_had_not_ended_counts_but_is_no_minimum() {
    let mut times = record([micros(500), micros(700)]);
    times.record_censored(micros(100));
    times.record_censored(micros(9000));
    assert_eq!((times.count(), times.censored()), (4, 2));
    assert_eq!(times.min(), Some(micros(500)));
    assert_eq!(times.total(), micros(10_300));
    assert_close(times.max(), micros(9000));
    // Of the four one is gone before anything ended: of three at risk two end, and one outlasts them.
    assert_close(times.quantile(0.3), micros(500));
    assert_close(times.quantile(0.6), micros(700));
    assert_close(times.quantile(0.7), micros(9000));
    assert_eq!((3.0 * times.known()).round(), 2.0);
    assert_close(times.mean(), micros(3400));
    let mut censored = DurationHistogram::default();
    censored.record_censored(micros(100));
    assert_eq!(censored.min(), None);
}

#[test]
fn cleared_times_are_like_new() {
    let mut times = record([micros(1), HOUR]);
    times.record_censored(micros(3));
    times.clear();
    assert_eq!(summary(&times), summary(&DurationHistogram::default()));
    times.record(micros(7));
    assert_eq!(summary(&times), summary(&record([micros(7)])));
}

#[test]
fn points_rise_to_all_samples() {
    let times = record((1..=10_000).map(micros));
    let points = times.points();
    assert!(points.len() > 30, "{} points", points.len());
    assert!(points.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1));
    assert_eq!(points.last().unwrap().0, 100.0);
    assert_close(Some(points.last().unwrap().1), micros(10_000));
    for (percentile, value) in points {
        assert_close(times.quantile(percentile / 100.0), value);
    }
}

#[test]
fn the_encoded_histogram_is_read_by_others() {
    let times = record((1..=1000).map(micros));
    let bytes = base64::engine::general_purpose::STANDARD.decode(times.encode()).unwrap();
    let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
    assert_eq!(histogram.len(), 1000);
    assert_eq!(times.encode_censored(), DurationHistogram::default().encode());
    for quantile in [0.0, 0.5, 0.99, 1.0] {
        let value = Duration::from_nanos(histogram.value_at_quantile(quantile));
        assert_eq!(Some(value), times.quantile(quantile));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn merging_many_is_recording_in_one(
        samples in prop::collection::vec((0..5usize, 0..4_000_000_000_000u64, any::<bool>()), 0..200)
    ) {
        let mut one = DurationHistogram::default();
        let mut many = vec![DurationHistogram::default(); 5];
        for (index, nanos, censored) in samples {
            for times in [&mut one, &mut many[index]] {
                let duration = Duration::from_nanos(nanos);
                if censored { times.record_censored(duration) } else { times.record(duration) }
            }
        }
        let mut merged = DurationHistogram::default();
        many.iter().for_each(|times| merged += times);
        prop_assert_eq!(summary(&merged), summary(&one));
    }

    #[test]
    fn quantiles_are_within_three_digits_of_the_sorted_samples(
        mut nanos in prop::collection::vec(0..3_600_000_000_000u64, 1..200),
        quantile in 0.0..1.0f64,
    ) {
        let times = record(nanos.iter().copied().map(Duration::from_nanos));
        nanos.sort_unstable();
        let rank = (quantile * nanos.len() as f64).ceil().max(1.0) as usize;
        assert_close(times.quantile(quantile), Duration::from_nanos(nanos[rank - 1]));
    }
}
