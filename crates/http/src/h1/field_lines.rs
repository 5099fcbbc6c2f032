//! The field lines of a received head or trailer section, one after the other as they arrive.

use crate::syntax::is_token_byte;

/// Why there is no next field yet, or none at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// What is there is fine so far, and does not suffice.
    Partial,
    /// The host's own parser is to judge.
    Unsure,
}

/// The fields that a parser of requests has to know; all of them but `Expect` and `Host` are special
/// to llhttp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum KnownField {
    Connection,
    ContentLength,
    Expect,
    Host,
    ProxyConnection,
    TransferEncoding,
    Upgrade,
    #[default]
    Other,
}

impl KnownField {
    fn of(name: &[u8]) -> Self {
        let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
        match name.len() {
            4 if is(b"host") => Self::Host,
            6 if is(b"expect") => Self::Expect,
            7 if is(b"upgrade") => Self::Upgrade,
            10 if is(b"connection") => Self::Connection,
            14 if is(b"content-length") => Self::ContentLength,
            16 if is(b"proxy-connection") => Self::ProxyConnection,
            17 if is(b"transfer-encoding") => Self::TransferEncoding,
            _ => Self::Other,
        }
    }
}

/// Reads field lines up to the empty line that ends them (RFC 9112, section 5), without folded lines,
/// and with nothing but CRLF at a line's end. Goes on where it stopped, and looks at no byte twice.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FieldLines {
    /// What lies before it has been judged.
    pub(crate) at: usize,
    /// Fields that have ended.
    pub(crate) count: usize,
    state: LineState,
    /// Where the name or the value at hand begins.
    start: usize,
    name: KnownField,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LineState {
    #[default]
    LineStart,
    Name,
    /// White space before a value.
    ValueStart,
    Value,
}

impl FieldLines {
    /// The next field whose line has ended, its value without white space before it; `None` behind the
    /// empty line. `input` begins where it began before.
    pub(crate) fn next<'a>(
        &mut self,
        input: &'a [u8],
    ) -> Result<Option<(KnownField, &'a [u8])>, Stop> {
        if self.state == LineState::LineStart {
            if line_ends(input, self.at)? {
                self.at += 2;
                return Ok(None);
            }
            (self.state, self.start) = (LineState::Name, self.at);
        }
        if self.state == LineState::Name {
            self.skip_while(input, is_token_byte)?;
            if input[self.at] != b':' || self.at == self.start {
                return Err(Stop::Unsure);
            }
            self.name = KnownField::of(&input[self.start..self.at]);
            self.at += 1;
            self.state = LineState::ValueStart;
        }
        if self.state == LineState::ValueStart {
            self.skip_while(input, |byte| matches!(byte, b' ' | b'\t'))?;
            (self.state, self.start) = (LineState::Value, self.at);
        }
        loop {
            self.at = find_value_end(input, self.at);
            if input.get(self.at) != Some(&b'\t') {
                break;
            }
            self.at += 1;
        }
        if !line_ends(input, self.at)? {
            return Err(Stop::Unsure);
        }
        let value = &input[self.start..self.at];
        self.at += 2;
        self.count += 1;
        self.state = LineState::LineStart;
        Ok(Some((self.name, value)))
    }

    /// Passes over bytes of one kind; another one follows.
    fn skip_while(&mut self, input: &[u8], kind: impl Fn(u8) -> bool) -> Result<(), Stop> {
        while let Some(&byte) = input.get(self.at) {
            if !kind(byte) {
                return Ok(());
            }
            self.at += 1;
        }
        Err(Stop::Partial)
    }
}

/// Whether a CRLF stands at `at`; a CR without LF is nothing that a line may hold.
pub(crate) fn line_ends(input: &[u8], at: usize) -> Result<bool, Stop> {
    match input.get(at..).unwrap_or_default() {
        [] | [b'\r'] => Err(Stop::Partial),
        [b'\r', b'\n', ..] => Ok(true),
        [b'\r', ..] => Err(Stop::Unsure),
        _ => Ok(false),
    }
}

/// Where, from `at` on, the first control character stands: a tab is one of a value's bytes, no other is.
fn find_value_end(input: &[u8], at: usize) -> usize {
    find_byte(
        input,
        at,
        |word| mark_below(word, 0x20) | mark_equal(word, 0x7f),
        |byte| byte.is_ascii_control(),
    )
}

/// Where, from `at` on, the first byte stands that is none of a request-target: 0x21 to 0x7e are.
pub(crate) fn find_target_end(input: &[u8], at: usize) -> usize {
    let not_ascii = |word: u64| word & HIGH;
    find_byte(
        input,
        at,
        |word| mark_below(word, 0x21) | mark_equal(word, 0x7f) | not_ascii(word),
        |byte| !byte.is_ascii_graphic(),
    )
}

/// Where the first byte stands that is looked for, or the input's end: eight at a time, and one at a time
/// for the last ones. `marks` sets the high bit of the first such byte of a word, and maybe of later ones.
fn find_byte(
    input: &[u8],
    mut at: usize,
    marks: impl Fn(u64) -> u64,
    is_wanted: impl Fn(u8) -> bool,
) -> usize {
    let mut rest = input.get(at..).unwrap_or_default();
    while let Some((word, after)) = rest.split_first_chunk() {
        let marks = marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return at + (marks.trailing_zeros() / 8) as usize;
        }
        at += 8;
        rest = after;
    }
    at + rest.iter().position(|&byte| is_wanted(byte)).unwrap_or(rest.len())
}

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Marks bytes below `limit` (at most 0x80). A borrow may mark a byte behind a marked one wrongly.
fn mark_below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(LOW * u64::from(limit)) & !word & HIGH
}

/// Marks bytes that are `byte`, as truly as `below`.
fn mark_equal(word: u64, byte: u8) -> u64 {
    mark_below(word ^ (LOW * u64::from(byte)), 1)
}

/// The fields of whole lines that a parser of this crate has passed: names, and values without white
/// space around them.
pub fn field_lines(lines: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = lines;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let line = &rest[..end];
            rest = rest.get(end + 1..).unwrap_or_default();
            if let Some(colon) = memchr::memchr(b':', line) {
                return Some((&line[..colon], line[colon + 1..].trim_ascii()));
            }
        }
        None
    })
}
