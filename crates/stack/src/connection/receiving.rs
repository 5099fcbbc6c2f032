//! How a connection takes what has arrived: bytes, and the requests in them.

use std::io;

use millrace_http::{BodyDecoder, BodyEvent, Parsed, ReceivedHead, RequestFraming};
use millrace_net::{Nanos, Read};

use super::state::{Blocked, Change, ReadState};
use super::{Connection, Effects, Flow, READ};
use crate::batch::{Batch, Event, SHARE, Span, flag};
use crate::connection::cache::{Consulted, MAX_QUEUED};
use crate::response_tracker::CacheAction;
use crate::router::Router;
use crate::server::Server;
use crate::settings::HeadLimits;
use crate::transport::Transport;
use crate::unusual::Unusual;

/// Reads of one connection before the others have their turn.
const READS: usize = 4;
/// Memory for what was read and not taken that a connection keeps: for a part of a head.
const KEPT: usize = 2 * 1024;
/// Lines of a body that the caller's parser reads, before the others have their turn. Each costs less than an event, and a section
/// of many trailers is to be read soon. Those of the simulation are few.
const LINES: usize = if cfg!(simulated) { 2 } else { 4 * SHARE };
/// A server name in a handshake (RFC 1035, section 2.3.4) and a protocol (RFC 7301, section 3.1) are no longer.
const MAX_NAMES: usize = 512;

/// What receiving works with: the connection's server, the caller's batch and limits, and what it leads to.
#[derive(Debug)]
pub(super) struct Receiving<'a, 'b> {
    pub(super) server: &'a mut Server,
    /// Of a connection of a shared address.
    pub(super) router: Option<&'a mut (dyn Router + 'static)>,
    pub(super) batch: &'a mut Batch<'b>,
    limits: HeadLimits,
    pub(super) now: Nanos,
    /// Where in the batch's bytes begins what was read last.
    packet: usize,
    pub(super) effects: Effects,
}

/// What one look at bytes has come to. All of these give up to where bytes were taken.
#[derive(Debug)]
pub(super) enum Step {
    /// There may be more to take.
    Next(usize),
    /// The rest waits for more bytes, or for what blocks the connection.
    Wait(usize),
    /// Nothing more is received for now.
    Stop(usize, Flow),
}

/// Where bytes that were read lie in the batch's memory, and what follows them.
struct Received {
    start: usize,
    end: usize,
    then: ReadEnd,
}

/// What comes behind bytes that were read. They are taken first, whatever it is.
enum ReadEnd {
    /// More bytes, now or later.
    Open,
    /// The peer has ended its side.
    Eof,
    /// The connection is broken.
    Failed(io::Error),
}

impl Connection {
    /// Takes what has arrived, as far as the caller's memory and the limits allow, and answers what the cache has.
    pub(crate) fn receive(
        &mut self,
        server: &mut Server,
        router: Option<&mut (dyn Router + 'static)>,
        batch: &mut Batch<'_>,
        now: Nanos,
    ) -> (Flow, Effects) {
        // Of what is larger, not all would be there at once: the host's parser reads it.
        let head = server.settings.head;
        let limits = HeadLimits { bytes: head.bytes.min(READ), ..head };
        let effects = Effects::default();
        let mut cx = Receiving { server, router, batch, limits, now, packet: 0, effects };
        self.limit_pipeline(cx.server);
        let flow = self.read_on(&mut cx);
        let Receiving { server, effects, .. } = cx;
        (self.send_answers_behind(flow, server), effects)
    }

    /// Sends the answers that have been collected while it received, unless the connection is broken.
    fn send_answers_behind(&mut self, flow: Flow, server: &mut Server) -> Flow {
        if let Flow::Broken(_) = flow {
            server.answers.clear();
            return flow;
        }
        let last = self.lane.closes && self.lane.in_flight == 0;
        match self.send_answers(server, last) {
            // What kept it here has just left.
            Ok(()) if self.is_quiet(server) && self.blocked.end_by(Change::Quiet) => Flow::Again,
            Ok(()) => flow,
            Err(error) => Flow::Broken(error.raw_os_error().unwrap_or(0)),
        }
    }

    fn read_on(&mut self, cx: &mut Receiving<'_, '_>) -> Flow {
        for _ in 0..READS {
            if self.is_blocked() {
                return self.find_failure(cx);
            }
            if !cx.batch.can_tell() && !self.can_go_on_untold(cx.server) {
                return Flow::Report;
            }
            let is_share_over = cx.batch.is_share_over() && !self.has_only_end_left();
            if is_share_over || !self.fits(cx.batch) {
                return Flow::Again;
            }
            if self.routing.is_some()
                && let Some(flow) = self.introduce(cx.batch)
            {
                return flow;
            }
            if let ReadState::Handshake { .. } = self.read_state {
                if let Some(error) = self.failure.take() {
                    return self.broken(cx.batch, &error);
                }
                if let Some(flow) = self.drive_handshake(cx) {
                    return flow;
                }
            }
            if self.leaves_body() {
                cx.batch.push(self.id, Event::BodyReadable);
                return Flow::Again;
            }
            let received = self.read(cx);
            if let Some(flow) = self.take_received(cx, received) {
                return flow;
            }
        }
        Flow::Again
    }

    /// A peer that is gone is not waited for: what lies behind a block is not told any more, unless only the caller's turn
    /// has to come.
    fn find_failure(&mut self, cx: &mut Receiving<'_, '_>) -> Flow {
        match self.blocked {
            Blocked::Admission | Blocked::Report | Blocked::Relayed | Blocked::Closed => Flow::Idle,
            _ if self.failure.is_none() && !self.peer_ended || self.is_asked() => Flow::Idle,
            // The block may be over by then.
            _ if !cx.batch.can_tell() => Flow::Report,
            _ => match self.failure.take().or_else(|| self.take_socket_error()) {
                Some(error) => self.broken(cx.batch, &error),
                None => Flow::Idle,
            },
        }
    }

    /// The error of a socket that is not read.
    fn take_socket_error(&self) -> Option<io::Error> {
        self.transport.socket()?.take_error().ok().flatten()
    }

    /// Of what has arrived, the peer's end alone was not told: it is told with the last request.
    fn has_only_end_left(&self) -> bool {
        let Transport::Plain(socket) = &self.transport else { return false };
        self.peer_ended && self.input.is_empty() && socket.unread() == 0
    }

    /// There is memory for what it has kept and for what it reads.
    pub(crate) fn fits(&self, batch: &Batch<'_>) -> bool {
        let wanted = self.input.len() + self.transport.room() + MAX_NAMES;
        batch.bytes.len() >= batch.used + wanted
    }

    /// What comes next may need no caller: a request that the cache answers, that is refused or another process's; or a
    /// handshake.
    fn can_go_on_untold(&self, server: &Server) -> bool {
        match self.read_state {
            ReadState::Handshake { .. } => server.context.is_some(),
            ReadState::Head => {
                let refuses = server.settings.max_in_flight.is_some();
                server.caches() || refuses || self.routing.is_some()
            }
            _ => false,
        }
    }

    /// Reads, behind what was kept.
    fn read(&mut self, cx: &mut Receiving<'_, '_>) -> Received {
        let Receiving { batch, packet, .. } = cx;
        let kept = self.input.len();
        let start = batch.used;
        let mut end = start + kept;
        batch.bytes[start..end].copy_from_slice(&self.input);
        self.input.clear();
        let mut then = ReadEnd::Open;
        *packet = start;
        // What is kept is a part of a head or trailer at most, unless the caller made us wait, or its parser has it part by part.
        let is_next_part = kept > 0 && matches!(self.read_state, ReadState::Raw);
        if self.readable && kept < READ && !is_next_part {
            *packet = end;
            let room = self.transport.room();
            match self.transport.read(&mut batch.bytes[end..end + room]) {
                Ok(read) if read.count > 0 => {
                    end += read.count;
                    self.count_read(&read);
                }
                Ok(_) => (self.readable, then) = (false, ReadEnd::Eof),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.readable = false,
                Err(error) => (self.readable, then) = (false, ReadEnd::Failed(error)),
            }
            // An error that was found before is told when there is nothing more to read.
            if !self.readable
                && let Some(error) = self.failure.take()
            {
                then = ReadEnd::Failed(error);
            }
        }
        Received { start, end, then }
    }

    /// What follows bytes that were not all taken is found again behind them.
    fn find_again(&mut self, then: ReadEnd) {
        match then {
            ReadEnd::Open => {}
            ReadEnd::Eof => self.readable = true,
            ReadEnd::Failed(error) => self.fail_behind_input(error),
        }
    }

    fn count_read(&mut self, read: &Read) {
        self.lane.incoming.arrived += read.count as u64;
        self.bytes_read += read.count as u64;
        self.readable = !read.drained || self.peer_ended;
    }

    /// The caller receives what comes next into its own memory: so much of a body is left that this does not end it.
    fn leaves_body(&self) -> bool {
        let ReadState::Body(decoder) = &self.read_state else { return false };
        let is_ready = self.readable && !self.peer_ended && self.input.is_empty();
        let is_ready = is_ready && self.failure.is_none();
        let is_plain = !matches!(self.transport, Transport::Tls(_));
        is_ready && is_plain && decoder.data_ahead() > READ as u64
    }

    /// Receives a part of a body, at most [`READ`] bytes; 0: there is none for now. That a peer has ended is found again when
    /// its event comes.
    pub(crate) fn receive_body(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.leaves_body() || self.is_blocked() {
            return Ok(0);
        }
        let length = buffer.len().min(READ);
        let read = match self.transport.read(&mut buffer[..length]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.readable = false;
                return Ok(0);
            }
            read => read?,
        };
        self.count_read(&read);
        if let ReadState::Body(decoder) = &mut self.read_state {
            decoder.skip(read.count as u64);
        }
        Ok(read.count)
    }

    /// Takes what was read; `None`: there may be more.
    fn take_received(&mut self, cx: &mut Receiving<'_, '_>, received: Received) -> Option<Flow> {
        let Received { start, end, then } = received;
        let before = cx.batch.count();
        let (taken, flow) = match self.take(cx, start, end) {
            Ok(Step::Next(at) | Step::Wait(at)) => (at, None),
            Ok(Step::Stop(at, flow)) => (at, Some(flow)),
            Err(error) => {
                // What was told before lies there.
                if cx.batch.count() > before {
                    cx.batch.used = cx.batch.used.max(end);
                }
                return Some(self.broken(cx.batch, &error));
            }
        };
        self.keep(&cx.batch.bytes[taken..end]);
        // Where nothing was told, the memory is free for others.
        if cx.batch.count() > before {
            self.delivered_end = taken;
            cx.batch.used = cx.batch.used.max(taken);
        }
        if let Some(flow) = flow {
            self.find_again(then);
            // Nobody is left whom another process could answer.
            let failure = self.failure.take_if(|_| matches!(flow, Flow::Leaves(_)));
            return Some(failure.map_or(flow, |error| self.broken(cx.batch, &error)));
        }
        if cx.batch.is_share_over() && !self.input.is_empty() {
            self.find_again(then);
            return Some(Flow::Again);
        }
        match then {
            ReadEnd::Open => {
                (!self.readable && (self.input.is_empty() || taken == start)).then_some(Flow::Idle)
            }
            ReadEnd::Eof => Some(self.take_end(cx.batch)),
            ReadEnd::Failed(error) if self.is_asked() => {
                self.fail_behind_input(error);
                Some(Flow::Idle)
            }
            ReadEnd::Failed(error) => Some(self.broken(cx.batch, &error)),
        }
    }

    /// The peer has ended its side.
    fn take_end(&mut self, batch: &mut Batch<'_>) -> Flow {
        let within_message =
            is_beginning(&self.input) || matches!(self.read_state, ReadState::Body(_));
        if matches!(self.read_state, ReadState::Fallback) || self.is_blocked() && within_message {
            // Told when the caller has taken what came before.
            self.readable = true;
            return Flow::Idle;
        }
        if !batch.can_tell() {
            self.readable = true;
            return Flow::Report;
        }
        self.read_state = ReadState::Ended;
        self.open(batch);
        batch.push(self.id, Event::Eof { within_message });
        Flow::Idle
    }

    /// Keeps what was read and not taken, in memory that was for more only if it is not much more.
    fn keep(&mut self, rest: &[u8]) {
        let capacity = self.input.capacity();
        if capacity > KEPT && capacity / 4 > rest.len() {
            self.input = rest.to_vec();
        } else {
            self.input.extend_from_slice(rest);
        }
    }

    /// Takes what is in `start..end` of the batch's bytes.
    fn take(&mut self, cx: &mut Receiving<'_, '_>, start: usize, end: usize) -> io::Result<Step> {
        let (mut at, mut is_behind_head) = (start, false);
        // A head and the first of its body that has come with it are told side by side.
        while at < end && !self.is_blocked() && (is_behind_head || !cx.batch.is_share_over()) {
            let was_head = matches!(self.read_state, ReadState::Head);
            let step = match self.read_state {
                ReadState::Head => self.take_head(cx, at, end)?,
                _ if !cx.batch.can_tell() => Step::Stop(at, Flow::Report),
                ReadState::Body(_) => self.take_body(cx, at, end),
                ReadState::Closed => self.take_behind_last(cx, at, end),
                ReadState::Raw => {
                    let part = self.part_for_caller(cx.batch, at, end);
                    cx.batch.push(self.id, Event::Raw(part));
                    self.ask(cx.batch, at, part)
                }
                ReadState::Through => {
                    cx.batch.push(self.id, Event::Raw(Span::new(at, end)));
                    Step::Next(end)
                }
                ReadState::Handshake { .. }
                | ReadState::Hello
                | ReadState::Secured
                | ReadState::Fallback
                | ReadState::Ended => Step::Wait(at),
            };
            is_behind_head = was_head && matches!(self.read_state, ReadState::Body(_));
            match step {
                Step::Next(next) => at = next,
                stop => return Ok(stop),
            }
        }
        Ok(Step::Next(at))
    }

    fn take_head(&mut self, cx: &mut Receiving<'_, '_>, at: usize, end: usize) -> io::Result<Step> {
        let bytes = &cx.batch.bytes[at..end];
        if self.lane.incoming.arriving_since == Nanos::NEVER && is_beginning(bytes) {
            self.lane.begin(cx.now, bytes.len());
        }
        let head = match self.lane.parser.parse(bytes, &cx.limits) {
            Parsed::Partial => return Ok(Step::Wait(at)),
            Parsed::Unsure(reason) => {
                return Ok(self.fall_back(cx, (at, end), Unusual::Head(reason), 0));
            }
            Parsed::Complete(head) => head,
        };
        let start = at + head.start;
        if self.routing.is_some()
            && let Some(step) = self.route(cx, (at, start), &head)
        {
            return Ok(step);
        }
        if head.upgrade && !self.lane.incoming.declines_upgrade {
            return Ok(self.fall_back(cx, (at, end), Unusual::Upgrade, 0));
        }
        let consulted = match cx.batch.can_tell() {
            true => self.consult(cx, start, &head)?,
            false => self.consult_untold(cx, start, &head)?,
        };
        let behind = start + head.length;
        Ok(match consulted {
            Consulted::Tell(action) => {
                self.tell_request(cx, start, &head, action);
                Step::Next(behind)
            }
            Consulted::Answered => self.on_answered(cx, head.keep_alive, behind),
            Consulted::Refused => self.on_answered(cx, false, behind),
            Consulted::Later | Consulted::Report => {
                // It has arrived in time.
                self.lane.incoming.head_done = true;
                match consulted {
                    Consulted::Report => Step::Stop(at, Flow::Report),
                    _ => Step::Wait(at),
                }
            }
        })
    }

    fn take_body(&mut self, cx: &mut Receiving<'_, '_>, at: usize, end: usize) -> Step {
        let ReadState::Body(decoder) = &mut self.read_state else { return Step::Wait(at) };
        match decoder.next(&cx.batch.bytes[at..end], &cx.limits) {
            BodyEvent::Data { start, end: data_end } => {
                let behind = at + data_end;
                cx.batch.push(self.id, Event::Body(Span::new(at + start, behind)));
                // An end without further bytes is told with the last part.
                if behind == end
                    && let BodyEvent::End { .. } = decoder.next(&[], &cx.limits)
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
    fn take_behind_last(&mut self, cx: &mut Receiving<'_, '_>, at: usize, end: usize) -> Step {
        let lines = cx.batch.bytes[at..end].iter().take_while(|byte| is_line_end(**byte)).count();
        match at + lines {
            next if next < end => self.fall_back(cx, (next, end), Unusual::AfterClose, 0),
            next => Step::Next(next),
        }
    }

    /// A request has an answer that the caller knows nothing of, and no body.
    fn on_answered(&mut self, cx: &mut Receiving<'_, '_>, keep_alive: bool, behind: usize) -> Step {
        cx.effects.answered = true;
        cx.batch.count_answered();
        let ends = self.after_answer(cx.batch, keep_alive);
        self.next_head();
        if ends { Step::Stop(behind, Flow::Report) } else { Step::Next(behind) }
    }

    /// A request has an answer that the caller knows nothing of. `true`: it has to be told that this is the last.
    pub(super) fn after_answer(&mut self, batch: &mut Batch<'_>, keep_alive: bool) -> bool {
        self.lane.on_disposed(keep_alive);
        if keep_alive {
            return false;
        }
        if !batch.can_tell() {
            self.unreported.answered_last = true;
            return true;
        }
        self.open(batch);
        batch.push(self.id, Event::Answered);
        false
    }

    /// Tells the caller of the connection, if it does not know it.
    pub(crate) fn open(&mut self, batch: &mut Batch<'_>) {
        if std::mem::take(&mut self.unopened) {
            batch.push(self.id, Event::Open { server: self.server });
        }
    }

    fn tell_request(
        &mut self,
        cx: &mut Receiving<'_, '_>,
        start: usize,
        head: &ReceivedHead,
        action: CacheAction,
    ) {
        self.open(cx.batch);
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
        cx.batch.push(self.id, Event::Request { head: span, flags, fields, target, method });
        cx.effects.asked |= self.lane.in_flight == 0;
        self.lane.on_told(head, action, cx.now);
        self.activity.on_request();
        match head.framing {
            RequestFraming::None | RequestFraming::Length(0) => self.next_head(),
            framing => self.await_body(framing),
        }
        cx.server.in_flight += 1;
        self.limit_pipeline(cx.server);
        if self.blocked == Blocked::No && self.queued() > MAX_QUEUED {
            self.blocked = Blocked::Room;
        }
    }

    /// No more heads are read while as many requests as may be are with the caller. Another block may have taken the place
    /// of this one.
    fn limit_pipeline(&mut self, server: &Server) {
        if self.blocked == Blocked::No && self.lane.in_flight >= server.settings.max_pipelined {
            self.blocked = Blocked::Pipeline;
        }
    }

    /// The head is complete, and a body follows.
    pub(super) fn await_body(&mut self, framing: RequestFraming) {
        self.lane.incoming.head_done = true;
        self.read_state = ReadState::Body(BodyDecoder::new(framing));
    }

    fn complete(&mut self, cx: &mut Receiving<'_, '_>, trailers: Span) {
        cx.batch.push(self.id, Event::End { trailers });
        self.next_head();
    }

    pub(super) fn next_head(&mut self) {
        self.read_state = if self.lane.closes { ReadState::Closed } else { ReadState::Head };
        self.lane.await_next();
    }

    /// Leaves bytes to the caller's parser.
    fn fall_back(
        &mut self,
        cx: &mut Receiving<'_, '_>,
        (at, end): (usize, usize),
        unusual: Unusual,
        prelude: usize,
    ) -> Step {
        if !cx.batch.can_tell() {
            return Step::Stop(at, Flow::Report);
        }
        cx.server.counts.unusual.count(unusual);
        self.open(cx.batch);
        let bytes = match unusual {
            Unusual::Body(_) => self.part_for_caller(cx.batch, at, end),
            _ => Span::new(at, end),
        };
        // A part may have come before what was read last.
        let packet = if cx.packet > bytes.end() { at } else { cx.packet };
        let reason = unusual.fallback_reason();
        cx.batch.push(self.id, Event::Fallback { bytes, reason, prelude, packet });
        self.ask(cx.batch, at, bytes)
    }

    /// The next part of a body for the caller's parser, which takes each line by itself.
    fn part_for_caller(&mut self, batch: &Batch<'_>, at: usize, end: usize) -> Span {
        let bytes = &batch.bytes[at..end];
        let mut ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        self.asked = ends.nth(LINES - 1).map_or(bytes.len(), |(last, _)| last + 1);
        Span::new(at, at + self.asked)
    }

    /// Waits for one of the `proceed`s. The bytes stay in `input` as well.
    fn ask(&mut self, batch: &mut Batch<'_>, at: usize, told: Span) -> Step {
        self.read_state = ReadState::Fallback;
        batch.used = told.end();
        Step::Wait(at)
    }
}

pub(super) fn has_body(head: &ReceivedHead) -> bool {
    !matches!(head.framing, RequestFraming::None | RequestFraming::Length(0))
}

/// Empty lines before a request are none of it (RFC 9112, section 2.2).
pub(super) fn is_beginning(bytes: &[u8]) -> bool {
    !bytes.iter().all(|&byte| is_line_end(byte))
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}
