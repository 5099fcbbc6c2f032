//! A connection and the output cache: which of its requests need not be told.

use std::io::Write as _;
use std::time::Duration;

use millrace_cache::{Answer, Hit, Lookup, NotStored, Request, authenticates_connection};
use millrace_http::h1::{Method, ReceivedHead};
use millrace_net::Nanos;

use super::blocked::Blocked;
use super::channel::Channel;
use super::lane::Lane;
use super::receiving::Receiving;
use super::session::{SessionContext, has_body};
use super::{Client, Connection};
use crate::response_tracker::{ASSUMED, CacheAction};
use crate::server::Server;

/// Bodies from here on are sent from where they are stored.
const COPY_LIMIT: usize = 8 * 1024;
/// Answers that wait to leave together.
const MAX_ANSWERS: usize = 64 * 1024;
/// Where so much waits for the peer to take it, nothing more is answered, and one more request is told.
pub(crate) const MAX_QUEUED: usize = 256 * 1024;

/// What becomes of a request.
#[derive(Debug)]
pub(crate) enum Consulted {
    /// The caller is told. The cache wants so much of the response.
    Tell(CacheAction),
    /// It has its answer.
    Answered,
    /// It is looked at again when nothing blocks the connection any more.
    Later,
    /// It is looked at again when the caller is there.
    Report,
    /// It is refused: too many are with the caller.
    Refused,
}

/// The cache counts its times from the clock's origin.
pub(crate) fn since_origin(now: Nanos) -> Duration {
    Duration::from_nanos(now.0)
}

impl SessionContext<'_, '_, '_> {
    /// What becomes of a request whose head begins at `start` in the batch's bytes.
    pub(super) fn consult(&mut self, start: usize, head: &ReceivedHead) -> Consulted {
        let Self { channel, lane, client, turn, .. } = self;
        let Receiving { server, batch, now, effects, .. } = &mut **turn;
        let waits = std::mem::take(&mut lane.incoming.waits);
        let passes = std::mem::take(&mut lane.incoming.passes) || server.settings.counts_requests;
        let mut answering = Answering { channel, lane, server, now: *now };
        let followed = answering.is_followed();
        if !followed && !answering.server.caches() {
            return Consulted::Tell(CacheAction::None);
        }
        let bytes = batch.memory.get(start..start + head.length);
        let request = request_for_cache(bytes, head, answering.channel, client, waits);
        let consulted = match head.method {
            Method::Get | Method::Head if passes || !followed => Consulted::Tell(CacheAction::None),
            Method::Get | Method::Head => answering.look_up(&request, head.keep_alive),
            _ => {
                if !followed {
                    // Nobody sees when its response begins: what is stored is out of date from now on, and once more when
                    // that is complete.
                    answering.server.cache.invalidate(&request, ASSUMED, b"");
                    effects.invalidated = true;
                }
                Consulted::Tell(CacheAction::Invalidate {
                    secure: request.secure,
                    target: request.target.into(),
                    lines: request.lines.into(),
                })
            }
        };
        // Of these requests none is answered from the cache, nor stored.
        if let Consulted::Tell(CacheAction::None | CacheAction::Invalidate { .. }) = consulted {
            let authenticates = authenticates_connection(request.lines);
            client.authenticated |= authenticates;
        }
        consulted
    }

    /// The same where nobody can be told: it has its answer, or is looked at again when somebody can.
    pub(super) fn consult_untold(&mut self, start: usize, head: &ReceivedHead) -> Consulted {
        let Self { channel, lane, client, turn, .. } = self;
        let Receiving { server, batch, now, .. } = &mut **turn;
        let incoming = &lane.incoming;
        let is_free = lane.in_flight == 0 && !incoming.passes && !server.settings.counts_requests;
        let waits = incoming.waits;
        let mut answering = Answering { channel, lane, server, now: *now };
        if is_free && answering.is_followed() && answering.channel.queued() <= MAX_QUEUED {
            let bytes = batch.memory.get(start..start + head.length);
            let request = request_for_cache(bytes, head, answering.channel, client, waits);
            if answering.answer_stored(&request, head.keep_alive) {
                return Consulted::Answered;
            }
        }
        match batch.silent {
            true => answering.hold_or_refuse(head),
            // A caller that is there refuses by itself.
            false => Consulted::Report,
        }
    }
}

fn request_for_cache<'a>(
    bytes: &'a [u8],
    head: &ReceivedHead,
    channel: &Channel,
    client: &'a Client,
    waits: u8,
) -> Request<'a> {
    Request {
        secure: channel.transport.is_secure(),
        method: head.method,
        target: &bytes[head.target.0..head.target.1],
        lines: &bytes[head.lines.0..head.lines.1],
        body: has_body(head),
        certificate: client.certified,
        authenticated: client.authenticated,
        server_name: client.server_name.as_deref().unwrap_or_default().as_bytes(),
        waits,
    }
}

/// A lane, for whose request the cache is asked.
struct Answering<'c> {
    channel: &'c mut Channel,
    lane: &'c mut Lane,
    server: &'c mut Server,
    now: Nanos,
}

impl Answering<'_> {
    /// A request that the caller has to answer, which is busy.
    fn hold_or_refuse(&mut self, head: &ReceivedHead) -> Consulted {
        // Once our side has ended, only the caller knows what becomes of a request.
        let Self { channel, lane, server, .. } = self;
        let is_over = channel.write_state.is_over();
        if lane.in_flight > 0 || has_body(head) || is_over || !server.is_full() {
            server.held = server.held.saturating_add(1);
            return Consulted::Report;
        }
        server.counts.refused += 1;
        server.answers.extend_from_slice(OVERLOADED);
        Consulted::Refused
    }

    /// Whether the cache sees what becomes of the requests that are told.
    fn is_followed(&mut self) -> bool {
        let Self { channel, lane, server, now } = self;
        if lane.in_flight == 0 {
            match &mut lane.responses {
                // Of responses that are under way, nobody would know where they stand.
                None if server.caches() && !channel.write_state.is_over() => {
                    lane.responses = Some(Box::default());
                }
                Some(tracker) if !tracker.is_between_responses() => {
                    tracker.lose(&mut server.cache, since_origin(*now), NotStored::Malformed);
                }
                _ => {}
            }
        }
        lane.responses.as_ref().is_some_and(|tracker| !tracker.is_lost())
    }

    /// Answers a request with what is stored; `false`: nothing is.
    fn answer_stored(&mut self, request: &Request<'_>, keep_alive: bool) -> bool {
        let Self { channel, server, now, .. } = self;
        server.set_lines(keep_alive);
        let Server { cache, answers, lines, settings, .. } = &mut **server;
        let Some(hit) = cache.find_stored(since_origin(*now), request) else { return false };
        answer(channel, &hit, settings.tells_hits, since_origin(*now), (lines, answers));
        true
    }

    fn look_up(&mut self, request: &Request<'_>, keep_alive: bool) -> Consulted {
        let now = since_origin(self.now);
        if self.channel.queued() > MAX_QUEUED {
            return self.wait(Blocked::Room, request);
        }
        if self.lane.in_flight > 0 {
            // What an application sends beyond the end of a response would be taken for the next one: of a response behind
            // another, nothing is stored.
            return match self.server.cache.is_stored(now, request) {
                true => self.wait(Blocked::Turn, request),
                false => Consulted::Tell(CacheAction::None),
            };
        }
        self.server.set_lines(keep_alive);
        let Server { cache, answers, lines, settings, .. } = &mut *self.server;
        match cache.lookup(now, request, self.lane.id.to_bits()) {
            Lookup::Wait(flight) => return self.wait(Blocked::Fill(flight), request),
            Lookup::Hit(hit) => {
                answer(self.channel, &hit, settings.tells_hits, now, (lines, answers));
            }
            Lookup::OnlyIfCached => {
                answers.extend_from_slice(ONLY_IF_CACHED);
                answers.extend_from_slice(lines);
                answers.extend_from_slice(b"\r\n");
            }
            // It gets what the application says now. Those behind it get that, too.
            Lookup::Refresh(lead, _) | Lookup::Fill(lead) => {
                return Consulted::Tell(CacheAction::Store { lead, duration: None });
            }
            Lookup::Pass(_) => return Consulted::Tell(CacheAction::None),
        }
        Consulted::Answered
    }

    fn wait(&mut self, blocked: Blocked, request: &Request<'_>) -> Consulted {
        self.lane.blocked = blocked;
        self.lane.incoming.waits = request.waits;
        Consulted::Later
    }
}

/// Adds an answer to those that leave together, or sends them with it.
fn answer(
    channel: &mut Channel,
    hit: &Hit<'_>,
    tells: bool,
    now: Duration,
    (lines, answers): (&mut Vec<u8>, &mut Vec<u8>),
) {
    if tells {
        let fresh = hit.entry.fresh_for(now).as_secs();
        // RFC 9211. A vector takes all that is written.
        write!(lines, "Cache-Status: millrace; hit; ttl={fresh}\r\n").ok();
    }
    if hit.body().len() < COPY_LIMIT && answers.len() < MAX_ANSWERS {
        hit.write(lines, answers);
        return;
    }
    answers.extend_from_slice(hit.head());
    hit.write_head_end(lines, answers);
    let sent = match hit.answer {
        Answer::Whole => channel.send_stored(answers, hit.entry),
        Answer::Head | Answer::NotModified => channel.send(answers, false).map(drop),
    };
    answers.clear();
    if let Err(error) = sent {
        channel.fail_behind_input(error);
    }
}

impl Connection {
    /// Sends the answers to this connection that wait for that. `last`: our side is about to end. Gives whether that has failed,
    /// which is told behind what has arrived.
    pub(super) fn send_answers(&mut self, server: &mut Server, last: bool) -> bool {
        if server.answers.is_empty() {
            return false;
        }
        let sent = self.channel.send(&server.answers, last);
        server.answers.clear();
        let has_failed = sent.is_err();
        if let Err(error) = sent {
            self.channel.fail_behind_input(error);
        }
        has_failed
    }

    /// It waits no longer for the response to another request.
    pub(crate) fn leave_fill(&mut self, server: &mut Server) {
        if let Blocked::Fill(fill) = self.lane.blocked {
            self.lane.blocked = Blocked::No;
            server.cache.leave(fill, self.lane.id.to_bits());
        }
    }

    /// The connection is gone, or another's: what the cache expects of it will not come.
    pub(crate) fn leave_cache(&mut self, server: &mut Server, now: Nanos) {
        self.leave_fill(server);
        if let Some(tracker) = &mut self.lane.responses {
            tracker.lose(&mut server.cache, since_origin(now), NotStored::Aborted);
            // What was asked for may have been done, though nobody is left who hears of it.
            tracker.settle(&mut server.cache, since_origin(now), 0);
        }
    }
}

/// As the caller refuses them when it is there.
const OVERLOADED: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
/// RFC 9111, section 5.2.1.7.
const ONLY_IF_CACHED: &[u8] = b"HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n";
