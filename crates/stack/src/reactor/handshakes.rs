//! TLS handshakes: their limit, and the caller's part in them.

use millrace_net::Nanos;
use millrace_net::tls::secure_context::SecureContext;
use millrace_net::tls::server::ServerTlsStream;

use super::{Reactor, Timer};
use crate::batch::Batch;
use crate::connection::state::Blocked;

impl Reactor {
    pub(super) fn on_handshakes(&mut self, server: usize, batch: &mut Batch<'_>) {
        let Some(of) = self.servers.get_mut(server) else { return };
        of.has_handshake_timer = false;
        let Some(limit) = of.settings.tls else { return };
        let mut next = Nanos::NEVER;
        for connection in self.connections.iter_mut() {
            if connection.server != server
                || !connection.is_handshaking()
                || connection.blocked == Blocked::Closed
            {
                continue;
            }
            let at = connection.lane.incoming.began + limit;
            if at <= self.now && batch.can_tell() {
                connection.tell_timeout(batch);
            } else {
                next = next.min(at.max(self.now));
            }
        }
        if next != Nanos::NEVER {
            of.has_handshake_timer = true;
            self.timers.push(next, Timer::Handshakes(server));
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
            && connection.start()
        {
            let id = connection.id;
            self.wake(id);
        }
    }

    /// The certificates that a client has shown, its own first. DER.
    #[must_use]
    pub fn certificates(&self, id: usize) -> Vec<Vec<u8>> {
        let Some(connection) = self.connections.at(id) else { return Vec::new() };
        match (connection.tls(), connection.transport.forwarded()) {
            (Some(tls), _) => tls.certificates(),
            (None, Some(session)) => session.certificates.clone(),
            (None, None) => Vec::new(),
        }
    }

    /// The TLS of a connection.
    #[must_use]
    pub fn tls(&self, id: usize) -> Option<&ServerTlsStream> {
        self.connections.at(id)?.tls()
    }
}
