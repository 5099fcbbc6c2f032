//! A distribution of durations that takes memory only for the ranges in which it has samples.

use std::ops::AddAssign;
use std::time::Duration;

use crate::metrics::duration_histogram::{DurationHistogram, MAX_NANOS};

/// Bins of a page: a quarter of a doubling, as each doubling of the durations has 1024 bins.
const PAGE: usize = 256;

/// Bins up to `MAX_NANOS`, in pages.
const PAGES: usize = (bin(MAX_NANOS) + PAGE) / PAGE;

/// Number of bins.
pub(crate) const BINS: usize = PAGES * PAGE;

/// The durations of the requests with one name, as a [`DurationHistogram`] that has the same bins. Two doublings take
/// 4 KiB, where that one takes 270.
#[derive(Clone, Debug, Default)]
pub struct SparseDurations {
    all: Bins,
    /// `None` before the first censored sample.
    censored: Option<Box<Bins>>,
    /// Of all samples, nanoseconds.
    sum: u128,
    /// Of the samples that are not censored; `None` without any.
    min: Option<u64>,
}

impl SparseDurations {
    /// Adds a duration that was observed to its end.
    pub(crate) fn record(&mut self, duration: Duration) {
        let nanos = self.add(duration);
        self.min = Some(self.min.map_or(nanos, |min| min.min(nanos)));
    }

    /// Adds the age of a request that has not ended (a censored sample).
    pub(crate) fn record_censored(&mut self, age: Duration) {
        let nanos = self.add(age);
        self.censored.get_or_insert_default().increment(bin(nanos));
    }

    fn add(&mut self, duration: Duration) -> u64 {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(MAX_NANOS).min(MAX_NANOS);
        self.all.increment(bin(nanos));
        self.sum += u128::from(nanos);
        nanos
    }

    /// Adds samples that were counted elsewhere, by bin.
    pub(crate) fn add_counts(
        &mut self,
        all: &[(usize, u64)],
        censored: &[(usize, u64)],
        sum: u128,
        min: Option<u64>,
    ) {
        for (bin, count) in all {
            self.all.add(*bin, *count);
        }
        for (bin, count) in censored {
            self.censored.get_or_insert_default().add(*bin, *count);
        }
        self.sum += sum;
        self.min = self.min.into_iter().chain(min).min();
    }

    /// Returns the number of samples.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.all.counts().map(|(_, count)| count).sum()
    }

    /// Returns the same samples as a histogram, which has the estimates.
    #[must_use]
    pub fn to_histogram(&self) -> DurationHistogram {
        let none = Bins::default();
        let censored = self.censored.as_deref().unwrap_or(&none);
        DurationHistogram::from_counts(
            self.all.durations(),
            censored.durations(),
            self.sum,
            self.min,
        )
    }
}

impl AddAssign<&Self> for SparseDurations {
    fn add_assign(&mut self, other: &Self) {
        self.all += &other.all;
        if let Some(censored) = &other.censored {
            *self.censored.get_or_insert_default().as_mut() += censored;
        }
        self.sum += other.sum;
        self.min = self.min.into_iter().chain(other.min).min();
    }
}

/// Counts by bin.
#[derive(Clone, Debug, Default)]
struct Bins {
    /// The low 16 bits of the counts, in `PAGES` pages after the first sample.
    pages: Vec<Option<Box<[u16; PAGE]>>>,
    /// The higher bits of the counts that have more, by bin, ascending.
    carries: Vec<(usize, u64)>,
}

impl Bins {
    fn increment(&mut self, bin: usize) {
        self.add(bin, 1);
    }

    fn add(&mut self, bin: usize, count: u64) {
        if self.pages.is_empty() {
            self.pages.resize(PAGES, None);
        }
        let page = self.pages[bin / PAGE].get_or_insert_with(|| Box::new([0; PAGE]));
        let sum = u64::from(page[bin % PAGE]) + count;
        // The cast keeps the low bits.
        page[bin % PAGE] = sum as u16;
        if sum > u64::from(u16::MAX) {
            self.carry(bin, sum >> u16::BITS);
        }
    }

    #[cold]
    fn carry(&mut self, bin: usize, count: u64) {
        match self.carries.binary_search_by_key(&bin, |(carried, _)| *carried) {
            Ok(at) => self.carries[at].1 += count,
            Err(at) => self.carries.insert(at, (bin, count)),
        }
    }

    /// The bins that have samples, in order, and their numbers.
    fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        let pages = self.pages.iter().enumerate();
        let used = pages.filter_map(|(at, page)| Some((at * PAGE, page.as_ref()?)));
        let low = used.flat_map(|(first, page)| (first..).zip(page.iter().copied()));
        low.map(|(bin, low)| (bin, u64::from(low) + (self.carried(bin) << u16::BITS)))
            .filter(|(_, count)| *count > 0)
    }

    fn carried(&self, bin: usize) -> u64 {
        let at = self.carries.binary_search_by_key(&bin, |(carried, _)| *carried);
        at.map_or(0, |at| self.carries[at].1)
    }

    /// The same by the least duration of each bin, in nanoseconds.
    fn durations(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts().map(|(bin, count)| (lowest(bin), count))
    }
}

impl AddAssign<&Self> for Bins {
    fn add_assign(&mut self, other: &Self) {
        for (bin, count) in other.counts() {
            self.add(bin, count);
        }
    }
}

/// Bits of a value that a bin tells apart: 2048 values are above three significant digits.
const BITS: u32 = 11;

/// The bin of a duration: below 2048 ns the duration itself, from there on 1024 bins for each doubling.
pub(crate) const fn bin(nanos: u64) -> usize {
    let doublings = (u64::BITS - (nanos | ((1 << BITS) - 1)).leading_zeros()) - BITS;
    ((doublings as usize) << (BITS - 1)) + (nanos >> doublings) as usize
}

/// The least duration of a bin.
pub(crate) fn lowest(bin: usize) -> u64 {
    let doublings = (bin >> (BITS - 1)).saturating_sub(1);
    ((bin - (doublings << (BITS - 1))) as u64) << doublings
}

#[cfg(test)]
mod tests;
