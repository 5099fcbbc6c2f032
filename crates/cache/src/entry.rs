//! A stored response.

use std::ops::Range;
use std::time::Duration;

use crate::condition::Validators;
use crate::request::Credentials;
use crate::vary::Vary;

/// What an entry costs beside its bytes: itself, its key and its places in slabs, lists and tables that have grown to
/// twice of what they need, and what the allocator adds.
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
    /// Fresh and usable before these times.
    pub(crate) fresh_until: Duration,
    pub(crate) usable_until: Duration,
    /// From here on it is renewed early.
    pub(crate) early: Duration,
    pub(crate) vary: Vary,
    /// What the fields were that `vary` names.
    pub(crate) values: Box<[u8]>,
    /// Whom it is for.
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

    /// The same for a 304.
    #[must_use]
    pub fn not_modified_head(&self) -> &[u8] {
        &self.bytes[self.heads[0]..self.heads[1]]
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.bytes[self.heads[1]..]
    }

    /// Which fields of requests it depends on.
    #[must_use]
    pub fn vary(&self) -> &Vary {
        &self.vary
    }

    /// How old it is, in seconds (RFC 9111, section 4.2.3): by the monotonic clock since it was stored.
    #[must_use]
    pub fn age(&self, now: Duration) -> u64 {
        self.age + now.saturating_sub(self.stored).as_secs()
    }

    /// How much longer it is fresh.
    #[must_use]
    pub fn fresh_for(&self, now: Duration) -> Duration {
        self.fresh_until.saturating_sub(now)
    }

    /// How much longer it may be used, stale or not.
    #[must_use]
    pub fn usable_for(&self, now: Duration) -> Duration {
        self.usable_until.saturating_sub(now)
    }

    /// Bytes that count towards the bound, without the key.
    pub(crate) fn cost(&self) -> usize {
        self.bytes.len() + self.vary.as_bytes().len() + self.values.len() + OVERHEAD
    }

    /// Whether a request with these may have it.
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
