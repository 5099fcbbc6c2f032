//! What may last as long for all: what started first is late first.

use std::collections::VecDeque;

use millrace_net::Nanos;

/// Number of connections from which on those whose part is over are removed.
const FEW: usize = 64;

/// Connections or lanes, by their keys, in the order in which something of them started. One whose part is over stays until it is the first,
/// or until half of all may be over. So each start costs as good as nothing, and what is late is found without a look at what
/// is not.
#[derive(Debug)]
pub(crate) struct Started<K> {
    queue: VecDeque<(Nanos, K)>,
    /// Number from which on those whose part is over are removed.
    most: usize,
}

impl<K> Default for Started<K> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), most: 0 }
    }
}

impl<K: Copy> Started<K> {
    /// Something has started. `lasts`: whether what started then still lasts.
    pub(crate) fn push(&mut self, at: Nanos, id: K, lasts: impl Fn(Nanos, K) -> bool) {
        self.first(&lasts);
        if self.queue.len() >= self.most.max(FEW) {
            self.queue.retain(|&(at, id)| lasts(at, id));
            self.most = 2 * self.queue.len();
        }
        // Nearly always the last.
        let before = self.queue.iter().rposition(|&(other, _)| other <= at);
        self.queue.insert(before.map_or(0, |place| place + 1), (at, id));
    }

    /// What started first of all that lasts.
    pub(crate) fn first(&mut self, lasts: impl Fn(Nanos, K) -> bool) -> Option<(Nanos, K)> {
        while let Some(&(at, id)) = self.queue.front() {
            if lasts(at, id) {
                return Some((at, id));
            }
            self.queue.pop_front();
        }
        None
    }

    /// Removes what [`Self::first`] has given.
    pub(crate) fn remove_first(&mut self) {
        self.queue.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn what_is_late_is_found_without_a_look_at_the_rest() {
        let mut started = Started::default();
        let looks = Cell::new(0);
        let lasts = |_, _| {
            looks.set(looks.get() + 1);
            true
        };
        for number in 0..10_000 {
            started.push(Nanos(number), number, |_, _| true);
        }
        for number in 0..10 {
            assert_eq!(started.first(lasts), Some((Nanos(number), number)));
            started.remove_first();
        }
        assert_eq!(looks.get(), 10);
    }

    #[test]
    fn what_is_over_leaves_though_the_first_lasts() {
        let mut started = Started::default();
        let looks = Cell::new(0);
        for number in 0..100_000 {
            // The first lasts, and the last hundred.
            started.push(Nanos(number), number, |_, other| {
                looks.set(looks.get() + 1);
                other == 0 || other + 100 > number
            });
            assert!(started.queue.len() <= 2 * 101 + 1, "{}", started.queue.len());
        }
        assert!(looks.get() < 400_000, "{}", looks.get());
    }

    #[test]
    fn one_that_comes_from_elsewhere_has_its_place() {
        let mut started = Started::default();
        for at in [3, 5, 7, 4, 1, 9] {
            started.push(Nanos(at), at, |_, _| true);
        }
        let mut order = Vec::new();
        while let Some((at, _)) = started.first(|_, _| true) {
            started.remove_first();
            order.push(at.0);
        }
        assert_eq!(order, [1, 3, 4, 5, 7, 9]);
    }
}
