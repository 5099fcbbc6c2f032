//! Statuses of responses, and sets of them: those of HTTP have three digits, numbers below 100 are those of gRPC.

/// Number of statuses that a response may have: from 0 to 999.
pub(crate) const STATUSES: usize = 1000;

/// The first status of HTTP.
const FIRST_OF_HTTP: u16 = 100;

const WORDS: usize = STATUSES.div_ceil(64);

/// Whether a status is one of gRPC.
pub(crate) fn is_grpc(status: u16) -> bool {
    status < FIRST_OF_HTTP
}

/// Whether a status says that the request failed: one of HTTP from 400 on, or one of gRPC other than OK.
pub(crate) fn is_error(status: u16) -> bool {
    status >= 400 || (is_grpc(status) && status > 0)
}

/// A set of statuses from 0 to 999.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusSet([u64; WORDS]);

impl StatusSet {
    /// What counts as a success over HTTP unless the plan says otherwise: all below 400.
    #[must_use]
    pub fn below_400() -> Self {
        (FIRST_OF_HTTP..400).collect()
    }

    /// Redirections: responses that send the client somewhere else (RFC 9110, section 15.4). Of the others of
    /// their class, 304 has nowhere to send it, 305 and 306 are not used any more.
    #[must_use]
    pub fn redirections() -> Self {
        [300, 301, 302, 303, 307, 308].into_iter().collect()
    }

    /// Whether `status` belongs to it.
    #[must_use]
    pub fn contains(&self, status: u16) -> bool {
        let index = usize::from(status);
        self.0.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Adds `status`; what no response may have is not kept.
    pub fn insert(&mut self, status: u16) {
        let index = usize::from(status);
        if index < STATUSES {
            self.0[index / 64] |= 1 << (index % 64);
        }
    }

    /// Takes `status` out.
    pub fn remove(&mut self, status: u16) {
        let index = usize::from(status);
        if index < STATUSES {
            self.0[index / 64] &= !(1 << (index % 64));
        }
    }

    /// All statuses that are not in it, and those of `others`.
    pub(crate) fn complement_with(&self, others: &Self) -> Self {
        let all = self.0.iter().zip(others.0).map(|(word, other)| !word | other);
        let mut words = [0; WORDS];
        words.iter_mut().zip(all).for_each(|(word, value)| *word = value);
        Self(words)
    }
}

impl FromIterator<u16> for StatusSet {
    fn from_iter<I: IntoIterator<Item = u16>>(statuses: I) -> Self {
        let mut set = Self::default();
        statuses.into_iter().for_each(|status| set.insert(status));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_in() {
        let mut set = StatusSet::below_400();
        assert!((100..400).all(|status| set.contains(status)));
        assert!(![0, 99, 400, 999, 1000, u16::MAX].into_iter().any(|status| set.contains(status)));
        [0, 16, 999, 1000].into_iter().for_each(|status| set.insert(status));
        [200, 99, 1000].into_iter().for_each(|status| set.remove(status));
        assert!([0, 16, 999].into_iter().all(|status| set.contains(status)));
        assert!(![1, 99, 200, 1000].into_iter().any(|status| set.contains(status)));
    }

    #[test]
    fn its_complement_has_the_others() {
        let rest = StatusSet::below_400().complement_with(&StatusSet::redirections());
        assert!([0, 14, 302, 400, 999].into_iter().all(|status| rest.contains(status)));
        assert!(![100, 200, 304].into_iter().any(|status| rest.contains(status)));
    }

    #[test]
    fn statuses_of_grpc_but_ok_are_errors() {
        assert!([1, 2, 16, 400, 503, 999].into_iter().all(is_error));
        assert!(![0, 100, 200, 304, 399].into_iter().any(is_error));
    }
}
