//! Decoder of the chunked transfer coding (RFC 9112, section 7.1) of responses: data in blocks, the rest byte by byte.

use crate::Error;

/// Maximum bytes of extensions on the line of one chunk.
const MAX_EXTENSION: u32 = 16 * 1024;
/// Maximum bytes of trailers.
const MAX_TRAILERS: u32 = 64 * 1024;

/// Decodes a chunked body as most clients do, more leniently than [`BodyDecoder`](super::BodyDecoder).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChunkedDecoder {
    state: State,
    /// In `Size` and `Extension`: the chunk's size so far; in `Data`: the remaining bytes.
    size: u64,
    /// Number of digits, extension bytes or trailer bytes in the present state, for its limit.
    seen: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Size,
    /// White space between size and extension or CR.
    SizeEnd,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    /// At the start of a trailer line.
    TrailerStart,
    Trailer,
    /// After the CR of the empty line that ends the body.
    LastLf,
}

impl ChunkedDecoder {
    /// Continues decoding. Returns the number of consumed bytes, and whether the body has ended.
    pub(super) fn decode(&mut self, input: &[u8]) -> Result<(usize, bool), Error> {
        let mut at = 0;
        while at < input.len() {
            if self.state == State::Data {
                let available = (input.len() - at) as u64;
                let taken = self.size.min(available);
                self.size -= taken;
                // In range: `taken` is at most `available`, which came from a usize.
                at += taken as usize;
                if self.size == 0 {
                    self.state = State::DataCr;
                }
                continue;
            }
            let ended = self.step(input[at])?;
            at += 1;
            if ended {
                return Ok((at, true));
            }
        }
        Ok((at, false))
    }

    /// Decodes one byte that is not chunk data; `true` at the end of the body.
    fn step(&mut self, byte: u8) -> Result<bool, Error> {
        match (self.state, byte) {
            (State::Size, _) if byte.is_ascii_hexdigit() => self.add_digit(byte)?,
            (State::Size, b'\r' | b';' | b' ' | b'\t') if self.seen == 0 => {
                return Err(Error::ChunkSize);
            }
            (State::Size | State::SizeEnd | State::Extension, b'\r') => self.enter(State::SizeLf),
            (State::Size | State::SizeEnd, b';') => self.enter(State::Extension),
            (State::Size | State::SizeEnd, b' ' | b'\t') => {
                self.state = State::SizeEnd;
                self.count(MAX_EXTENSION)?;
            }
            (State::Extension, b'\n' | 0) => return Err(Error::ChunkSize),
            (State::Extension, _) => self.count(MAX_EXTENSION)?,
            (State::SizeLf, b'\n') => {
                self.enter(if self.size == 0 { State::TrailerStart } else { State::Data });
            }
            (State::DataCr, b'\r') => self.state = State::DataLf,
            (State::DataLf, b'\n') => self.enter(State::Size),
            (State::DataCr | State::DataLf, _) => return Err(Error::ChunkEnd),
            (State::TrailerStart, b'\r') => self.state = State::LastLf,
            (State::TrailerStart, b'\n') => return Ok(true),
            (State::TrailerStart | State::Trailer, _) => {
                self.state = if byte == b'\n' { State::TrailerStart } else { State::Trailer };
                self.count(MAX_TRAILERS)?;
            }
            (State::LastLf, b'\n') => return Ok(true),
            (State::LastLf, _) => return Err(Error::Field),
            _ => return Err(Error::ChunkSize),
        }
        Ok(false)
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.seen = 0;
    }

    fn count(&mut self, limit: u32) -> Result<(), Error> {
        self.seen += 1;
        if self.seen > limit { Err(Error::TooLarge) } else { Ok(()) }
    }

    fn add_digit(&mut self, byte: u8) -> Result<(), Error> {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            _ => (byte | 0x20) - b'a' + 10,
        };
        self.size = self.size.checked_mul(16).ok_or(Error::ChunkSize)? + u64::from(digit);
        self.seen = self.seen.saturating_add(1);
        if self.seen > MAX_EXTENSION { Err(Error::ChunkSize) } else { Ok(()) }
    }
}
