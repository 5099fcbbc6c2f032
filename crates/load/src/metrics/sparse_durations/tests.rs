use std::time::Duration;

use proptest::prelude::*;

use super::{BITS, Bins, MAX_NANOS, PAGES, SparseDurations, bin, lowest};
use crate::metrics::duration_histogram::DurationHistogram;

/// Durations over all magnitudes, some beyond the maximum.
fn nanos() -> impl Strategy<Value = u64> {
    (0..44_u32, any::<u64>()).prop_map(|(bits, value)| value & ((1 << bits) - 1))
}

proptest! {
    // Dense histograms take long to create.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn figures_are_those_of_the_dense_histogram(
        samples in prop::collection::vec((nanos(), any::<bool>()), 0..200),
        split in 0..200_usize,
    ) {
        let mut dense = DurationHistogram::default();
        let mut parts = [SparseDurations::default(), SparseDurations::default()];
        for (index, (nanos, censored)) in samples.iter().enumerate() {
            let duration = Duration::from_nanos(*nanos);
            let part = &mut parts[usize::from(index >= split)];
            if *censored {
                dense.record_censored(duration);
                part.record_censored(duration);
            } else {
                dense.record(duration);
                part.record(duration);
            }
        }
        let [mut sparse, other] = parts;
        sparse += &other;
        let same = sparse.to_histogram();
        prop_assert_eq!(same.encode(), dense.encode());
        prop_assert_eq!(same.encode_censored(), dense.encode_censored());
        prop_assert_eq!(same.total(), dense.total());
        prop_assert_eq!(same.min(), dense.min());
        prop_assert_eq!(same.mean(), dense.mean());
        prop_assert_eq!(same.quantile(0.99), dense.quantile(0.99));
    }

    #[test]
    fn a_duration_lies_in_its_bin(nanos in 0..=MAX_NANOS) {
        let bin = bin(nanos);
        prop_assert!(lowest(bin) <= nanos && nanos < lowest(bin + 1));
        // Three significant digits.
        prop_assert!((lowest(bin + 1) - lowest(bin) - 1) * 1000 <= nanos);
    }
}

#[test]
fn bins_follow_each_other_without_a_gap() {
    for bin_ in 0..PAGES * super::PAGE - 1 {
        assert_eq!(bin(lowest(bin_)), bin_);
        assert_eq!(bin(lowest(bin_ + 1) - 1), bin_);
    }
    assert_eq!(bin((1 << BITS) - 1) + 1, bin(1 << BITS));
}

#[test]
fn a_bin_counts_beyond_16_bits() {
    let mut bins = Bins::default();
    bins.add(7, u64::from(u16::MAX));
    bins.increment(7);
    assert_eq!(bins.counts().collect::<Vec<_>>(), [(7, 1 << 16)]);
    let mut sum = bins.clone();
    sum += &bins;
    sum.increment(7);
    sum.add(9, 1 << 40);
    assert_eq!(sum.counts().collect::<Vec<_>>(), [(7, (1 << 17) + 1), (9, 1 << 40)]);
}

#[test]
fn memory_is_allocated_on_first_use_for_the_range_in_use() {
    let mut durations = SparseDurations::default();
    assert!(durations.all.pages.is_empty());
    // From one to four milliseconds.
    for micros in 1000..4000 {
        durations.record(Duration::from_micros(micros));
    }
    let pages = durations.all.pages.iter().flatten().count();
    assert!(pages <= 9, "{pages} pages of 512 bytes");
}

#[test]
fn two_hundred_names_fit_into_32_megabytes_whatever_their_durations() {
    let mut durations = SparseDurations::default();
    // From a microsecond to 100 seconds, more densely than bins are.
    let mut nanos = 1000.0_f64;
    while nanos < 1e11 {
        durations.record(Duration::from_nanos(nanos as u64));
        nanos *= 1.0004;
    }
    let pages = durations.all.pages.iter().flatten().count();
    let bytes = pages * size_of::<[u16; super::PAGE]>() + durations.all.pages.capacity() * 8;
    // Latency and service time of each name.
    assert!(2 * 200 * bytes < 32 << 20, "{bytes} bytes each");
}
