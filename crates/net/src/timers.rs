//! A queue of timers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Nanos;

/// Number of cancelled timers from which on they are removed.
const FEW: usize = 64;

/// A heap of times with a key each. The caller checks whether a timer that fires is still valid. So the time limit of a
/// request costs nothing, as long as each connection has at most one timer and renews it when it fires. Cancelled timers
/// are removed together, once they may be half of all.
#[derive(Debug)]
pub struct TimerQueue<K> {
    heap: BinaryHeap<Reverse<(Nanos, K)>>,
    cancelled: usize,
}

impl<K: Ord> Default for TimerQueue<K> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), cancelled: 0 }
    }
}

impl<K: Ord> TimerQueue<K> {
    /// Adds a timer.
    pub fn push(&mut self, at: Nanos, key: K) {
        self.heap.push(Reverse((at, key)));
    }

    /// Records that a timer is cancelled; `matters` tells which ones are still valid.
    pub fn cancel(&mut self, matters: impl Fn(Nanos, &K) -> bool) {
        self.cancelled += 1;
        if self.cancelled > FEW.max(self.heap.len() / 2) {
            self.cancelled = 0;
            self.heap.retain(|Reverse((at, key))| matters(*at, key));
        }
    }

    /// Returns the number of timers, cancelled ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether there are no timers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Returns when the next timer is due; [`Nanos::NEVER`] without one.
    #[must_use]
    pub fn next(&self) -> Nanos {
        self.heap.peek().map_or(Nanos::NEVER, |Reverse((at, _))| *at)
    }

    /// Removes and returns the earliest timer if it is due at `now`.
    pub fn pop_due(&mut self, now: Nanos) -> Option<(Nanos, K)> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|Reverse(timer)| timer)
    }
}
