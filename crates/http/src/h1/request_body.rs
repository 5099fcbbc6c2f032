//! The body of a request that a server receives.

use super::field_lines::{FieldLines, KnownField, Stop, line_ends};
use super::request_head::{HeadLimits, RequestFraming};
use crate::syntax::is_token_byte;

/// What [`BodyDecoder::next`] found. Offsets count from the start of its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEvent {
    /// A run of the body's bytes, at least one. `input[end..]` is to be given next.
    Data {
        /// Where it begins.
        start: usize,
        /// Where it ends.
        end: usize,
    },
    /// The body has ended; what lies behind `consumed` belongs to the next request.
    End {
        /// Bytes that are done with.
        consumed: usize,
        /// Where the lines of the trailer fields begin and end, the empty line left out; for
        /// [`field_lines`](crate::field_lines).
        trailers: (usize, usize),
    },
    /// The body goes on. What lies behind `consumed` is to be given again, with what follows it.
    More {
        /// Bytes that are done with.
        consumed: usize,
    },
    /// Something unusual or wrong: the host's own parser is to judge what lies behind `at`, having read
    /// a head with `Transfer-Encoding: chunked` and then [`BodyDecoder::prelude`].
    Unsure {
        /// Bytes that are done with.
        at: usize,
    },
}

/// Decodes one body as llhttp 8.1 to 9.4 do alike with Node's strict defaults; what one of them might
/// refuse or read otherwise is `Unsure`. Lines that have not ended are not consumed, so that the host's
/// parser can take over at the start of a line.
#[derive(Clone, Copy, Debug)]
pub struct BodyDecoder {
    state: State,
    /// Bytes of chunk extensions that are still accepted.
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

/// Of all chunks of a body together. Node refuses 16 KiB; a line is short enough to be read again from
/// its start.
const MAX_EXTENSIONS: usize = 512;
/// The empty line included.
const MAX_TRAILERS: usize = 16 * 1024;
/// Leading zeros included.
const MAX_SIZE_DIGITS: usize = 16;
/// The greatest size that is exact in JavaScript.
const MAX_SIZE: u64 = 1 << 53;

impl BodyDecoder {
    /// For a request with this framing.
    #[must_use]
    pub fn new(framing: RequestFraming) -> Self {
        let state = match framing {
            RequestFraming::None => State::Length(0),
            RequestFraming::Length(length) => State::Length(length),
            RequestFraming::Chunked => State::ChunkLine,
        };
        Self { state, extensions: MAX_EXTENSIONS }
    }

    /// Reads on in the body, up to the next event.
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

    /// What leads another parser to where this one stands, once it has read a head with
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

/// How the next bytes, of this length, were done with.
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

/// How many of the first bytes are of a kind.
fn count_leading(input: &[u8], is_one: impl Fn(u8) -> bool) -> usize {
    input.iter().position(|&byte| !is_one(byte)).unwrap_or(input.len())
}

/// In range for 16 digits.
fn add_digit(size: u64, digit: &u8) -> u64 {
    size << 4 | u64::from(char::from(*digit).to_digit(16).unwrap_or(0))
}

/// The bytes of the section. A field that is special to llhttp has its meaning in trailers too.
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
