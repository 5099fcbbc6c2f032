//! One connection.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use millrace_http::{BodyDecoder, BodyEvent, HeadParser, Parsed, ReceivedHead, RequestFraming};
use millrace_net::Nanos;
use millrace_net::stream::Socket;

use crate::batch::{Batch, Doubt, Kind, flag};
use crate::channel::Channel;
use crate::settings::{HeadLimits, Settings};

/// Bytes of one read.
pub(crate) const READ: usize = 64 * 1024;
/// Reads of one connection before the others have their turn.
const READS: usize = 4;
/// A server name in a handshake is no longer (RFC 1035, section 2.3.4).
const MAX_NAME: usize = 256;
/// A request's flags have the number of its fields above them.
const FIELDS_SHIFT: usize = 8;
/// Events of one request at most, beside its body's: a head, its end, the end of the stream.
pub(crate) const EVENTS: usize = 4;

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
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) channel: Channel,
    pub(crate) server: usize,
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
}

impl Connection {
    pub(crate) fn new(
        channel: Channel,
        server: usize,
        peer: Option<SocketAddr>,
        now: Nanos,
    ) -> Self {
        let shaking = matches!(channel, Channel::Tls(_));
        Self {
            phase: if shaking { Phase::Handshake } else { Phase::Head },
            channel,
            server,
            peer,
            input: Vec::new(),
            parser: HeadParser::default(),
            output: Vec::new(),
            written: 0,
            in_flight: 0,
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
        if self.gone {
            return true;
        }
        match self.phase {
            Phase::Head => self.full || self.paused,
            Phase::Body(_) | Phase::Closed | Phase::Raw | Phase::Through => self.paused,
            Phase::Handshake => false,
            Phase::Unsure | Phase::Ended => true,
        }
    }

    /// There is something to do without a new event of the socket.
    pub(crate) fn can_go_on(&self) -> bool {
        (self.readable || !self.input.is_empty()) && !self.stalled()
    }

    /// Takes what has arrived, as far as the caller's memory and the limits allow.
    pub(crate) fn receive(
        &mut self,
        id: usize,
        settings: &Settings,
        batch: &mut Batch<'_>,
        now: Nanos,
    ) -> Flow {
        // Of what is larger, not all would be there at once: the host's parser reads it.
        let limits = HeadLimits { bytes: settings.head.bytes.min(READ), ..settings.head };
        for _ in 0..READS {
            if self.stalled() {
                return Flow::Idle;
            }
            let kept = self.input.len();
            let room = self.channel.room();
            if batch.bytes.len() < batch.used + kept + room + MAX_NAME || batch.room() < EVENTS {
                return Flow::Again;
            }
            if let Phase::Handshake = self.phase
                && let Some(flow) = self.shake_hands(id, batch, now)
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
                    Err(error) => return self.broken(id, batch, &error),
                }
            }
            let taken = self.take(id, settings.max_pipelined, &limits, batch, (start, end), now);
            self.told = taken;
            if taken < end {
                self.input.extend_from_slice(&batch.bytes[taken..end]);
            }
            if batch.used < taken {
                batch.used = taken;
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
        max_pipelined: u32,
        limits: &HeadLimits,
        batch: &mut Batch<'_>,
        (from, to): (usize, usize),
        now: Nanos,
    ) -> usize {
        let mut at = from;
        while at < to && !self.stalled() && batch.room() >= EVENTS {
            match &mut self.phase {
                Phase::Head => {
                    if self.began == Nanos::NEVER && is_beginning(&batch.bytes[at..to]) {
                        self.began = now;
                        self.arrived = (to - at) as u64;
                    }
                    match self.parser.parse(&batch.bytes[at..to], limits) {
                        Parsed::Partial => break,
                        Parsed::Unsure => return self.doubt(id, batch, (at, to), Doubt::Head, 0),
                        Parsed::Complete(head) if head.upgrade && !self.plain => {
                            return self.doubt(id, batch, (at, to), Doubt::Upgrade, 0);
                        }
                        Parsed::Complete(head) => {
                            self.request(id, batch, at, &head);
                            self.full = self.in_flight >= max_pipelined;
                            at += head.start + head.length;
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
                        return self.doubt(id, batch, (at + offset, to), Doubt::Body, prelude);
                    }
                },
                Phase::Closed => {
                    at += batch.bytes[at..to].iter().take_while(|byte| is_line_end(**byte)).count();
                    if at < to {
                        return self.doubt(id, batch, (at, to), Doubt::Closed, 0);
                    }
                }
                Phase::Raw => {
                    batch.push(Kind::Raw, id, &[at as i32, (to - at) as i32]);
                    return self.ask(batch, (at, to));
                }
                Phase::Through => {
                    batch.push(Kind::Raw, id, &[at as i32, (to - at) as i32]);
                    at = to;
                }
                Phase::Handshake | Phase::Unsure | Phase::Ended => break,
            }
        }
        at
    }

    fn request(&mut self, id: usize, batch: &mut Batch<'_>, at: usize, head: &ReceivedHead) {
        let start = at + head.start;
        let has_body = !matches!(head.framing, RequestFraming::None | RequestFraming::Length(0));
        let flags = [
            (head.keep_alive, flag::KEEP_ALIVE),
            (head.minor == 0, flag::HTTP_1_0),
            (has_body, flag::BODY),
            (head.expect, flag::EXPECT),
            (head.host, flag::HOST),
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
        self.plain = false;
        self.closes = !head.keep_alive;
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

    fn next_head(&mut self) {
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

    /// Bytes that were sent and have not left.
    pub(crate) fn queued(&self) -> usize {
        self.output.len() - self.written + self.channel.unsent()
    }

    /// Sends, and keeps what the system does not take. `last`: our side is about to end, which lets bytes and end
    /// leave in one segment. `true`: if it does not end after all, [`Self::push`] has to be called.
    pub(crate) fn send(&mut self, bytes: &[u8], last: bool) -> io::Result<bool> {
        let mut taken = 0;
        if self.output.is_empty() {
            while taken < bytes.len() {
                let rest = &bytes[taken..];
                let written = match last {
                    true => self.channel.write_last(rest),
                    false => self.channel.write(rest),
                };
                match written {
                    Ok(0) => break,
                    Ok(count) => taken += count,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
        }
        self.keep(&bytes[taken..]);
        self.held = last && self.queued() == 0;
        Ok(self.held)
    }

    /// Sends what waits for an end that has not come.
    pub(crate) fn push(&mut self, no_delay: bool) {
        if std::mem::take(&mut self.held) && !self.ended {
            self.channel.push(no_delay);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.output.is_empty() && !bytes.is_empty() {
            self.waiting_since = Nanos::default();
        }
        self.output.extend_from_slice(bytes);
    }

    /// Sends bytes from two places in one system call.
    pub(crate) fn send_two(&mut self, first: &[u8], second: &[u8]) -> io::Result<()> {
        if first.is_empty() || second.is_empty() || !self.output.is_empty() {
            self.send(first, false)?;
            self.send(second, false)?;
            return Ok(());
        }
        let taken = match self.channel.write_two(first, second) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        let rest = &first[taken.min(first.len())..];
        if rest.is_empty() {
            self.send(&second[taken - first.len()..], false)?;
        } else {
            self.keep(rest);
            self.keep(second);
        }
        Ok(())
    }

    /// Writes on; `true` if the queue has become empty.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        if self.queued() == 0 {
            self.channel.flush()?;
            return Ok(false);
        }
        while self.written < self.output.len() {
            match self.channel.write(&self.output[self.written..]) {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    self.written += count;
                    self.left += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.output = Vec::new();
        self.written = 0;
        if !self.channel.flush()? {
            return Ok(false);
        }
        self.waiting_since = Nanos::NEVER;
        self.left = 0;
        Ok(true)
    }

    /// A body arrives at less than `rate` bytes per second, on average since its request began.
    pub(crate) fn receives_slowly(&self, rate: f64, grace: Duration, now: Nanos) -> bool {
        let reads = matches!(self.phase, Phase::Body(_)) && !self.paused;
        reads
            && self.began != Nanos::NEVER
            && is_below(rate, self.arrived, now.since(self.began), grace)
    }

    /// The peer takes less than `rate` bytes per second of what waits for it. Counted from the first call
    /// that finds bytes waiting.
    pub(crate) fn sends_slowly(&mut self, rate: f64, grace: Duration, now: Nanos) -> bool {
        if self.queued() == 0 {
            return false;
        }
        if [Nanos::default(), Nanos::NEVER].contains(&self.waiting_since) {
            self.waiting_since = now;
            self.left = 0;
        }
        is_below(rate, self.left, now.since(self.waiting_since), grace)
    }

    /// Bytes read and not taken, for whoever takes the connection over.
    pub(crate) fn into_parts(self) -> (Socket, Vec<u8>) {
        let (socket, mut bytes) = self.channel.into_parts();
        bytes.extend_from_slice(&self.input);
        (socket, bytes)
    }
}

fn is_below(rate: f64, bytes: u64, time: Duration, grace: Duration) -> bool {
    rate > 0.0 && time > grace && (bytes as f64) < rate * time.as_secs_f64()
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
