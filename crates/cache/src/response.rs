//! The head of a response, as far as the cache has to know it.

use millrace_http::h1::{field_lines, parse_field_line, parse_status_line};
use millrace_http::syntax::parse_content_length;

use crate::fields::control::{MAX_SECONDS, ResponseDirectives, parse_seconds};
use crate::fields::date;
use crate::fields::vary::Vary;

/// A response that the application has begun.
#[derive(Clone, Copy, Debug)]
pub struct Response<'a> {
    /// Status line and field lines, with the empty line behind them or without, as they go to the
    /// client of the request that leads. Not a 1xx: those are no answer yet.
    pub head: &'a [u8],
    /// The application's own word on how long it is fresh (`res.cacheDuration`). It is meant for this
    /// cache, so it comes before `Cache-Control` and `Expires`, which speak to all (as with the targeted
    /// fields of RFC 9213); it permits nothing that they forbid. Zero: is not stored.
    pub duration: Option<std::time::Duration>,
}

/// The fields of a head that decide whether and how it is stored.
#[derive(Clone, Debug)]
pub struct ResponseFields<'a> {
    /// With its line end.
    pub(crate) status_line: &'a [u8],
    /// Each with its line end.
    pub(crate) lines: &'a [u8],
    /// The status code.
    pub status: u16,
    /// What `Cache-Control` says.
    pub control: ResponseDirectives,
    /// `None`: no request matches.
    pub vary: Option<Vary>,
    /// `Age`, in seconds.
    pub age: Option<u64>,
    /// `Date`, in seconds since 1970.
    pub date: Option<i64>,
    /// `Expires`: one that is no date lies in the past.
    pub expires: Option<i64>,
    /// `Last-Modified`.
    pub last_modified: Option<i64>,
    /// `Content-Length`.
    pub length: Option<u64>,
    /// `Set-Cookie`.
    pub sets_cookie: bool,
    /// `Trailer`.
    pub trailers: bool,
    /// A transfer coding beside chunked.
    pub coded: bool,
    /// `Content-Type` names a type whose parts come one by one, for as long as somebody listens.
    pub is_endless: bool,
}

/// Server-sent events (HTML, section 9.2), and the pictures of cameras.
const ENDLESS: [&[u8]; 2] = [b"text/event-stream", b"multipart/x-mixed-replace"];

impl<'a> ResponseFields<'a> {
    /// Reads a head; `None` if it is not well-formed. `now` is the wall clock in seconds since 1970, which
    /// dates with two digits for the year need.
    #[must_use]
    pub fn parse(head: &'a [u8], now: i64) -> Option<Self> {
        let head = match head.strip_suffix(b"\r\n\r\n") {
            Some(_) => &head[..head.len() - 2],
            None => head,
        };
        let end = head.iter().position(|&byte| byte == b'\n')? + 1;
        let (status_line, lines) = head.split_at(end);
        let (status, _) = parse_status_line(strip_line_end(status_line)?).ok()?;
        let mut parsed = Self {
            status_line,
            lines,
            status,
            control: ResponseDirectives::default(),
            vary: None,
            age: None,
            date: None,
            expires: None,
            last_modified: None,
            length: None,
            sets_cookie: false,
            trailers: false,
            coded: false,
            is_endless: false,
        };
        let mut varies = Vec::new();
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            let (name, value) = parse_field_line(strip_line_end(line)?).ok()?;
            let value = value.trim_ascii();
            if name.eq_ignore_ascii_case(b"vary") {
                varies.push(value);
            } else {
                parsed.add(name, value, now)?;
            }
        }
        parsed.vary = Vary::parse(varies);
        Some(parsed)
    }

    fn add(&mut self, name: &[u8], value: &[u8], now: i64) -> Option<()> {
        let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
        match name.len() {
            // Of several, the first member counts; one that is no number does not (RFC 9111, section 5.1).
            3 if is(b"age") && self.age.is_none() => {
                let first = value.split(|&byte| byte == b',').next().unwrap_or_default();
                self.age = parse_seconds(first.trim_ascii());
            }
            4 if is(b"date") && self.date.is_none() => self.date = date::parse(value, now),
            7 if is(b"expires") => {
                // RFC 9111, sections 4.2.1 and 5.3.
                let at = date::parse(value, now).unwrap_or(i64::MIN);
                let differs = self.expires.is_some_and(|known| known != at);
                self.expires = Some(if differs { i64::MIN } else { at });
            }
            7 if is(b"trailer") => self.trailers = true,
            10 if is(b"set-cookie") => self.sets_cookie = true,
            12 if is(b"content-type") => {
                let essence = value.split(|&byte| byte == b';').next().unwrap_or_default();
                let is_endless = |of: &&[u8]| essence.trim_ascii().eq_ignore_ascii_case(of);
                self.is_endless = ENDLESS.iter().any(is_endless);
            }
            13 if is(b"cache-control") => self.control.add(value),
            13 if is(b"last-modified") => self.last_modified = date::parse(value, now),
            14 if is(b"content-length") => {
                let length = parse_content_length(value)?;
                // RFC 9112, section 6.3.
                if self.length.replace(length).is_some_and(|known| known != length) {
                    return None;
                }
            }
            17 if is(b"transfer-encoding") => {
                self.coded |= !value.eq_ignore_ascii_case(b"chunked");
            }
            _ => {}
        }
        Some(())
    }

    /// Names and values.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        field_lines(self.lines)
    }

    /// How long ago it was generated, when its head arrives: `wall` seconds after 1970, `delay` seconds
    /// after its request was sent (RFC 9111, section 4.2.3).
    ///
    /// `Date` has whole seconds, so one of difference is none. A response without `Age` comes from the
    /// application itself, which made it just now, so only one with `Age` is given the delay. Of a wall
    /// clock that was set back nothing negative comes.
    #[must_use]
    pub fn initial_age(&self, wall: i64, delay: u64) -> u64 {
        let apparent = self.date.map_or(0, |date| wall.saturating_sub(date).saturating_sub(1));
        let corrected = self.age.map_or(0, |age| age.saturating_add(delay));
        u64::try_from(apparent).unwrap_or(0).max(corrected).min(MAX_SECONDS)
    }
}

/// Returns a line without the CRLF that ends it; `None` if it ends otherwise, or holds another control character than tab.
fn strip_line_end(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_suffix(b"\r\n")?;
    let is_control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
    (!line.iter().any(is_control)).then_some(line)
}
