//! Decoder of the body of a request that a server receives.

use super::field_lines::{FieldLines, KnownField, Stop, line_ends};
use super::request_head::{HeadLimits, RequestFraming};
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
        /// [`field_lines`](crate::field_lines).
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
    },
}

/// Decodes one body as all of llhttp 8.1 to 9.4 do with Node's strict defaults; input that one of them might refuse or
/// read differently is `Unsure`. Incomplete lines are not consumed, so that Node's parser can continue at the start of a
/// line.
#[derive(Clone, Copy, Debug)]
pub struct BodyDecoder {
    state: State,
    /// Remaining bytes of chunk extensions.
    extensions: usize,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Bytes still to come of a body of known length.
    Length(u64),
    /// At the start of a chunk's line.
    ChunkLine,
    /// Bytes still to come of a chunk's data.
    ChunkData(u64),
    /// At the CRLF behind a chunk's data.
    ChunkEnd,
    /// In the trailer section, of which nothing is consumed before its end.
    Trailers(FieldLines),
}

/// Maximum bytes of the extensions of a body. Node refuses 16 KiB; lines are short enough to be parsed again from their
/// start.
const MAX_EXTENSIONS: usize = 512;
/// Maximum bytes of the trailer section, the empty line included.
const MAX_TRAILERS: usize = 16 * 1024;
/// Maximum digits of a chunk size, leading zeros included.
const MAX_SIZE_DIGITS: usize = 16;
/// Maximum size of a chunk: the greatest number that is exact in JavaScript.
const MAX_SIZE: u64 = 1 << 53;

impl BodyDecoder {
    /// Creates a decoder for a request with this framing.
    #[must_use]
    pub fn new(framing: RequestFraming) -> Self {
        let state = match framing {
            RequestFraming::None => State::Length(0),
            RequestFraming::Length(length) => State::Length(length),
            RequestFraming::Chunked => State::ChunkLine,
        };
        Self { state, extensions: MAX_EXTENSIONS }
    }

    /// Continues decoding, up to the next event.
    pub fn next(&mut self, input: &[u8], limits: &HeadLimits) -> BodyEvent {
        let mut at = 0;
        loop {
            match self.step(&input[at..], limits) {
                Ok(Step::Line(length)) => at += length,
                Ok(Step::Data(length)) => return BodyEvent::Data { start: at, end: at + length },
                Ok(Step::End { length, trailers }) => {
                    return BodyEvent::End { consumed: at + length, trailers: (at, at + trailers) };
                }
                Err(Stop::Partial) => return BodyEvent::More { consumed: at },
                Err(Stop::Unsure) => return BodyEvent::Unsure { at },
            }
        }
    }

    /// Returns bytes that bring another parser to the state of this one, after a head with
    /// `Transfer-Encoding: chunked`.
    #[must_use]
    pub fn prelude(&self) -> &'static [u8] {
        match self.state {
            State::Length(_) | State::ChunkLine | State::ChunkData(_) => b"",
            State::ChunkEnd => b"1\r\nx",
            State::Trailers(_) => b"0\r\n",
        }
    }

    fn step(&mut self, input: &[u8], limits: &HeadLimits) -> Result<Step, Stop> {
        match &mut self.state {
            State::Length(0) => Ok(Step::End { length: 0, trailers: 0 }),
            State::Length(left) => take_data(input, left),
            State::ChunkLine => {
                let line = ChunkLine::parse(input, self.extensions)?;
                self.extensions -= line.extension;
                self.state = match line.size {
                    0 => State::Trailers(FieldLines::default()),
                    size => State::ChunkData(size),
                };
                Ok(Step::Line(line.length))
            }
            State::ChunkData(left) => {
                let taken = take_data(input, left)?;
                if *left == 0 {
                    self.state = State::ChunkEnd;
                }
                Ok(taken)
            }
            State::ChunkEnd if line_ends(input, 0)? => {
                self.state = State::ChunkLine;
                Ok(Step::Line(2))
            }
            State::ChunkEnd => Err(Stop::Unsure),
            State::Trailers(lines) => {
                let length = read_trailers(lines, input, limits)?;
                self.state = State::Length(0);
                Ok(Step::End { length, trailers: length - 2 })
            }
        }
    }
}

/// The kind and length of the next consumed bytes.
enum Step {
    Line(usize),
    Data(usize),
    End { length: usize, trailers: usize },
}

fn take_data(input: &[u8], left: &mut u64) -> Result<Step, Stop> {
    if input.is_empty() {
        return Err(Stop::Partial);
    }
    let length = input.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
    *left -= length as u64;
    Ok(Step::Data(length))
}

/// Size, extension and CRLF before a chunk's data (RFC 9112, section 7.1).
struct ChunkLine {
    length: usize,
    size: u64,
    /// Bytes of the extension.
    extension: usize,
}

impl ChunkLine {
    /// One extension at most, `;name` or `;name=value`: before 9.1 llhttp took no second one behind a
    /// value.
    fn parse(line: &[u8], max_extension: usize) -> Result<Self, Stop> {
        let digits = count_leading(line, |byte| byte.is_ascii_hexdigit());
        let size = match digits {
            0 if line.is_empty() => return Err(Stop::Partial),
            1..=MAX_SIZE_DIGITS => line[..digits].iter().fold(0, add_digit),
            _ => return Err(Stop::Unsure),
        };
        let mut end = digits;
        for mark in [b';', b'='] {
            if line.get(end) != Some(&mark) {
                break;
            }
            let length = count_leading(&line[end + 1..], is_token_byte);
            end += 1 + length;
            if end - digits > max_extension || (length == 0 && end < line.len()) {
                return Err(Stop::Unsure);
            }
        }
        if !line_ends(line, end)? || size > MAX_SIZE {
            return Err(Stop::Unsure);
        }
        Ok(Self { length: end + 2, size, extension: end - digits })
    }
}

/// Counts the leading bytes of a kind.
fn count_leading(input: &[u8], is_one: impl Fn(u8) -> bool) -> usize {
    input.iter().position(|&byte| !is_one(byte)).unwrap_or(input.len())
}

/// In range for 16 digits.
fn add_digit(size: u64, digit: &u8) -> u64 {
    size << 4 | u64::from(char::from(*digit).to_digit(16).unwrap_or(0))
}

/// Returns the length of the trailer section. Fields that are special to llhttp are so in trailers, too.
fn read_trailers(lines: &mut FieldLines, input: &[u8], limits: &HeadLimits) -> Result<usize, Stop> {
    let bytes = limits.bytes.min(MAX_TRAILERS);
    loop {
        match lines.next(input) {
            Ok(Some((KnownField::Other, _))) if lines.count <= limits.fields => {}
            Ok(None) if lines.at < bytes => return Ok(lines.at),
            Err(Stop::Partial) if input.len() < bytes => return Err(Stop::Partial),
            _ => return Err(Stop::Unsure),
        }
    }
}
