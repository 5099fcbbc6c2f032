//! Decoder of the body of a request that a server receives.

use super::Error;
use super::chunked::{Chunk, ChunkLineRules, ChunkedDecoder, count_leading, take_data};
use super::field_lines::{FieldLines, KnownField, Stop};
use super::request_head::{HeadLimits, RequestFraming};
use super::unsure_reason::UnsureReason;
use crate::syntax::is_token_byte;

/// The result of [`BodyDecoder::next`]. Offsets count from the start of its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEvent {
    /// Bytes of the body, at least one. Pass `input[end..]` next.
    Data {
        /// Where it begins.
        start: usize,
        /// Where it ends.
        end: usize,
    },
    /// The body has ended; bytes behind `consumed` belong to the next request.
    End {
        /// Number of consumed bytes.
        consumed: usize,
        /// Begin and end of the trailer lines, without the empty line; for
        /// [`field_lines`](super::field_lines).
        trailers: (usize, usize),
    },
    /// The body continues. Pass the bytes behind `consumed` again, with those that follow.
    More {
        /// Number of consumed bytes.
        consumed: usize,
    },
    /// Unusual or invalid: Node's own parser has to decide about the bytes behind `at`, after it has read a head with
    /// `Transfer-Encoding: chunked` and then [`BodyDecoder::prelude`].
    Unsure {
        /// Number of consumed bytes.
        at: usize,
        /// What is unusual there.
        reason: UnsureReason,
    },
}

/// Decodes one body as all of llhttp 8.1 to 9.4 do with Node's strict defaults; input that one of them might refuse or
/// read differently is `Unsure`. Incomplete lines are not consumed, so that Node's parser can continue at the start of a
/// line.
#[derive(Clone, Copy, Debug)]
pub struct BodyDecoder {
    state: BodyState,
    rules: StrictChunkLines,
}

#[derive(Clone, Copy, Debug)]
enum BodyState {
    /// Bytes still to come of a body of known length.
    Length(u64),
    Chunked(ChunkedDecoder),
    /// In the trailer section, of which nothing is consumed before its end.
    Trailers(FieldLines),
}

/// Maximum bytes of the extensions of a body. Node refuses 16 KiB; lines are short enough to be parsed again from their
/// start.
const MAX_EXTENSIONS: usize = 512;
/// Maximum bytes of the trailer section, the empty line included.
const MAX_TRAILERS: usize = 16 * 1024;
impl BodyDecoder {
    /// Creates a decoder for a request with this framing.
    #[must_use]
    pub fn new(framing: RequestFraming) -> Self {
        let state = match framing {
            RequestFraming::None => BodyState::Length(0),
            RequestFraming::Length(length) => BodyState::Length(length),
            RequestFraming::Chunked => BodyState::Chunked(ChunkedDecoder::LINE),
        };
        Self { state, rules: StrictChunkLines { left: MAX_EXTENSIONS, present: 0 } }
    }

    /// Continues decoding, up to the next event.
    pub fn next(&mut self, input: &[u8], limits: &HeadLimits) -> BodyEvent {
        let mut at = 0;
        loop {
            match self.step(&input[at..], limits) {
                Ok(BodyStep::Line(length)) => at += length,
                Ok(BodyStep::Data(length)) => {
                    return BodyEvent::Data { start: at, end: at + length };
                }
                Ok(BodyStep::End { length, trailers }) => {
                    return BodyEvent::End { consumed: at + length, trailers: (at, at + trailers) };
                }
                Err(Stop::Partial) => return BodyEvent::More { consumed: at },
                Err(Stop::Unsure(reason)) => return BodyEvent::Unsure { at, reason },
            }
        }
    }

    /// Returns how many of the bytes that come next are data for certain, which [`Self::skip`] passes over.
    #[must_use]
    pub fn data_ahead(&self) -> u64 {
        match &self.state {
            BodyState::Length(left) => *left,
            BodyState::Chunked(_) | BodyState::Trailers(_) => 0,
        }
    }

    /// Continues behind so many bytes of data, at most [`Self::data_ahead`].
    pub fn skip(&mut self, count: u64) {
        if let BodyState::Length(left) = &mut self.state {
            *left = left.saturating_sub(count);
        }
    }

    /// Returns bytes that bring another parser to the state of this one, after a head with
    /// `Transfer-Encoding: chunked`.
    #[must_use]
    pub fn prelude(&self) -> &'static [u8] {
        match self.state {
            BodyState::Chunked(ChunkedDecoder::DataEnd) => b"1\r\nx",
            BodyState::Length(_) | BodyState::Chunked(_) => b"",
            BodyState::Trailers(_) => b"0\r\n",
        }
    }

    fn step(&mut self, input: &[u8], limits: &HeadLimits) -> Result<BodyStep, Stop> {
        match &mut self.state {
            BodyState::Length(0) => Ok(BodyStep::End { length: 0, trailers: 0 }),
            BodyState::Length(left) => {
                take_data(input, left).map(BodyStep::Data).ok_or(Stop::Partial)
            }
            BodyState::Chunked(chunks) => match chunks.next(input, &mut self.rules) {
                Ok(Chunk::Line(length)) => Ok(BodyStep::Line(length)),
                Ok(Chunk::Data(length)) => Ok(BodyStep::Data(length)),
                Ok(Chunk::Last(length)) => {
                    self.state = BodyState::Trailers(FieldLines::default());
                    Ok(BodyStep::Line(length))
                }
                Ok(Chunk::Partial(_)) => {
                    chunks.restart_line();
                    Err(Stop::Partial)
                }
                Err(_) => Err(Stop::Unsure(chunk_reason(chunks, input))),
            },
            BodyState::Trailers(lines) => {
                let length = read_trailers(lines, input, limits)?;
                self.state = BodyState::Length(0);
                Ok(BodyStep::End { length, trailers: length - 2 })
            }
        }
    }
}

/// The kind and length of the next consumed bytes.
enum BodyStep {
    Line(usize),
    Data(usize),
    End { length: usize, trailers: usize },
}

/// Accepts what all of llhttp 8.1 to 9.4 accept: one extension at most, `;name` or `;name=value`. Before 9.1 llhttp took no
/// second one behind a value.
#[derive(Clone, Copy, Debug)]
struct StrictChunkLines {
    /// Bytes that the extensions of the body may still have.
    left: usize,
    /// Of these, those of the present line.
    present: usize,
}

impl ChunkLineRules for StrictChunkLines {
    const MAX_DIGITS: u32 = 16;
    /// The greatest number that is exact in JavaScript.
    const MAX_SIZE: u64 = 1 << 53;

    #[inline]
    fn skip_extensions(&mut self, rest: &[u8]) -> Result<usize, Error> {
        let mut end = 0;
        for mark in [b';', b'='] {
            if rest.get(end) != Some(&mark) {
                break;
            }
            let length = count_leading(&rest[end + 1..], is_token_byte);
            end += 1 + length;
            if end > self.left || (length == 0 && end < rest.len()) {
                return Err(Error::ChunkSize);
            }
        }
        self.present = end;
        Ok(end)
    }

    #[inline]
    fn end_line(&mut self) {
        self.left -= self.present;
    }
}

/// Why chunks end that have been decoded up to the line, or up to the line end, at the start of `input`.
#[cold]
fn chunk_reason(chunks: &ChunkedDecoder, input: &[u8]) -> UnsureReason {
    let (byte, other) = match *chunks {
        ChunkedDecoder::Extensions { size } if size <= StrictChunkLines::MAX_SIZE => {
            let behind_size = input.iter().find(|byte| !byte.is_ascii_hexdigit());
            let is_extension = behind_size == Some(&b';');
            let other =
                if is_extension { UnsureReason::ChunkExtension } else { UnsureReason::ChunkSize };
            (behind_size, other)
        }
        ChunkedDecoder::DataEnd => (input.first(), UnsureReason::ChunkEnd),
        _ => return UnsureReason::ChunkSize,
    };
    match byte {
        Some(b'\n') => UnsureReason::BareLf,
        Some(b'\r') => UnsureReason::BareCr,
        _ => other,
    }
}

/// Returns the length of the trailer section. Fields that are special to llhttp are so in trailers, too.
fn read_trailers(lines: &mut FieldLines, input: &[u8], limits: &HeadLimits) -> Result<usize, Stop> {
    let bytes = limits.bytes.min(MAX_TRAILERS);
    let input = &input[..input.len().min(bytes)];
    loop {
        let reason = match lines.next(input) {
            Ok(Some((KnownField::Other, _))) if lines.count <= limits.fields => continue,
            Ok(Some((KnownField::Other, _))) => UnsureReason::FieldCount,
            Ok(Some(_)) => UnsureReason::TrailerField,
            Ok(None) if lines.at < bytes => return Ok(lines.at),
            Err(Stop::Partial) if input.len() < bytes => return Err(Stop::Partial),
            Err(Stop::Unsure(reason)) => reason,
            Ok(None) | Err(Stop::Partial) => UnsureReason::TrailerSize,
        };
        return Err(Stop::Unsure(reason));
    }
}
