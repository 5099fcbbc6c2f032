//! Stand-in.
/// Decoder.
#[derive(Clone, Copy, Debug)]
pub enum BodyDecoder {
    /// Length.
    Length(u64),
}
/// Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEvent {
    /// Bytes of the body.
    Data {
        /// from
        start: usize,
        /// to
        end: usize,
    },
    /// All was taken, more is to come.
    More,
    /// Over.
    End {
        /// Bytes taken.
        consumed: usize,
        /// Trailer lines.
        trailers: (usize, usize),
    },
    /// Ask.
    Unsure {
        /// Where.
        at: usize,
    },
}
impl BodyDecoder {
    /// Goes on behind `at`.
    pub fn next(&mut self, input: &[u8]) -> BodyEvent {
        match self {
            Self::Length(0) => BodyEvent::End { consumed: 0, trailers: (0, 0) },
            Self::Length(left) => {
                let n = (input.len() as u64).min(*left) as usize;
                if n == 0 {
                    return BodyEvent::More;
                }
                *left -= n as u64;
                BodyEvent::Data { start: 0, end: n }
            }
        }
    }
}
