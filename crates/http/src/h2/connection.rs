//! One side of a connection, without I/O: received bytes become events, and what is to be sent is appended to a buffer.
//!
//! ```text
//!   bytes ──next──> Settings, Head, Data, Trailers, Reset, GoAway ...     open ──> send_head ──> send_data ──> remove
//!             └──> acknowledgements, WINDOW_UPDATE, RST_STREAM ──> out        └──────────────┴──> frames ──> out
//! ```
//!
//! The events do not depend on how the bytes are split, except for the pieces in which data comes.

mod control;
mod messages;
mod receiving;

use super::StreamError;
use super::closed_streams::ClosedStreams;
use super::error::{ConnectionError, ErrorCode};
use super::field_list::FieldList;
use super::field_section::FieldSection;
use super::flow::{INITIAL_CONNECTION_WINDOW, ReceiveWindow, SendWindow};
use super::frame;
use super::header_blocks::HeaderBlocks;
use super::hpack::Encoder;
use super::limits::{Budget, MAX_FIELD_SECTION};
use super::settings::Settings;
use super::streams::{Received, Stream, StreamKey, Streams};
use receiving::Incoming;

/// The largest number of a stream.
const MAX_STREAM: u32 = (1 << 31) - 1;

/// Which side of a connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Opens streams with odd numbers.
    Client,
    /// Answers them.
    Server,
}

/// What happened on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The peer's settings have come, or changed; see [`Connection::peer`].
    Settings,
    /// An interim response (RFC 9110, section 15.2).
    Interim {
        /// The stream.
        stream: StreamKey,
        /// Length of its frames.
        length: usize,
    },
    /// The final head of a message; its fields are [`Connection::head`]. With the role of a server, this opens the stream.
    Head {
        /// The stream.
        stream: StreamKey,
        /// What was read of it.
        section: FieldSection,
        /// Length of its frames.
        length: usize,
        /// Whether the message ends.
        ends: bool,
    },
    /// The head of a request has come that is larger than this side accepts, which opens the stream. It has to be removed.
    HeadTooLarge {
        /// The stream.
        stream: StreamKey,
    },
    /// A piece of the content. Its window is opened by [`Connection::release`].
    Data {
        /// The stream.
        stream: StreamKey,
        /// The piece; empty if there is nothing but the end.
        bytes: &'a [u8],
        /// Length of the piece in its frame: the first one has the frame's head and padding.
        length: usize,
        /// Whether the message ends.
        ends: bool,
    },
    /// The trailers, which end the message; their fields are [`Connection::trailers`].
    Trailers {
        /// The stream.
        stream: StreamKey,
        /// Length of their frames.
        length: usize,
    },
    /// The peer has reset the stream. It has to be removed.
    Reset {
        /// The stream.
        stream: StreamKey,
        /// Why.
        code: ErrorCode,
    },
    /// The peer broke a rule of the stream, which was reset. It has to be removed.
    Malformed {
        /// The stream.
        stream: StreamKey,
        /// The rule.
        error: StreamError,
    },
    /// The peer accepts more: a window has opened.
    WindowOpened,
    /// The peer will answer no stream above this number, and the connection ends with those below.
    GoAway {
        /// The number.
        last_stream: u32,
        /// Why.
        code: ErrorCode,
    },
}

/// The largest field section that is accepted: a client only has to bear what a server sends.
fn max_section(role: Role, local: &Settings) -> usize {
    let asked = local.max_header_list_size.filter(|_| role == Role::Server);
    asked.map_or(MAX_FIELD_SECTION, |size| MAX_FIELD_SECTION.min(size as usize))
}

/// One side of a connection. `T` is what its user keeps for each stream.
#[derive(Debug)]
pub struct Connection<T> {
    role: Role,
    /// What this side has asked for.
    local: Settings,
    /// The window of the connection for what the peer sends.
    window: u32,
    peer: Settings,
    /// Whether the peer's first SETTINGS frame has come.
    is_settled: bool,
    /// Whether the peer has acknowledged the settings of this side.
    is_acknowledged: bool,
    streams: Streams<T>,
    encoder: Encoder,
    blocks: HeaderBlocks,
    send_window: SendWindow,
    receive_window: ReceiveWindow,
    /// The number of the next stream of this side.
    next_stream: u32,
    /// The highest number of a stream of the peer.
    last_peer_stream: u32,
    /// Streams of the peer that are closed in ways that it may not know of, or that it did not open.
    closed: ClosedStreams,
    /// Whether new streams of the peer are refused, as this side has sent GOAWAY.
    refuses: bool,
    /// The stream that GOAWAY has named.
    last_answered: Option<u32>,
    budget: Budget,
    incoming: Incoming,
    /// Frames that have come, header blocks as one.
    completed: u64,
    /// Streams that were refused since somebody asked.
    refused: u32,
}

impl<T> Connection<T> {
    /// Creates one side of a connection that has not begun. `window`: of the connection, for what the peer sends; at least
    /// 65,535, which a connection begins with.
    #[must_use]
    pub fn new(role: Role, local: Settings, window: u32) -> Self {
        // A client takes no pushes.
        let local = Settings { enable_push: local.enable_push && role == Role::Server, ..local };
        Self {
            role,
            local,
            window: window.max(INITIAL_CONNECTION_WINDOW),
            peer: Settings::default(),
            is_settled: false,
            is_acknowledged: false,
            streams: Streams::default(),
            encoder: Encoder::new(),
            blocks: HeaderBlocks::new(local.header_table_size as usize, max_section(role, &local)),
            send_window: SendWindow::new(INITIAL_CONNECTION_WINDOW),
            receive_window: ReceiveWindow::new(window.max(INITIAL_CONNECTION_WINDOW)),
            next_stream: if role == Role::Client { 1 } else { 2 },
            last_peer_stream: 0,
            closed: ClosedStreams::default(),
            refuses: false,
            last_answered: None,
            budget: Budget::default(),
            incoming: Incoming::new(role),
            completed: 0,
            refused: 0,
        }
    }

    /// Begins a connection, whichever was before: appends the preface.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        self.streams.clear();
        let streams = std::mem::take(&mut self.streams);
        *self = Self { streams, ..Self::new(self.role, self.local, self.window) };
        if self.role == Role::Client {
            out.extend_from_slice(frame::PREFACE);
        }
        self.local.write(out);
        if self.window > INITIAL_CONNECTION_WINDOW {
            frame::write_window_update(0, self.window - INITIAL_CONNECTION_WINDOW, out);
        }
    }

    /// Whether a header block, or another frame than DATA, has arrived in part.
    #[must_use]
    pub fn is_within_frame(&self) -> bool {
        self.blocks.unfinished().is_some() || self.incoming.has_partial()
    }

    /// Returns how many frames have come as wholes; a header block is one, however many frames it has.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// Returns how many bytes of content this side may send on a stream now.
    #[must_use]
    pub fn sendable(&self, stream: StreamKey) -> usize {
        let of_stream = self.streams.get(stream).map_or(0, |it| it.send_window.available());
        of_stream.min(self.send_window.available())
    }

    /// Whether the peer's first settings have come.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Returns the peer's settings.
    #[must_use]
    pub fn peer(&self) -> &Settings {
        &self.peer
    }

    /// Returns the number of open streams.
    #[must_use]
    pub fn open_streams(&self) -> usize {
        self.streams.count()
    }

    /// Returns the encoder of this side's header blocks. A block has to be sent before the next one is encoded.
    pub fn encoder(&mut self) -> &mut Encoder {
        &mut self.encoder
    }

    /// Opens a stream, which sends its head next. `is_bodiless`: the answer has no content whatever its fields say, as to
    /// HEAD. `None`: the connection has no number left.
    pub fn open(&mut self, data: T, is_bodiless: bool) -> Option<StreamKey> {
        let id = self.take_number()?;
        Some(self.add_stream(id, data, is_bodiless))
    }

    /// Whether there is a number for another stream.
    #[must_use]
    pub fn has_numbers(&self) -> bool {
        self.next_stream <= MAX_STREAM
    }

    fn take_number(&mut self) -> Option<u32> {
        let id = self.next_stream;
        self.has_numbers().then(|| {
            self.next_stream += 2;
            id
        })
    }

    /// The window of a new stream for what the peer sends.
    fn receive_window(&self) -> ReceiveWindow {
        let size = self.local.initial_window_size;
        // A peer that has not read the settings goes by the initial ones.
        let initial = Settings::default().initial_window_size;
        ReceiveWindow::granted(size, if self.is_acknowledged { size } else { initial })
    }

    fn add_stream(&mut self, id: u32, data: T, is_bodiless: bool) -> StreamKey {
        self.streams.insert(Stream {
            id,
            received: Received::Nothing,
            is_sent: false,
            is_bodiless,
            content_left: None,
            send_window: SendWindow::new(self.peer.initial_window_size),
            receive_window: self.receive_window(),
            data,
        })
    }

    /// Gives a stream whose answer has come to its end another number, so that it sends another request. What is left of its
    /// last one is cancelled. `None`: the connection has no number left.
    pub fn reopen(
        &mut self,
        stream: StreamKey,
        is_bodiless: bool,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let last = self.streams.get(stream)?;
        let (last_id, is_sent, held) = (last.id, last.is_sent, last.receive_window.held());
        let id = self.take_number()?;
        if !is_sent {
            frame::write_rst_stream(last_id, ErrorCode::CANCEL, out);
        }
        self.release_connection(held, out);
        self.streams.renumber(stream, id);
        let window = self.peer.initial_window_size;
        let receive_window = self.receive_window();
        let stream = self.streams.get_mut(stream)?;
        stream.received = Received::Nothing;
        (stream.is_sent, stream.is_bodiless, stream.content_left) = (false, is_bodiless, None);
        (stream.send_window, stream.receive_window) = (SendWindow::new(window), receive_window);
        Some(())
    }

    /// Appends the head of a message: an encoded header block.
    pub fn send_head(&mut self, stream: StreamKey, block: &[u8], ends: bool, out: &mut Vec<u8>) {
        let Some(stream) = self.streams.get_mut(stream) else { return };
        stream.is_sent = ends;
        frame::write_headers(stream.id, block, ends, self.peer.max_frame_size as usize, out);
    }

    /// Appends content within the windows, and the end of the message behind all of it if `ends`. Returns how many of the
    /// bytes were taken. Without bytes and with `ends`, the end alone is sent.
    pub fn send_data(
        &mut self,
        stream: StreamKey,
        bytes: &[u8],
        ends: bool,
        out: &mut Vec<u8>,
    ) -> usize {
        let max_frame_size = self.peer.max_frame_size as usize;
        let Some(stream) = self.streams.get_mut(stream) else { return 0 };
        let window = stream.send_window.available().min(self.send_window.available());
        let taken = bytes.len().min(window);
        stream.send_window.take(taken);
        self.send_window.take(taken);
        stream.is_sent = ends && taken == bytes.len();
        let mut rest = &bytes[..taken];
        while rest.len() > max_frame_size {
            let (part, after) = rest.split_at(max_frame_size);
            frame::write_data(stream.id, part, false, out);
            rest = after;
        }
        if !rest.is_empty() || stream.is_sent {
            frame::write_data(stream.id, rest, stream.is_sent, out);
        }
        taken
    }

    /// Releases so many bytes of data of a stream: the peer may send as many again. Appends WINDOW_UPDATE when it is due. What
    /// is not released when the stream ends is released then.
    #[inline]
    pub fn release(&mut self, stream: StreamKey, count: usize, out: &mut Vec<u8>) {
        let Some(stream) = self.streams.get_mut(stream) else { return };
        let count = count.min(stream.receive_window.held());
        if let Some(increment) = stream.receive_window.release(count)
            && stream.received != Received::All
        {
            frame::write_window_update(stream.id, increment, out);
        }
        self.release_connection(count, out);
    }

    #[inline]
    fn release_connection(&mut self, count: usize, out: &mut Vec<u8>) {
        if let Some(increment) = self.receive_window.release(count) {
            frame::write_window_update(0, increment, out);
        }
    }

    /// Removes a stream. One whose messages have not both ended, and that has not been reset, is reset with this code.
    pub fn remove(&mut self, stream: StreamKey, code: ErrorCode, out: &mut Vec<u8>) -> Option<T> {
        self.incoming.detach(stream);
        let stream = self.streams.remove(stream)?;
        self.release_connection(stream.receive_window.held(), out);
        if !stream.is_sent || stream.received != Received::All {
            self.write_reset(stream.id, code, out);
        }
        Some(stream.data)
    }

    fn write_reset(&mut self, id: u32, code: ErrorCode, out: &mut Vec<u8>) {
        self.closed.on_reset(id);
        frame::write_rst_stream(id, code, out);
    }

    /// Whether the end of this side's message has been sent.
    #[must_use]
    pub fn is_sent(&self, stream: StreamKey) -> bool {
        self.streams.get(stream).is_some_and(|it| it.is_sent)
    }

    /// Whether all of the peer's message has arrived.
    #[must_use]
    pub fn is_received(&self, stream: StreamKey) -> bool {
        self.streams.get(stream).is_some_and(|it| it.received == Received::All)
    }

    /// Whether both messages of a stream have ended; `None`: there is no such stream.
    #[must_use]
    pub fn is_complete(&self, stream: StreamKey) -> Option<bool> {
        let stream = self.streams.get(stream)?;
        Some(stream.is_sent && stream.received == Received::All)
    }

    /// Removes a stream without a word: it has been reset, or the connection ends.
    pub fn forget(&mut self, stream: StreamKey) -> Option<T> {
        self.incoming.detach(stream);
        Some(self.streams.remove(stream)?.data)
    }

    /// A stream has been reset: its messages have ended on both sides.
    fn end_by_reset(&mut self, stream: StreamKey, out: &mut Vec<u8>) {
        let Some(stream) = self.streams.get_mut(stream) else { return };
        (stream.is_sent, stream.received) = (true, Received::All);
        let held = stream.receive_window.held();
        stream.receive_window.release(held);
        self.release_connection(held, out);
    }

    /// The connection makes progress: a peer that makes this side answer and answer does not only do that.
    pub fn progress(&mut self) {
        self.budget.progress();
    }

    /// So many frames that carried nothing were long ago: a peer may send some as long as it likes.
    pub fn forgive(&mut self, count: u32) {
        self.budget.forgive(count);
    }

    /// Something of the peer was answered that carries nothing.
    ///
    /// # Errors
    ///
    /// If that was too much: the connection has ended.
    pub fn spend(&mut self) -> Result<(), ConnectionError> {
        self.budget.spend()
    }

    /// Returns how many streams of the peer were refused since the last call.
    pub fn take_refused(&mut self) -> u32 {
        std::mem::take(&mut self.refused)
    }

    /// Appends GOAWAY: the connection ends. New streams of the peer are refused from now on.
    pub fn go_away(&mut self, code: ErrorCode, out: &mut Vec<u8>) {
        self.refuses = true;
        // A later one names no higher stream (RFC 9113, section 6.8): those that were refused meanwhile are none that are answered.
        let last = *self.last_answered.get_or_insert(self.last_peer_stream);
        frame::write_goaway(last, code, out);
    }

    /// Returns the number of a stream.
    #[must_use]
    pub fn number(&self, stream: StreamKey) -> Option<u32> {
        Some(self.streams.get(stream)?.id)
    }

    /// Returns what the user keeps for a stream.
    #[inline]
    #[must_use]
    pub fn get(&self, stream: StreamKey) -> Option<&T> {
        Some(&self.streams.get(stream)?.data)
    }

    /// Returns what the user keeps for a stream.
    #[inline]
    pub fn get_mut(&mut self, stream: StreamKey) -> Option<&mut T> {
        Some(&mut self.streams.get_mut(stream)?.data)
    }

    /// Returns the stream that was opened first.
    #[must_use]
    pub fn first(&self) -> Option<StreamKey> {
        self.streams.first()
    }

    /// Returns the stream that was opened after this one.
    #[must_use]
    pub fn after(&self, stream: StreamKey) -> Option<StreamKey> {
        self.streams.after(stream)
    }

    /// Returns the fields of the last [`Event::Head`] or [`Event::Interim`].
    #[must_use]
    pub fn head(&self) -> &FieldList {
        self.blocks.head()
    }

    /// Returns the fields of the last [`Event::Trailers`].
    #[must_use]
    pub fn trailers(&self) -> &FieldList {
        self.blocks.trailers()
    }
}
