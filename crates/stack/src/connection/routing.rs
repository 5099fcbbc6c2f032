//! Connections of shared addresses: whom the next request belongs to.

use std::io;
use std::os::fd::OwnedFd;

use millrace_http::h1::{Method, ReceivedHead, field_lines};
use millrace_net::readiness::Registry;

use super::receiving::{Receiving, Step, has_body};
use super::state::{Blocked, ReadState};
use super::{Connection, Flow};
use crate::batch::Batch;
use crate::connection::cache::MAX_QUEUED;
use crate::relay::Relay;
use crate::router::{Route, RoutedRequest};
use crate::server::Server;
use crate::transport::Transport;

/// What a connection of a shared address has beside.
#[derive(Debug)]
pub(crate) struct Routing {
    /// The address, by the router's number.
    pub(crate) address: usize,
    /// How often it was given on since its last response.
    pub(crate) hops: u8,
    /// It is where it belongs, so it is not given to others of the same prefix.
    pub(crate) pinned: bool,
    /// What was sent last is the last of it.
    pub(crate) final_bytes_sent: bool,
    /// The caller was told of the session whose text it is.
    introduced: bool,
    /// Its text is another process's to answer.
    pub(crate) relay: Option<Relay>,
}

impl Routing {
    pub(crate) fn new(address: usize) -> Self {
        Self {
            address,
            hops: 0,
            pinned: false,
            final_bytes_sent: false,
            introduced: false,
            relay: None,
        }
    }
}

impl Connection {
    /// What becomes of a request at a shared address, whose head begins at `start`; `None`: it is this server's.
    pub(super) fn route(
        &mut self,
        cx: &mut Receiving<'_, '_>,
        (at, start): (usize, usize),
        head: &ReceivedHead,
    ) -> Option<Step> {
        let Some(route) = self.find_route(cx, start, head) else {
            self.blocked = Blocked::Owner;
            return Some(Step::Wait(at));
        };
        let behind = start + head.length;
        Some(match route {
            // The caller decides about it first.
            Route::Here if self.unopened && cx.server.settings.requires_admission => {
                if !cx.batch.can_tell() {
                    return Some(Step::Stop(at, Flow::Report));
                }
                self.blocked = Blocked::Admission;
                self.open(cx.batch);
                Step::Wait(at)
            }
            Route::Here => return None,
            Route::Server(_) | Route::Elsewhere(_) => Step::Stop(at, Flow::Leaves(route)),
            Route::Nobody { .. } if !cx.batch.can_tell() && has_body(head) => {
                Step::Stop(at, Flow::Report)
            }
            Route::Nobody { gone } => match self.decline(cx, head, gone) {
                true => Step::Stop(behind, Flow::Report),
                false => Step::Next(behind),
            },
        })
    }

    /// Where a request goes now; `None`: it is another's, or is to be declined, and has to wait for that.
    fn find_route(
        &mut self,
        cx: &mut Receiving<'_, '_>,
        start: usize,
        head: &ReceivedHead,
    ) -> Option<Route> {
        let (is_quiet, is_over) = (self.is_quiet(cx.server), self.write_state.is_over());
        let has_turn =
            self.lane.in_flight == 0 && self.queued() + cx.server.answers.len() <= MAX_QUEUED;
        let (Some(routing), Some(router)) = (&mut self.routing, &mut cx.router) else {
            return Some(Route::Here);
        };
        // Behind the last response, and once our side has ended, it is nobody else's.
        if routing.final_bytes_sent || is_over {
            return Some(Route::Here);
        }
        let bytes = &cx.batch.bytes[start..start + head.length];
        let mut fields = field_lines(&bytes[head.lines.0..head.lines.1]);
        let host = fields.find(|(name, _)| name.eq_ignore_ascii_case(b"host"));
        let route = router.route(&RoutedRequest {
            address: routing.address,
            server: self.server,
            target: &bytes[head.target.0..head.target.1],
            host: host.map_or(&b""[..], |(_, value)| value),
            hops: routing.hops,
            pinned: routing.pinned,
            now: cx.now,
        });
        match route {
            Route::Here => (routing.pinned, routing.hops) = (true, 0),
            Route::Server(_) | Route::Elsewhere(_) if is_quiet => {}
            Route::Nobody { .. } if has_turn => routing.hops = 0,
            _ => return None,
        }
        Some(route)
    }

    /// Who has the sessions for this server name: it has to be whoever has the host's certificate.
    pub(super) fn route_session(&self, cx: &mut Receiving<'_, '_>, name: &str) -> Route {
        match (&self.routing, &mut cx.router) {
            (Some(routing), Some(router)) => {
                router.route_session(routing.address, self.server, name, cx.now)
            }
            _ => Route::Here,
        }
    }

    /// Tells of a session that another process has, before anything of it is answered: the caller judges its client.
    pub(super) fn introduce(&mut self, batch: &mut Batch<'_>) -> Option<Flow> {
        self.transport.forwarded()?;
        let routing = self.routing.as_mut().filter(|routing| !routing.introduced)?;
        if !batch.can_tell() {
            return Some(Flow::Report);
        }
        routing.introduced = true;
        self.open(batch);
        self.tell_forwarded(batch);
        self.read_state = ReadState::Secured;
        Some(Flow::Idle)
    }

    /// Whatever takes its text to another process, if its requests are answered there.
    pub(crate) fn relay(&self) -> Option<&Relay> {
        self.routing.as_ref()?.relay.as_ref()
    }

    /// All that was asked is answered, and has left.
    pub(super) fn is_quiet(&self, server: &Server) -> bool {
        self.lane.in_flight == 0 && self.queued() == 0 && server.answers.is_empty()
    }

    /// Answers a request that nobody has. `true`: the caller has to be told that the connection ends.
    pub(super) fn decline(
        &mut self,
        cx: &mut Receiving<'_, '_>,
        head: &ReceivedHead,
        gone: bool,
    ) -> bool {
        let Receiving { server, batch, effects, .. } = cx;
        // Whether a body follows that was not asked for yet, nobody knows (RFC 9110, section 10.1.1).
        let keep_alive = head.keep_alive && !(head.expect && has_body(head));
        let (line, text) = if gone { GONE } else { NOWHERE };
        server.set_lines(keep_alive);
        server.counts.unowned += 1;
        let Server { answers, lines, .. } = &mut **server;
        for part in
            [line, TYPE, lines, format!("Content-Length: {}\r\n\r\n", text.len()).as_bytes()]
        {
            answers.extend_from_slice(part);
        }
        if head.method != Method::Head {
            answers.extend_from_slice(text);
        }
        effects.answered = true;
        batch.count_answered();
        let ends = self.after_answer(batch, keep_alive);
        if has_body(head) && keep_alive {
            // The caller hears of a body of no request, and lets it pass.
            self.open(batch);
            self.await_body(head.framing);
        } else {
            self.next_head();
        }
        ends
    }

    /// These bytes come first; an event tells of more.
    pub(crate) fn set_input(&mut self, bytes: Vec<u8>) {
        self.readable = bytes.is_empty();
        self.bytes_read = bytes.len() as u64;
        self.input = bytes;
    }

    /// Bytes that were read and not taken.
    pub(crate) fn take_input(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.input)
    }

    /// It was given to another process; what is left is to be forgotten.
    pub(crate) fn is_moved(&self) -> bool {
        matches!(self.transport, Transport::Detached)
    }

    /// Gives the socket away, and what was read of it and not taken; what stays is to be forgotten.
    pub(crate) fn detach(&mut self, registry: &Registry) -> io::Result<(OwnedFd, Vec<u8>)> {
        let watched = (!self.is_unregistered()).then_some(registry);
        let channel = std::mem::replace(&mut self.transport, Transport::Detached);
        let (socket, mut bytes) = channel.into_parts().ok_or(io::ErrorKind::NotConnected)?;
        bytes.append(&mut self.take_input());
        Ok((socket.release(watched)?, bytes))
    }
}

/// Whoever had the prefix has ended without giving it back.
const GONE: (&[u8], &[u8]) =
    (b"HTTP/1.1 503 Service Unavailable\r\n", b"The process that serves this URL is gone.\n");
const NOWHERE: (&[u8], &[u8]) =
    (b"HTTP/1.1 404 Not Found\r\n", b"No process serves this URL here.\n");
const TYPE: &[u8] = b"Content-Type: text/plain\r\n";
