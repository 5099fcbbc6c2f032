//! Decoder of the chunked transfer coding (RFC 9112, section 7.1), for requests and for responses.

use crate::Error;

/// What a receiver accepts in the line before a chunk's data.
pub(super) trait ChunkLineRules {
    /// Maximum digits of a chunk's size, leading zeros included.
    const MAX_DIGITS: usize;
    /// Maximum size of a chunk.
    const MAX_SIZE: u64;

    /// Returns the length of the white space and the extensions at the start of `rest`, which begins behind the size's
    /// digits.
    fn measure_extensions(&self, digits: usize, rest: &[u8]) -> Result<usize, Error>;

    /// Counts the extensions of a complete line.
    fn count_extensions(&mut self, length: usize);
}

/// Decodes the chunks of a body up to the line of the last one; the trailer section is left to the receiver. Consumes no part
/// of a line: lines are short enough to be parsed again from their start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum ChunkedDecoder {
    /// At the start of a chunk's line.
    #[default]
    Line,
    /// Bytes still to come of a chunk's data.
    Data(u64),
    /// At the CRLF behind a chunk's data.
    DataEnd,
}

/// The kind and length of the next consumed bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Chunk {
    /// A chunk's line, or the CRLF behind its data.
    Line(usize),
    Data(usize),
    /// The line of the last chunk.
    Last(usize),
}

impl ChunkedDecoder {
    /// Decodes the next line or data; `None` while it has not arrived.
    #[inline]
    pub(super) fn next(
        &mut self,
        input: &[u8],
        rules: &mut impl ChunkLineRules,
    ) -> Result<Option<Chunk>, Error> {
        match self {
            Self::Line => {
                let Some((length, size)) = parse_line(input, rules)? else { return Ok(None) };
                if size == 0 {
                    return Ok(Some(Chunk::Last(length)));
                }
                *self = Self::Data(size);
                Ok(Some(Chunk::Line(length)))
            }
            Self::Data(left) => {
                let taken = take_data(input, left);
                if *left == 0 {
                    *self = Self::DataEnd;
                }
                Ok(taken.map(Chunk::Data))
            }
            Self::DataEnd => match starts_with_crlf(input) {
                Some(true) => {
                    *self = Self::Line;
                    Ok(Some(Chunk::Line(2)))
                }
                Some(false) => Err(Error::ChunkEnd),
                None => Ok(None),
            },
        }
    }
}

/// Takes as much of the input as belongs to the `left` bytes of a body or chunk; `None` if the input is empty.
#[inline]
pub(super) fn take_data(input: &[u8], left: &mut u64) -> Option<usize> {
    if input.is_empty() {
        return None;
    }
    let length = input.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
    *left -= length as u64;
    Some(length)
}

/// Counts the leading bytes of a kind.
#[inline]
pub(super) fn count_leading(input: &[u8], is_one: impl Fn(u8) -> bool) -> usize {
    input.iter().position(|&byte| !is_one(byte)).unwrap_or(input.len())
}

/// Parses the line before a chunk's data. Returns its length and the chunk's size; `None` while it is incomplete.
#[inline]
fn parse_line<R: ChunkLineRules>(
    line: &[u8],
    rules: &mut R,
) -> Result<Option<(usize, u64)>, Error> {
    let digits = count_leading(line, |byte| byte.is_ascii_hexdigit());
    if line.is_empty() {
        return Ok(None);
    }
    if digits == 0 || digits > R::MAX_DIGITS {
        return Err(Error::ChunkSize);
    }
    let size = line[..digits].iter().try_fold(0, add_digit).ok_or(Error::ChunkSize)?;
    let extensions = rules.measure_extensions(digits, &line[digits..])?;
    let end = digits + extensions;
    match starts_with_crlf(&line[end..]) {
        None => Ok(None),
        Some(true) if size <= R::MAX_SIZE => {
            rules.count_extensions(extensions);
            Ok(Some((end + 2, size)))
        }
        Some(_) => Err(Error::ChunkSize),
    }
}

fn add_digit(size: u64, digit: &u8) -> Option<u64> {
    let digit = char::from(*digit).to_digit(16)?;
    Some(size.checked_mul(16)? | u64::from(digit))
}

/// `None` while the input is too short to tell.
#[inline]
fn starts_with_crlf(input: &[u8]) -> Option<bool> {
    match input {
        [] | [b'\r'] => None,
        [b'\r', b'\n', ..] => Some(true),
        _ => Some(false),
    }
}
