//! What is due, by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Nanos;

/// A heap of times with a key each. Timers are never cancelled: whoever takes one out checks whether it
/// still matters. That keeps the cost of a request's time limit at zero as long as each connection has
/// at most one timer in here and renews it when it fires.
#[derive(Debug)]
pub struct Timers<K> {
    heap: BinaryHeap<Reverse<(Nanos, K)>>,
}

impl<K: Ord> Default for Timers<K> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new() }
    }
}

impl<K: Ord> Timers<K> {
    /// Adds a timer.
    pub fn push(&mut self, at: Nanos, key: K) {
        self.heap.push(Reverse((at, key)));
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
