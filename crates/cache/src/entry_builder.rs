//! Builds an entry from a response that is being received.

use std::ops::Range;
use std::time::Duration;

use crate::entry::Entry;
use crate::fields::date;
use crate::policy::Decision;
use crate::request::Credentials;
use crate::response::ResponseFields;

/// Fields that are not stored: those of one message or one connection (RFC 9111, section 3.1; RFC 9110, section 7.6.1),
/// and those that each answer generates.
const NOT_STORED: [&[u8]; 13] = [
    b"age",
    b"cache-status",
    b"connection",
    b"content-length",
    b"keep-alive",
    b"proxy-authenticate",
    b"proxy-authentication-info",
    b"proxy-authorization",
    b"proxy-connection",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
];

/// Maximum bytes that are allocated for a body before it arrives.
const MAX_RESERVED: usize = 1024 * 1024;

/// Fields that a 304 does not have: they describe content, and it has none. All others stay, as in a 304 of the
/// application itself: beside those that RFC 9110, section 15.4.5, asks for they are what a browser applies to this very
/// answer, such as the permission for a page of another origin to read it.
const OF_CONTENT: [&[u8]; 6] = [
    b"content-digest",
    b"content-encoding",
    b"content-language",
    b"content-md5",
    b"content-range",
    b"content-type",
];

/// A response whose body is being received.
#[derive(Debug)]
pub(crate) struct EntryBuilder {
    head: Vec<u8>,
    not_modified: Vec<u8>,
    body: Vec<u8>,
    decision: Decision,
    values: Vec<u8>,
    /// When the head arrived.
    arrived: Duration,
    wall: i64,
    status: u16,
    /// `Content-Length`.
    length: Option<u64>,
    modified: i64,
}

impl EntryBuilder {
    pub(crate) fn new(
        head: &ResponseFields<'_>,
        decision: Decision,
        values: Vec<u8>,
        arrived: Duration,
        wall: i64,
    ) -> Self {
        let dated = head.date.is_some();
        let nominated = find_nominated(head);
        let kept = |name: &[u8]| {
            let is = |other: &&[u8]| name.eq_ignore_ascii_case(other);
            !NOT_STORED.iter().any(is)
                && !nominated.iter().any(is)
                && (dated || !name.eq_ignore_ascii_case(b"date"))
        };
        let mut own = head.status_line.to_vec();
        let mut not_modified = b"HTTP/1.1 304 Not Modified\r\n".to_vec();
        for line in head.lines.split_inclusive(|&byte| byte == b'\n') {
            let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
            if !kept(name) {
                continue;
            }
            own.extend_from_slice(line);
            if !OF_CONTENT.iter().any(|field| name.eq_ignore_ascii_case(field)) {
                not_modified.extend_from_slice(line);
            }
        }
        if !dated {
            // RFC 9110, section 6.6.1.
            let line = format!("Date: {}\r\n", date::render(wall));
            own.extend_from_slice(line.as_bytes());
            not_modified.extend_from_slice(line.as_bytes());
        }
        let modified = head.last_modified.or(head.date).unwrap_or(wall);
        let (status, length) = (head.status, head.length);
        let body = Vec::new();
        Self {
            head: own,
            not_modified,
            body,
            decision,
            values,
            arrived,
            wall,
            status,
            length,
            modified,
        }
    }

    /// Returns when the head arrived.
    pub(crate) fn arrived(&self) -> Duration {
        self.arrived
    }

    /// Returns when the entry will expire.
    pub(crate) fn usable_until(&self) -> Duration {
        let Decision { fresh, stale_while_revalidate, .. } = self.decision;
        self.arrived.saturating_add(fresh).saturating_add(stale_while_revalidate)
    }

    /// Returns the known size in bytes of the whole response, with `more` bytes of the body.
    pub(crate) fn total_bytes_with(&self, more: usize) -> usize {
        let body = self.announced_length().max(self.body.len() + more);
        (self.head.len() + self.not_modified.len()).saturating_add(body)
    }

    /// `Content-Length`.
    fn announced_length(&self) -> usize {
        self.length.map_or(0, |length| usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// Returns the allocated memory in bytes.
    pub(crate) fn capacity_bytes(&self) -> usize {
        self.head.capacity() + self.not_modified.capacity() + self.body.capacity()
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        if self.body.is_empty() {
            // A short response comes in one piece, a longer one with its length, which may be anything.
            self.body.reserve_exact(self.announced_length().min(MAX_RESERVED).max(bytes.len()));
        }
        self.body.extend_from_slice(bytes);
    }

    /// Returns the entry; `None` if the body does not have the length that its head announces (RFC 9111, section 3.3), or
    /// none is allowed.
    pub(crate) fn finish(self) -> Option<Entry> {
        let Self { mut head, not_modified, body, decision, .. } = self;
        if self.length.is_some_and(|length| length != body.len() as u64) {
            return None;
        }
        if self.status == 204 {
            // RFC 9110, sections 8.6 and 15.3.5.
            if !body.is_empty() {
                return None;
            }
        } else {
            head.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        let tag = find_tag(&head);
        let heads = [head.len(), head.len() + not_modified.len()];
        let fresh_until = self.arrived.saturating_add(decision.fresh);
        Some(Entry {
            bytes: [head, not_modified, body].concat().into(),
            heads,
            tag,
            modified: self.modified,
            stored_wall: self.wall,
            stored: self.arrived,
            age: decision.age,
            fresh_until,
            usable_until: fresh_until.saturating_add(decision.stale_while_revalidate),
            early: fresh_until.saturating_sub(decision.fresh / 10),
            vary: decision.vary,
            values: self.values.into(),
            permits: Credentials {
                authorization: decision.for_authorization,
                cookie: decision.for_cookie,
            },
            status: self.status,
        })
    }
}

/// Returns the fields that `Connection` names.
fn find_nominated<'a>(head: &ResponseFields<'a>) -> Vec<&'a [u8]> {
    head.fields()
        .filter(|(name, _)| name.eq_ignore_ascii_case(b"connection"))
        .flat_map(|(_, value)| value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii))
        .collect()
}

/// Finds the value of the first `ETag`.
fn find_tag(head: &[u8]) -> Option<Range<usize>> {
    let mut at = 0;
    for line in head.split_inclusive(|&byte| byte == b'\n') {
        if let Some((name, value)) = line.split_at_checked(b"etag:".len())
            && name.eq_ignore_ascii_case(b"etag:")
        {
            let start = at + name.len() + (value.len() - value.trim_ascii_start().len());
            let length = value.trim_ascii().len();
            return Some(start..start + length);
        }
        at += line.len();
    }
    None
}
