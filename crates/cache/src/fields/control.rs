//! `Cache-Control` (RFC 9111, section 5.2).
//!
//! What is not well-formed is read so that less is stored and for less long: a directive that forbids counts
//! whatever follows it, and a number of seconds that is none is zero.

use millrace_http::syntax::is_token_byte;

/// Seconds beyond this are as good as this (RFC 9111, section 1.2.2).
pub(crate) const MAX_SECONDS: u64 = 1 << 31;

/// What a response says. `no-transform` is left out, as it restricts nothing here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a directive")]
pub struct ResponseDirectives {
    /// `no-store`.
    pub no_store: bool,
    /// `no-cache`, with field names or without.
    pub no_cache: bool,
    /// `private`, with field names or without.
    pub private: bool,
    /// `public`.
    pub public: bool,
    /// `must-revalidate`.
    pub must_revalidate: bool,
    /// `proxy-revalidate`.
    pub proxy_revalidate: bool,
    /// `must-understand`. What it permits beside `no-store` is not made use of.
    pub must_understand: bool,
    /// `max-age`, in seconds.
    pub max_age: Option<u64>,
    /// `s-maxage`, in seconds.
    pub s_maxage: Option<u64>,
    /// `stale-while-revalidate`, in seconds (RFC 5861, section 3).
    pub stale_while_revalidate: Option<u64>,
}

impl ResponseDirectives {
    /// Adds what one `Cache-Control` field says.
    pub fn add(&mut self, value: &[u8]) {
        for (name, argument) in directives(value) {
            let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
            match name.len() {
                6 if is(b"public") => self.public = true,
                7 if is(b"private") => self.private = true,
                7 if is(b"max-age") => add_seconds(&mut self.max_age, argument),
                8 if is(b"no-store") => self.no_store = true,
                8 if is(b"no-cache") => self.no_cache = true,
                8 if is(b"s-maxage") => add_seconds(&mut self.s_maxage, argument),
                15 if is(b"must-revalidate") => self.must_revalidate = true,
                15 if is(b"must-understand") => self.must_understand = true,
                16 if is(b"proxy-revalidate") => self.proxy_revalidate = true,
                22 if is(b"stale-while-revalidate") => {
                    add_seconds(&mut self.stale_while_revalidate, argument);
                }
                _ => {}
            }
        }
    }
}

/// What a request says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestDirectives {
    /// `no-store`.
    pub no_store: bool,
    /// `no-cache`, or `Pragma: no-cache` where there is no `Cache-Control`.
    pub no_cache: bool,
    /// `only-if-cached`.
    pub only_if_cached: bool,
    /// `max-age`, in seconds.
    pub max_age: Option<u64>,
    /// `min-fresh`, in seconds.
    pub min_fresh: Option<u64>,
}

impl RequestDirectives {
    /// Takes the fields of a request.
    pub fn read<'a>(fields: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> Self {
        let (mut said, mut pragma, mut control) = (Self::default(), false, false);
        for (name, value) in fields {
            if name.eq_ignore_ascii_case(b"cache-control") {
                control = true;
                said.add(value);
            } else if name.eq_ignore_ascii_case(b"pragma") {
                pragma |= directives(value).any(|(name, _)| name.eq_ignore_ascii_case(b"no-cache"));
            }
        }
        // RFC 9111, section 5.4.
        said.no_cache |= pragma && !control;
        said
    }

    fn add(&mut self, value: &[u8]) {
        for (name, argument) in directives(value) {
            let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
            match name.len() {
                7 if is(b"max-age") => add_seconds(&mut self.max_age, argument),
                8 if is(b"no-store") => self.no_store = true,
                8 if is(b"no-cache") => self.no_cache = true,
                9 if is(b"min-fresh") => add_seconds(&mut self.min_fresh, argument),
                14 if is(b"only-if-cached") => self.only_if_cached = true,
                _ => {}
            }
        }
    }
}

/// Given more than once, and differently, it is stale (RFC 9111, section 4.2.1); so it is without a number.
fn add_seconds(known: &mut Option<u64>, argument: Option<&[u8]>) {
    let seconds = argument.and_then(parse_seconds).unwrap_or(0);
    *known = Some(if known.is_none_or(|known| known == seconds) { seconds } else { 0 });
}

/// `delta-seconds` (RFC 9111, section 1.2.2).
pub(crate) fn parse_seconds(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0, |seconds: u64, digit| {
        let is_digit = digit.is_ascii_digit();
        is_digit.then(|| (seconds * 10 + u64::from(digit.wrapping_sub(b'0'))).min(MAX_SECONDS))
    })
}

/// Names and arguments, these without their quotes. What does not begin with a name is passed over.
fn directives(value: &[u8]) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
    let mut rest = value;
    std::iter::from_fn(move || {
        loop {
            let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b',');
            rest = &rest[rest.iter().take_while(blank).count()..];
            if rest.is_empty() {
                return None;
            }
            let (name, behind) =
                rest.split_at(rest.iter().take_while(|&&byte| is_token_byte(byte)).count());
            let (argument, end) = match behind {
                _ if name.is_empty() => (None, behind),
                [b'=', b'"', text @ ..] if text.contains(&b'"') => {
                    let length = text.iter().position(|&byte| byte == b'"').unwrap_or(0);
                    (Some(&text[..length]), &text[length + 1..])
                }
                [b'=', text @ ..] => {
                    let length = text.iter().position(|&byte| byte == b',').unwrap_or(text.len());
                    (Some(text[..length].trim_ascii()), &text[length..])
                }
                _ => (None, behind),
            };
            // What stands between a directive and the next comma belongs to neither.
            let comma = end.iter().position(|&byte| byte == b',').unwrap_or(end.len());
            let spoilt = !end[..comma].trim_ascii().is_empty();
            rest = &end[comma..];
            if !name.is_empty() {
                return Some((name, argument.filter(|_| !spoilt)));
            }
        }
    })
}
