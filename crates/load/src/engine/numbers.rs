//! The numbers of a run's requests, dealt to its shares and their threads. Pure: numbers in, numbers out.

use crate::plan::Segment;

/// The numbers that one thread has: those of a run are dealt in turn to its shares, and those of a share to its threads.
/// What is random about a request follows from its number and the run's seed, so it is the same for any number of shares
/// and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    next: u64,
    step: u64,
}

impl Numbers {
    /// Those of thread `worker` of `workers`.
    #[must_use]
    pub fn new(segment: Segment, worker: u64, workers: u64) -> Self {
        let Segment { index, count } = segment;
        Self { next: index + count * worker, step: count * workers }
    }

    /// The next number.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Takes the next number.
    pub fn take(&mut self) -> u64 {
        let number = self.next;
        self.next += self.step;
        number
    }
}

/// Returns the random numbers that belong to request or iteration `number`; `purpose` sets apart what is drawn for it.
pub(crate) fn random_for(seed: u64, number: u64, purpose: Purpose) -> fastrand::Rng {
    let salt = (purpose as u64).wrapping_mul(0xd6e8_feb8_6659_fd93);
    fastrand::Rng::with_seed(scramble(scramble(seed ^ salt) ^ number))
}

/// What is drawn for a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// Its place in a weighted mix.
    Mix,
    /// Placeholders, pauses and conditions.
    Values,
    /// The times between arrivals.
    Arrivals,
    /// Its trace context.
    Trace,
    /// The places in the mix of the requests of a thread of a closed run, one after the other.
    Turns,
}

/// Spreads the bits of a number (the finalizer of SplitMix64, Steele, Lea and Flood 2014): generators whose seeds differ by
/// little would otherwise draw the same numbers with a shift.
fn scramble(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Generators of neighbouring numbers must not draw the same values one after the other, nor those of two purposes.
    #[test]
    fn what_is_drawn_for_a_request_is_drawn_for_no_other_and_for_one_purpose() {
        let mut seen = HashSet::new();
        for seed in 0..4 {
            for number in 0..500 {
                for purpose in [Purpose::Mix, Purpose::Values, Purpose::Arrivals] {
                    let mut random = random_for(seed, number, purpose);
                    assert!((0..4).all(|_| seen.insert(random.u64(..))), "{seed} {number}");
                }
            }
        }
    }

    #[test]
    fn numbers_are_dealt_to_shares_and_their_threads() {
        let threads = [2, 1, 3];
        let mut dealt = HashSet::new();
        for (index, workers) in threads.into_iter().enumerate() {
            for worker in 0..workers {
                let segment = Segment { index: index as u64, count: 3 };
                let mut numbers = Numbers::new(segment, worker, workers);
                let own = std::iter::from_fn(|| Some(numbers.take()));
                dealt.extend(own.take_while(|number| *number < 60));
            }
        }
        assert_eq!(dealt.len(), 60);
    }
}
