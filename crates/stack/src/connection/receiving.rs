//! How a connection takes what has arrived: bytes, and the requests in them.

use std::io;
use std::ops::Range;

use millrace_http::h2::PREFACE;
use millrace_net::Nanos;

use super::blocked::{Blocked, Change};
use super::cache::MAX_QUEUED;
use super::session::{Handshake, Next, Session, SessionContext, is_preface};
use super::{Connection, Effects, Flow, READ};
use crate::batch::{Batch, Event, Region};
use crate::router::Router;
use crate::server::Server;
use crate::settings::HeadLimits;
use crate::transport::Transport;

/// Reads of one connection before the others have their turn.
const READS: usize = 4;
/// A server name in a handshake (RFC 1035, section 2.3.4) and a protocol (RFC 7301, section 3.1) are no longer.
const MAX_NAMES: usize = 512;

/// What receiving works with: the connection's server, the caller's batch and limits, and what it leads to.
#[derive(Debug)]
pub(crate) struct Receiving<'a, 'b> {
    pub(super) server: &'a mut Server,
    /// Of a connection of a shared address.
    pub(super) router: Option<&'a mut (dyn Router + 'static)>,
    pub(super) batch: &'a mut Batch<'b>,
    pub(super) limits: HeadLimits,
    pub(super) now: Nanos,
    /// Where in the batch's bytes begins what was read last.
    pub(super) packet: usize,
    /// Where the bytes end that the caller's parser has been told of and that were not taken.
    pub(super) told_ahead: usize,
    pub(super) effects: Effects,
}

/// What one look at bytes has come to. All of these give up to where bytes were taken.
#[derive(Debug)]
pub(crate) enum Step {
    /// There may be more to take.
    Next(usize),
    /// The rest waits for more bytes, or for what blocks the connection.
    Wait(usize),
    /// Nothing more is received for now.
    Stop(usize, Flow),
}

/// Bytes that were read, in the batch's memory, and what follows them.
struct Received {
    region: Region,
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
        if let Session::Tunnel(tunnel) = &mut self.session {
            let flow = tunnel.receive(&mut self.channel, batch).unwrap_or_else(|error| {
                // Whoever answers there hears of it at once, though the caller may be busy.
                self.session = Session::Ended;
                Flow::Broken(error.raw_os_error().unwrap_or(0))
            });
            return (flow, Effects::default());
        }
        // Of what is larger, not all would be there at once: the host's parser reads it.
        let head = server.settings.head;
        let limits = HeadLimits { bytes: head.bytes.min(READ), ..head };
        let effects = Effects::default();
        if self.session.h2().is_some()
            && let Some(flow) = self.hold_session()
        {
            return (flow, effects);
        }
        let mut cx =
            Receiving { server, router, batch, limits, now, packet: 0, told_ahead: 0, effects };
        self.lane.limit_pipeline(cx.server.settings.max_pipelined);
        let flow = self.read_on(&mut cx);
        let Receiving { server, effects, .. } = cx;
        (self.send_answers_behind(flow, server), effects)
    }

    /// A session of HTTP/2 that is over, or has too much to send.
    fn hold_session(&mut self) -> Option<Flow> {
        self.session.h2()?;
        let flow = self.end_session();
        if self.channel.queued() > MAX_QUEUED && self.lane.blocked == Blocked::No {
            self.lane.blocked = Blocked::Room;
        }
        flow
    }

    /// If it has a session of HTTP/2 that is over: its client, which may still send, hears all of it.
    pub(crate) fn end_session(&mut self) -> Option<Flow> {
        let h2 = self.session.h2()?;
        let is_over = h2.is_over() && (self.channel.queued() == 0 || h2.has_failed());
        is_over.then(|| {
            // What fails is found when the socket is closed.
            self.channel.end(true).ok();
            Flow::Broken(0)
        })
    }

    /// Sends the answers that have been collected while it received, unless the connection is broken.
    fn send_answers_behind(&mut self, flow: Flow, server: &mut Server) -> Flow {
        if let Flow::Broken(_) = flow {
            server.answers.clear();
            return flow;
        }
        let last = self.lane.closes && self.lane.in_flight == 0;
        let has_failed = self.send_answers(server, last);
        // What kept it here has just left.
        if self.is_quiet(server) && self.lane.blocked.end_by(Change::Quiet) {
            return Flow::Again;
        }
        match flow {
            // Nobody is left whom another process could answer.
            Flow::Leaves(_) if has_failed => {
                let error = self.channel.failure.take();
                Flow::Broken(error.and_then(|error| error.raw_os_error()).unwrap_or(0))
            }
            Flow::Idle if has_failed => Flow::Again,
            flow => flow,
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
            let is_share_over = cx.batch.is_share_over() && !self.channel.has_only_end_left();
            if is_share_over || !self.fits(cx.batch) {
                return Flow::Again;
            }
            if self.routing.is_some()
                && let Some(flow) = self.introduce(cx.batch)
            {
                return flow;
            }
            if let Session::Handshake(Handshake::Agreeing { .. }) = self.session {
                if let Some(error) = self.channel.failure.take() {
                    return self.broken(cx.batch, &error);
                }
                if let Some(flow) = self.drive_handshake(cx) {
                    return flow;
                }
            }
            if self.leaves_body() {
                cx.batch.push(self.lane.id, Event::BodyReadable);
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
        let is_asked = self.is_asked();
        let channel = &mut self.channel;
        match self.lane.blocked {
            Blocked::Admission | Blocked::Report | Blocked::Closed => Flow::Idle,
            _ if channel.failure.is_none() && !channel.peer_ended || is_asked => Flow::Idle,
            // The block may be over by then.
            _ if !cx.batch.can_tell() => Flow::Report,
            _ => match channel.failure.take().or_else(|| channel.take_socket_error()) {
                Some(error) => self.broken(cx.batch, &error),
                None => Flow::Idle,
            },
        }
    }

    /// There is memory for what it has kept and for what it reads.
    pub(crate) fn fits(&self, batch: &Batch<'_>) -> bool {
        batch.memory.free() >= self.wanted() + MAX_NAMES
    }

    /// Memory for what it has kept and for one read.
    fn wanted(&self) -> usize {
        self.channel.input.len() + self.channel.transport.room()
    }

    /// What comes next may need no caller: a request that the cache answers, that is refused or another process's; or a
    /// handshake.
    fn can_go_on_untold(&self, server: &Server) -> bool {
        match self.session.next() {
            Next::Handshake => server.context.is_some(),
            Next::Head => {
                let refuses = server.settings.max_in_flight.is_some();
                server.caches() || refuses || self.routing.is_some()
            }
            _ => false,
        }
    }

    /// Reads, behind what was kept.
    fn read(&mut self, cx: &mut Receiving<'_, '_>) -> Received {
        let Receiving { batch: Batch { memory, .. }, packet, told_ahead, .. } = cx;
        let mut region = memory.reserve(self.wanted());
        let channel = &mut self.channel;
        let kept = channel.input.len();
        memory.fill(&mut region, &channel.input);
        channel.input.clear();
        let mut then = ReadEnd::Open;
        (*packet, *told_ahead) = (region.filled().start, 0);
        // What is kept is a part of a head or trailer at most, unless the caller made us wait, or its parser has it part by part.
        let is_next_part = kept > 0 && self.session.is_raw();
        if channel.readable && kept < READ && !is_next_part {
            *packet = region.filled().end;
            match channel.transport.read(memory.room(&region)) {
                Ok(read) if read.count > 0 => {
                    region.advance(read.count);
                    self.lane.incoming.arrived += read.count as u64;
                    channel.count_read(&read);
                }
                Ok(_) => (channel.readable, then) = (false, ReadEnd::Eof),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => channel.readable = false,
                Err(error) => (channel.readable, then) = (false, ReadEnd::Failed(error)),
            }
            let has_read_all = !channel.readable;
            channel.find_write_error();
            // An error that was found before is told when there is nothing more to read.
            if has_read_all && let Some(error) = channel.failure.take() {
                (channel.readable, then) = (false, ReadEnd::Failed(error));
            }
        }
        Received { region, then }
    }

    /// What follows bytes that were not all taken is found again behind them.
    fn find_again(&mut self, then: ReadEnd) {
        match then {
            ReadEnd::Open => {}
            ReadEnd::Eof => self.channel.readable = true,
            ReadEnd::Failed(error) => self.channel.fail_behind_input(error),
        }
    }

    /// The caller receives what comes next into its own memory: so much of a body is left that this does not end it.
    fn leaves_body(&self) -> bool {
        let Session::H1(h1) = &self.session else { return false };
        let channel = &self.channel;
        let is_ready = channel.readable && !channel.peer_ended && channel.input.is_empty();
        let is_ready = is_ready && channel.failure.is_none();
        let is_plain = !matches!(channel.transport, Transport::Tls(_) | Transport::Stream(_));
        is_ready && is_plain && h1.data_ahead() > READ as u64
    }

    /// Receives a part of a body, at most [`READ`] bytes; 0: there is none for now. That a peer has ended is found again when
    /// its event comes.
    pub(crate) fn receive_body(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.leaves_body() || self.is_blocked() {
            return Ok(0);
        }
        let length = buffer.len().min(READ);
        let read = match self.channel.transport.read(&mut buffer[..length]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.channel.readable = false;
                return Ok(0);
            }
            read => read?,
        };
        self.lane.incoming.arrived += read.count as u64;
        self.channel.count_read(&read);
        if let Session::H1(h1) = &mut self.session {
            h1.skip_data(read.count);
        }
        Ok(read.count)
    }

    /// Takes what was read; `None`: there may be more.
    fn take_received(&mut self, cx: &mut Receiving<'_, '_>, received: Received) -> Option<Flow> {
        let Received { region, then } = received;
        let Range { start, end } = region.filled();
        let before = cx.batch.count();
        let (taken, flow) = match self.take(cx, start, end) {
            Step::Next(at) | Step::Wait(at) => (at, None),
            Step::Stop(at, flow) => (at, Some(flow)),
        };
        self.channel.keep(cx.batch.memory.get(taken..end));
        // Where nothing was told, the memory is free for others.
        let is_told = cx.batch.count() > before;
        if is_told {
            self.lane.delivered_end = taken;
        }
        let told = taken.max(cx.told_ahead);
        cx.batch.memory.commit(&region, if is_told { told } else { start });
        if let Some(flow) = flow {
            self.find_again(then);
            // Nobody is left whom another process could answer.
            let failure = self.channel.failure.take_if(|_| matches!(flow, Flow::Leaves(_)));
            return Some(failure.map_or(flow, |error| self.broken(cx.batch, &error)));
        }
        if cx.batch.is_share_over() && !self.channel.input.is_empty() {
            self.find_again(then);
            return Some(Flow::Again);
        }
        match then {
            ReadEnd::Open => {
                let channel = &self.channel;
                let is_done = channel.input.is_empty() || taken == start;
                (!channel.readable && is_done).then_some(Flow::Idle)
            }
            ReadEnd::Eof => Some(self.take_end(cx.batch)),
            ReadEnd::Failed(error) if self.is_asked() => {
                self.channel.fail_behind_input(error);
                Some(Flow::Idle)
            }
            ReadEnd::Failed(error) => Some(self.broken(cx.batch, &error)),
        }
    }

    /// The peer has ended its side.
    fn take_end(&mut self, batch: &mut Batch<'_>) -> Flow {
        if let Some(h2) = self.session.h2_mut() {
            h2.end_input();
            self.lane.await_next();
            return Flow::Idle;
        }
        // A stream whose response leaves by itself.
        if self.lane.unopened && self.lane.session.is_some() && !self.channel.has_begun_request() {
            return Flow::Idle;
        }
        let within_message = self.channel.has_begun_request() || self.session.is_in_body();
        if self.session.waits_for_caller() || self.is_blocked() && within_message {
            // Told when the caller has taken what came before.
            self.channel.readable = true;
            return Flow::Idle;
        }
        if !batch.can_tell() {
            self.channel.readable = true;
            return Flow::Report;
        }
        self.session = Session::Ended;
        self.open(batch);
        batch.push(self.lane.id, Event::Eof { within_message });
        Flow::Idle
    }

    /// Takes bytes of HTTP/2; `None`: they are of HTTP/1.1.
    fn take_http2(
        &mut self,
        turn: &mut Receiving<'_, '_>,
        start: usize,
        end: usize,
    ) -> Option<Step> {
        let settings = &turn.server.settings;
        let bytes = turn.batch.memory.get(start..end);
        let may_begin = bytes.first() == PREFACE.first()
            && self.channel.bytes_read == bytes.len() as u64
            && matches!(self.session, Session::H1(_))
            && self.channel.transport.stream().is_none();
        if may_begin && let Some(http2) = settings.http2 {
            match is_preface(bytes) {
                Some(true) => self.session = Session::begin_h2(http2, settings),
                Some(false) => {}
                None => return Some(Step::Wait(start)),
            }
        }
        let h2 = self.session.h2_mut()?;
        let has_completed = h2.receive(bytes, &turn.limits, turn.now);
        let is_within_head = h2.is_within_head();
        if has_completed || !is_within_head {
            self.lane.await_next();
        }
        if is_within_head {
            self.lane.begin(turn.now, 0);
        }
        Some(Step::Next(end))
    }

    /// Takes what is in `start..end` of the batch's bytes.
    fn take(&mut self, turn: &mut Receiving<'_, '_>, start: usize, end: usize) -> Step {
        if let Some(step) = self.take_http2(turn, start, end) {
            return step;
        }
        let Session::H1(h1) = &mut self.session else { return Step::Wait(start) };
        let mut cx = SessionContext {
            server: self.server,
            channel: &mut self.channel,
            lane: &mut self.lane,
            activity: &mut self.activity,
            client: &mut self.client,
            routing: self.routing.as_deref_mut(),
            turn,
        };
        h1.take(&mut cx, start, end)
    }
}
