//! TLS handshakes: their limit, and the caller's part in them.

use millrace_net::Nanos;
use millrace_net::tls::secure_context::SecureContext;
use millrace_net::tls::server::ServerTlsStream;

use super::{Reactor, Timer};
use crate::batch::Batch;
use crate::connection::id::{ConnId, Connections};

/// Whether a handshake with a server that began then still goes on.
fn goes_on(connections: &Connections, server: usize) -> impl Fn(Nanos, ConnId) -> bool {
    move |at, id| connections.get(id).is_some_and(|it| it.handshaking_since(server) == at)
}

impl Reactor {
    pub(super) fn on_handshakes(&mut self, server: usize, batch: &mut Batch<'_>, now: Nanos) {
        let Some(of) = self.servers.get_mut(server) else { return };
        of.has_handshake_timer = false;
        let Some(limit) = of.settings.tls else { return };
        let connections = &mut self.connections;
        while let Some((began, id)) = of.handshakes.first(goes_on(connections, server)) {
            if began + limit > now || !batch.can_tell() {
                of.has_handshake_timer = true;
                self.timers.push((began + limit).max(now), Timer::Handshakes(server));
                return;
            }
            of.handshakes.remove_first();
            if let Some(connection) = connections.get_mut(id) {
                connection.tell_timeout(batch);
            }
        }
    }

    /// The limit of handshakes with a server holds for a connection that has come to it.
    pub(super) fn watch_handshake(&mut self, server: usize, id: ConnId) {
        let (Some(of), Some(connection)) = (self.servers.get_mut(server), self.connections.get(id))
        else {
            return;
        };
        let (Some(limit), began) = (of.settings.tls, connection.handshaking_since(server)) else {
            return;
        };
        if began == Nanos::NEVER {
            return;
        }
        of.handshakes.push(began, id, goes_on(&self.connections, server));
        if !std::mem::replace(&mut of.has_handshake_timer, true) {
            self.timers.push(began + limit, Timer::Handshakes(server));
            self.timers_changed = true;
        }
    }

    /// Answers a client's first message with a secure context. `false`: nothing was answered, and another
    /// implementation has to. `defers_requests`: requests come after [`Self::start`] only.
    pub fn choose(&mut self, id: usize, context: &SecureContext, defers_requests: bool) -> bool {
        let Some(connection) = self.connections.at_mut(id) else { return false };
        let chosen = connection.choose(context, defers_requests);
        if chosen && connection.can_go_on() {
            let id = connection.id;
            self.wake(id);
        }
        chosen
    }

    /// Receives requests, after an end of the handshake that was told alone.
    pub fn start(&mut self, id: usize) {
        if let Some(connection) = self.connections.at_mut(id)
            && let Some(server) = self.servers.get(connection.server)
            && connection.start(&server.settings)
        {
            let id = connection.id;
            self.wake(id);
        }
    }

    /// The certificates that a client has shown, its own first. DER.
    #[must_use]
    pub fn certificates(&self, id: usize) -> Vec<Vec<u8>> {
        let Some(connection) = self.connections.at(id) else { return Vec::new() };
        match (connection.channel.tls(), connection.channel.transport.forwarded()) {
            (Some(tls), _) => tls.certificates(),
            (None, Some(session)) => session.certificates.clone(),
            (None, None) => Vec::new(),
        }
    }

    /// The TLS of a connection.
    #[must_use]
    pub fn tls(&self, id: usize) -> Option<&ServerTlsStream> {
        self.connections.at(id)?.channel.tls()
    }
}
