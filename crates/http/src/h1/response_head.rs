//! Parser of the head of a response: status, framing, persistence.

use memchr::memchr;

use super::Error;
use crate::syntax::{is_token, parse_decimal};

/// How the body of a response ends (RFC 9112, section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// After the last chunk and its trailers.
    Chunked,
    /// After this many bytes.
    Length(u64),
    /// When the connection closes.
    UntilClose,
}

/// The parsed head of a response: status, framing and persistence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// Bytes of the head, the empty line included.
    pub length: usize,
    /// 100 to 999.
    pub status: u16,
    /// Framing by the fields; there may be no body because of the request's method or the status.
    pub framing: Framing,
    /// The connection may carry another response after this one.
    pub persistent: bool,
    /// Content-Length is given beside Transfer-Encoding, which overrides it.
    pub contradictory: bool,
}

impl ResponseHead {
    /// Parses the head at the start of `input`; `None` while its end has not arrived.
    ///
    /// Lines end in CRLF or LF (RFC 9112, section 2.2). A folded line is accepted (section 5.2) unless
    /// it continues a field that decides about framing.
    pub fn parse(input: &[u8]) -> Result<Option<Self>, Error> {
        let Some(line_end) = memchr(b'\n', input) else {
            return check_start(input).map(|()| None);
        };
        let (status, http11) = parse_status_line(strip_cr(&input[..line_end]))?;
        let mut fields = FramingFields::default();
        let mut at = line_end + 1;
        loop {
            let rest = &input[at..];
            let Some(line_end) = memchr(b'\n', rest) else { return Ok(None) };
            let line = strip_cr(&rest[..line_end]);
            at += line_end + 1;
            if line.is_empty() {
                break;
            }
            fields.add(line)?;
        }
        Ok(Some(Self {
            length: at,
            status,
            framing: fields.framing(),
            persistent: fields.persistent(http11),
            contradictory: fields.transfer_encoding && fields.content_length.is_some(),
        }))
    }
}

/// The beginning of every accepted status line.
pub(crate) const STATUS_LINE_START: &[u8] = b"HTTP/1.";

/// Refuses bytes that cannot become a status line, so that a peer with another protocol is detected at its first bytes and
/// not by a timeout.
fn check_start(input: &[u8]) -> Result<(), Error> {
    let n = input.len().min(STATUS_LINE_START.len());
    if input[..n] == STATUS_LINE_START[..n] { Ok(()) } else { Err(classify_error(input)) }
}

fn classify_error(input: &[u8]) -> Error {
    if input.starts_with(b"HTTP/") { Error::Version } else { Error::StatusLine }
}

fn strip_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Parses a status line without its line end: the status, and whether the version is HTTP/1.1. The reason may be absent, and
/// with it the space before it.
pub fn parse_status_line(line: &[u8]) -> Result<(u16, bool), Error> {
    let Some(rest) = line.strip_prefix(STATUS_LINE_START) else {
        return Err(classify_error(line));
    };
    let [minor, b' ', a, b, c, reason @ ..] = rest else { return Err(Error::StatusLine) };
    let http11 = match minor {
        b'0' => false,
        b'1' => true,
        _ => return Err(Error::Version),
    };
    let digits = [*a, *b, *c];
    if !digits.iter().all(u8::is_ascii_digit) || *a == b'0' {
        return Err(Error::StatusLine);
    }
    if !matches!(reason, [] | [b' ', ..]) || has_forbidden(reason) {
        return Err(Error::StatusLine);
    }
    let status = digits.iter().fold(0, |status, digit| status * 10 + u16::from(digit - b'0'));
    Ok((status, http11))
}

/// Parses a field line without its line end: the name, and the value with the white space around it.
#[inline]
pub fn parse_field_line(line: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let colon = memchr(b':', line).ok_or(Error::Field)?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    if is_token(name) && !has_forbidden(value) { Ok((name, value)) } else { Err(Error::Field) }
}

/// CR and NUL inside a value make a message invalid (RFC 9110, section 5.5). Without an early exit,
/// so that the loop becomes vector code.
fn has_forbidden(value: &[u8]) -> bool {
    value.iter().fold(false, |found, &byte| found | (byte == 0) | (byte == b'\r'))
}

/// The fields that decide about framing and persistence, collected line by line.
#[derive(Default)]
struct FramingFields {
    content_length: Option<u64>,
    transfer_encoding: bool,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    /// Whether the previous line was one of these fields, which a folded line may not continue.
    decisive: bool,
}

impl FramingFields {
    fn add(&mut self, line: &[u8]) -> Result<(), Error> {
        if matches!(line[0], b' ' | b'\t') {
            return if self.decisive || has_forbidden(line) { Err(Error::Field) } else { Ok(()) };
        }
        let (name, value) = parse_field_line(line)?;
        self.decisive = true;
        match name.len() {
            10 if name.eq_ignore_ascii_case(b"connection") => self.add_connection(value),
            14 if name.eq_ignore_ascii_case(b"content-length") => self.add_length(value)?,
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.add_coding(value),
            _ => self.decisive = false,
        }
        Ok(())
    }

    fn add_connection(&mut self, value: &[u8]) {
        for option in split_list(value) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// Equal repetitions are one value (RFC 9112, section 6.3, item 5).
    fn add_length(&mut self, value: &[u8]) -> Result<(), Error> {
        for element in split_list(value) {
            let length = parse_decimal(element).ok_or(Error::ContentLength)?;
            if self.content_length.is_some_and(|before| before != length) {
                return Err(Error::ContentLength);
            }
            self.content_length = Some(length);
        }
        if self.content_length.is_some() { Ok(()) } else { Err(Error::ContentLength) }
    }

    /// Only the last coding decides; parameters play no part. `identity` stands for none (RFC 2616, section 3.6; obsolete),
    /// which old servers send beside Content-Length, and browsers and curl ignore.
    fn add_coding(&mut self, value: &[u8]) {
        let is_coding = |coding: &&[u8]| !coding.eq_ignore_ascii_case(b"identity");
        let last = split_list(value).filter(is_coding).last();
        self.transfer_encoding |= last.is_some() || split_list(value).next().is_none();
        if let Some(last) = last {
            self.chunked = last.eq_ignore_ascii_case(b"chunked");
        }
    }

    /// RFC 9112, section 6.3, items 3 to 8.
    fn framing(&self) -> Framing {
        match self {
            Self { transfer_encoding: true, chunked: true, .. } => Framing::Chunked,
            Self { transfer_encoding: true, .. } => Framing::UntilClose,
            Self { content_length: Some(length), .. } => Framing::Length(*length),
            _ => Framing::UntilClose,
        }
    }

    /// RFC 9112, section 9.3; after contradictory or HTTP/1.0 transfer codings the connection ends
    /// (section 6.1 and 6.3, item 3).
    fn persistent(&self, http11: bool) -> bool {
        let doubtful = self.transfer_encoding && (self.content_length.is_some() || !http11);
        !self.close && !doubtful && (http11 || self.keep_alive)
    }
}

/// The elements of a comma-separated list, without white space and without empty ones.
fn split_list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(trim).filter(|element| !element.is_empty())
}

/// Only space and tab are white space here (RFC 9110, section 5.6.3).
fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}
