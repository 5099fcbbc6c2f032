//! A request's fields as text of HTTP/1.1.

use millrace_http::h1::{HeadParser, Parsed, RequestFraming};
use millrace_http::h2::{ErrorCode, FieldList, StreamError};

use crate::settings::HeadLimits;

/// The field of a body whose length is not known, as proxies add it that speak HTTP/1.1 with an application.
const CHUNKED: &[u8] = b"transfer-encoding: chunked\r\n";

/// Most bytes of a trailer section, as text.
const MAX_TRAILERS: usize = 16 * 1024;

/// The name of the line that says which fields a request had: the number of its stream, its scheme, and a letter for each pseudo
/// field and `host`, in their order. No name of a field that a client sends has an upper-case letter.
const PSEUDO: &[u8] = b"Pseudo";

/// A request that has begun, as a connection of HTTP/1.1 reads it.
#[derive(Debug)]
pub(crate) struct RequestText {
    pub(crate) head: Vec<u8>,
    /// How its body ends; `None`: as the head says.
    pub(crate) framing: Option<RequestFraming>,
}

/// What a request becomes.
#[derive(Debug)]
pub(super) enum Rendered {
    Request(RequestText),
    /// CONNECT, which is answered here: a stream is no tunnel.
    Connect,
}

/// Fields that have a place of their own in text.
#[derive(Default)]
struct Special<'a> {
    /// The number of the stream, if the text says which fields there were.
    number: Option<u32>,
    method: &'a [u8],
    path: &'a [u8],
    authority: Option<&'a [u8]>,
    host: Option<&'a [u8]>,
    has_length: bool,
    is_extended: bool,
}

/// The head of a request. Its body ends with the stream; text that only Node's parser can judge says so itself, in chunks.
pub(super) fn render(
    fields: &FieldList,
    ends: bool,
    number: Option<u32>,
    limits: &HeadLimits,
) -> Result<Rendered, StreamError> {
    let special = Special { number, ..Special::of(fields) };
    if special.is_extended {
        return Err(malformed("an extended CONNECT, which was not offered"));
    }
    if special.method == b"CONNECT" {
        return Ok(Rendered::Connect);
    }
    special.check_host()?;
    // Applications find by one of two fields that there is a body.
    let chunked = if ends || special.has_length { &b""[..] } else { CHUNKED };
    let head = special.head(fields, chunked);
    if ends {
        return Ok(Rendered::Request(RequestText { head, framing: Some(RequestFraming::None) }));
    }
    if let Parsed::Unsure(_) = HeadParser::default().parse(&head, limits) {
        let head = special.head(fields, CHUNKED);
        return Ok(Rendered::Request(RequestText { head, framing: None }));
    }
    Ok(Rendered::Request(RequestText { head, framing: Some(RequestFraming::Chunked) }))
}

/// The lines of a trailer section.
pub(super) fn render_trailers(fields: &FieldList) -> Result<Vec<u8>, StreamError> {
    let mut lines = Vec::new();
    for (name, value) in fields.iter() {
        push_line(name, value, &mut lines);
    }
    match lines.len() {
        0..=MAX_TRAILERS => Ok(lines),
        _ => Err(malformed("a trailer section of more than 16 KiB")),
    }
}

impl<'a> Special<'a> {
    fn of(fields: &'a FieldList) -> Self {
        let mut special = Self::default();
        for (name, value) in fields.iter() {
            match name {
                b":method" => special.method = value,
                b":path" => special.path = value,
                b":authority" => special.authority = Some(value),
                b":protocol" => special.is_extended = true,
                b"host" => special.host = Some(value),
                b"content-length" => special.has_length = true,
                _ => {}
            }
        }
        special
    }

    /// RFC 9113, section 8.3.1: both name the same host, if both are there.
    fn check_host(&self) -> Result<(), StreamError> {
        match (self.authority, self.host) {
            (Some(authority), Some(host)) if !authority.eq_ignore_ascii_case(host) => {
                Err(malformed("a host that differs from :authority"))
            }
            (Some(b""), _) => Err(malformed("an empty :authority")),
            _ => Ok(()),
        }
    }

    /// `framing`: the field that frames the body in place of `content-length`, if any does.
    fn head(&self, fields: &FieldList, framing: &[u8]) -> Vec<u8> {
        let mut head = Vec::with_capacity(fields.size());
        for part in [self.method, b" ", self.path, b" HTTP/1.1\r\n"] {
            head.extend_from_slice(part);
        }
        if let Some(authority) = self.authority {
            push_line(b"host", authority, &mut head);
        }
        if let Some(number) = self.number {
            push_pseudo(fields, number, &mut head);
        }
        let mut has_cookie = false;
        for (name, value) in fields.iter() {
            match name {
                [b':', ..] => {}
                b"host" if self.authority.is_some() => {}
                b"content-length" if !framing.is_empty() => {}
                b"cookie" if self.number.is_none() => has_cookie = true,
                _ => push_line(name, value, &mut head),
            }
        }
        if has_cookie {
            push_cookies(fields, &mut head);
        }
        head.extend_from_slice(framing);
        head.extend_from_slice(b"\r\n");
        head
    }
}

/// The line [`PSEUDO`].
fn push_pseudo(fields: &FieldList, number: u32, head: &mut Vec<u8>) {
    let scheme = fields.iter().find(|(name, _)| *name == b":scheme").map_or(&b""[..], |it| it.1);
    let number = number.to_string();
    for part in [PSEUDO, b": ", number.as_bytes(), b" ", scheme, b" "] {
        head.extend_from_slice(part);
    }
    let letters = fields.iter().filter_map(|(name, _)| match name {
        [b':', letter, ..] => Some(*letter),
        b"host" => Some(b'h'),
        _ => None,
    });
    head.extend(letters);
    head.extend_from_slice(b"\r\n");
}

/// The crumbs of a cookie as one field (RFC 9113, section 8.2.3).
fn push_cookies(fields: &FieldList, head: &mut Vec<u8>) {
    head.extend_from_slice(b"cookie: ");
    let crumbs = fields.iter().filter(|(name, _)| *name == b"cookie");
    for (at, (_, value)) in crumbs.enumerate() {
        if at > 0 {
            head.extend_from_slice(b"; ");
        }
        head.extend_from_slice(value);
    }
    head.extend_from_slice(b"\r\n");
}

fn push_line(name: &[u8], value: &[u8], text: &mut Vec<u8>) {
    for part in [name, b": ", value, b"\r\n"] {
        text.extend_from_slice(part);
    }
}

fn malformed(reason: &'static str) -> StreamError {
    StreamError { code: ErrorCode::PROTOCOL_ERROR, reason }
}
