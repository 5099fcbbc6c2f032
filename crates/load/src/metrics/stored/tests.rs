//! Distributions that were split, stored and added up, against the one that saw all samples; and damaged text.

use std::time::Duration;

use proptest::prelude::*;

use super::{BINS, MAX_NANOS, StoredDurations, StoredError, bin};
use crate::metrics::duration_histogram::DurationHistogram;
use crate::metrics::sparse_durations::SparseDurations;

/// A duration in nanoseconds, and whether it was seen to its end.
type Sample = (u64, bool);

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let nanos = (0..44_u32, any::<u64>()).prop_map(|(bits, value)| value & ((1 << bits) - 1));
    prop::collection::vec((nanos, any::<bool>()), 0..120)
}

/// What a result file has of a distribution.
#[derive(Clone, Debug)]
struct Stored {
    all: String,
    censored: String,
    sum: String,
    min: Option<u64>,
}

fn record<'a>(samples: impl Iterator<Item = &'a Sample>) -> DurationHistogram {
    let mut times = DurationHistogram::default();
    for (nanos, ended) in samples {
        let duration = Duration::from_nanos(*nanos);
        if *ended { times.record(duration) } else { times.record_censored(duration) }
    }
    times
}

fn store(times: &DurationHistogram) -> Stored {
    Stored {
        all: times.encode(),
        censored: times.encode_censored(),
        sum: times.sum_nanos().to_string(),
        min: times.min().map(|min| min.as_nanos() as u64),
    }
}

fn read(sum: &mut SparseDurations, part: &Stored) -> Result<u64, StoredError> {
    sum.add_stored(&StoredDurations {
        all: &part.all,
        censored: Some(&part.censored),
        sum: Some(&part.sum),
        min: part.min,
    })
}

fn merge(parts: &[Stored]) -> Stored {
    let mut sum = SparseDurations::default();
    for part in parts {
        read(&mut sum, part).unwrap();
    }
    store(&sum.to_histogram())
}

fn assert_same(merged: &Stored, whole: &DurationHistogram) -> Result<(), TestCaseError> {
    let mut sum = SparseDurations::default();
    read(&mut sum, merged).unwrap();
    let same = sum.to_histogram();
    let expected = store(whole);
    prop_assert_eq!(&merged.all, &expected.all);
    prop_assert_eq!(&merged.censored, &expected.censored);
    prop_assert_eq!(&merged.sum, &expected.sum);
    prop_assert_eq!(merged.min, expected.min);
    prop_assert_eq!(same.mean(), whole.mean());
    prop_assert_eq!(same.stdev(), whole.stdev());
    prop_assert_eq!(same.max(), whole.max());
    prop_assert_eq!(same.points(), whole.points());
    for quantile in [0.0, 0.5, 0.9, 0.99, 0.999, 1.0] {
        prop_assert_eq!(same.quantile(quantile), whole.quantile(quantile));
    }
    // Shares are quotients of the same counts.
    prop_assert_eq!(same.known().to_bits(), whole.known().to_bits());
    prop_assert_eq!(same.supported().to_bits(), whole.supported().to_bits());
    Ok(())
}

proptest! {
    // Dense histograms take long to create.
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn shares_in_any_order_and_grouping_give_what_one_recorder_saw(
        samples in samples(),
        dealt in prop::collection::vec(0..4_usize, 120),
        order in Just([0, 1, 2, 3]).prop_shuffle(),
        cut in 1..4_usize,
    ) {
        let part = |of: usize| {
            store(&record(samples.iter().zip(&dealt).filter(|(_, to)| **to == of).map(|it| it.0)))
        };
        let parts: Vec<Stored> = order.iter().map(|of| part(*of)).collect();
        let whole = record(samples.iter());
        assert_same(&merge(&parts), &whole)?;
        // Sums of sums.
        let (left, right) = parts.split_at(cut);
        assert_same(&merge(&[merge(left), merge(right)]), &whole)?;
        assert_same(&merge(&[merge(right), merge(left)]), &whole)?;
    }

    #[test]
    fn any_text_is_refused_or_read_and_never_breaks_what_was_added(text in ".{0,400}", bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        use base64::Engine as _;
        let encoded = base64::engine::general_purpose::STANDARD.encode(bytes);
        for all in [&text, &encoded] {
            let mut sum = SparseDurations::default();
            let stored = StoredDurations { all, censored: Some(all), sum: None, min: None };
            if sum.add_stored(&stored).is_err() {
                prop_assert_eq!(sum.count(), 0);
            }
        }
    }

    #[test]
    fn a_changed_or_truncated_text_is_refused_or_adds_up(
        samples in samples(),
        cut in 0.0..1.0_f64,
        place in 0.0..1.0_f64,
        character in "[A-Za-z0-9+/=]",
    ) {
        let whole = store(&record(samples.iter()));
        let end = (whole.all.len() as f64 * cut) as usize;
        let mut sum = SparseDurations::default();
        let part = Stored { all: whole.all[..end].to_owned(), ..whole.clone() };
        prop_assert!(read(&mut sum, &part).is_err());
        let at = (whole.all.len() as f64 * place) as usize;
        let mut changed = whole.all.clone();
        changed.replace_range(at..=at, &character);
        let part = Stored { all: changed, ..whole };
        // The checksum of the compressed bytes tells nearly all changes.
        if read(&mut sum, &part).is_ok() {
            prop_assert_eq!(sum.count(), samples.len() as u64);
        } else {
            prop_assert_eq!(sum.count(), 0);
        }
    }
}

/// A text whose plain bytes are `counts` behind a head, with a changed word of the head.
fn encode(counts: &[u8], change: impl Fn(&mut [u8])) -> String {
    use base64::Engine as _;
    use std::io::Write as _;
    let mut plain = Vec::new();
    plain.extend(super::PLAIN.to_be_bytes());
    plain.extend((counts.len() as u32).to_be_bytes());
    plain.extend(0_u32.to_be_bytes());
    plain.extend(3_u32.to_be_bytes());
    plain.extend(1_u64.to_be_bytes());
    plain.extend(MAX_NANOS.to_be_bytes());
    plain.extend(1.0_f64.to_be_bytes());
    plain.extend(counts);
    change(&mut plain);
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&plain).unwrap();
    let deflated = encoder.finish().unwrap();
    let mut outer = super::COMPRESSED.to_be_bytes().to_vec();
    outer.extend((deflated.len() as u32).to_be_bytes());
    outer.extend(deflated);
    base64::engine::general_purpose::STANDARD.encode(outer)
}

fn add(all: &str) -> Result<u64, StoredError> {
    let mut sum = SparseDurations::default();
    let added = sum.add_stored(&StoredDurations { all, censored: None, sum: None, min: None })?;
    assert_eq!(sum.count(), added);
    Ok(added)
}

#[test]
fn heads_that_ask_for_more_are_refused() {
    // One sample of 0 ns, ZigZag.
    assert_eq!(add(&encode(&[2], |_| {})), Ok(1));
    assert_eq!(add(&encode(&[2], |plain| plain[15] = 5)), Err(StoredError::Bounds));
    assert_eq!(add(&encode(&[2], |plain| plain[24] = 0x7f)), Err(StoredError::Bounds));
    assert_eq!(add(&encode(&[2], |plain| plain[4] = 0x7f)), Err(StoredError::Damaged));
    assert_eq!(add(&encode(&[2], |plain| plain[0] = 0)), Err(StoredError::Damaged));
}

#[test]
fn counts_beyond_the_bounds_are_refused() {
    // A zero run longer than the bins, the least and the greatest number, and one that does not end.
    assert_eq!(add(&encode(&[0xff, 0xff, 0x7f, 2], |_| {})), Err(StoredError::Damaged));
    assert_eq!(add(&encode(&[0xff; 9], |_| {})), Err(StoredError::Damaged));
    let greatest = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    assert_eq!(add(&encode(&greatest, |_| {})), Err(StoredError::TooMany));
    assert_eq!(add(&encode(&[0x80], |_| {})), Err(StoredError::Damaged));
    // Zeros that inflate to more than all bins take.
    assert_eq!(add(&encode(&vec![0; 10 * BINS], |_| {})), Err(StoredError::Damaged));
}

#[test]
fn figures_must_be_those_of_the_samples() {
    let times = record([(5000, true), (7000, false)].iter());
    let whole = store(&times);
    let mut sum = SparseDurations::default();
    for part in [
        Stored { sum: "0".into(), ..whole.clone() },
        Stored { sum: "999999999999".into(), ..whole.clone() },
        Stored { sum: "-1".into(), ..whole.clone() },
        Stored { min: Some(7000), ..whole.clone() },
        Stored { min: Some(u64::MAX), ..whole.clone() },
    ] {
        assert_eq!(read(&mut sum, &part), Err(StoredError::Figures));
    }
    let other = record([(9000, false)].iter());
    let part = Stored { censored: other.encode_censored(), ..whole };
    assert_eq!(read(&mut sum, &part), Err(StoredError::Censored));
    assert_eq!(sum.count(), 0);
    assert!(bin(MAX_NANOS) < BINS);
}
