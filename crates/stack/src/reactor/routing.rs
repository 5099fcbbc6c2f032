//! Connections of shared addresses: they go to whom their next request belongs to, and come from there. See [`crate::router`].

use std::any::Any;
use std::io;
use std::os::fd::OwnedFd;

use millrace_net::readiness::{Events, Token};
use millrace_net::socket::Socket;
use millrace_net::{Clock as _, Nanos};

use super::accepting::SocketOrigin;
use super::source::Source;
use super::{Reactor, Timer};
use crate::batch::Batch;
use crate::connection::id::ConnId;
use crate::connection::session::Tunnel;
use crate::connection::work::Work;
use crate::router::{Arrival, Detached, Route, Router, RouterContext, SessionInfo};
use crate::transport::Transport;

/// A socket, what is to be known of the session whose text it has, and bytes that come first.
type Parts = (OwnedFd, Option<Box<SessionInfo>>, Vec<u8>);

/// The token of a router's descriptor.
pub(crate) fn router_token(key: usize) -> Token {
    Source::Router(key).token()
}

impl Reactor {
    /// Shares addresses from now on as this router says. To be called before any server listens that it knows.
    pub fn set_router(&mut self, router: Box<dyn Router>) {
        self.router = Some(router);
    }

    /// Whether addresses can be shared.
    #[must_use]
    pub fn has_router(&self) -> bool {
        self.router.is_some()
    }

    /// Calls the router, if it is one of this type.
    pub fn with_router<T: Router, R>(
        &mut self,
        action: impl FnOnce(&mut T, &mut RouterContext<'_>) -> R,
    ) -> Option<R> {
        let now = self.clock.now();
        let called = self.call_router(now, |router, context| {
            let router: &mut dyn Any = router;
            Some(action(router.downcast_mut()?, context))
        });
        // A connection that has come has bytes that no event tells of.
        if self.has_ready(now) {
            self.call_again();
        }
        called.flatten()
    }

    /// Calls the router, if there is one, and does what it asks for.
    pub(super) fn call_router<R>(
        &mut self,
        now: Nanos,
        action: impl FnOnce(&mut dyn Router, &mut RouterContext<'_>) -> R,
    ) -> Option<R> {
        let router = self.router.as_deref_mut()?;
        let mut arrivals = std::mem::take(&mut self.arrivals);
        let mut context = RouterContext::new(self.poll.registry(), now, &mut arrivals);
        let result = action(router, &mut context);
        self.set_router_timer(now);
        for arrival in arrivals.drain(..) {
            // One for which there is no memory is lost as others are that have been accepted.
            self.attach(arrival, now).ok();
        }
        self.arrivals = arrivals;
        Some(result)
    }

    fn set_router_timer(&mut self, now: Nanos) {
        let next = self.router.as_ref().map_or(Nanos::NEVER, |router| router.next_run());
        // What it has to do at once is done in the next turn.
        if next > now && next < self.router_timer {
            self.router_timer = next;
            self.timers.push(next, Timer::Router);
            self.timers_changed = true;
        }
    }

    /// What others have said before a request came is known when that is looked at.
    pub(super) fn tell_router(&mut self, ready: &Events, now: Nanos) {
        let Some(router) = &mut self.router else { return };
        for event in ready {
            if let Source::Router(key) = Source::of(event.token()) {
                router.on_ready(key);
            }
        }
        self.run_router(now);
    }

    pub(super) fn run_router(&mut self, now: Nanos) {
        self.call_router(now, |router, context| router.run(context));
    }

    /// What was given in this turn leaves.
    pub(super) fn flush_router(&mut self, now: Nanos) {
        self.call_router(now, |router, context| router.flush(context));
    }

    /// The router has something to do without an event.
    pub(super) fn has_router_work(&self, now: Nanos) -> bool {
        self.router.as_ref().is_some_and(|router| router.next_run() <= now)
    }

    /// The router's time has come, and it has had its turn.
    pub(super) fn on_router_timer(&mut self, at: Nanos, now: Nanos) {
        if self.router_timer == at {
            self.router_timer = Nanos::NEVER;
            self.set_router_timer(now);
        }
    }

    fn attach(&mut self, arrival: Arrival, now: Nanos) -> io::Result<ConnId> {
        let Arrival { address, server, pinned, connection } = arrival;
        let Detached { socket, peer, hops, session, bytes } = connection;
        let socket = Socket::from_known(socket, session.is_some());
        let origin = SocketOrigin::Router { address, session, bytes };
        let id = self.add(socket, peer, server, origin, now)?;
        if let Some(connection) = self.connections.get_mut(id) {
            if let Some(routing) = &mut connection.routing {
                (routing.hops, routing.pinned) = (hops, pinned);
            }
            self.run_queue.push(connection, Work::READ);
        }
        Ok(id)
    }

    /// A connection goes to whom its next request belongs to.
    pub(super) fn leave(&mut self, id: ConnId, route: Route, batch: &mut Batch<'_>, now: Nanos) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if let Route::Server(server) = route
            && connection.lane.unopened
        {
            let before = std::mem::replace(&mut connection.server, server);
            self.count_connections(before, |count| count.saturating_sub(1));
            self.count_connections(server, |count| count + 1);
            self.watch_handshake(server, id);
            return self.run_again(id);
        }
        let Some(routing) = &connection.routing else { return };
        let (address, hops, peer) = (routing.address, routing.hops, connection.peer);
        if matches!(route, Route::Here | Route::Nobody { .. }) {
            // Nothing can be said before the handshake, and nobody was told of it.
            return drop(self.remove(id, now));
        }
        let Ok((socket, session, bytes)) = self.detach(id, batch) else {
            return self.tell_closed(id, 0, batch);
        };
        let connection = Detached { socket, peer, hops, session, bytes };
        match route {
            Route::Here | Route::Nobody { .. } => {}
            // One that fails here is lost as others are that have been accepted.
            Route::Server(server) => {
                drop(self.attach(Arrival { address, server, pinned: true, connection }, now));
            }
            Route::Elsewhere(to) => {
                self.call_router(now, |router, context| {
                    router.give(address, to, connection, context);
                });
            }
        }
    }

    /// A connection whose server is gone, and whose next request may be anybody's, goes on with the others. `false`: there are none.
    pub(super) fn pass_on(&mut self, id: ConnId, batch: &mut Batch<'_>, now: Nanos) -> bool {
        let (Some(connection), Some(router)) = (self.connections.get(id), &self.router) else {
            return false;
        };
        let is_free = connection.lane.unopened && connection.channel.queued() == 0;
        let Some(routing) = connection.routing.as_ref().filter(|_| is_free) else { return false };
        let Some(route) = router.successor(routing.address, connection.server) else {
            return false;
        };
        self.leave(id, route, batch, now);
        true
    }

    /// From now on the text of a connection goes to another process and comes from there. Gives what that is to have: the
    /// other end, and what is to be known of the session.
    fn relay(&mut self, id: ConnId) -> io::Result<(OwnedFd, Box<SessionInfo>)> {
        let (local, peer) = self.addresses(id.lane().number());
        let connection = self.connections.get_mut(id).ok_or(io::ErrorKind::NotConnected)?;
        let mut session = connection.channel.session_info().ok_or(io::ErrorKind::Unsupported)?;
        (session.local, session.peer) = (local, peer);
        let bytes = connection.channel.take_input();
        let (tunnel, socket) =
            Tunnel::new(self.poll.registry(), Source::Tunnel(id).token(), bytes)?;
        connection.begin_tunnel(tunnel);
        self.run_again(id);
        Ok((socket, Box::new(session)))
    }

    /// Whether the text of a connection goes to another process.
    #[must_use]
    pub fn is_relayed(&self, id: usize) -> bool {
        self.connections.at(id).is_some_and(|connection| connection.session.is_tunnel())
    }

    /// Takes the socket out of a connection, and what was read of it and not taken. A TLS session stays, and gives a way to
    /// its text.
    fn detach(&mut self, id: ConnId, batch: &mut Batch<'_>) -> io::Result<Parts> {
        let connection = self.connections.get_mut(id).ok_or(io::ErrorKind::NotConnected)?;
        let is_tls = matches!(connection.channel.transport, Transport::Tls(_));
        if is_tls && !connection.session.is_handshaking() {
            let server = connection.server;
            let (socket, session) = self.relay(id)?;
            if let Some(server) = self.servers.get_mut(server) {
                server.counts.relayed += 1;
            }
            return Ok((socket, Some(session), Vec::new()));
        }
        let session = connection.channel.transport.forwarded().cloned().map(Box::new);
        // The text of a session that stays moves, not the connection.
        if session.is_none()
            && let Some(server) = self.servers.get_mut(connection.server)
        {
            server.counts.moved += 1;
        }
        if connection.lane.unopened {
            let number = connection.lane.id.number();
            let (socket, _, bytes) = self.release(number)?;
            return Ok((socket, session, bytes));
        }
        let (socket, bytes) = connection.detach(self.poll.registry())?;
        self.tell_closed(id, 0, batch);
        Ok((socket, session, bytes))
    }
}
