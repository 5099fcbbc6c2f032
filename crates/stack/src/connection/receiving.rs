//! How a connection takes what has arrived: bytes, and the requests in them.

use std::io;

use millrace_http::{BodyDecoder, BodyEvent, Parsed, ReceivedHead, RequestFraming};
use millrace_net::Nanos;

use super::owner::Found;
use super::state::{Blocked, Change, ReadState};
use super::{Connection, EVENTS, Effects, Flow, READ};
use crate::batch::{Batch, Event, FallbackReason, Span, flag};
use crate::connection::cache::Consulted;
use crate::response_tracker::CacheAction;
use crate::server::Server;
use crate::settings::HeadLimits;

/// Reads of one connection before the others have their turn.
const READS: usize = 4;
/// Memory for what was read and not taken that a connection keeps: for a part of a head.
const KEPT: usize = 2 * 1024;
/// A server name in a handshake (RFC 1035, section 2.3.4) and a protocol (RFC 7301, section 3.1) are no longer.
const MAX_NAMES: usize = 512;

impl Connection {
    /// Takes what has arrived, as far as the caller's memory and the limits allow, and answers what the cache has.
    pub(crate) fn receive(
        &mut self,
        server: &mut Server,
        batch: &mut Batch<'_>,
        now: Nanos,
    ) -> (Flow, Effects) {
        let mut effects = Effects::default();
        let flow = self.read_on(server, batch, now, &mut effects);
        if let Flow::Broken(_) = flow {
            server.answers.clear();
            return (flow, effects);
        }
        let last = self.closes && self.in_flight == 0;
        let flow = match self.send_answers(server, last) {
            // What kept it here has just left.
            Ok(()) if self.is_quiet(server) && self.blocked.end_by(Change::Quiet) => Flow::Again,
            Ok(()) => flow,
            Err(error) => Flow::Broken(error.raw_os_error().unwrap_or(0)),
        };
        (flow, effects)
    }

    fn read_on(
        &mut self,
        server: &mut Server,
        batch: &mut Batch<'_>,
        now: Nanos,
        effects: &mut Effects,
    ) -> Flow {
        // Of what is larger, not all would be there at once: the host's parser reads it.
        let head = server.settings.head;
        let limits = HeadLimits { bytes: head.bytes.min(READ), ..head };
        for _ in 0..READS {
            if self.is_blocked() {
                return Flow::Idle;
            }
            let can_shake =
                matches!(self.read_state, ReadState::Handshake) && server.context.is_some();
            if batch.silent && !can_shake && !matches!(self.read_state, ReadState::Head) {
                return Flow::Report;
            }
            let kept = self.input.len();
            let room = self.transport.room();
            if batch.bytes.len() < batch.used + kept + room + MAX_NAMES || batch.room() < EVENTS {
                return Flow::Again;
            }
            if !self.tls_info_delivered && self.transport.forwarded().is_some() {
                // Nothing is answered before the caller has judged the client.
                if batch.silent {
                    return Flow::Report;
                }
                self.open(batch);
                self.tell_forwarded(batch);
                self.tls_info_delivered = true;
                (self.defer_requests, self.read_state) = (true, ReadState::Unsure);
                return Flow::Idle;
            }
            if let ReadState::Handshake = self.read_state
                && let Some(flow) = self.drive_handshake(server, batch, now, effects)
            {
                return flow;
            }
            let start = batch.used;
            let mut end = start + kept;
            batch.bytes[start..end].copy_from_slice(&self.input);
            self.input.clear();
            let mut eof = false;
            self.packet = end;
            // What is kept is a part of a head or trailer at most, unless the caller made us wait.
            if self.readable && kept < READ {
                match self.transport.read(&mut batch.bytes[end..end + room]) {
                    Ok(read) => {
                        eof = read.count == 0;
                        end += read.count;
                        self.arrived += read.count as u64;
                        self.bytes_read += read.count as u64;
                        self.readable = (!read.drained || self.peer_ended) && !eof;
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.readable = false;
                    }
                    Err(error) if batch.silent => {
                        self.unreported.broken = Some(error.raw_os_error().unwrap_or(0));
                        return Flow::Report;
                    }
                    Err(error) => return self.broken(batch, &error),
                }
            }
            let before = batch.count();
            let took = self.take(server, &limits, batch, (start, end), now, effects);
            let (taken, stop) = match took {
                Ok(took) => took,
                Err(error) => return self.broken(batch, &error),
            };
            self.keep(&batch.bytes[taken..end]);
            // Where nothing was told, the memory is free for others.
            if batch.count() > before {
                self.delivered_end = taken;
                batch.used = batch.used.max(taken);
            }
            if let Some(flow) = stop.or((batch.silent && eof).then_some(Flow::Report)) {
                // What was read and the end are found again.
                self.readable |= eof;
                return flow;
            }
            if eof {
                let middle =
                    is_beginning(&self.input) || matches!(self.read_state, ReadState::Body(_));
                let full = batch.room() < EVENTS;
                if matches!(self.read_state, ReadState::Unsure)
                    || (full || self.is_blocked()) && middle
                {
                    // Told when the caller has taken what came before.
                    self.readable = true;
                    if full {
                        return Flow::Again;
                    }
                } else {
                    self.read_state = ReadState::Ended;
                    self.open(batch);
                    batch.push(self.id, Event::Eof { within_message: middle });
                }
                return Flow::Idle;
            }
            if !self.readable && (self.input.is_empty() || taken == start) {
                return Flow::Idle;
            }
        }
        Flow::Again
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

    /// Parses `from..to` of the batch's bytes; gives where it stopped, and what that leads to if it is not to go on.
    fn take(
        &mut self,
        server: &mut Server,
        limits: &HeadLimits,
        batch: &mut Batch<'_>,
        (from, to): (usize, usize),
        now: Nanos,
        effects: &mut Effects,
    ) -> io::Result<(usize, Option<Flow>)> {
        let mut at = from;
        while at < to && !self.is_blocked() && batch.room() >= EVENTS {
            match &mut self.read_state {
                ReadState::Head => {
                    if self.began == Nanos::NEVER && is_beginning(&batch.bytes[at..to]) {
                        self.began = now;
                        self.begin_arriving(now, to - at);
                    }
                    let parsed = self.parser.parse(&batch.bytes[at..to], limits);
                    if let Parsed::Complete(head) = &parsed
                        && self.ground.is_some()
                    {
                        let start = at + head.start;
                        match self.find_owner(
                            server,
                            &batch.bytes[start..start + head.length],
                            head,
                        ) {
                            // The caller decides about it first.
                            Found::Here if self.unopened && server.settings.screens => {
                                if batch.silent {
                                    return Ok((at, Some(Flow::Report)));
                                }
                                self.blocked = Blocked::Admission;
                                self.open(batch);
                                break;
                            }
                            Found::Here => {}
                            Found::Leaves(owner) => return Ok((at, Some(Flow::Leaves(owner)))),
                            Found::Waits => break,
                            Found::Nobody { .. } if batch.silent && has_body(head) => {
                                return Ok((at, Some(Flow::Report)));
                            }
                            Found::Nobody { gone } => {
                                at = start + head.length;
                                if self.decline(server, batch, head, gone, effects) {
                                    return Ok((at, Some(Flow::Report)));
                                }
                                continue;
                            }
                        }
                    }
                    match parsed {
                        Parsed::Partial => break,
                        Parsed::Unsure | Parsed::Complete(ReceivedHead { upgrade: true, .. })
                            if batch.silent =>
                        {
                            return Ok((at, Some(Flow::Report)));
                        }
                        Parsed::Unsure => {
                            return Ok((
                                self.doubt(batch, (at, to), FallbackReason::Head, 0),
                                None,
                            ));
                        }
                        Parsed::Complete(head) if head.upgrade && !self.plain => {
                            return Ok((
                                self.doubt(batch, (at, to), FallbackReason::Upgrade, 0),
                                None,
                            ));
                        }
                        Parsed::Complete(head) => {
                            let start = at + head.start;
                            let bytes = &batch.bytes[start..start + head.length];
                            let consulted = match batch.silent {
                                true => self.consult_standby(server, bytes, &head, now)?,
                                false => self.consult(server, bytes, &head, now, effects)?,
                            };
                            match consulted {
                                Consulted::Tell(interest) => {
                                    self.request(batch, start, &head, interest, now);
                                    server.in_flight += 1;
                                    if self.in_flight >= server.settings.max_pipelined {
                                        self.blocked = Blocked::Pipeline;
                                    }
                                }
                                Consulted::Answered | Consulted::Refused => {
                                    effects.answered = true;
                                    let keep_alive =
                                        head.keep_alive && matches!(consulted, Consulted::Answered);
                                    let ends = self.after_answer(batch, keep_alive);
                                    self.next_head();
                                    if ends {
                                        return Ok((start + head.length, Some(Flow::Report)));
                                    }
                                }
                                Consulted::Later | Consulted::Report => {
                                    // It has arrived in time.
                                    self.head_done = true;
                                    let reports = matches!(consulted, Consulted::Report);
                                    return Ok((at, reports.then_some(Flow::Report)));
                                }
                            }
                            at = start + head.length;
                        }
                    }
                }
                ReadState::Body(decoder) => match decoder.next(&batch.bytes[at..to], limits) {
                    BodyEvent::Data { start, end } => {
                        batch.push(self.id, Event::Body(Span::new(at + start, at + end)));
                        at += end;
                        // An end without further bytes is told with the last part.
                        if at == to
                            && let BodyEvent::End { .. } = decoder.next(&[], limits)
                        {
                            self.complete(batch, Span::default());
                        }
                    }
                    BodyEvent::More { consumed } => {
                        at += consumed;
                        break;
                    }
                    BodyEvent::End { consumed, trailers: (start, end) } => {
                        let trailers = Span::new(at + start, at + end);
                        at += consumed;
                        self.complete(batch, trailers);
                    }
                    BodyEvent::Unsure { at: offset } => {
                        let prelude = decoder.prelude().len();
                        return Ok((
                            self.doubt(batch, (at + offset, to), FallbackReason::Body, prelude),
                            None,
                        ));
                    }
                },
                ReadState::Closed => {
                    at += batch.bytes[at..to].iter().take_while(|byte| is_line_end(**byte)).count();
                    if at < to {
                        return Ok((self.doubt(batch, (at, to), FallbackReason::Closed, 0), None));
                    }
                }
                ReadState::Raw => {
                    batch.push(self.id, Event::Raw(Span::new(at, to)));
                    return Ok((self.ask(batch, (at, to)), None));
                }
                ReadState::Through => {
                    batch.push(self.id, Event::Raw(Span::new(at, to)));
                    at = to;
                }
                ReadState::Handshake | ReadState::Unsure | ReadState::Ended => break,
            }
        }
        Ok((at, None))
    }

    /// The connection has an answer that the caller knows nothing of. `true`: the caller has to be told that it is the last.
    pub(crate) fn after_answer(&mut self, batch: &mut Batch<'_>, keep_alive: bool) -> bool {
        self.plain = false;
        self.closes = !keep_alive;
        if self.closes && batch.silent {
            self.unreported.answered_last = true;
        } else if self.closes {
            self.open(batch);
            batch.push(self.id, Event::Answered);
        }
        self.closes && batch.silent
    }

    /// Tells the caller of the connection, if it does not know it.
    pub(crate) fn open(&mut self, batch: &mut Batch<'_>) {
        if !batch.silent && std::mem::take(&mut self.unopened) {
            batch.push(self.id, Event::Open { server: self.server });
        }
    }

    fn request(
        &mut self,
        batch: &mut Batch<'_>,
        start: usize,
        head: &ReceivedHead,
        interest: CacheAction,
        now: Nanos,
    ) {
        self.open(batch);
        let flags = [
            (head.keep_alive, flag::KEEP_ALIVE),
            (head.minor == 0, flag::HTTP_1_0),
            (has_body(head), flag::BODY),
            (head.expect, flag::EXPECT),
            (head.host, flag::HOST),
            (matches!(interest, CacheAction::Store { .. }), flag::STORED),
        ];
        let flags = flags.iter().fold(0, |all, &(is, flag)| if is { all | flag } else { all });
        let (fields, target, method) = (head.fields, head.target, head.method);
        let span = Span::new(start, start + head.length);
        batch.push(self.id, Event::Request { head: span, flags, fields, target, method });
        if let Some(tracker) = &mut self.responses {
            tracker.expect(head.method, interest);
        }
        self.requests = self.requests.wrapping_add(1);
        self.plain = false;
        self.closes = !head.keep_alive;
        if self.in_flight == 0 {
            (self.asked_at, self.untouched) = (now, true);
        }
        self.in_flight += 1;
        self.idle_since = Nanos::NEVER;
        match head.framing {
            RequestFraming::None | RequestFraming::Length(0) => self.next_head(),
            framing => {
                self.head_done = true;
                self.read_state = ReadState::Body(BodyDecoder::new(framing));
            }
        }
    }

    fn complete(&mut self, batch: &mut Batch<'_>, trailers: Span) {
        batch.push(self.id, Event::End { trailers });
        self.next_head();
    }

    pub(crate) fn next_head(&mut self) {
        self.read_state = if self.closes { ReadState::Closed } else { ReadState::Head };
        self.began = Nanos::NEVER;
        self.head_done = false;
    }

    fn doubt(
        &mut self,
        batch: &mut Batch<'_>,
        (at, to): (usize, usize),
        doubt: FallbackReason,
        prelude: usize,
    ) -> usize {
        self.open(batch);
        let (bytes, packet) = (Span::new(at, to), self.packet);
        batch.push(self.id, Event::Unsure { bytes, doubt, prelude, packet });
        self.ask(batch, (at, to))
    }

    /// Waits for one of the `proceed`s. The bytes stay in `input` as well.
    fn ask(&mut self, batch: &mut Batch<'_>, (at, to): (usize, usize)) -> usize {
        self.read_state = ReadState::Unsure;
        batch.used = to;
        at
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
