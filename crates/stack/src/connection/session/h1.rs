//! A session of HTTP/1.0 and HTTP/1.1 (RFC 9112): requests one behind the other, all of one lane.
//!
//! ```text
//!   Head <──────────> Body
//!    ^ │ last request  │
//!    │ └──> Closed <───┘
//!    │        │        │
//!    └────────┴────────┴── Fallback ──> Raw, Through, or back: as the caller decides
//! ```

use millrace_http::h1::{BodyDecoder, BodyEvent, HeadParser, Parsed, ReceivedHead, RequestFraming};
use millrace_net::Nanos;

use super::Next;
use crate::batch::{Batch, Event, SHARE, Span, flag};
use crate::connection::activity::Activity;
use crate::connection::blocked::Blocked;
use crate::connection::cache::{Consulted, MAX_QUEUED};
use crate::connection::channel::Channel;
use crate::connection::lane::Lane;
use crate::connection::receiving::{Receiving, Step};
use crate::connection::routing::{Routed, Routing};
use crate::connection::{Client, Flow};
use crate::response_tracker::CacheAction;
use crate::unusual::Unusual;

/// Lines of a body that the caller's parser reads, before the others have their turn. Each costs less than an event, and a section
/// of many trailers is to be read soon. Those of the simulation are few.
const LINES: usize = if cfg!(simulated) { 2 } else { 4 * SHARE };

/// What the bytes that come next are.
#[derive(Clone, Copy, Debug, Default)]
enum ReadState {
    #[default]
    Head,
    Body(BodyDecoder),
    /// Empty lines at most: the last request closes the connection.
    Closed,
    /// The caller's parser is asked; nothing is read.
    Fallback,
    /// The host's parser reads on.
    Raw,
    /// Everything is told as it comes.
    Through,
}

#[derive(Debug, Default)]
pub(crate) struct H1 {
    parser: HeadParser,
    state: ReadState,
    /// So many bytes of the channel's input the caller's parser has been told as a part of a body. It says at once how to go on.
    asked: usize,
}

/// What a session of HTTP works with: its connection, and the turn.
#[derive(Debug)]
pub(crate) struct SessionContext<'c, 'a, 'b> {
    /// The server's number.
    pub(crate) server: usize,
    pub(crate) channel: &'c mut Channel,
    pub(crate) lane: &'c mut Lane,
    pub(crate) activity: &'c mut Activity,
    pub(crate) client: &'c mut Client,
    /// Of a connection of a shared address.
    pub(crate) routing: Option<&'c mut Routing>,
    pub(crate) turn: &'c mut Receiving<'a, 'b>,
}

impl SessionContext<'_, '_, '_> {
    /// The head of a stream's request, which is its only one, with a body that ends as the stream says.
    fn of_stream(&self, head: ReceivedHead) -> ReceivedHead {
        let Some(stream) = self.channel.transport.stream() else { return head };
        let framing = stream.framing.unwrap_or(head.framing);
        ReceivedHead { framing, keep_alive: false, ..head }
    }

    /// Tells the caller of the connection, if it does not know it.
    pub(crate) fn open(&mut self) {
        self.lane.open(self.server, self.turn.batch);
    }

    /// A request has an answer that the caller knows nothing of. `true`: it has to be told that this is the last.
    fn after_answer(&mut self, keep_alive: bool) -> bool {
        self.turn.effects.answered = true;
        self.turn.batch.count_answered();
        self.lane.on_disposed(keep_alive);
        // The connection of a stream ends by itself.
        if keep_alive || self.channel.transport.stream().is_some() {
            return false;
        }
        if !self.turn.batch.can_tell() {
            self.lane.unreported.answered_last = true;
            return true;
        }
        self.open();
        self.turn.batch.push(self.lane.id, Event::Answered);
        false
    }
}

impl H1 {
    pub(super) fn next(&self) -> Next {
        match self.state {
            ReadState::Head => Next::Head,
            ReadState::Fallback => Next::Nothing,
            ReadState::Body(_) | ReadState::Closed | ReadState::Raw | ReadState::Through => {
                Next::Rest
            }
        }
    }

    pub(super) fn is_in_body(&self) -> bool {
        matches!(self.state, ReadState::Body(_))
    }

    /// The caller's parser has bytes and has not said how to go on.
    pub(super) fn waits_for_caller(&self) -> bool {
        matches!(self.state, ReadState::Fallback)
    }

    /// The caller's parser has a part of a body.
    pub(super) fn is_asked(&self) -> bool {
        self.asked > 0
    }

    /// The host's parser reads a body part by part.
    pub(crate) fn is_raw(&self) -> bool {
        matches!(self.state, ReadState::Raw)
    }

    pub(super) fn may_hear_more(&self, channel: &Channel, lane: &Lane) -> bool {
        match self.state {
            // It has said that it asks for nothing more. What has come all the same may not have been told by an event yet.
            ReadState::Closed => channel.has_input() || channel.has_unread(),
            ReadState::Head => lane.incoming.began != Nanos::NEVER || channel.holds_bytes(),
            ReadState::Body(_) | ReadState::Fallback | ReadState::Raw => true,
            ReadState::Through => false,
        }
    }

    /// Bytes of a body that are known to come.
    pub(crate) fn data_ahead(&self) -> u64 {
        match &self.state {
            ReadState::Body(decoder) => decoder.data_ahead(),
            _ => 0,
        }
    }

    /// The caller has received so many bytes of a body itself.
    pub(crate) fn skip_data(&mut self, count: usize) {
        if let ReadState::Body(decoder) = &mut self.state {
            decoder.skip(count as u64);
        }
    }

    /// Takes an upgrade for an ordinary request.
    pub(crate) fn proceed(&mut self, lane: &mut Lane) {
        self.state = ReadState::Head;
        lane.incoming.declines_upgrade = true;
    }

    /// Tells everything as it is from now on, what was kept first.
    pub(crate) fn through(&mut self) {
        self.state = ReadState::Through;
    }

    /// Tells what follows as it is; what was told is not told again.
    pub(crate) fn proceed_raw(&mut self, channel: &mut Channel) {
        self.state = ReadState::Raw;
        match std::mem::take(&mut self.asked) {
            0 => drop(channel.take_input()),
            told => channel.drop_input(told),
        }
    }

    /// A body ended behind the first `taken` bytes of what was told.
    pub(crate) fn proceed_behind(&mut self, taken: usize, channel: &mut Channel, lane: &mut Lane) {
        self.asked = 0;
        channel.drop_input(taken);
        self.next_head(lane);
    }

    /// Takes what is in `start..end` of the batch's bytes.
    pub(crate) fn take(
        &mut self,
        cx: &mut SessionContext<'_, '_, '_>,
        start: usize,
        end: usize,
    ) -> Step {
        let (mut at, mut is_behind_head) = (start, false);
        // A head and the first of its body that has come with it are told side by side.
        while at < end
            && !cx.lane.holds(self.next())
            && (is_behind_head || !cx.turn.batch.is_share_over())
        {
            let was_head = matches!(self.state, ReadState::Head);
            let step = match self.state {
                ReadState::Head => self.take_head(cx, at, end),
                _ if !cx.turn.batch.can_tell() => Step::Stop(at, Flow::Report),
                ReadState::Body(_) => self.take_body(cx, at, end),
                ReadState::Closed => self.take_behind_last(cx, at, end),
                ReadState::Raw => {
                    let part = self.part_for_caller(cx.turn.batch, at, end);
                    cx.turn.batch.push(cx.lane.id, Event::Raw(part));
                    self.ask(cx, at, part)
                }
                ReadState::Through => {
                    cx.turn.batch.push(cx.lane.id, Event::Raw(Span::new(at, end)));
                    Step::Next(end)
                }
                ReadState::Fallback => Step::Wait(at),
            };
            is_behind_head = was_head && matches!(self.state, ReadState::Body(_));
            match step {
                Step::Next(next) => at = next,
                stop => return stop,
            }
        }
        Step::Next(at)
    }

    fn take_head(&mut self, cx: &mut SessionContext<'_, '_, '_>, at: usize, end: usize) -> Step {
        let bytes = cx.turn.batch.memory.get(at..end);
        if cx.lane.incoming.arriving_since == Nanos::NEVER && is_beginning(bytes) {
            cx.lane.begin(cx.turn.now, bytes.len());
        }
        let head = match self.parser.parse(bytes, &cx.turn.limits) {
            Parsed::Partial => return Step::Wait(at),
            Parsed::Unsure(reason) => {
                return self.fall_back(cx, (at, end), Unusual::Head(reason), 0);
            }
            Parsed::Complete(head) => head,
        };
        let head = cx.of_stream(head);
        let start = at + head.start;
        let behind = start + head.length;
        match cx.route((at, start), &head) {
            Routed::Here => {}
            Routed::Step(step) => return step,
            Routed::Declined { keep_alive } => {
                return self.on_declined(cx, &head, keep_alive, behind);
            }
        }
        if head.upgrade && !cx.lane.incoming.declines_upgrade {
            return self.fall_back(cx, (at, end), Unusual::Upgrade, 0);
        }
        let consulted = match cx.turn.batch.can_tell() {
            true => cx.consult(start, &head),
            false => cx.consult_untold(start, &head),
        };
        match consulted {
            Consulted::Tell(action) => {
                self.tell_request(cx, start, &head, action);
                Step::Next(behind)
            }
            Consulted::Answered => self.on_answered(cx, head.keep_alive, behind),
            Consulted::Refused => self.on_answered(cx, false, behind),
            Consulted::Later | Consulted::Report => {
                // It has arrived in time.
                cx.lane.incoming.head_done = true;
                match consulted {
                    Consulted::Report => Step::Stop(at, Flow::Report),
                    _ => Step::Wait(at),
                }
            }
        }
    }

    fn take_body(&mut self, cx: &mut SessionContext<'_, '_, '_>, at: usize, end: usize) -> Step {
        let ReadState::Body(decoder) = &mut self.state else { return Step::Wait(at) };
        match decoder.next(cx.turn.batch.memory.get(at..end), &cx.turn.limits) {
            BodyEvent::Data { start, end: data_end } => {
                let behind = at + data_end;
                cx.turn.batch.push(cx.lane.id, Event::Body(Span::new(at + start, behind)));
                // An end without further bytes is told with the last part.
                if behind == end
                    && let BodyEvent::End { .. } = decoder.next(&[], &cx.turn.limits)
                {
                    self.complete(cx, Span::default());
                }
                Step::Next(behind)
            }
            BodyEvent::More { consumed } => Step::Wait(at + consumed),
            BodyEvent::End { consumed, trailers: (start, end) } => {
                self.complete(cx, Span::new(at + start, at + end));
                Step::Next(at + consumed)
            }
            BodyEvent::Unsure { at: offset, reason } => {
                let prelude = decoder.prelude().len();
                self.fall_back(cx, (at + offset, end), Unusual::Body(reason), prelude)
            }
        }
    }

    /// Behind the last request there is nothing but empty lines.
    fn take_behind_last(
        &mut self,
        cx: &mut SessionContext<'_, '_, '_>,
        at: usize,
        end: usize,
    ) -> Step {
        let lines =
            cx.turn.batch.memory.get(at..end).iter().take_while(|byte| is_line_end(**byte)).count();
        match at + lines {
            next if next < end => self.fall_back(cx, (next, end), Unusual::AfterClose, 0),
            next => Step::Next(next),
        }
    }

    /// A request has an answer that the caller knows nothing of, and no body.
    fn on_answered(
        &mut self,
        cx: &mut SessionContext<'_, '_, '_>,
        keep_alive: bool,
        behind: usize,
    ) -> Step {
        let ends = cx.after_answer(keep_alive);
        self.next_head(cx.lane);
        if ends { Step::Stop(behind, Flow::Report) } else { Step::Next(behind) }
    }

    /// A request that nobody has was answered.
    fn on_declined(
        &mut self,
        cx: &mut SessionContext<'_, '_, '_>,
        head: &ReceivedHead,
        keep_alive: bool,
        behind: usize,
    ) -> Step {
        if !keep_alive || !has_body(head) {
            return self.on_answered(cx, keep_alive, behind);
        }
        cx.after_answer(true);
        // The caller hears of a body of no request, and lets it pass.
        cx.open();
        self.await_body(head.framing, cx.lane);
        Step::Next(behind)
    }

    fn tell_request(
        &mut self,
        cx: &mut SessionContext<'_, '_, '_>,
        start: usize,
        head: &ReceivedHead,
        action: CacheAction,
    ) {
        cx.open();
        let flags = [
            (head.keep_alive, flag::KEEP_ALIVE),
            (head.minor == 0, flag::HTTP_1_0),
            (has_body(head), flag::BODY),
            (head.expect, flag::EXPECT),
            (head.host, flag::HOST),
            (matches!(action, CacheAction::Store { .. }), flag::STORED),
        ];
        let flags = flags.iter().fold(0, |all, &(is, flag)| if is { all | flag } else { all });
        let (fields, target, method) = (head.fields, head.target, head.method);
        let span = Span::new(start, start + head.length);
        cx.turn
            .batch
            .push(cx.lane.id, Event::Request { head: span, flags, fields, target, method });
        cx.turn.effects.asked |= cx.lane.in_flight == 0;
        cx.lane.on_told(head.method, head.keep_alive, action, cx.turn.now);
        cx.activity.on_request();
        match head.framing {
            RequestFraming::None | RequestFraming::Length(0) => self.next_head(cx.lane),
            framing => self.await_body(framing, cx.lane),
        }
        cx.turn.server.in_flight += 1;
        cx.lane.limit_pipeline(cx.turn.server.settings.max_pipelined);
        if cx.lane.blocked == Blocked::No && cx.channel.queued() > MAX_QUEUED {
            cx.lane.blocked = Blocked::Room;
        }
    }

    /// The head is complete, and a body follows.
    fn await_body(&mut self, framing: RequestFraming, lane: &mut Lane) {
        lane.incoming.head_done = true;
        self.state = ReadState::Body(BodyDecoder::new(framing));
    }

    fn complete(&mut self, cx: &mut SessionContext<'_, '_, '_>, trailers: Span) {
        cx.turn.batch.push(cx.lane.id, Event::End { trailers });
        self.next_head(cx.lane);
    }

    fn next_head(&mut self, lane: &mut Lane) {
        self.state = if lane.closes { ReadState::Closed } else { ReadState::Head };
        lane.await_next();
    }

    /// Leaves bytes to the caller's parser.
    fn fall_back(
        &mut self,
        cx: &mut SessionContext<'_, '_, '_>,
        (at, end): (usize, usize),
        unusual: Unusual,
        prelude: usize,
    ) -> Step {
        if !cx.turn.batch.can_tell() {
            return Step::Stop(at, Flow::Report);
        }
        cx.turn.server.counts.unusual.count(unusual);
        cx.open();
        let bytes = match unusual {
            Unusual::Body(_) => self.part_for_caller(cx.turn.batch, at, end),
            _ => Span::new(at, end),
        };
        // A part may have come before what was read last.
        let packet = if cx.turn.packet > bytes.end() { at } else { cx.turn.packet };
        let reason = unusual.fallback_reason();
        cx.turn.batch.push(cx.lane.id, Event::Fallback { bytes, reason, prelude, packet });
        self.ask(cx, at, bytes)
    }

    /// The next part of a body for the caller's parser, which takes each line by itself.
    fn part_for_caller(&mut self, batch: &Batch<'_>, at: usize, end: usize) -> Span {
        let bytes = batch.memory.get(at..end);
        let mut ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        self.asked = ends.nth(LINES - 1).map_or(bytes.len(), |(last, _)| last + 1);
        Span::new(at, at + self.asked)
    }

    /// Waits for one of the `proceed`s. The bytes stay in the channel's input as well.
    fn ask(&mut self, cx: &mut SessionContext<'_, '_, '_>, at: usize, told: Span) -> Step {
        self.state = ReadState::Fallback;
        cx.turn.told_ahead = told.end();
        Step::Wait(at)
    }
}

pub(crate) fn has_body(head: &ReceivedHead) -> bool {
    !matches!(head.framing, RequestFraming::None | RequestFraming::Length(0))
}

/// Empty lines before a request are none of it (RFC 9112, section 2.2).
pub(crate) fn is_beginning(bytes: &[u8]) -> bool {
    !bytes.iter().all(|&byte| is_line_end(byte))
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}
