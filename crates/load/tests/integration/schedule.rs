//! When arrivals are due, against what the integral of the rate says.

use std::time::Duration;

use millrace_load::engine::numbers::Numbers;
use millrace_load::engine::schedule::{Arrival, Arrivals, RateProfile};
use millrace_load::plan::{Segment, Stage};
use proptest::prelude::*;

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn constant(rate: f64) -> RateProfile {
    RateProfile::new(rate, Duration::ZERO, &[])
}

fn stage(duration: f64, rate: f64) -> Stage {
    Stage { duration: seconds(duration), rate }
}

/// What one worker of several gets before `end`.
fn times_before(end: Duration, mut arrivals: Arrivals) -> Vec<Duration> {
    std::iter::from_fn(|| arrivals.take().map(|arrival| arrival.after).filter(|time| *time < end))
        .collect()
}

/// The numbers of one worker of a run that is no share.
fn numbers(worker: u64, workers: u64) -> Numbers {
    Numbers::new(Segment::default(), worker, workers)
}

/// What all workers get, in order.
fn merged(end: Duration, profile: &RateProfile, poisson: bool, workers: u64) -> Vec<Duration> {
    let of = |worker| Arrivals::new(profile.clone(), poisson, numbers(worker, workers), 1);
    let mut all: Vec<_> = (0..workers).flat_map(|worker| times_before(end, of(worker))).collect();
    all.sort();
    all
}

/// Arrivals due at `time`: the integral of the rate, written down once more in another way.
fn integral(rate: f64, hold: f64, stages: &[Stage], time: f64) -> f64 {
    let mut total = rate * hold.min(time);
    let (mut left, mut from) = (time - hold.min(time), rate);
    for Stage { duration, rate } in stages {
        let length = duration.as_secs_f64();
        let part = length.min(left);
        if length > 0.0 {
            let at_part = from + (rate - from) * part / length;
            total += part * (from + at_part) / 2.0;
        }
        left -= part;
        from = *rate;
    }
    total + left * from
}

#[test]
fn a_constant_rate_is_evenly_spaced_over_all_workers() {
    for workers in 1..=5 {
        let found = merged(seconds(0.5), &constant(1000.0), false, workers);
        let expected: Vec<_> = (0..500).map(Duration::from_millis).collect();
        assert_eq!(found, expected, "{workers} workers");
    }
}

#[test]
fn each_worker_takes_every_nth_arrival() {
    let second = Arrivals::new(constant(100.0), false, numbers(1, 4), 1);
    let expected: Vec<_> = (0..5).map(|n| Duration::from_millis(10 + 40 * n)).collect();
    assert_eq!(times_before(seconds(0.2), second), expected);
}

#[test]
fn the_number_of_arrivals_is_rate_times_duration() {
    for (rate, duration) in [(1.0, 3.0), (3.0, 7.0), (1000.0, 0.3), (7.0, 100.0), (20_000.0, 1.1)] {
        let found = merged(seconds(duration), &constant(rate), false, 3).len();
        assert_eq!(found, (rate * duration).round() as usize, "{rate}/s for {duration} s");
    }
}

#[test]
fn a_rate_that_does_not_divide_a_second_does_not_drift() {
    let times = merged(seconds(3000.0), &constant(3.0), false, 2);
    assert_eq!(times.len(), 9000);
    assert_eq!(times[8999], seconds(8999.0 / 3.0));
}

#[test]
fn a_step_changes_the_spacing_at_once() {
    let profile = RateProfile::new(10.0, seconds(1.0), &[stage(0.0, 100.0), stage(1.0, 100.0)]);
    let times = merged(seconds(1.1), &profile, false, 1);
    let slow = (0..10).map(|n| Duration::from_millis(100 * n));
    let fast = (0..10).map(|n| Duration::from_millis(1000 + 10 * n));
    assert_eq!(times, slow.chain(fast).collect::<Vec<_>>());
}

#[test]
fn a_ramp_from_zero_follows_the_square_root() {
    let profile = RateProfile::new(0.0, Duration::ZERO, &[stage(10.0, 100.0)]);
    // 5 t² arrivals have become due after t seconds.
    for count in [1.0, 5.0, 20.0, 125.0, 500.0] {
        let expected = f64::sqrt(count / 5.0);
        assert!((profile.time_of(count) - expected).abs() < 1e-9, "{count}");
    }
    assert!((profile.time_of(600.0) - 11.0).abs() < 1e-9, "the last rate holds");
}

#[test]
fn a_rate_of_zero_that_rises_later_waits() {
    let stages = [stage(2.0, 0.0), stage(0.0, 10.0)];
    let profile = RateProfile::new(0.0, seconds(1.0), &stages);
    let expected: Vec<_> = (0..5).map(|n| seconds(3.0 + 0.1 * f64::from(n))).collect();
    assert_eq!(merged(seconds(3.45), &profile, false, 2), expected);
}

#[test]
fn a_pause_between_two_stages_has_no_arrivals() {
    let stages = [stage(0.0, 0.0), stage(5.0, 0.0), stage(0.0, 10.0)];
    let profile = RateProfile::new(10.0, seconds(1.0), &stages);
    let times = merged(seconds(7.0), &profile, false, 1);
    let in_pause = times.iter().filter(|time| (1.0..6.0).contains(&time.as_secs_f64())).count();
    assert_eq!((times.len(), in_pause), (20, 0));
}

#[test]
fn a_rate_that_ends_at_zero_is_never_due_again() {
    let profile = RateProfile::new(10.0, Duration::ZERO, &[stage(2.0, 0.0)]);
    assert!((profile.time_of(9.9) - 2.0).abs() < 0.5);
    assert_eq!(profile.time_of(10.5), f64::INFINITY);
    let mut arrivals = Arrivals::new(profile, false, numbers(0, 1), 1);
    assert_eq!(std::iter::from_fn(|| arrivals.take()).count(), 10);
}

fn stages() -> impl Strategy<Value = Vec<Stage>> {
    let duration = prop_oneof![1 => Just(0.0), 4 => 0.01..30.0f64];
    let rate = prop_oneof![1 => Just(0.0), 4 => 0.1..10_000.0f64];
    prop::collection::vec((duration, rate).prop_map(|(d, r)| stage(d, r)), 0..6)
}

proptest! {
    #[test]
    fn the_profile_is_the_inverse_of_the_integral(
        rate in prop_oneof![1 => Just(0.0), 4 => 0.1..10_000.0f64],
        hold in prop_oneof![1 => Just(0.0), 1 => 0.01..5.0f64],
        stages in stages(),
        shares in prop::collection::vec(0.0..1.0f64, 1..20),
    ) {
        let profile = RateProfile::new(rate, seconds(hold), &stages);
        let hold = seconds(hold).as_secs_f64();
        let length = hold + stages.iter().map(|s| s.duration.as_secs_f64()).sum::<f64>() + 1.0;
        let total = integral(rate, hold, &stages, length);
        prop_assume!(total > 0.0);
        let mut shares = shares;
        shares.sort_by(f64::total_cmp);
        let mut before = 0.0;
        for position in shares.into_iter().map(|share| share * total) {
            let time = profile.time_of(position);
            prop_assert!(time >= before, "times go backwards: {before}, {time}");
            let found = integral(rate, hold, &stages, time);
            let tolerance = 1e-6 * (1.0 + total);
            prop_assert!((found - position).abs() < tolerance, "{found}, not {position}, at {time}");
            before = time;
        }
    }
}

// --- random arrivals: fixed seeds, bounds of five standard deviations ---

const RATE: f64 = 50.0;
const SECONDS: usize = 2000;

fn poisson(workers: u64) -> Vec<f64> {
    let end = seconds(SECONDS as f64);
    let times = merged(end, &constant(RATE), true, workers);
    times.iter().map(Duration::as_secs_f64).collect()
}

fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0))
}

/// A worker's own process is of rate r/n; together they are one of rate r.
#[test]
fn random_arrivals_have_the_counts_of_a_poisson_process() {
    for workers in [1, 4] {
        let mut counts = vec![0.0; SECONDS];
        poisson(workers).iter().for_each(|time| counts[*time as usize] += 1.0);
        let (mean, variance) = mean_and_variance(&counts);
        let per_count = 5.0 / (SECONDS as f64).sqrt();
        assert!((mean - RATE).abs() < per_count * RATE.sqrt(), "mean {mean}");
        assert!((variance - RATE).abs() < per_count * 2f64.sqrt() * RATE, "variance {variance}");
    }
}

/// Kolmogorov and Smirnov's distance; exceeded by chance once in 10 000 times.
#[test]
fn random_arrivals_have_exponential_gaps() {
    for workers in [1, 4] {
        let times = poisson(workers);
        let mut gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_by(f64::total_cmp);
        let count = gaps.len() as f64;
        let distance = gaps.iter().enumerate().map(|(index, gap)| {
            let expected = 1.0 - (-RATE * gap).exp();
            (expected - index as f64 / count).abs()
        });
        let distance = distance.fold(0.0, f64::max) * count.sqrt();
        assert!(distance < 2.23, "{distance}");
    }
}

/// Counts in neighboring seconds have nothing to do with each other.
#[test]
fn random_arrivals_have_no_memory() {
    let mut counts = vec![-RATE; SECONDS];
    poisson(4).iter().for_each(|time| counts[*time as usize] += 1.0);
    let product = counts.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>();
    let correlation = product / (SECONDS as f64 * RATE);
    assert!(correlation.abs() < 5.0 / (SECONDS as f64).sqrt(), "{correlation}");
}

#[test]
fn random_arrivals_follow_a_rate_that_changes() {
    let profile = RateProfile::new(0.0, Duration::ZERO, &[stage(100.0, 200.0)]);
    let times = merged(seconds(100.0), &profile, true, 3);
    // 10 000 in all, a quarter of them in the first half.
    let early = times.iter().filter(|time| time.as_secs_f64() < 50.0).count() as f64;
    assert!((times.len() as f64 - 10_000.0).abs() < 500.0, "{}", times.len());
    assert!((early - 2500.0).abs() < 250.0, "{early}");
}

#[test]
fn the_seed_decides() {
    let first = |worker, seed| Arrivals::new(constant(1.0), true, numbers(worker, 2), seed).take();
    assert_eq!(first(0, 7), first(0, 7));
    assert_ne!(first(0, 7), first(0, 8));
    assert_ne!(first(0, 7), first(1, 7));
}

/// The first arrivals of a run, by all threads of all shares.
fn of_shares(
    profile: &RateProfile,
    poisson: bool,
    threads: &[u64],
    seed: u64,
    most: u64,
) -> Vec<Arrival> {
    let mut all = Vec::new();
    for (index, workers) in threads.iter().enumerate() {
        let segment = Segment { index: index as u64, count: threads.len() as u64 };
        for worker in 0..*workers {
            let numbers = Numbers::new(segment, worker, *workers);
            let mut arrivals = Arrivals::new(profile.clone(), poisson, numbers, seed);
            all.extend(
                std::iter::from_fn(|| arrivals.take()).take_while(|arrival| arrival.number < most),
            );
        }
    }
    all.sort_by_key(|arrival| arrival.number);
    all
}

proptest! {
    /// To the nanosecond, whatever the threads of each share.
    #[test]
    fn shares_have_the_arrivals_of_the_whole(
        rate in 1.0..10_000.0f64,
        stages in stages(),
        poisson: bool,
        threads in prop::collection::vec(1..=8u64, 1..=5),
        seed: u64,
    ) {
        let stages: Vec<_> = stages.into_iter().chain([stage(0.0, 1.0)]).collect();
        let profile = RateProfile::new(rate, Duration::ZERO, &stages);
        let whole = of_shares(&profile, poisson, &[1], seed, 200);
        prop_assert!(whole.iter().map(|arrival| arrival.number).eq(0..200));
        prop_assert_eq!(of_shares(&profile, poisson, &threads, seed, 200), whole);
    }
}
