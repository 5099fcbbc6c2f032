//! One connection: what it has received, and where it stands in that.

mod owner;
mod rates;
mod sending;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use millrace_http::{BodyDecoder, BodyEvent, HeadParser, Parsed, ReceivedHead, RequestFraming};
use millrace_net::Nanos;
use millrace_net::stream::Socket;

use owner::Found;

use crate::batch::{Batch, Doubt, Kind, flag};
use crate::caching::{Consulted, Waiting};
use crate::channel::Channel;
use crate::following::{Following, Interest};
use crate::forwarded::Relay;
use crate::server::Server;
use crate::settings::HeadLimits;
use crate::sharing::Owner;

/// Bytes of one read.
pub(crate) const READ: usize = 64 * 1024;
/// Reads of one connection before the others have their turn.
const READS: usize = 4;
/// A server name in a handshake (RFC 1035, section 2.3.4) and a protocol (RFC 7301, section 3.1) are no longer.
const MAX_NAMES: usize = 512;
/// A request's flags have the number of its fields above them.
const FIELDS_SHIFT: usize = 8;
/// Events of one request at most, beside its body's: its connection, a head, its end, the end of the stream.
pub(crate) const EVENTS: usize = 6;

/// What the bytes that come next are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    /// TLS is being agreed on.
    Handshake,
    Head,
    Body(BodyDecoder),
    /// Empty lines at most: the last request closes the connection.
    Closed,
    /// The host's parser is asked; nothing is read.
    Unsure,
    /// The host's parser reads on.
    Raw,
    /// Everything is told as it comes.
    Through,
    /// The peer's side has ended, or ours reads no more.
    Ended,
}

/// Why a connection stopped reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The socket is empty, or the connection waits for its caller.
    Idle,
    /// There is more to do, but others have their turn first.
    Again,
    /// The connection is broken.
    Broken(i32),
    /// There is something to tell, and nobody to be told.
    Parked,
    /// The next request is another's: see [`Connection::leaving`].
    Leaves,
}

/// What has happened in turns in which nobody could be told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Untold {
    pub(crate) opened: bool,
    pub(crate) secured: bool,
    pub(crate) drained: bool,
    pub(crate) answered_last: bool,
    pub(crate) broken: Option<i32>,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) channel: Channel,
    pub(crate) server: usize,
    /// Tells it from others that had its number.
    pub(crate) serial: u32,
    pub(crate) peer: Option<SocketAddr>,
    /// Bytes that were read and not taken.
    input: Vec<u8>,
    pub(crate) phase: Phase,
    parser: HeadParser,
    /// Bytes that were sent and not taken by the system, from `written` on.
    output: Vec<u8>,
    written: usize,
    /// Requests that are with the caller.
    pub(crate) in_flight: u32,
    /// Since when there are any, and whether nothing was sent since.
    asked_at: Nanos,
    pub(crate) untouched: bool,
    /// The first of them was given up while the caller was busy; nothing more is sent.
    pub(crate) timed_out: bool,
    /// As many as may be; the next one waits until half of them are answered, so that what is kept is not
    /// looked through for each.
    pub(crate) full: bool,
    /// The caller wants no more bytes of bodies for now.
    pub(crate) paused: bool,
    /// The last request that was told is the connection's last one.
    closes: bool,
    /// An upgrade was declined: the request is an ordinary one.
    plain: bool,
    /// The socket may hold more.
    pub(crate) readable: bool,
    /// The peer has ended its side: no event will tell of what is still unread.
    pub(crate) peer_ended: bool,
    /// The last bytes wait for the end of our side, to leave with it.
    held: bool,
    /// Our side ends when all is written.
    pub(crate) ending: bool,
    /// All of ours is written and our side has ended.
    pub(crate) ended: bool,
    /// Of the request that is being received: when it began, and whether its head is complete.
    pub(crate) began: Nanos,
    pub(crate) head_done: bool,
    /// Bytes that have arrived since `began`.
    arrived: u64,
    /// Since when bytes wait to be sent, and how many have left since.
    waiting_since: Nanos,
    left: u64,
    /// Since when no request is under way.
    pub(crate) idle_since: Nanos,
    /// When the keep-alive timer comes; any other is of one that had this number before.
    pub(crate) idle_timer: Nanos,
    /// After the handshake, requests wait for [`Self::start`].
    pub(crate) told_alone: bool,
    /// TLS is not agreed on yet.
    pub(crate) shaking: bool,
    /// The end of a handshake waits for the first response to leave with.
    pub(crate) owes_flush: bool,
    /// In the list of those that go on without an event.
    pub(crate) listed: bool,
    /// Is not registered yet.
    pub(crate) fresh: bool,
    /// Its end was told.
    pub(crate) gone: bool,
    /// Where in its last batch the bytes end that were told.
    pub(crate) told: usize,
    /// Requests that were told.
    pub(crate) requests: u32,
    /// The caller has not seen the connection, and wants to decide about it first.
    pub(crate) unseen: bool,
    /// What is to be told of it waits for a turn in which that can be done.
    pub(crate) parked: bool,
    pub(crate) untold: Untold,
    /// What the next request waits for, and how often it has waited.
    pub(crate) waiting: Waiting,
    pub(crate) waits: u8,
    /// The next request is told, whatever the cache has.
    pub(crate) passes: bool,
    /// A request was answered from the cache.
    pub(crate) answered: bool,
    /// A request has removed entries.
    pub(crate) invalidated: bool,
    /// The responses to what was told, as the cache sees them.
    pub(crate) following: Option<Box<Following>>,
    /// TLS: the name that the client asked for, and whether it has shown a certificate.
    pub(crate) server_name: Option<Box<str>>,
    pub(crate) certified: bool,
    /// The caller has not been told of it: its first request may be another's.
    pub(crate) unopened: bool,
    /// Whom the next request belongs to, as soon as the connection can go there.
    pub(crate) leaving: Option<Owner>,
    /// It is where it belongs, so it is not given to others of the same prefix.
    pub(crate) placed: bool,
    /// Its text is another process's to answer.
    pub(crate) relay: Option<Box<Relay>>,
    /// The shared address that it came to.
    pub(crate) ground: Option<usize>,
    /// The caller was told of the session whose text it has.
    introduced: bool,
    /// What was sent last is the last of it.
    pub(crate) said_last: bool,
    /// How often it was given on since its last response.
    pub(crate) hops: u8,
}

impl Connection {
    pub(crate) fn new(
        channel: Channel,
        server: usize,
        serial: u32,
        peer: Option<SocketAddr>,
        now: Nanos,
    ) -> Self {
        let shaking = matches!(channel, Channel::Tls(_));
        Self {
            phase: if shaking { Phase::Handshake } else { Phase::Head },
            channel,
            server,
            serial,
            peer,
            input: Vec::new(),
            parser: HeadParser::default(),
            output: Vec::new(),
            written: 0,
            in_flight: 0,
            asked_at: Nanos::NEVER,
            untouched: false,
            timed_out: false,
            full: false,
            paused: false,
            closes: false,
            plain: false,
            readable: true,
            peer_ended: false,
            held: false,
            ending: false,
            ended: false,
            began: now,
            head_done: false,
            arrived: 0,
            waiting_since: Nanos::NEVER,
            left: 0,
            idle_since: Nanos::NEVER,
            idle_timer: Nanos::NEVER,
            told_alone: false,
            shaking,
            owes_flush: false,
            listed: false,
            fresh: false,
            gone: false,
            told: 0,
            requests: 0,
            unseen: false,
            parked: false,
            untold: Untold::default(),
            waiting: Waiting::Nothing,
            waits: 0,
            passes: false,
            answered: false,
            invalidated: false,
            following: None,
            server_name: None,
            certified: false,
            unopened: false,
            leaving: None,
            placed: false,
            ground: None,
            introduced: false,
            said_last: false,
            relay: None,
            hops: 0,
        }
    }

    /// Something has arrived, or the peer is gone.
    pub(crate) fn on_readable(&mut self, peer_ended: bool) {
        self.readable = true;
        self.peer_ended |= peer_ended;
    }

    /// Nothing is under way: neither received nor answered.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight == 0 && self.began == Nanos::NEVER
    }

    fn stalled(&self) -> bool {
        let is_elsewhere = self.gone || self.leaving.is_some();
        if is_elsewhere || self.unseen || self.parked || self.waiting != Waiting::Nothing {
            return true;
        }
        match self.phase {
            Phase::Head => self.full || self.paused,
            Phase::Body(_) | Phase::Closed | Phase::Raw | Phase::Through => self.paused,
            Phase::Handshake => false,
            Phase::Unsure | Phase::Ended => true,
        }
    }

    /// The caller has taken longer than this for a response of which nothing was sent.
    pub(crate) fn is_overdue(&self, limit: Duration, now: Nanos) -> bool {
        let waits = self.in_flight > 0 && self.untouched && !self.ended;
        waits && now.since(self.asked_at) >= limit
    }

    /// There is something to do without a new event of the socket.
    pub(crate) fn can_go_on(&self) -> bool {
        (self.readable || !self.input.is_empty()) && !self.stalled()
    }

    /// Takes what has arrived, as far as the caller's memory and the limits allow, and answers what the cache has.
    pub(crate) fn receive(
        &mut self,
        id: usize,
        server: &mut Server,
        batch: &mut Batch<'_>,
        now: Nanos,
    ) -> Flow {
        let flow = self.read_on(id, server, batch, now);
        if let Flow::Broken(_) = flow {
            server.answers.clear();
            return flow;
        }
        let last = self.closes && self.in_flight == 0;
        match self.send_answers(server, last) {
            // What kept it here has just left.
            Ok(()) if self.waiting == Waiting::Owner && self.is_quiet(server) => {
                self.waiting = Waiting::Nothing;
                Flow::Again
            }
            Ok(()) => flow,
            Err(error) => Flow::Broken(error.raw_os_error().unwrap_or(0)),
        }
    }

    fn read_on(
        &mut self,
        id: usize,
        server: &mut Server,
        batch: &mut Batch<'_>,
        now: Nanos,
    ) -> Flow {
        // Of what is larger, not all would be there at once: the host's parser reads it.
        let head = server.settings.head;
        let limits = HeadLimits { bytes: head.bytes.min(READ), ..head };
        for _ in 0..READS {
            if self.stalled() {
                return Flow::Idle;
            }
            let can_shake = matches!(self.phase, Phase::Handshake) && server.context.is_some();
            if batch.silent && !can_shake && !matches!(self.phase, Phase::Head) {
                return Flow::Parked;
            }
            let kept = self.input.len();
            let room = self.channel.room();
            if batch.bytes.len() < batch.used + kept + room + MAX_NAMES || batch.room() < EVENTS {
                return Flow::Again;
            }
            if !self.introduced && self.channel.forwarded().is_some() {
                // Nothing is answered before the caller has judged the client.
                if batch.silent {
                    return Flow::Parked;
                }
                self.open(id, batch);
                self.tell_forwarded(id, batch);
                self.introduced = true;
                (self.told_alone, self.phase) = (true, Phase::Unsure);
                return Flow::Idle;
            }
            if let Phase::Handshake = self.phase
                && let Some(flow) = self.shake_hands(id, server, batch, now)
            {
                return flow;
            }
            let start = batch.used;
            let mut end = start + kept;
            batch.bytes[start..end].copy_from_slice(&self.input);
            self.input.clear();
            let mut eof = false;
            // What is kept is a part of a head or trailer at most, unless the caller made us wait.
            if self.readable && kept < READ {
                match self.channel.read(&mut batch.bytes[end..end + room]) {
                    Ok(read) => {
                        eof = read.count == 0;
                        end += read.count;
                        self.arrived += read.count as u64;
                        self.readable = (!read.drained || self.peer_ended) && !eof;
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.readable = false;
                    }
                    Err(error) if batch.silent => {
                        self.untold.broken = Some(error.raw_os_error().unwrap_or(0));
                        return Flow::Parked;
                    }
                    Err(error) => return self.broken(id, batch, &error),
                }
            }
            let before = batch.count();
            let taken = match self.take(id, server, &limits, batch, (start, end), now) {
                Ok(taken) => taken,
                Err(error) => return self.broken(id, batch, &error),
            };
            if taken < end {
                self.input.extend_from_slice(&batch.bytes[taken..end]);
            }
            // Where nothing was told, the memory is free for others.
            if batch.count() > before {
                self.told = taken;
                batch.used = batch.used.max(taken);
            }
            if self.leaving.is_some() {
                return Flow::Leaves;
            }
            if batch.silent && (eof || self.parked) {
                // What was read and the end are found again.
                self.readable |= eof;
                return Flow::Parked;
            }
            if eof {
                let middle = is_beginning(&self.input) || matches!(self.phase, Phase::Body(_));
                let full = batch.room() < EVENTS;
                if matches!(self.phase, Phase::Unsure) || (full || self.stalled()) && middle {
                    // Told when the caller has taken what came before.
                    self.readable = true;
                    if full {
                        return Flow::Again;
                    }
                } else {
                    self.phase = Phase::Ended;
                    self.open(id, batch);
                    batch.push(Kind::Eof, id, &[i32::from(middle)]);
                }
                return Flow::Idle;
            }
            if !self.readable && (self.input.is_empty() || taken == start) {
                return Flow::Idle;
            }
        }
        Flow::Again
    }

    /// Parses `from..to` of the batch's bytes; gives where it stopped.
    fn take(
        &mut self,
        id: usize,
        server: &mut Server,
        limits: &HeadLimits,
        batch: &mut Batch<'_>,
        (from, to): (usize, usize),
        now: Nanos,
    ) -> io::Result<usize> {
        let mut at = from;
        while at < to && !self.stalled() && batch.room() >= EVENTS {
            match &mut self.phase {
                Phase::Head => {
                    if self.began == Nanos::NEVER && is_beginning(&batch.bytes[at..to]) {
                        self.began = now;
                        self.arrived = (to - at) as u64;
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
                                self.parked = batch.silent;
                                self.unseen = !batch.silent;
                                self.open(id, batch);
                                break;
                            }
                            Found::Here => {}
                            Found::Elsewhere => break,
                            Found::Nobody { gone } => {
                                if !self.decline(id, server, batch, head, gone) {
                                    break;
                                }
                                at = start + head.length;
                                continue;
                            }
                        }
                    }
                    match parsed {
                        Parsed::Partial => break,
                        Parsed::Unsure | Parsed::Complete(ReceivedHead { upgrade: true, .. })
                            if batch.silent =>
                        {
                            self.parked = true;
                        }
                        Parsed::Unsure => {
                            return Ok(self.doubt(id, batch, (at, to), Doubt::Head, 0));
                        }
                        Parsed::Complete(head) if head.upgrade && !self.plain => {
                            return Ok(self.doubt(id, batch, (at, to), Doubt::Upgrade, 0));
                        }
                        Parsed::Complete(head) => {
                            let start = at + head.start;
                            let bytes = &batch.bytes[start..start + head.length];
                            let consulted = match batch.silent {
                                true => self.consult_beside(server, bytes, &head, now)?,
                                false => self.consult(id, server, bytes, &head, now)?,
                            };
                            match consulted {
                                Consulted::Tell(interest) => {
                                    self.request(id, batch, at, &head, interest, now);
                                    server.in_flight += 1;
                                    self.full = self.in_flight >= server.settings.max_pipelined;
                                }
                                Consulted::Answered => self.on_answered(id, batch, &head),
                                Consulted::Refused => {
                                    self.after_answer(id, batch, false);
                                    self.next_head();
                                }
                                Consulted::Later => {
                                    // It has arrived in time.
                                    self.head_done = true;
                                    break;
                                }
                            }
                            at = start + head.length;
                        }
                    }
                }
                Phase::Body(decoder) => match decoder.next(&batch.bytes[at..to], limits) {
                    BodyEvent::Data { start, end } => {
                        batch.push(Kind::Body, id, &[(at + start) as i32, (end - start) as i32]);
                        at += end;
                        // An end without further bytes is told with the last part.
                        if at == to
                            && let BodyEvent::End { .. } = decoder.next(&[], limits)
                        {
                            self.complete(id, batch, (0, 0));
                        }
                    }
                    BodyEvent::More { consumed } => {
                        at += consumed;
                        break;
                    }
                    BodyEvent::End { consumed, trailers: (start, end) } => {
                        let trailers = ((at + start) as i32, (end - start) as i32);
                        at += consumed;
                        self.complete(id, batch, trailers);
                    }
                    BodyEvent::Unsure { at: offset } => {
                        let prelude = prelude(decoder);
                        return Ok(self.doubt(id, batch, (at + offset, to), Doubt::Body, prelude));
                    }
                },
                Phase::Closed => {
                    at += batch.bytes[at..to].iter().take_while(|byte| is_line_end(**byte)).count();
                    if at < to {
                        return Ok(self.doubt(id, batch, (at, to), Doubt::Closed, 0));
                    }
                }
                Phase::Raw => {
                    batch.push(Kind::Raw, id, &[at as i32, (to - at) as i32]);
                    return Ok(self.ask(batch, (at, to)));
                }
                Phase::Through => {
                    batch.push(Kind::Raw, id, &[at as i32, (to - at) as i32]);
                    at = to;
                }
                Phase::Handshake | Phase::Unsure | Phase::Ended => break,
            }
        }
        Ok(at)
    }

    /// A request was answered from the cache.
    fn on_answered(&mut self, id: usize, batch: &mut Batch<'_>, head: &ReceivedHead) {
        self.after_answer(id, batch, head.keep_alive);
        self.next_head();
    }

    /// The connection has an answer that the caller knows nothing of.
    pub(crate) fn after_answer(&mut self, id: usize, batch: &mut Batch<'_>, keep_alive: bool) {
        self.plain = false;
        self.answered = true;
        self.closes = !keep_alive;
        if self.closes {
            if batch.silent {
                (self.parked, self.untold.answered_last) = (true, true);
            } else {
                self.open(id, batch);
                batch.push(Kind::Answered, id, &[]);
            }
        }
    }

    /// Tells the caller of the connection, if it does not know it.
    pub(crate) fn open(&mut self, id: usize, batch: &mut Batch<'_>) {
        if !batch.silent && std::mem::take(&mut self.unopened) {
            // In range: a handful of servers.
            batch.push(Kind::Open, id, &[self.server as i32]);
        }
    }

    fn request(
        &mut self,
        id: usize,
        batch: &mut Batch<'_>,
        at: usize,
        head: &ReceivedHead,
        interest: Interest,
        now: Nanos,
    ) {
        self.open(id, batch);
        let start = at + head.start;
        let has_body = !matches!(head.framing, RequestFraming::None | RequestFraming::Length(0));
        let flags = [
            (head.keep_alive, flag::KEEP_ALIVE),
            (head.minor == 0, flag::HTTP_1_0),
            (has_body, flag::BODY),
            (head.expect, flag::EXPECT),
            (head.host, flag::HOST),
            (matches!(interest, Interest::Store { .. }), flag::STORED),
        ];
        let flags = flags.iter().fold(0, |all, &(is, flag)| if is { all | flag } else { all });
        let (target, target_end) = head.target;
        // In range: offsets within a batch's memory.
        let details =
            [start, head.length, flags as usize | head.fields << FIELDS_SHIFT, target, target_end];
        let [offset, length, flags, target, target_end] = details.map(|n| n as i32);
        batch.push(
            Kind::Request,
            id,
            &[offset, length, flags, target, target_end, i32::from(head.method.id())],
        );
        if let Some(following) = &mut self.following {
            following.expect(head.method, interest);
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
                self.phase = Phase::Body(BodyDecoder::new(framing));
            }
        }
    }

    fn complete(&mut self, id: usize, batch: &mut Batch<'_>, (offset, length): (i32, i32)) {
        batch.push(Kind::End, id, &[offset, length]);
        self.next_head();
    }

    pub(crate) fn next_head(&mut self) {
        self.phase = if self.closes { Phase::Closed } else { Phase::Head };
        self.began = Nanos::NEVER;
        self.head_done = false;
    }

    fn doubt(
        &mut self,
        id: usize,
        batch: &mut Batch<'_>,
        (at, to): (usize, usize),
        doubt: Doubt,
        prelude: i32,
    ) -> usize {
        self.open(id, batch);
        batch.push(Kind::Unsure, id, &[at as i32, (to - at) as i32, doubt as i32, prelude]);
        self.ask(batch, (at, to))
    }

    /// Waits for one of the `proceed`s. The bytes stay in `input` as well.
    fn ask(&mut self, batch: &mut Batch<'_>, (at, to): (usize, usize)) -> usize {
        self.phase = Phase::Unsure;
        batch.used = to;
        at
    }

    /// Takes an upgrade for an ordinary request.
    pub(crate) fn proceed(&mut self) {
        self.phase = Phase::Head;
        self.plain = true;
    }

    /// Tells everything as it is from now on, what was kept first.
    pub(crate) fn through(&mut self) {
        self.phase = Phase::Through;
    }

    /// Tells what follows as it is; what was told is not told again.
    pub(crate) fn proceed_raw(&mut self) {
        self.phase = Phase::Raw;
        self.input.clear();
    }

    /// A body ended behind the first `taken` bytes of what was told.
    pub(crate) fn proceed_behind(&mut self, taken: usize) {
        self.input.drain(..taken.min(self.input.len()));
        self.next_head();
    }

    /// Bytes read and not taken, for whoever takes the connection over.
    pub(crate) fn into_parts(self) -> Option<(Socket, Vec<u8>)> {
        let (socket, mut bytes) = self.channel.into_parts()?;
        bytes.extend_from_slice(&self.input);
        Some((socket, bytes))
    }
}

/// What leads another parser to where this one stands, by a number for JavaScript.
fn prelude(decoder: &BodyDecoder) -> i32 {
    // In range: a handful of bytes.
    decoder.prelude().len() as i32
}

/// Empty lines before a request are none of it (RFC 9112, section 2.2).
fn is_beginning(bytes: &[u8]) -> bool {
    !bytes.iter().all(|&byte| is_line_end(byte))
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}
