//! Decoder of the chunked transfer coding (RFC 9112, section 7.1), for requests and for responses.

use super::Error;

/// What a receiver accepts in the line before a chunk's data.
pub(super) trait ChunkLineRules {
    /// Maximum digits of a chunk's size, leading zeros included.
    const MAX_DIGITS: u32;
    /// Maximum size of a chunk.
    const MAX_SIZE: u64;

    /// Returns the length of the white space and the extensions that `rest` begins with. If they are incomplete, is called
    /// again with the bytes that follow.
    fn skip_extensions(&mut self, rest: &[u8]) -> Result<usize, Error>;

    /// The line has ended.
    fn end_line(&mut self);
}

/// Decodes the chunks of a body up to the line of the last one; the trailer section is left to the receiver.
#[derive(Clone, Copy, Debug)]
pub(super) enum ChunkedDecoder {
    /// In a chunk's size: its value and digits so far.
    Size { size: u64, digits: u32 },
    /// Between a chunk's size and the end of its line.
    Extensions { size: u64 },
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
    /// A part of a line, possibly empty; the rest has not arrived.
    Partial(usize),
}

impl ChunkedDecoder {
    /// At the start of a chunk's line.
    pub(super) const LINE: Self = Self::Size { size: 0, digits: 0 };

    /// Decodes the next line or data.
    #[inline]
    pub(super) fn next<R: ChunkLineRules>(
        &mut self,
        input: &[u8],
        rules: &mut R,
    ) -> Result<Chunk, Error> {
        match self {
            Self::Size { size, digits } => {
                let length = read_size::<R>(input, size, digits)?;
                if length == input.len() {
                    return Ok(Chunk::Partial(length));
                }
                *self = Self::Extensions { size: *size };
                self.end_line(input, length, rules)
            }
            Self::Extensions { .. } => self.end_line(input, 0, rules),
            Self::Data(left) => {
                let taken = take_data(input, left);
                if *left == 0 {
                    *self = Self::DataEnd;
                }
                Ok(taken.map_or(Chunk::Partial(0), Chunk::Data))
            }
            Self::DataEnd => match starts_with_crlf(input) {
                Some(true) => {
                    *self = Self::LINE;
                    Ok(Chunk::Line(2))
                }
                Some(false) => Err(Error::ChunkEnd),
                None => Ok(Chunk::Partial(0)),
            },
        }
    }

    /// Passes over so many bytes of a chunk's data.
    pub(super) fn skip(&mut self, count: u64) {
        if let Self::Data(left) = self {
            *left = left.saturating_sub(count);
            if *left == 0 {
                *self = Self::DataEnd;
            }
        }
    }

    /// Goes back to the start of the line of which a part has been consumed.
    pub(super) fn restart_line(&mut self) {
        if matches!(self, Self::Size { .. } | Self::Extensions { .. }) {
            *self = Self::LINE;
        }
    }

    /// Decodes what stands behind the size, which ends at `at`.
    #[inline]
    fn end_line<R: ChunkLineRules>(
        &mut self,
        input: &[u8],
        at: usize,
        rules: &mut R,
    ) -> Result<Chunk, Error> {
        let Self::Extensions { size } = *self else { return Ok(Chunk::Partial(at)) };
        let end = at + rules.skip_extensions(&input[at..])?;
        match starts_with_crlf(&input[end..]) {
            None => Ok(Chunk::Partial(end)),
            Some(true) if size <= R::MAX_SIZE => {
                rules.end_line();
                let last = size == 0;
                *self = if last { Self::LINE } else { Self::Data(size) };
                Ok(if last { Chunk::Last(end + 2) } else { Chunk::Line(end + 2) })
            }
            Some(_) => Err(Error::ChunkSize),
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

/// Continues reading a chunk's size. Returns the number of its digits in the input.
#[inline]
fn read_size<R: ChunkLineRules>(
    input: &[u8],
    size: &mut u64,
    digits: &mut u32,
) -> Result<usize, Error> {
    let mut length = 0;
    while let Some(&byte) = input.get(length)
        && let Some(digit) = char::from(byte).to_digit(16)
    {
        if *digits == R::MAX_DIGITS {
            return Err(Error::ChunkSize);
        }
        *digits += 1;
        *size = size.checked_mul(16).ok_or(Error::ChunkSize)? | u64::from(digit);
        length += 1;
    }
    if *digits == 0 && !input.is_empty() { Err(Error::ChunkSize) } else { Ok(length) }
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
