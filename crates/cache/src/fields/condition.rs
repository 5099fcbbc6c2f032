//! Requests that want a response only if it is not what they have (RFC 9110, section 13; RFC 9111,
//! section 4.3.2).

use millrace_http::h1::field_lines;

use crate::fields::date;

/// What conditions are judged by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Validators<'a> {
    /// As it stands in the response.
    pub(crate) tag: Option<&'a [u8]>,
    /// `Last-Modified`, or else `Date`.
    pub(crate) modified: i64,
    /// When it was stored, by the wall clock.
    pub(crate) stored: i64,
}

impl Validators<'_> {
    /// Whether the client has this response already. `If-None-Match` makes `If-Modified-Since` void (RFC 9110,
    /// section 13.1.3), and so does a date that is none.
    pub(crate) fn match_request(&self, lines: &[u8]) -> bool {
        let (mut tagged, mut matches, mut since) = (false, false, None);
        for (name, value) in field_lines(lines) {
            if name.eq_ignore_ascii_case(b"if-none-match") {
                tagged = true;
                matches |= self.match_tags(value);
            } else if name.eq_ignore_ascii_case(b"if-modified-since") {
                since = date::parse(value, self.stored);
            }
        }
        if tagged { matches } else { since.is_some_and(|since| self.modified <= since) }
    }

    /// Whether `list` names the tag, by weak comparison (RFC 9110, section 8.8.3.2).
    fn match_tags(&self, list: &[u8]) -> bool {
        let list = list.trim_ascii();
        if list == b"*" {
            return true;
        }
        let Some(tag) = self.tag else { return false };
        // A tag without quotes is none, but clients give it back.
        if list == tag {
            return true;
        }
        let tag = strong(tag);
        let mut rest = list;
        while let Some(item) = strong(rest).strip_prefix(b"\"") {
            let Some(end) = item.iter().position(|&byte| byte == b'"') else { return false };
            let whole = strong(rest);
            if &whole[..end + 2] == tag {
                return true;
            }
            let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b',');
            rest = &whole[end + 2..];
            rest = &rest[rest.iter().take_while(blank).count()..];
        }
        false
    }
}

/// Without the mark of a weak tag.
fn strong(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(b"W/").unwrap_or(tag)
}
