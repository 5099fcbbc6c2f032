//! A connection and the output cache: which of its requests need not be told.

use std::io::{self, Write as _};
use std::time::Duration;

use millrace_cache::{Answer, Hit, Lookup, NotStored, Request, authenticates_connection};
use millrace_http::h1::{Method, ReceivedHead};
use millrace_net::Nanos;

use super::Connection;
use super::receiving::{Receiving, has_body};
use super::state::Blocked;
use crate::response_tracker::{ASSUMED, CacheAction};
use crate::server::Server;
use crate::transport::Transport;

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

impl Connection {
    /// What becomes of a request whose head begins at `start` in the batch's bytes.
    pub(super) fn consult(
        &mut self,
        cx: &mut Receiving<'_, '_>,
        start: usize,
        head: &ReceivedHead,
    ) -> io::Result<Consulted> {
        let Receiving { server, batch, now, effects, .. } = cx;
        let incoming = &mut self.lane.incoming;
        let waits = std::mem::take(&mut incoming.waits);
        let passes = std::mem::take(&mut incoming.passes) || server.settings.counts_requests;
        let followed = self.is_followed(server, *now);
        if !followed && !server.caches() {
            return Ok(Consulted::Tell(CacheAction::None));
        }
        let bytes = &batch.bytes[start..start + head.length];
        let name = self.server_name.take();
        let request = self.request_for_cache(bytes, head, name.as_deref(), waits);
        let consulted = match head.method {
            Method::Get | Method::Head if passes || !followed => {
                Ok(Consulted::Tell(CacheAction::None))
            }
            Method::Get | Method::Head => self.look_up(server, &request, head.keep_alive, *now),
            _ => {
                if !followed {
                    // Nobody sees when its response begins: what is stored is out of date from now on, and once more when
                    // that is complete.
                    server.cache.invalidate(&request, ASSUMED, b"");
                    effects.invalidated = true;
                }
                Ok(Consulted::Tell(CacheAction::Invalidate {
                    secure: request.secure,
                    target: request.target.into(),
                    lines: request.lines.into(),
                }))
            }
        };
        // Of these requests none is answered from the cache, nor stored.
        if let Ok(Consulted::Tell(CacheAction::None | CacheAction::Invalidate { .. })) = consulted {
            self.authenticated |= authenticates_connection(request.lines);
        }
        self.server_name = name;
        consulted
    }

    /// The same where nobody can be told: it has its answer, or is looked at again when somebody can.
    pub(super) fn consult_untold(
        &mut self,
        cx: &mut Receiving<'_, '_>,
        start: usize,
        head: &ReceivedHead,
    ) -> io::Result<Consulted> {
        let Receiving { server, batch, now, .. } = cx;
        let incoming = &self.lane.incoming;
        let is_free =
            self.lane.in_flight == 0 && !incoming.passes && !server.settings.counts_requests;
        let waits = incoming.waits;
        let mut answered = false;
        if is_free && self.is_followed(server, *now) && self.queued() <= MAX_QUEUED {
            let bytes = &batch.bytes[start..start + head.length];
            let name = self.server_name.take();
            let request = self.request_for_cache(bytes, head, name.as_deref(), waits);
            server.set_lines(head.keep_alive);
            let Server { cache, answers, lines, settings, .. } = &mut **server;
            if let Some(hit) = cache.find_stored(since_origin(*now), &request) {
                self.answer(&hit, settings.tells_hits, since_origin(*now), lines, answers)?;
                answered = true;
            }
            self.server_name = name;
        }
        Ok(match answered {
            true => Consulted::Answered,
            // A caller that is there refuses by itself.
            false if batch.silent => self.hold_or_refuse(server, head),
            false => Consulted::Report,
        })
    }

    /// A request that the caller has to answer, which is busy.
    fn hold_or_refuse(&mut self, server: &mut Server, head: &ReceivedHead) -> Consulted {
        // Once our side has ended, only the caller knows what becomes of a request.
        let is_over = self.write_state.is_over();
        if self.lane.in_flight > 0 || has_body(head) || is_over || !server.is_full() {
            server.held = server.held.saturating_add(1);
            return Consulted::Report;
        }
        server.counts.refused += 1;
        server.answers.extend_from_slice(OVERLOADED);
        Consulted::Refused
    }

    fn request_for_cache<'a>(
        &self,
        bytes: &'a [u8],
        head: &ReceivedHead,
        server_name: Option<&'a str>,
        waits: u8,
    ) -> Request<'a> {
        Request {
            secure: !matches!(self.transport, Transport::Plain(_)),
            method: head.method,
            target: &bytes[head.target.0..head.target.1],
            lines: &bytes[head.lines.0..head.lines.1],
            body: has_body(head),
            certificate: self.certified,
            authenticated: self.authenticated,
            server_name: server_name.unwrap_or_default().as_bytes(),
            waits,
        }
    }

    /// Whether the cache sees what becomes of the requests that are told.
    fn is_followed(&mut self, server: &mut Server, now: Nanos) -> bool {
        if self.lane.in_flight == 0 {
            match &mut self.lane.responses {
                // Of responses that are under way, nobody would know where they stand.
                None if server.caches() && !self.write_state.is_over() => {
                    self.lane.responses = Some(Box::default());
                }
                Some(tracker) if !tracker.is_between_responses() => {
                    tracker.lose(&mut server.cache, since_origin(now), NotStored::Malformed);
                }
                _ => {}
            }
        }
        self.lane.responses.as_ref().is_some_and(|tracker| !tracker.is_lost())
    }

    fn look_up(
        &mut self,
        server: &mut Server,
        request: &Request<'_>,
        keep_alive: bool,
        now: Nanos,
    ) -> io::Result<Consulted> {
        if self.queued() > MAX_QUEUED {
            return Ok(self.wait(Blocked::Room, request));
        }
        if self.lane.in_flight > 0 {
            // What an application sends beyond the end of a response would be taken for the next one: of a response behind
            // another, nothing is stored.
            return Ok(match server.cache.is_stored(since_origin(now), request) {
                true => self.wait(Blocked::Turn, request),
                false => Consulted::Tell(CacheAction::None),
            });
        }
        server.set_lines(keep_alive);
        let Server { cache, answers, lines, settings, .. } = server;
        match cache.lookup(since_origin(now), request, self.id.to_bits()) {
            Lookup::Wait(flight) => return Ok(self.wait(Blocked::Fill(flight), request)),
            Lookup::Hit(hit) => {
                self.answer(&hit, settings.tells_hits, since_origin(now), lines, answers)?;
            }
            Lookup::OnlyIfCached => {
                answers.extend_from_slice(ONLY_IF_CACHED);
                answers.extend_from_slice(lines);
                answers.extend_from_slice(b"\r\n");
            }
            // It gets what the application says now. Those behind it get that, too.
            Lookup::Refresh(lead, _) | Lookup::Fill(lead) => {
                return Ok(Consulted::Tell(CacheAction::Store { lead, duration: None }));
            }
            Lookup::Pass(_) => return Ok(Consulted::Tell(CacheAction::None)),
        }
        Ok(Consulted::Answered)
    }

    fn wait(&mut self, blocked: Blocked, request: &Request<'_>) -> Consulted {
        self.blocked = blocked;
        self.lane.incoming.waits = request.waits;
        Consulted::Later
    }

    /// Adds an answer to those that leave together, or sends them with it.
    fn answer(
        &mut self,
        hit: &Hit<'_>,
        tells: bool,
        now: Duration,
        lines: &mut Vec<u8>,
        answers: &mut Vec<u8>,
    ) -> io::Result<()> {
        if tells {
            let fresh = hit.entry.fresh_for(now).as_secs();
            // RFC 9211. A vector takes all that is written.
            write!(lines, "Cache-Status: millrace; hit; ttl={fresh}\r\n").ok();
        }
        if hit.body().len() < COPY_LIMIT && answers.len() < MAX_ANSWERS {
            hit.write(lines, answers);
            return Ok(());
        }
        answers.extend_from_slice(hit.head());
        hit.write_head_end(lines, answers);
        match hit.answer {
            Answer::Whole => self.send_stored(answers, hit.entry)?,
            Answer::Head | Answer::NotModified => drop(self.send(answers, false)?),
        }
        answers.clear();
        Ok(())
    }

    /// Sends the answers to this connection that wait for that. `last`: our side is about to end.
    pub(crate) fn send_answers(&mut self, server: &mut Server, last: bool) -> io::Result<()> {
        if !server.answers.is_empty() {
            let sent = self.send(&server.answers, last);
            server.answers.clear();
            sent?;
        }
        Ok(())
    }

    /// It waits no longer for the response to another request.
    pub(crate) fn leave_fill(&mut self, server: &mut Server) {
        if let Blocked::Fill(fill) = self.blocked {
            self.blocked = Blocked::No;
            server.cache.leave(fill, self.id.to_bits());
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
