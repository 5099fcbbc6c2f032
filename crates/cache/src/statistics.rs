//! Counts of what the cache has done.

use crate::reason::{NotStored, Pass};

/// Counts since the cache was created; `entries` and the fields behind it are the present values.
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
    /// Of `hits`: requests that renew the entry.
    pub refreshes: u64,
    /// Sent to wait for another request's response.
    pub waits: u64,
    /// Answered with 504, since they accept only a stored response.
    pub only_if_cached: u64,
    /// Responses that were stored.
    pub stores: u64,
    /// Entries that were evicted because the cache was full.
    pub evictions: u64,
    /// Entries that were removed because of requests with unsafe methods, or on command.
    pub invalidations: u64,
    /// Fills whose waiting requests were resumed before the response was complete.
    pub late: u64,
    /// Stored entries.
    pub entries: usize,
    /// Bytes of the entries, keys and bookkeeping included.
    pub bytes: usize,
    /// Bytes of the responses that are being received.
    pub buffered_bytes: usize,
    /// Fills that have not ended.
    pub fills: usize,
    /// Requests that wait.
    pub waiting: usize,
    passes: [u64; Pass::ALL.len()],
    not_stored: [u64; NotStored::ALL.len()],
}

impl Statistics {
    /// Returns the number of requests that bypassed the cache for this reason.
    #[must_use]
    pub fn passes(&self, reason: Pass) -> u64 {
        self.passes[reason as usize]
    }

    /// Returns the number of responses that were not stored for this reason.
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
