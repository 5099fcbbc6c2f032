//! Which request comes next.

/// An order over the requests of a mix, given by their indices.
#[derive(Clone, Debug)]
pub(crate) struct RequestMix {
    requests: Vec<u32>,
    order: Order,
}

#[derive(Clone, Debug)]
enum Order {
    Turn {
        next: usize,
    },
    /// Running sums of the weights.
    Weighted {
        sums: Vec<f64>,
    },
}

impl RequestMix {
    /// Over requests with their weights; `first` is where a turn begins, so that threads do not all
    /// begin with the same request.
    pub(crate) fn new(weights: &[(u32, f64)], weighted: bool, first: usize) -> Self {
        let requests: Vec<u32> = weights.iter().map(|(request, _)| *request).collect();
        let order = if weighted {
            let running = |sum: &mut f64, (_, weight): &(u32, f64)| {
                *sum += weight;
                Some(*sum)
            };
            Order::Weighted { sums: weights.iter().scan(0.0, running).collect() }
        } else {
            Order::Turn { next: first % requests.len().max(1) }
        };
        Self { requests, order }
    }

    /// Divides the next `count` requests among the requests of the mix, by index: by their shares, and draws the rest.
    pub(crate) fn apportion(&mut self, count: u64, random: &mut fastrand::Rng) -> Vec<(u32, u64)> {
        let equal = 1.0 / self.requests.len() as f64;
        let share = |index: usize| match &self.order {
            Order::Weighted { sums } if sums[sums.len() - 1] > 0.0 => {
                let before = index.checked_sub(1).map_or(0.0, |before| sums[before]);
                (sums[index] - before) / sums[sums.len() - 1]
            }
            _ => equal,
        };
        let whole = |index: usize| (share(index) * count as f64) as u64;
        let mut each: Vec<_> = self.requests.iter().copied().zip((0..).map(whole)).collect();
        let given = each.iter().map(|(_, number)| number).sum();
        for _ in 0..count.saturating_sub(given) {
            let next = self.next(random);
            each.iter_mut().filter(|(request, _)| *request == next).for_each(|one| one.1 += 1);
        }
        each
    }

    /// The index of request `number` of a run: by turns, or as its random numbers say.
    pub(crate) fn at(&self, number: u64, random: impl FnOnce() -> fastrand::Rng) -> u32 {
        match (&self.requests[..], &self.order) {
            ([only], _) => *only,
            (requests, Order::Turn { .. }) => requests[(number % requests.len() as u64) as usize],
            (requests, Order::Weighted { sums }) => requests[draw(sums, &mut random())],
        }
    }

    /// The index of the next request.
    pub(crate) fn next(&mut self, random: &mut fastrand::Rng) -> u32 {
        if let [only] = self.requests[..] {
            return only;
        }
        let index = match &mut self.order {
            Order::Turn { next } => {
                let index = *next;
                *next = if index + 1 == self.requests.len() { 0 } else { index + 1 };
                index
            }
            Order::Weighted { sums } => draw(sums, random),
        };
        self.requests[index]
    }
}

/// Draws an index by the running sums of weights.
fn draw(sums: &[f64], random: &mut fastrand::Rng) -> usize {
    let total = sums.last().copied().unwrap_or_default();
    let drawn = random.f64() * total;
    sums.partition_point(|sum| *sum <= drawn).min(sums.len() - 1)
}

#[cfg(test)]
mod tests;
