//! Incremental parser of field lines, of a received head or trailer section.

use super::unsure_reason::UnsureReason;
use crate::syntax::is_token_byte;

/// Why there is no next field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The input is valid so far and incomplete.
    Partial,
    /// Node's own parser has to decide.
    Unsure(UnsureReason),
}

/// The fields that the parser of requests handles; all of them but `Expect` and `Host` are special to llhttp.
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

/// Parses field lines up to the empty line that ends them (RFC 9112, section 5), without folded lines, and with CRLF as the
/// only line end. Continues where it stopped, and reads each byte once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FieldLines {
    /// Offset up to which the input has been parsed.
    pub(crate) at: usize,
    /// Number of complete fields.
    pub(crate) count: usize,
    state: LineState,
    /// Offset of the present name or value.
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
    /// Returns the next complete field, its value without leading white space; `None` behind the empty line. `input` begins
    /// at the same byte each time.
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
                return Err(Stop::Unsure(self.name_reason(input[self.at])));
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
            return Err(Stop::Unsure(value_reason(input[self.at])));
        }
        let value = &input[self.start..self.at];
        self.at += 2;
        self.count += 1;
        self.state = LineState::LineStart;
        Ok(Some((self.name, value)))
    }

    /// Why a line has no name that ends with `byte`.
    #[cold]
    fn name_reason(&self, byte: u8) -> UnsureReason {
        match byte {
            b'\n' if self.at == self.start => UnsureReason::BareLf,
            b' ' | b'\t' if self.at == self.start => UnsureReason::LineFolding,
            _ => UnsureReason::FieldName,
        }
    }

    /// Skips bytes of one kind, up to a byte of another kind.
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

/// Why a value cannot contain `byte`.
#[cold]
fn value_reason(byte: u8) -> UnsureReason {
    if byte == b'\n' { UnsureReason::BareLf } else { UnsureReason::FieldValue }
}

/// Whether there is a CRLF at `at`; a CR without LF is not allowed in a line.
pub(crate) fn line_ends(input: &[u8], at: usize) -> Result<bool, Stop> {
    match input.get(at..).unwrap_or_default() {
        [] | [b'\r'] => Err(Stop::Partial),
        [b'\r', b'\n', ..] => Ok(true),
        [b'\r', ..] => Err(Stop::Unsure(UnsureReason::BareCr)),
        _ => Ok(false),
    }
}

/// Index of the first control character from `at` on, or `input.len()`. Of these only the tab may be part of a value.
fn find_value_end(input: &[u8], at: usize) -> usize {
    find_byte(
        input,
        at,
        |word| mark_below(word, 0x20) | mark_equal(word, 0x7f),
        |byte| byte.is_ascii_control(),
    )
}

/// Index of the first byte from `at` on that a request-target cannot contain (0x21 to 0x7e are allowed), or
/// `input.len()`.
pub(crate) fn find_target_end(input: &[u8], at: usize) -> usize {
    let not_ascii = |word: u64| word & HIGH;
    find_byte(
        input,
        at,
        |word| mark_below(word, 0x21) | mark_equal(word, 0x7f) | not_ascii(word),
        |byte| !byte.is_ascii_graphic(),
    )
}

/// Index of the first matching byte, or `input.len()`. Scans a word at a time. `marks` sets the high bit of the first
/// matching byte of a word, and possibly of later ones.
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

/// Sets the high bits of bytes below `limit` (at most 0x80). A borrow may mark a byte behind a marked one wrongly.
fn mark_below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(LOW * u64::from(limit)) & !word & HIGH
}

/// Sets the high bits of bytes equal to `byte`, with the exception of `mark_below`.
fn mark_equal(word: u64, byte: u8) -> u64 {
    mark_below(word ^ (LOW * u64::from(byte)), 1)
}

/// Iterates over the fields of complete lines that a parser of this crate has accepted: names, and values without
/// surrounding white space.
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
