//! Decoder of the body of a response that a client receives.

use memchr::{memchr, memchr3};

use super::chunked::{Chunk, ChunkLineRules, ChunkedDecoder, count_leading};
use super::response_head::Framing;
use crate::Error;

/// Maximum bytes of extensions on the line of one chunk.
const MAX_EXTENSIONS: usize = 16 * 1024;
/// Maximum bytes of trailers.
const MAX_TRAILERS: usize = 64 * 1024;

/// Decodes a body as most clients do, more leniently than [`BodyDecoder`](super::BodyDecoder), and passes over its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum ResponseBody {
    /// Bytes still to come of a body of known length.
    Length(u64),
    Chunked(ChunkedDecoder),
    /// At the start of a trailer line, behind so many bytes of trailers.
    Trailers(usize),
    UntilClose,
}

impl ResponseBody {
    pub(super) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Chunked => Self::Chunked(ChunkedDecoder::default()),
            Framing::Length(length) => Self::Length(length),
            Framing::UntilClose => Self::UntilClose,
        }
    }

    /// Continues decoding. Returns the number of consumed bytes, and whether the body has ended.
    #[inline]
    pub(super) fn decode(&mut self, input: &[u8]) -> Result<(usize, bool), Error> {
        match self {
            Self::Length(left) => {
                let taken = (*left).min(input.len() as u64);
                *left -= taken;
                Ok((taken as usize, *left == 0))
            }
            Self::Chunked(_) | Self::Trailers(_) => self.decode_chunked(input),
            Self::UntilClose => Ok((input.len(), false)),
        }
    }

    fn decode_chunked(&mut self, input: &[u8]) -> Result<(usize, bool), Error> {
        let mut at = 0;
        while let Self::Chunked(chunks) = self {
            match chunks.next(&input[at..], &mut LenientChunkLines)? {
                Some(Chunk::Line(length) | Chunk::Data(length)) => at += length,
                Some(Chunk::Last(length)) => {
                    at += length;
                    *self = Self::Trailers(0);
                }
                None => return Ok((at, false)),
            }
        }
        let Self::Trailers(seen) = self else { return Ok((at, false)) };
        loop {
            match parse_trailer_line(&input[at..], MAX_TRAILERS - *seen)? {
                Some(TrailerLine::Field(length)) => (at, *seen) = (at + length, *seen + length),
                Some(TrailerLine::Empty(length)) => return Ok((at + length, true)),
                None => return Ok((at, false)),
            }
        }
    }
}

/// Accepts white space behind the size (RFC 9112, section 7.1.1), and anything in extensions but CR, LF and NUL.
struct LenientChunkLines;

impl ChunkLineRules for LenientChunkLines {
    const MAX_DIGITS: usize = MAX_EXTENSIONS;
    const MAX_SIZE: u64 = u64::MAX;

    #[inline]
    fn measure_extensions(&self, digits: usize, rest: &[u8]) -> Result<usize, Error> {
        let space = count_leading(rest, |byte| matches!(byte, b' ' | b'\t'));
        if digits + space > MAX_EXTENSIONS {
            return Err(Error::TooLarge);
        }
        let [b';', extensions @ ..] = &rest[space..] else { return Ok(space) };
        let length = memchr3(b'\r', b'\n', 0, extensions).unwrap_or(extensions.len());
        if length > MAX_EXTENSIONS { Err(Error::TooLarge) } else { Ok(space + 1 + length) }
    }

    #[inline]
    fn count_extensions(&mut self, _: usize) {}
}

/// The kind and length of a line of the trailer section.
enum TrailerLine {
    Field(usize),
    /// Ends the section.
    Empty(usize),
}

/// Parses a line that ends in CRLF or LF; `None` while it is incomplete.
fn parse_trailer_line(input: &[u8], max: usize) -> Result<Option<TrailerLine>, Error> {
    match input {
        [] | [b'\r'] => return Ok(None),
        [b'\n', ..] => return Ok(Some(TrailerLine::Empty(1))),
        [b'\r', b'\n', ..] => return Ok(Some(TrailerLine::Empty(2))),
        [b'\r', ..] => return Err(Error::Field),
        _ => {}
    }
    let length = memchr(b'\n', input).map(|end| end + 1);
    if length.unwrap_or(input.len()) > max {
        return Err(Error::TooLarge);
    }
    Ok(length.map(TrailerLine::Field))
}
