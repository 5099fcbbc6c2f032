//! A stored response.

use std::ops::Range;
use std::time::Duration;

use crate::fields::condition::Validators;
use crate::fields::vary::Vary;
use crate::request::Credentials;

/// Memory in bytes that an entry needs beside its bytes: its struct, its key, its places in slabs, lists and tables that
/// have grown to twice their need, and the allocator's share.
const OVERHEAD: usize = 768;

/// A response as it is sent: two heads and a body in one piece of memory. To each head belong a piece
/// that is made for each request (`Age`, `Connection`) and the empty line.
#[derive(Debug)]
pub struct Entry {
    /// Head, head of the 304, body.
    pub(crate) bytes: Box<[u8]>,
    pub(crate) heads: [usize; 2],
    pub(crate) tag: Option<Range<usize>>,
    pub(crate) modified: i64,
    pub(crate) stored_wall: i64,
    /// When it was stored, and how old it was then.
    pub(crate) stored: Duration,
    pub(crate) age: u64,
    /// Fresh before this time, usable before the next one.
    pub(crate) fresh_until: Duration,
    pub(crate) usable_until: Duration,
    /// When early renewal begins.
    pub(crate) early: Duration,
    pub(crate) vary: Vary,
    /// Values of the fields that `vary` names.
    pub(crate) values: Box<[u8]>,
    /// Credentials of the requests that may have it.
    pub(crate) permits: Credentials,
    pub(crate) status: u16,
}

impl Entry {
    /// The status code.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Status line and field lines, `Content-Length` and `Date` among them, without the empty line.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        &self.bytes[..self.heads[0]]
    }

    /// Status line and field lines of a 304, without the empty line.
    #[must_use]
    pub fn not_modified_head(&self) -> &[u8] {
        &self.bytes[self.heads[0]..self.heads[1]]
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.bytes[self.heads[1]..]
    }

    /// The fields of requests that it depends on.
    #[must_use]
    pub fn vary(&self) -> &Vary {
        &self.vary
    }

    /// Its age in seconds (RFC 9111, section 4.2.3): by the monotonic clock since it was stored.
    #[must_use]
    pub fn age(&self, now: Duration) -> u64 {
        self.age + now.saturating_sub(self.stored).as_secs()
    }

    /// Remaining time for which it is fresh.
    #[must_use]
    pub fn fresh_for(&self, now: Duration) -> Duration {
        self.fresh_until.saturating_sub(now)
    }

    /// Remaining time for which it may be used, stale or not.
    #[must_use]
    pub fn usable_for(&self, now: Duration) -> Duration {
        self.usable_until.saturating_sub(now)
    }

    /// Bytes that count towards the maximum size, without the key.
    pub(crate) fn cost(&self) -> usize {
        self.bytes.len() + self.vary.as_bytes().len() + self.values.len() + OVERHEAD
    }

    /// Whether a request with these credentials may have it.
    pub(crate) fn permits(&self, credentials: Credentials) -> bool {
        (self.permits.authorization || !credentials.authorization)
            && (self.permits.cookie || !credentials.cookie)
    }

    /// Whether a conditional request gets a 304. Conditions are for what would be a success (RFC 9110,
    /// section 13.2.1).
    pub(crate) fn is_not_modified(&self, lines: &[u8]) -> bool {
        let tag = self.tag.clone().map(|tag| &self.bytes[tag]);
        (200..300).contains(&self.status)
            && Validators { tag, modified: self.modified, stored: self.stored_wall }
                .match_request(lines)
    }
}
