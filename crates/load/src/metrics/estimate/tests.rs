//! The estimate against one that is made by the book, sample by sample.

use proptest::prelude::*;

use super::*;

/// A sample in nanoseconds, and whether it had ended.
type Sample = (u64, bool);

fn estimate(samples: &[Sample]) -> Estimate {
    let empty = || Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
    let (mut all, mut censored) = (empty(), empty());
    for &(nanos, ended) in samples {
        all.saturating_record(nanos);
        if !ended {
            censored.saturating_record(nanos);
        }
    }
    Estimate::new(&all, Some(&censored))
}

/// Times at which something ended, and the share that is longer: a product over them.
fn by_the_book(samples: &[Sample]) -> Vec<(u64, f64)> {
    let mut times: Vec<u64> = samples.iter().filter(|it| it.1).map(|it| it.0).collect();
    times.sort_unstable();
    times.dedup();
    let mut longer = 1.0;
    let share = |time: &u64| {
        let at_risk = samples.iter().filter(|it| it.0 >= *time).count() as f64;
        let ended = samples.iter().filter(|it| it.0 == *time && it.1).count() as f64;
        longer *= 1.0 - ended / at_risk;
        (*time, longer)
    };
    times.iter().map(share).collect()
}

/// The area under the share that is longer, up to the longest sample.
fn restricted_mean(samples: &[Sample]) -> f64 {
    let steps = by_the_book(samples);
    let longest = samples.iter().map(|it| it.0).max().unwrap();
    let (mut area, mut from, mut share) = (0.0, 0, 1.0);
    for (time, longer) in steps.into_iter().chain([(longest, 0.0)]) {
        area += (time - from) as f64 * share;
        (from, share) = (time, longer);
    }
    area
}

#[track_caller]
fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found}, not {expected}");
}

#[test]
fn a_textbook_case() {
    let samples = [
        (3, true),
        (4, false),
        (6, true),
        (6, true),
        (6, false),
        (9, false),
        (10, true),
        (11, false),
    ];
    let estimate = estimate(&samples);
    // 7/8, then 4 of 6 outlast 6 (who is censored there was still at risk), then 1 of 2 outlasts 10.
    let rest = 7.0 / 8.0 * (4.0 / 6.0) * 0.5;
    assert_close(estimate.known(), 1.0 - rest);
    let quantiles = [0.0, 0.125, 0.13, 0.416, 0.42, 0.7, 0.71, 1.0];
    let found = quantiles.map(|quantile| estimate.quantile(quantile));
    assert_eq!(found, [3, 3, 6, 6, 10, 10, 11, 11]);
    assert_close(estimate.mean(), restricted_mean(&samples));
}

#[test]
fn what_was_in_flight_is_not_fast() {
    // A service of exactly 1 s, 40 requests per second for 3 s.
    let second = 1_000_000_000;
    let ages = (0..40).map(|index| (index * second / 40, false));
    let samples: Vec<Sample> = std::iter::repeat_n((second, true), 80).chain(ages).collect();
    let estimate = estimate(&samples);
    assert_close(estimate.known(), 1.0);
    assert!((estimate.mean() / second as f64 - 1.0).abs() < 1e-3, "{}", estimate.mean());
    assert!(estimate.stdev() < 1.0);
    assert_eq!(estimate.points(25).len(), 1);
}

#[test]
fn without_anything_that_ended_all_is_a_bound() {
    let estimate = estimate(&[(5, false), (300, false)]);
    assert_close(estimate.known(), 0.0);
    assert_eq!([0.01, 0.5, 1.0].map(|quantile| estimate.quantile(quantile)), [300; 3]);
    assert_close(estimate.mean(), 300.0);
    assert_close(estimate.stdev(), 0.0);
    assert!(estimate.points(25).is_empty());
    assert_close(estimate.supported(), 0.0);
}

#[test]
fn ten_samples_above_support_a_percentile() {
    let samples: Vec<Sample> = (1..=1000).map(|nanos| (nanos, true)).collect();
    assert_close(estimate(&samples).supported(), 0.99);
    // The censored ones are above what they have outlasted.
    let samples: Vec<Sample> = (1..=1000).map(|nanos| (nanos, nanos <= 990)).collect();
    assert_close(estimate(&samples).supported(), 0.99);
    assert_close(estimate(&samples[..9]).supported(), 0.0);
    // Those that are equal lie above each other, too.
    assert_close(estimate(&[(5, true); 1000]).supported(), 0.99);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Below 2048 ns the histogram keeps each value, so that there is no difference at all.
    #[test]
    fn it_is_the_product_over_the_samples(
        samples in prop::collection::vec((1..200u64, any::<bool>()), 1..150),
        quantile in 0.0..1.0f64,
    ) {
        let estimate = estimate(&samples);
        let steps = by_the_book(&samples);
        prop_assert_eq!(steps.len(), estimate.steps.len());
        for (step, (time, longer)) in estimate.steps.iter().zip(&steps) {
            prop_assert_eq!(step.at.highest, *time);
            prop_assert!((1.0 - step.reached - longer).abs() < 1e-9);
        }
        let longest = samples.iter().map(|it| it.0).max().unwrap();
        let book = steps.iter().find(|(_, longer)| 1.0 - longer + 1e-9 >= quantile);
        prop_assert_eq!(estimate.quantile(quantile), book.map_or(longest, |it| it.0));
        prop_assert!((estimate.mean() - restricted_mean(&samples)).abs() < 1e-6);
    }

    #[test]
    fn without_censored_samples_it_is_the_samples(
        mut nanos in prop::collection::vec(1..2000u64, 1..150),
        quantile in 0.0..1.0f64,
    ) {
        let samples: Vec<Sample> = nanos.iter().map(|&nanos| (nanos, true)).collect();
        let estimate = estimate(&samples);
        nanos.sort_unstable();
        let rank = (quantile * nanos.len() as f64).ceil().max(1.0) as usize;
        prop_assert_eq!(estimate.quantile(quantile), nanos[rank - 1]);
        prop_assert_eq!(estimate.known(), 1.0);
        let mean = nanos.iter().sum::<u64>() as f64 / nanos.len() as f64;
        prop_assert!((estimate.mean() - mean).abs() < 1e-6);
    }

    #[test]
    fn any_samples_give_ordered_figures(
        samples in prop::collection::vec((0..u64::MAX, any::<bool>()), 1..100),
    ) {
        let estimate = estimate(&samples);
        prop_assert!(estimate.steps.windows(2).all(|pair| pair[0].reached <= pair[1].reached));
        let quantiles = [0.0, 0.5, 0.9, 0.99, 1.0].map(|quantile| estimate.quantile(quantile));
        prop_assert!(quantiles.is_sorted());
        prop_assert!(estimate.supported() <= estimate.known());
        prop_assert!((0.0..=1.0).contains(&estimate.known()));
        let points = estimate.points(25);
        prop_assert!(points.is_sorted());
        prop_assert_eq!(points.last().map_or(0.0, |point| point.0), estimate.known());
    }
}
