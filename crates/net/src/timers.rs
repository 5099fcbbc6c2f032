//! What is due, by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Nanos;

/// Cancelled timers that are not worth looking for.
const FEW: usize = 64;

/// A heap of times with a key each. Whoever takes a timer out checks whether it still matters. That keeps the cost of
/// a request's time limit at zero as long as each connection has at most one timer in here and renews it when it
/// fires. Those that do not matter any more leave together, once they may be the half.
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

    /// One timer does not matter any more; `matters` tells which still do.
    pub fn cancel(&mut self, matters: impl Fn(Nanos, &K) -> bool) {
        self.cancelled += 1;
        if self.cancelled > FEW.max(self.heap.len() / 2) {
            self.cancelled = 0;
            self.heap.retain(|Reverse((at, key))| matters(*at, key));
        }
    }

    /// How many there are, those that do not matter among them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// When the next one is due; [`Nanos::NEVER`] if there is none.
    #[must_use]
    pub fn next(&self) -> Nanos {
        self.heap.peek().map_or(Nanos::NEVER, |Reverse((at, _))| *at)
    }

    /// Takes the earliest timer out if it is due at `now`.
    pub fn pop_due(&mut self, now: Nanos) -> Option<(Nanos, K)> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|Reverse(timer)| timer)
    }
}
