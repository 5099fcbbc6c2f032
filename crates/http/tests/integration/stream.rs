//! A connection's bytes, given to the decoder in pieces and taken up again as a connection does it.

use std::fmt;

use millrace_http::h1::{Decoded, Error, ResponseDecoder};

/// What a reader of the stream sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A final response ended `at` bytes after the start of the stream.
    Complete { status: u16, persistent: bool, at: usize },
    /// Nothing more can be read.
    Error(Error),
    /// The connection is to be closed with this many bytes left over.
    Unread(usize),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete { status, persistent: true, .. } => write!(f, "{status} keep-alive"),
            Self::Complete { status, persistent: false, .. } => write!(f, "{status} close"),
            Self::Error(error) => write!(f, "error {error:?}"),
            Self::Unread(count) => write!(f, "unread {count}"),
        }
    }
}

/// Reads a stream that comes in `pieces` and then ends. `heads` says of each request whether it was a
/// HEAD; those beyond it were not.
pub(crate) fn read(stream: &[u8], pieces: &[usize], heads: &[bool]) -> Vec<Event> {
    read_or_skip(stream, pieces, heads, false)
}

/// The same; `skips`: nobody looks at what is known to be data of a body.
pub(crate) fn read_or_skip(
    stream: &[u8],
    pieces: &[usize],
    heads: &[bool],
    skips: bool,
) -> Vec<Event> {
    let mut decoder = ResponseDecoder::default();
    let mut events = Vec::new();
    let mut done = 0;
    let mut answered = 0;
    for arrived in ends(stream.len(), pieces) {
        while done < arrived {
            let head = heads.get(answered).copied().unwrap_or(false);
            let input = &stream[done..arrived];
            let ahead = usize::try_from(decoder.data_ahead()).unwrap_or(usize::MAX);
            let decoded = match ahead.min(input.len()) {
                count if skips && count > 0 => Ok(decoder.skip(count)),
                _ => decoder.decode(input, head),
            };
            match decoded {
                Ok(Decoded::More { consumed }) if skips && consumed > 0 => done += consumed,
                Ok(Decoded::More { consumed }) => {
                    assert!(consumed <= input.len(), "consumed more than there was");
                    done += consumed;
                    break;
                }
                Ok(Decoded::Complete { consumed, status, persistent }) => {
                    assert!(consumed <= input.len(), "consumed more than there was");
                    done += consumed;
                    answered += 1;
                    events.push(Event::Complete { status, persistent, at: done });
                    if !persistent {
                        let unread = stream.len() - done;
                        events.extend((unread > 0).then_some(Event::Unread(unread)));
                        return events;
                    }
                }
                Err(error) => {
                    events.push(Event::Error(error));
                    return events;
                }
            }
        }
    }
    match decoder.finish(stream.len() - done) {
        Ok(Some(Decoded::Complete { status, persistent, .. })) => {
            events.push(Event::Complete { status, persistent, at: stream.len() });
        }
        Ok(_) => {}
        Err(error) => events.push(Event::Error(error)),
    }
    events
}

/// How many bytes have arrived after each piece, and at last all of them.
fn ends(length: usize, pieces: &[usize]) -> impl Iterator<Item = usize> {
    let running = pieces.iter().scan(0usize, |sum, piece| {
        *sum = sum.saturating_add(*piece);
        Some(*sum)
    });
    running.take_while(move |end| *end < length).chain([length])
}
