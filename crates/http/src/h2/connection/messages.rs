//! Received frames of messages: DATA, HEADERS, CONTINUATION.

use super::receiving::{DataFrame, Named, Outcome};
use super::{Connection, Event, Role};
use crate::h2::FieldSection;
use crate::h2::error::{ConnectionError, ErrorCode, StreamError};
use crate::h2::field_section::SectionKind;
use crate::h2::frame::{FrameHead, HEAD_LENGTH, flag};
use crate::h2::header_blocks::TOO_LARGE;
use crate::h2::streams::{Received, StreamKey};

const PADDED_WITHOUT_LENGTH: ConnectionError =
    ConnectionError::frame_size("a padded frame without its length");

/// Length of the priority in a HEADERS frame, and of a PRIORITY frame.
pub(super) const PRIORITY_LENGTH: usize = 5;

/// Priorities have no effect; one rule is left that a peer may break (RFC 7540, section 5.3.1).
pub(super) fn check_dependency(stream: u32, priority: &[u8]) -> Result<(), ConnectionError> {
    let depends_on = priority.first_chunk().map(|bytes| u32::from_be_bytes(*bytes) & 0x7fff_ffff);
    match depends_on {
        Some(on) if on == stream => {
            Err(ConnectionError::protocol("a stream that depends on itself"))
        }
        _ => Ok(()),
    }
}

impl<T: Default> Connection<T> {
    /// `payload`: of a padded frame, the length of the padding; the rest follows.
    pub(super) fn on_data<'a>(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Outcome<'a> {
        let padding = match payload.first() {
            Some(length) => usize::from(*length),
            None if head.has(flag::PADDED) => return Err(PADDED_WITHOUT_LENGTH),
            None => 0,
        };
        let overhead = padding + payload.len();
        if overhead > head.length {
            return Err(ConnectionError::protocol("more padding than the frame has room for"));
        }
        let named = self.named(head.stream)?;
        if self.receive_window.receive(head.length).is_none() {
            return Err(ConnectionError::flow_control(
                "more DATA than the connection's window allows",
            ));
        }
        let left = head.length - overhead;
        let ends = head.has(flag::END_STREAM);
        let mut data =
            DataFrame { stream: None, left, padding, overhead: HEAD_LENGTH + overhead, ends };
        match named {
            Named::Closed => {
                self.check_closed(head.stream)?;
                self.release_connection(head.length, out);
            }
            Named::Open(key) => {
                if let Err(error) = self.account_data(key, head.length, left, ends) {
                    self.incoming.data = Some(data);
                    return self.malformed(key, error, out).map(Some);
                }
                self.release(key, overhead, out);
                data.stream = Some(key);
            }
        }
        self.incoming.data = Some(data);
        Ok(None)
    }

    /// Counts a DATA frame of this length, of which `content` bytes are data.
    #[inline]
    fn account_data(
        &mut self,
        key: StreamKey,
        length: usize,
        content: usize,
        ends: bool,
    ) -> Result<(), StreamError> {
        let Some(stream) = self.streams.get_mut(key) else { return Ok(()) };
        let fail = |code, reason| Err(StreamError { code, reason });
        let is_allowed = stream.receive_window.receive(length).is_some();
        match stream.received {
            Received::Head => {}
            Received::Nothing => return fail(ErrorCode::PROTOCOL_ERROR, "DATA before the head"),
            Received::All => return fail(ErrorCode::STREAM_CLOSED, "DATA behind the end"),
        }
        if !is_allowed {
            let reason = "more DATA than the stream's window allows";
            return fail(ErrorCode::FLOW_CONTROL_ERROR, reason);
        }
        if stream.is_bodiless && content > 0 {
            return fail(ErrorCode::PROTOCOL_ERROR, "content where there can be none");
        }
        if let Some(left) = &mut stream.content_left {
            match left.checked_sub(content as u64) {
                Some(rest) if !ends || rest == 0 => *left = rest,
                _ => return fail(ErrorCode::PROTOCOL_ERROR, "content-length and DATA differ"),
            }
        }
        Ok(())
    }

    /// Takes the payload of a DATA frame as far as it has come. `None`: nothing has happened.
    #[inline]
    pub(super) fn take_data<'a>(
        &mut self,
        mut data: DataFrame,
        input: &mut &'a [u8],
    ) -> Option<Event<'a>> {
        let (bytes, rest) = input.split_at(data.left.min(input.len()));
        data.left -= bytes.len();
        let (padding, rest) =
            rest.split_at(if data.left == 0 { data.padding.min(rest.len()) } else { 0 });
        data.padding -= padding.len();
        *input = rest;
        let is_complete = data.left == 0 && data.padding == 0;
        let ends = is_complete && data.ends;
        let is_event = data.stream.is_some() && (ends || !bytes.is_empty());
        let overhead = if is_event { std::mem::take(&mut data.overhead) } else { 0 };
        self.incoming.data = (!is_complete).then_some(data);
        let key = data.stream?;
        if ends && let Some(stream) = self.streams.get_mut(key) {
            stream.received = Received::All;
        }
        let length = bytes.len() + overhead;
        is_event.then_some(Event::Data { stream: key, bytes, length, ends })
    }

    #[inline]
    pub(super) fn on_headers<'a>(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Outcome<'a> {
        let mut block = payload;
        let mut padding = 0;
        if head.has(flag::PADDED) {
            let (length, rest) = block.split_first().ok_or(PADDED_WITHOUT_LENGTH)?;
            (padding, block) = (usize::from(*length), rest);
        }
        if head.has(flag::PRIORITY) {
            let (priority, rest) = block
                .split_at_checked(PRIORITY_LENGTH)
                .ok_or(ConnectionError::frame_size("HEADERS without its priority"))?;
            check_dependency(head.stream, priority)?;
            block = rest;
        }
        let Some(block) = block.len().checked_sub(padding).map(|length| &block[..length]) else {
            return Err(ConnectionError::protocol("more padding than the frame has room for"));
        };
        if self.role == Role::Server {
            self.open_of_peer(head.stream, out)?;
        }
        let named = self.named(head.stream)?;
        if let Named::Closed = named {
            self.check_closed(head.stream)?;
        }
        let (ends, length) = (head.has(flag::END_STREAM), HEAD_LENGTH + head.length);
        if !head.has(flag::END_HEADERS) {
            self.budget.begin_block();
            self.blocks.begin(head.stream, ends, block, length);
            return Ok(None);
        }
        let kind = self.section_kind(&named);
        let section = self.blocks.decode(block, kind)?;
        self.on_section(named, kind, section, (ends, length), out)
    }

    pub(super) fn on_continuation<'a>(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Outcome<'a> {
        if self.blocks.unfinished().is_none() {
            return Err(ConnectionError::protocol("CONTINUATION without HEADERS"));
        }
        let is_last = head.has(flag::END_HEADERS);
        let length = HEAD_LENGTH + head.length;
        let Some(whole) = self.blocks.add(payload, length, is_last, &mut self.budget)? else {
            return Ok(None);
        };
        let named = self.named(head.stream)?;
        let kind = self.section_kind(&named);
        let section = self.blocks.decode_assembled(kind)?;
        self.on_section(named, kind, section, whole, out)
    }

    /// Opens a stream of the peer when its first frame comes, or refuses it if there are as many as this side allows. Its
    /// frames are ignored then.
    fn open_of_peer(&mut self, id: u32, out: &mut Vec<u8>) -> Result<(), ConnectionError> {
        if id.is_multiple_of(2) {
            return Err(ConnectionError::protocol("a client's stream has an odd number"));
        }
        if id <= self.last_peer_stream {
            return Ok(());
        }
        self.closed.on_opened(self.last_peer_stream, id);
        self.last_peer_stream = id;
        let most = self.local.max_concurrent_streams;
        if self.refuses || most.is_some_and(|most| self.streams.count() >= most as usize) {
            self.budget.spend()?;
            self.refused += 1;
            self.write_reset(id, ErrorCode::REFUSED_STREAM, out);
        } else {
            self.add_stream(id, T::default(), false);
        }
        Ok(())
    }

    /// Whether a frame of a message is ignored, as its stream is closed. A client resets streams of its own; what its server
    /// still sends is ignored.
    fn check_closed(&self, id: u32) -> Result<(), ConnectionError> {
        match self.role {
            Role::Client => Ok(()),
            Role::Server => self.closed.check(id),
        }
    }

    fn section_kind(&self, named: &Named) -> SectionKind {
        let received = match named {
            Named::Open(key) => self.streams.get(*key).map(|stream| stream.received),
            Named::Closed => None,
        };
        match received {
            Some(Received::Nothing) if self.role == Role::Client => SectionKind::Response,
            Some(Received::Nothing) => SectionKind::Request,
            _ => SectionKind::Trailers,
        }
    }

    /// A field section has come as a whole. A block for a closed stream has been decoded for the sake of the table.
    fn on_section<'a>(
        &mut self,
        named: Named,
        kind: SectionKind,
        section: Result<FieldSection, StreamError>,
        (ends, length): (bool, usize),
        out: &mut Vec<u8>,
    ) -> Outcome<'a> {
        let Named::Open(key) = named else { return Ok(None) };
        let Some(stream) = self.streams.get_mut(key) else { return Ok(None) };
        let fail = |reason| Err(StreamError::protocol(reason));
        let event = match section {
            // Whatever it says.
            _ if stream.received == Received::All => Err(StreamError {
                code: ErrorCode::STREAM_CLOSED,
                reason: "HEADERS behind the end",
            }),
            Err(TOO_LARGE) if kind == SectionKind::Request => {
                Ok(Event::HeadTooLarge { stream: key })
            }
            Err(error) => Err(error),
            Ok(_) if kind == SectionKind::Trailers && !ends => {
                fail("a second head, or trailers that do not end the message")
            }
            Ok(_)
                if kind == SectionKind::Trailers
                    && stream.content_left.is_some_and(|left| left > 0) =>
            {
                fail("content-length and DATA differ")
            }
            Ok(_) if kind == SectionKind::Trailers => Ok(Event::Trailers { stream: key, length }),
            Ok(section) if section.status == Some(101) => fail("status 101, which HTTP/2 has not"),
            Ok(section) if section.status.is_some_and(|status| status < 200) => match ends {
                true => fail("an interim response that ends the message"),
                false => Ok(Event::Interim { stream: key, length }),
            },
            Ok(section) => {
                // RFC 9110, section 6.4.1.
                stream.is_bodiless |= matches!(section.status, Some(204 | 304));
                stream.content_left = section.content_length.filter(|_| !stream.is_bodiless);
                match ends && stream.content_left.is_some_and(|left| left > 0) {
                    true => fail("content-length and DATA differ"),
                    false => Ok(Event::Head { stream: key, section, length, ends }),
                }
            }
        };
        match event {
            Ok(Event::Interim { .. }) => {}
            Ok(_) => stream.received = if ends { Received::All } else { Received::Head },
            Err(error) => return self.malformed(key, error, out).map(Some),
        }
        Ok(event.ok())
    }

    /// Resets a stream whose peer broke a rule.
    pub(super) fn malformed<'a>(
        &mut self,
        key: StreamKey,
        error: StreamError,
        out: &mut Vec<u8>,
    ) -> Result<Event<'a>, ConnectionError> {
        self.budget.spend()?;
        if let Some(id) = self.number(key) {
            self.write_reset(id, error.code, out);
        }
        self.end_by_reset(key, out);
        Ok(Event::Malformed { stream: key, error })
    }
}
