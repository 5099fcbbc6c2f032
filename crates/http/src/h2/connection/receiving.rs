//! Received bytes become frames, and frames become events.

use super::{Connection, Event, Role};
use crate::h2::error::{ConnectionError, ErrorCode, StreamError};
use crate::h2::field_section::SectionKind;
use crate::h2::frame::{self, FrameHead, HEAD_LENGTH, PREFACE, flag, kind};
use crate::h2::streams::{Received, StreamKey};

/// What has been received and is not an event yet.
#[derive(Debug)]
pub(super) struct Incoming {
    /// The part of a frame that has arrived; frames other than DATA are handled as a whole.
    partial: Vec<u8>,
    /// The DATA frame whose payload arrives.
    data: Option<DataFrame>,
    /// Number of bytes of the preface that are still to come.
    preface_left: usize,
}

/// The rest of a DATA frame.
#[derive(Clone, Copy, Debug)]
struct DataFrame {
    /// `None`: its stream is closed, and nobody wants the data.
    stream: Option<StreamKey>,
    left: usize,
    padding: usize,
    ends: bool,
}

impl Incoming {
    pub(super) fn new(role: Role) -> Self {
        let preface_left = if role == Role::Server { PREFACE.len() } else { 0 };
        Self { partial: Vec::new(), data: None, preface_left }
    }

    /// The data that arrives is of a stream that is removed. Returns how much of it is still to come.
    pub(super) fn detach(&mut self, stream: StreamKey) -> usize {
        match &mut self.data {
            Some(data) if data.stream == Some(stream) => {
                data.stream = None;
                data.left
            }
            _ => 0,
        }
    }
}

/// A stream that a frame names.
enum Named {
    Open(StreamKey),
    /// Its frames are ignored: they may have been sent before the peer knew.
    Closed,
}

type Outcome<'a> = Result<Option<Event<'a>>, ConnectionError>;

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
        match head.kind {
            kind::DATA => self.on_data(head, payload, out),
            kind::HEADERS => self.on_headers(head, payload, out),
            kind::CONTINUATION => self.on_continuation(head, payload, out),
            kind::RST_STREAM => self.on_rst_stream(head, payload),
            kind::SETTINGS => self.on_settings(head, payload, out),
            kind::PING => self.on_ping(head, payload, out),
            kind::GOAWAY => on_goaway(head, payload),
            kind::WINDOW_UPDATE => self.on_window_update(head, payload, out),
            kind::PRIORITY if head.length != 5 => {
                Err(ConnectionError::frame_size("a PRIORITY frame that is not 5 bytes long"))
            }
            kind::PRIORITY if head.stream == 0 => {
                Err(ConnectionError::protocol("a PRIORITY frame on stream 0"))
            }
            kind::PUSH_PROMISE => Err(ConnectionError::protocol("PUSH_PROMISE, which is disabled")),
            _ => Ok(None),
        }
    }

    /// Finds the stream of a frame that belongs to one which has been opened.
    #[inline]
    fn named(&self, id: u32) -> Result<Named, ConnectionError> {
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

    /// `payload`: of a padded frame, the length of the padding; the rest follows.
    fn on_data<'a>(&mut self, head: FrameHead, payload: &[u8], out: &mut Vec<u8>) -> Outcome<'a> {
        if head.has(flag::PADDED) && payload.is_empty() {
            return Err(ConnectionError::frame_size("a padded frame without its length"));
        }
        let padding = payload.first().map_or(0, |length| usize::from(*length));
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
        self.budget.progress();
        let left = head.length - overhead;
        let ends = head.has(flag::END_STREAM);
        let mut data = DataFrame { stream: None, left, padding, ends };
        match named {
            Named::Closed => self.release_connection(head.length, out),
            Named::Open(key) => {
                if let Err(error) = self.account_data(key, head.length, left, ends) {
                    self.release_connection(head.length, out);
                    self.incoming.data = Some(data);
                    return Ok(Some(self.malformed(key, error, out)));
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
        match stream.received {
            Received::Head => {}
            Received::Nothing => return fail(ErrorCode::PROTOCOL_ERROR, "DATA before the head"),
            Received::All => return fail(ErrorCode::STREAM_CLOSED, "DATA behind the end"),
        }
        if stream.receive_window.receive(length).is_none() {
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
    fn take_data<'a>(&mut self, mut data: DataFrame, input: &mut &'a [u8]) -> Option<Event<'a>> {
        let (bytes, rest) = input.split_at(data.left.min(input.len()));
        data.left -= bytes.len();
        let (padding, rest) =
            rest.split_at(if data.left == 0 { data.padding.min(rest.len()) } else { 0 });
        data.padding -= padding.len();
        *input = rest;
        let is_complete = data.left == 0 && data.padding == 0;
        self.incoming.data = (!is_complete).then_some(data);
        let key = data.stream?;
        let ends = is_complete && data.ends;
        if ends && let Some(stream) = self.streams.get_mut(key) {
            stream.received = Received::All;
        }
        (ends || !bytes.is_empty()).then_some(Event::Data { stream: key, bytes, ends })
    }

    #[inline]
    fn on_headers<'a>(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Outcome<'a> {
        let mut block = payload;
        let mut padding = 0;
        if head.has(flag::PADDED) {
            let Some((length, rest)) = block.split_first() else {
                return Err(ConnectionError::frame_size("a padded frame without its length"));
            };
            (padding, block) = (usize::from(*length), rest);
        }
        if head.has(flag::PRIORITY) {
            block = block
                .get(5..)
                .ok_or(ConnectionError::frame_size("HEADERS without its priority"))?;
        }
        let Some(block) = block.len().checked_sub(padding).map(|length| &block[..length]) else {
            return Err(ConnectionError::protocol("more padding than the frame has room for"));
        };
        if self.role == Role::Server {
            self.open_of_peer(head.stream)?;
        }
        let named = self.named(head.stream)?;
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

    fn on_continuation<'a>(
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

    /// Opens a stream of the peer when its first frame comes.
    fn open_of_peer(&mut self, id: u32) -> Result<(), ConnectionError> {
        if id.is_multiple_of(2) {
            return Err(ConnectionError::protocol("a client's stream has an odd number"));
        }
        if id > self.last_peer_stream {
            self.last_peer_stream = id;
            self.add_stream(id, T::default(), false);
        }
        Ok(())
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
        section: Result<crate::h2::FieldSection, StreamError>,
        (ends, length): (bool, usize),
        out: &mut Vec<u8>,
    ) -> Outcome<'a> {
        self.budget.progress();
        let Named::Open(key) = named else { return Ok(None) };
        let Some(stream) = self.streams.get_mut(key) else { return Ok(None) };
        let fail = |reason| Err(StreamError::protocol(reason));
        let event = match section {
            Err(error) => Err(error),
            Ok(_) if stream.received == Received::All => Err(StreamError {
                code: ErrorCode::STREAM_CLOSED,
                reason: "HEADERS behind the end",
            }),
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
                false => Ok(Event::Interim { stream: key }),
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
            Err(error) => return Ok(Some(self.malformed(key, error, out))),
        }
        Ok(event.ok())
    }

    /// Resets a stream whose peer broke a rule.
    fn malformed<'a>(
        &mut self,
        key: StreamKey,
        error: StreamError,
        out: &mut Vec<u8>,
    ) -> Event<'a> {
        if let Some(stream) = self.streams.get(key) {
            frame::write_rst_stream(stream.id, error.code, out);
        }
        Event::Malformed { stream: key, error }
    }

    fn on_rst_stream<'a>(&mut self, head: FrameHead, payload: &[u8]) -> Outcome<'a> {
        let code = payload.try_into().map(u32::from_be_bytes).map_err(|_| {
            ConnectionError::frame_size("a RST_STREAM frame that is not 4 bytes long")
        })?;
        Ok(match self.named(head.stream)? {
            Named::Open(stream) => Some(Event::Reset { stream, code: ErrorCode(code) }),
            Named::Closed => None,
        })
    }

    fn on_settings<'a>(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Outcome<'a> {
        if head.stream != 0 {
            return Err(ConnectionError::protocol("SETTINGS on a stream"));
        }
        if head.has(flag::ACK) {
            self.is_acknowledged = true;
            return match payload {
                [] => Ok(None),
                _ => Err(ConnectionError::frame_size(
                    "an acknowledgement of SETTINGS with a payload",
                )),
            };
        }
        self.budget.answer()?;
        let before = self.peer.initial_window_size;
        let encoder = &mut self.encoder;
        self.peer.apply(payload, |size| encoder.set_max_table_size(size as usize))?;
        if self.role == Role::Client && self.peer.enable_push && has_enable_push(payload) {
            return Err(ConnectionError::protocol("a server cannot enable push"));
        }
        let change = i64::from(self.peer.initial_window_size) - i64::from(before);
        if change != 0 && self.streams.iter_mut().any(|it| it.send_window.add(change).is_none()) {
            return Err(ConnectionError::flow_control("a window exceeds 2,147,483,647 bytes"));
        }
        self.is_settled = true;
        frame::write_settings_ack(out);
        Ok(Some(Event::Settings))
    }

    fn on_ping<'a>(&mut self, head: FrameHead, payload: &[u8], out: &mut Vec<u8>) -> Outcome<'a> {
        let Ok(payload) = payload.try_into() else {
            return Err(ConnectionError::frame_size("a PING frame that is not 8 bytes long"));
        };
        if head.stream != 0 {
            return Err(ConnectionError::protocol("PING on a stream"));
        }
        if !head.has(flag::ACK) {
            self.budget.answer()?;
            frame::write_ping_ack(payload, out);
        }
        Ok(None)
    }

    fn on_window_update<'a>(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Outcome<'a> {
        let increment = payload.try_into().map(u32::from_be_bytes).map_err(|_| {
            ConnectionError::frame_size("a WINDOW_UPDATE frame that is not 4 bytes long")
        })?;
        let increment = i64::from(increment & 0x7fff_ffff);
        let too_large = "a window exceeds 2,147,483,647 bytes";
        if head.stream == 0 {
            if increment == 0 {
                return Err(ConnectionError::protocol("a WINDOW_UPDATE of 0"));
            }
            self.send_window.add(increment).ok_or(ConnectionError::flow_control(too_large))?;
            return Ok(Some(Event::WindowOpened));
        }
        let Named::Open(key) = self.named(head.stream)? else { return Ok(None) };
        let Some(stream) = self.streams.get_mut(key) else { return Ok(None) };
        let error = match increment {
            0 => StreamError::protocol("a WINDOW_UPDATE of 0"),
            _ if stream.send_window.add(increment).is_some() => {
                return Ok(Some(Event::WindowOpened));
            }
            _ => StreamError { code: ErrorCode::FLOW_CONTROL_ERROR, reason: too_large },
        };
        Ok(Some(self.malformed(key, error, out)))
    }
}

/// The result of looking for a frame.
enum Taken<'a> {
    /// The input has no complete frame.
    All,
    /// A frame, and what it means.
    Frame(Option<Event<'a>>),
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

/// Whether the payload of SETTINGS names ENABLE_PUSH.
fn has_enable_push(payload: &[u8]) -> bool {
    payload.chunks(6).any(|setting| setting.starts_with(&[0, 2]))
}

fn on_goaway<'a>(head: FrameHead, payload: &[u8]) -> Outcome<'a> {
    if head.stream != 0 {
        return Err(ConnectionError::protocol("GOAWAY on a stream"));
    }
    let Some(&[l0, l1, l2, l3, c0, c1, c2, c3]) = payload.first_chunk::<8>() else {
        return Err(ConnectionError::frame_size("a GOAWAY frame of less than 8 bytes"));
    };
    let last_stream = u32::from_be_bytes([l0, l1, l2, l3]) & 0x7fff_ffff;
    let code = ErrorCode(u32::from_be_bytes([c0, c1, c2, c3]));
    Ok(Some(Event::GoAway { last_stream, code }))
}
