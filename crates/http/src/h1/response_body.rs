//! Decoder of the body of a response that a client receives.

use memchr::{memchr, memchr3};

use super::Error;
use super::chunked::{Chunk, ChunkLineRules, ChunkedDecoder, count_leading};
use super::response_head::Framing;

/// Maximum bytes of extensions on the line of one chunk.
const MAX_EXTENSIONS: u32 = 16 * 1024;
/// Maximum bytes of trailers.
const MAX_TRAILERS: usize = 64 * 1024;

/// Decodes a body as most clients do, more leniently than [`BodyDecoder`](super::BodyDecoder), and passes over its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum ResponseBody {
    /// Bytes still to come of a body of known length.
    Length(u64),
    Chunked(ChunkedDecoder, LenientChunkLines),
    Trailers(LenientTrailers),
    UntilClose,
}

impl ResponseBody {
    pub(super) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Chunked => Self::Chunked(ChunkedDecoder::LINE, LenientChunkLines::default()),
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
            Self::Chunked(..) | Self::Trailers(_) => self.decode_chunked(input),
            Self::UntilClose => Ok((input.len(), false)),
        }
    }

    /// Returns how many of the bytes that come next are certainly data: they need not be looked at.
    pub(super) fn data_ahead(&self) -> u64 {
        match self {
            Self::Length(left) | Self::Chunked(ChunkedDecoder::Data(left), _) => *left,
            Self::UntilClose => u64::MAX,
            Self::Chunked(..) | Self::Trailers(_) => 0,
        }
    }

    /// Passes over so many bytes, at most [`Self::data_ahead`]. Returns whether the body has ended.
    pub(super) fn skip(&mut self, count: u64) -> bool {
        match self {
            Self::Length(left) => {
                *left = left.saturating_sub(count);
                *left == 0
            }
            Self::Chunked(chunks, _) => {
                chunks.skip(count);
                false
            }
            Self::Trailers(_) | Self::UntilClose => false,
        }
    }

    fn decode_chunked(&mut self, input: &[u8]) -> Result<(usize, bool), Error> {
        let mut at = 0;
        while let Self::Chunked(chunks, rules) = self {
            match chunks.next(&input[at..], rules)? {
                Chunk::Line(length) | Chunk::Data(length) => at += length,
                Chunk::Last(length) => {
                    at += length;
                    *self = Self::Trailers(LenientTrailers::default());
                }
                Chunk::Partial(length) => return Ok((at + length, false)),
            }
        }
        let Self::Trailers(trailers) = self else { return Ok((at, false)) };
        let (length, ended) = trailers.skip(&input[at..])?;
        Ok((at + length, ended))
    }
}

/// Accepts white space behind the size (RFC 9112, section 7.1.1), and anything in extensions but CR, LF and NUL.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LenientChunkLines {
    /// Whether the extensions have begun.
    extended: bool,
    /// Bytes so far of the white space or of the extensions.
    seen: u32,
}

impl LenientChunkLines {
    fn count(&mut self, length: usize) -> Result<(), Error> {
        self.seen = self.seen.saturating_add(u32::try_from(length).unwrap_or(u32::MAX));
        if self.seen > MAX_EXTENSIONS { Err(Error::TooLarge) } else { Ok(()) }
    }
}

impl ChunkLineRules for LenientChunkLines {
    const MAX_DIGITS: u32 = MAX_EXTENSIONS;
    const MAX_SIZE: u64 = u64::MAX;

    #[inline]
    fn skip_extensions(&mut self, rest: &[u8]) -> Result<usize, Error> {
        let mut at = 0;
        if !self.extended {
            at = count_leading(rest, |byte| matches!(byte, b' ' | b'\t'));
            self.count(at)?;
            if rest.get(at) != Some(&b';') {
                return Ok(at);
            }
            at += 1;
            *self = Self { extended: true, seen: 0 };
        }
        let rest = &rest[at..];
        let length = memchr3(b'\r', b'\n', 0, rest).unwrap_or(rest.len());
        self.count(length)?;
        Ok(at + length)
    }

    #[inline]
    fn end_line(&mut self) {
        *self = Self::default();
    }
}

/// A trailer section, of any lines that end in CRLF or LF, up to the empty one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LenientTrailers {
    /// Bytes so far.
    seen: usize,
    /// Whether a line has begun.
    in_line: bool,
}

impl LenientTrailers {
    /// Returns the number of consumed bytes, and whether the section has ended.
    fn skip(&mut self, input: &[u8]) -> Result<(usize, bool), Error> {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            match rest {
                [] => return Ok((at, false)),
                _ if self.in_line => {}
                [b'\r'] => return Ok((at, false)),
                [b'\n', ..] => return Ok((at + 1, true)),
                [b'\r', b'\n', ..] => return Ok((at + 2, true)),
                [b'\r', ..] => return Err(Error::Field),
                _ => {}
            }
            let line_end = memchr(b'\n', rest);
            let length = line_end.map_or(rest.len(), |end| end + 1);
            at += length;
            self.seen += length;
            self.in_line = line_end.is_none();
            if self.seen > MAX_TRAILERS {
                return Err(Error::TooLarge);
            }
        }
    }
}
