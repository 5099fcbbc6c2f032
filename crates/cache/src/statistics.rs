//! What the cache has done, in numbers.

use crate::reason::{NotStored, Pass};

/// Counts since the cache was made; `entries` and what follows are as of now.
///
/// `lookups = hits + misses + waits + only_if_cached + passes`, where a refresh is a hit as well. A request that has waited
/// is looked up again, and counted again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Requests that were looked up.
    pub lookups: u64,
    /// Answered from the cache.
    pub hits: u64,
    /// Of `hits`: with a stale response, while another request renews it or is about to.
    pub stale: u64,
    /// Of `hits`: with 304.
    pub not_modified: u64,
    /// Sent to the application, to be stored.
    pub misses: u64,
    /// Of `hits`: requests that are to renew what they hit.
    pub refreshes: u64,
    /// Sent to wait for another request's response.
    pub waits: u64,
    /// Answered with 504, since they wanted nothing but what is stored.
    pub only_if_cached: u64,
    /// Responses that were stored.
    pub stores: u64,
    /// Entries that left for want of room.
    pub evictions: u64,
    /// Entries that were removed by requests with unsafe methods or by order.
    pub invalidations: u64,
    /// Responses that took so long that those who waited were sent on.
    pub late: u64,
    /// Entries.
    pub entries: usize,
    /// Bytes of the entries, what it takes to find them included.
    pub bytes: usize,
    /// Bytes of responses that are being collected.
    pub collecting: usize,
    /// Requests that are with the application, to be stored.
    pub leads: usize,
    /// Requests that wait.
    pub waiting: usize,
    passes: [u64; Pass::ALL.len()],
    not_stored: [u64; NotStored::ALL.len()],
}

impl Statistics {
    /// Requests that went past the cache for this reason.
    #[must_use]
    pub fn passes(&self, reason: Pass) -> u64 {
        self.passes[reason as usize]
    }

    /// Responses that were not stored for this reason.
    #[must_use]
    pub fn not_stored(&self, reason: NotStored) -> u64 {
        self.not_stored[reason as usize]
    }

    pub(crate) fn count_pass(&mut self, reason: Pass) {
        self.passes[reason as usize] += 1;
    }

    pub(crate) fn count_not_stored(&mut self, reason: NotStored) {
        self.not_stored[reason as usize] += 1;
    }
}
