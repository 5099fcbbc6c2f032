//! Received bytes become frames, and frames become events.

use super::messages::{PRIORITY_LENGTH, check_dependency};
use super::{Connection, Event, Role, control};
use crate::h2::error::ConnectionError;
use crate::h2::frame::{FrameHead, HEAD_LENGTH, PREFACE, flag, kind};
use crate::h2::limits::MIN_INCREMENT;
use crate::h2::streams::StreamKey;

/// What has been received and is not an event yet.
#[derive(Debug)]
pub(super) struct Incoming {
    /// The part of a frame that has arrived; frames other than DATA are handled as a whole.
    partial: Vec<u8>,
    /// The DATA frame whose payload arrives.
    pub(super) data: Option<DataFrame>,
    /// Number of bytes of the preface that are still to come.
    preface_left: usize,
}

/// The rest of a DATA frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataFrame {
    /// `None`: its stream is closed, and nobody wants the data.
    pub(super) stream: Option<StreamKey>,
    pub(super) left: usize,
    pub(super) padding: usize,
    /// Bytes of the frame that are no data, until the first event.
    pub(super) overhead: usize,
    pub(super) ends: bool,
}

impl Incoming {
    pub(super) fn new(role: Role) -> Self {
        let preface_left = if role == Role::Server { PREFACE.len() } else { 0 };
        Self { partial: Vec::new(), data: None, preface_left }
    }

    /// A part of a frame has been kept.
    pub(super) fn has_partial(&self) -> bool {
        !self.partial.is_empty()
    }

    /// Nobody wants the rest of data that arrives for a stream.
    pub(super) fn detach(&mut self, stream: StreamKey) {
        if let Some(data) = &mut self.data
            && data.stream == Some(stream)
        {
            data.stream = None;
        }
    }
}

/// A stream that a frame names.
pub(super) enum Named {
    Open(StreamKey),
    /// Its frames are ignored: they may have been sent before the peer knew.
    Closed,
}

pub(super) type Outcome<'a> = Result<Option<Event<'a>>, ConnectionError>;

impl<T: Default> Connection<T> {
    /// Takes received bytes from the front of `input` until something has happened; `None`: all are taken. What the protocol
    /// answers by itself is appended to `out`. After an error the connection has ended: [`Self::go_away`] tells the peer.
    pub fn next<'a>(&mut self, input: &mut &'a [u8], out: &mut Vec<u8>) -> Outcome<'a> {
        if self.incoming.preface_left > 0 {
            self.take_preface(input)?;
        }
        loop {
            if let Some(data) = self.incoming.data {
                match self.take_data(data, input) {
                    None if self.incoming.data.is_some() => return Ok(None),
                    None => continue,
                    event => return Ok(event),
                }
            }
            let event = if self.incoming.partial.is_empty() {
                self.take_frame(input, out)?
            } else {
                self.complete_partial(input, out)?
            };
            match event {
                Taken::All => return Ok(None),
                Taken::Frame(None) => {}
                Taken::Frame(event) => return Ok(event),
            }
        }
    }

    fn take_preface(&mut self, input: &mut &[u8]) -> Result<(), ConnectionError> {
        let left = self.incoming.preface_left;
        let (taken, rest) = input.split_at(input.len().min(left));
        let expected = &PREFACE[PREFACE.len() - left..][..taken.len()];
        if taken != expected {
            return Err(ConnectionError::protocol("the client's first bytes are not the preface"));
        }
        *input = rest;
        self.incoming.preface_left -= taken.len();
        Ok(())
    }

    /// Takes the next frame, or keeps the part of it that is there.
    #[inline]
    fn take_frame<'a>(
        &mut self,
        input: &mut &'a [u8],
        out: &mut Vec<u8>,
    ) -> Result<Taken<'a>, ConnectionError> {
        let bytes = *input;
        if let Some(head) = FrameHead::parse(bytes) {
            self.check_head(head)?;
            let needed = needed(head);
            if let Some(frame) = bytes.get(HEAD_LENGTH..needed) {
                *input = &bytes[needed..];
                return self.handle(head, frame, out).map(Taken::Frame);
            }
        }
        self.incoming.partial.extend_from_slice(bytes);
        *input = &[];
        Ok(Taken::All)
    }

    /// Completes the frame of which a part has been kept.
    fn complete_partial<'a>(
        &mut self,
        input: &mut &'a [u8],
        out: &mut Vec<u8>,
    ) -> Result<Taken<'a>, ConnectionError> {
        let mut partial = std::mem::take(&mut self.incoming.partial);
        let head = loop {
            let head = FrameHead::parse(&partial);
            if let Some(head) = head {
                self.check_head(head)?;
            }
            let missing = head.map_or(HEAD_LENGTH, needed).saturating_sub(partial.len());
            match head {
                Some(head) if missing == 0 => break head,
                _ if input.is_empty() => {
                    self.incoming.partial = partial;
                    return Ok(Taken::All);
                }
                _ => {
                    let (taken, rest) = input.split_at(input.len().min(missing));
                    partial.extend_from_slice(taken);
                    *input = rest;
                }
            }
        };
        let event = self.handle(head, &partial[HEAD_LENGTH..], out);
        partial.clear();
        self.incoming.partial = partial;
        event.map(Taken::Frame)
    }

    /// Checks what the head of a frame says, before its payload has come.
    #[inline]
    fn check_head(&self, head: FrameHead) -> Result<(), ConnectionError> {
        if head.length > self.local.max_frame_size as usize {
            return Err(ConnectionError::frame_size("a frame larger than MAX_FRAME_SIZE"));
        }
        if !self.is_settled && (head.kind != kind::SETTINGS || head.has(flag::ACK)) {
            return Err(ConnectionError::protocol("the first frame is not SETTINGS"));
        }
        if let Some(stream) = self.blocks.unfinished()
            && (head.kind != kind::CONTINUATION || head.stream != stream)
        {
            return Err(ConnectionError::protocol(
                "a header block is interrupted by another frame",
            ));
        }
        Ok(())
    }

    /// Handles a frame that is complete, or a DATA frame whose data comes next. The event refers to no byte of the payload.
    #[inline]
    fn handle<'a>(&mut self, head: FrameHead, payload: &[u8], out: &mut Vec<u8>) -> Outcome<'a> {
        if is_idle(head, payload) {
            self.on_idle_frame()?;
        }
        let is_of_block = matches!(head.kind, kind::HEADERS | kind::CONTINUATION);
        self.completed += u64::from(!is_of_block || head.has(flag::END_HEADERS));
        match head.kind {
            kind::DATA => self.on_data(head, payload, out),
            kind::HEADERS => self.on_headers(head, payload, out),
            kind::CONTINUATION => self.on_continuation(head, payload, out),
            kind::RST_STREAM => self.on_rst_stream(head, payload, out),
            kind::SETTINGS => self.on_settings(head, payload, out),
            kind::PING => self.on_ping(head, payload, out),
            kind::GOAWAY => control::on_goaway(head, payload),
            kind::WINDOW_UPDATE => self.on_window_update(head, payload, out),
            kind::PRIORITY if head.length != PRIORITY_LENGTH => {
                Err(ConnectionError::frame_size("a PRIORITY frame that is not 5 bytes long"))
            }
            kind::PRIORITY if head.stream == 0 => {
                Err(ConnectionError::protocol("a PRIORITY frame on stream 0"))
            }
            kind::PRIORITY => check_dependency(head.stream, payload).map(|()| None),
            kind::PUSH_PROMISE => Err(ConnectionError::protocol("PUSH_PROMISE, which is disabled")),
            _ => Ok(None),
        }
    }

    /// A client's frame without any effect costs more than it carries. A server's do not count: what is measured is no danger.
    pub(super) fn on_idle_frame(&mut self) -> Result<(), ConnectionError> {
        match self.role {
            Role::Server => self.budget.spend(),
            Role::Client => Ok(()),
        }
    }

    /// Finds the stream of a frame that belongs to one which has been opened.
    #[inline]
    pub(super) fn named(&self, id: u32) -> Result<Named, ConnectionError> {
        if let Some(key) = self.streams.find(id) {
            return Ok(Named::Open(key));
        }
        let is_own = (id % 2 == 1) == (self.role == Role::Client);
        let was_opened = match is_own {
            true => id < self.next_stream,
            false => id <= self.last_peer_stream,
        };
        match was_opened && id != 0 {
            true => Ok(Named::Closed),
            false => Err(ConnectionError::protocol("a frame for a stream that was not opened")),
        }
    }
}

/// The result of looking for a frame.
enum Taken<'a> {
    /// The input has no complete frame.
    All,
    /// A frame, and what it means.
    Frame(Option<Event<'a>>),
}

/// Whether a frame carries nothing, and is not counted where it is answered.
#[inline]
fn is_idle(head: FrameHead, payload: &[u8]) -> bool {
    match head.kind {
        kind::HEADERS | kind::CONTINUATION => false,
        kind::DATA => {
            let padding = payload.first().map_or(0, |length| usize::from(*length));
            head.length == payload.len() + padding && !head.has(flag::END_STREAM)
        }
        kind::SETTINGS | kind::PING => head.has(flag::ACK),
        kind::WINDOW_UPDATE => {
            let increment = payload.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
            increment.is_some_and(|increment| increment & 0x7fff_ffff < MIN_INCREMENT)
        }
        _ => true,
    }
}

/// How many bytes of a frame are needed to handle it: of DATA, those before the data.
#[inline]
fn needed(head: FrameHead) -> usize {
    match head.kind {
        // A padded frame without payload has no length of the padding either.
        kind::DATA => HEAD_LENGTH + usize::from(head.has(flag::PADDED)).min(head.length),
        _ => HEAD_LENGTH + head.length,
    }
}
