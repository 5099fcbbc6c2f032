//! Connections of shared addresses: whom the next request belongs to.

use std::io;
use std::os::fd::OwnedFd;

use millrace_http::h1::{Method, ReceivedHead, field_lines};
use millrace_net::readiness::Registry;

use super::blocked::Blocked;
use super::cache::MAX_QUEUED;
use super::receiving::{Receiving, Step};
use super::session::{Handshake, Session, SessionContext, has_body};
use super::{Connection, Flow};
use crate::batch::Batch;
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
}

/// What becomes of a request at a shared address.
#[derive(Debug)]
pub(super) enum Routed {
    /// It is this server's.
    Here,
    /// It waits, or is another's.
    Step(Step),
    /// It is nobody's, and was answered.
    Declined { keep_alive: bool },
}

impl Routing {
    pub(crate) fn new(address: usize) -> Self {
        Self { address, hops: 0, pinned: false, final_bytes_sent: false, introduced: false }
    }
}

impl SessionContext<'_, '_, '_> {
    /// What becomes of a request whose head begins at `start`.
    pub(super) fn route(&mut self, (at, start): (usize, usize), head: &ReceivedHead) -> Routed {
        if self.routing.is_none() {
            return Routed::Here;
        }
        let Some(route) = self.find_route(start, head) else {
            self.lane.blocked = Blocked::Owner;
            return Routed::Step(Step::Wait(at));
        };
        let turn = &mut *self.turn;
        Routed::Step(match route {
            // The caller decides about it first.
            Route::Here
                if self.lane.unopened
                    && turn.server.settings.requires_admission
                    && self.channel.transport.stream().is_none() =>
            {
                if !turn.batch.can_tell() {
                    return Routed::Step(Step::Stop(at, Flow::Report));
                }
                self.lane.blocked = Blocked::Admission;
                self.open();
                Step::Wait(at)
            }
            Route::Here => return Routed::Here,
            // RFC 9113, section 9.1.2: the client may ask on another connection.
            Route::Server(_) | Route::Elsewhere(_) if self.channel.transport.stream().is_some() => {
                turn.server.counts.http2.misdirected += 1;
                turn.server.answers.extend_from_slice(MISDIRECTED);
                return Routed::Declined { keep_alive: false };
            }
            Route::Server(_) | Route::Elsewhere(_) => Step::Stop(at, Flow::Leaves(route)),
            Route::Nobody { .. } if !turn.batch.can_tell() && has_body(head) => {
                Step::Stop(at, Flow::Report)
            }
            Route::Nobody { gone } => {
                return Routed::Declined { keep_alive: decline(turn.server, head, gone) };
            }
        })
    }

    /// Where a request goes now; `None`: it is another's, or is to be declined, and has to wait for that.
    fn find_route(&mut self, start: usize, head: &ReceivedHead) -> Option<Route> {
        let Self { channel, lane, routing, turn, .. } = self;
        let answers = turn.server.answers.len();
        let (queued, is_free) = (channel.queued(), lane.in_flight == 0);
        let is_quiet = is_free && queued == 0 && answers == 0;
        let has_turn = is_free && queued + answers <= MAX_QUEUED;
        let (Some(routing), Some(router)) = (routing, &mut turn.router) else {
            return Some(Route::Here);
        };
        // Behind the last response, and once our side has ended, it is nobody else's.
        if routing.final_bytes_sent || channel.write_state.is_over() {
            return Some(Route::Here);
        }
        let bytes = turn.batch.memory.get(start..start + head.length);
        let mut fields = field_lines(&bytes[head.lines.0..head.lines.1]);
        let host = fields.find(|(name, _)| name.eq_ignore_ascii_case(b"host"));
        let route = router.route(&RoutedRequest {
            address: routing.address,
            server: self.server,
            target: &bytes[head.target.0..head.target.1],
            host: host.map_or(&b""[..], |(_, value)| value),
            hops: routing.hops,
            pinned: routing.pinned,
            now: turn.now,
        });
        match route {
            Route::Here => (routing.pinned, routing.hops) = (true, 0),
            Route::Server(_) | Route::Elsewhere(_) if is_quiet => {}
            Route::Nobody { .. } if has_turn => routing.hops = 0,
            _ => return None,
        }
        Some(route)
    }
}

/// Answers a request that nobody has. Gives whether the connection stays.
fn decline(server: &mut Server, head: &ReceivedHead, gone: bool) -> bool {
    // Whether a body follows that was not asked for yet, nobody knows (RFC 9110, section 10.1.1).
    let keep_alive = head.keep_alive && !(head.expect && has_body(head));
    let (line, text) = if gone { GONE } else { NOWHERE };
    server.set_lines(keep_alive);
    server.counts.unowned += 1;
    let Server { answers, lines, .. } = server;
    for part in [line, TYPE, lines, format!("Content-Length: {}\r\n\r\n", text.len()).as_bytes()] {
        answers.extend_from_slice(part);
    }
    if head.method != Method::Head {
        answers.extend_from_slice(text);
    }
    keep_alive
}

impl Connection {
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
        self.channel.transport.forwarded()?;
        let routing = self.routing.as_mut().filter(|routing| !routing.introduced)?;
        if !batch.can_tell() {
            return Some(Flow::Report);
        }
        routing.introduced = true;
        self.open(batch);
        self.tell_forwarded(batch);
        self.session = Session::Handshake(Handshake::Agreed);
        Some(Flow::Idle)
    }

    /// All that was asked is answered, and has left.
    pub(super) fn is_quiet(&self, server: &Server) -> bool {
        self.lane.in_flight == 0 && self.channel.queued() == 0 && server.answers.is_empty()
    }

    /// It was given to another process; what is left is to be forgotten.
    pub(crate) fn is_moved(&self) -> bool {
        matches!(self.channel.transport, Transport::Detached)
    }

    /// Gives the socket away, and what was read of it and not taken; what stays is to be forgotten.
    pub(crate) fn detach(&mut self, registry: &Registry) -> io::Result<(OwnedFd, Vec<u8>)> {
        let watched = (!self.is_unregistered()).then_some(registry);
        let transport = std::mem::replace(&mut self.channel.transport, Transport::Detached);
        let (socket, mut bytes) = transport.into_parts().ok_or(io::ErrorKind::NotConnected)?;
        bytes.append(&mut self.channel.take_input());
        Ok((socket.release(watched)?, bytes))
    }
}

/// Whoever had the prefix has ended without giving it back.
const GONE: (&[u8], &[u8]) =
    (b"HTTP/1.1 503 Service Unavailable\r\n", b"The process that serves this URL is gone.\n");
const NOWHERE: (&[u8], &[u8]) =
    (b"HTTP/1.1 404 Not Found\r\n", b"No process serves this URL here.\n");
const MISDIRECTED: &[u8] = b"HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n\r\n";
const TYPE: &[u8] = b"Content-Type: text/plain\r\n";
