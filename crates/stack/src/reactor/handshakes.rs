//! TLS handshakes: their limit, and the caller's part in them.

use millrace_net::Nanos;
use millrace_net::tls::secure_context::SecureContext;
use millrace_net::tls::server::ServerTlsStream;

use super::{Reactor, Timer};
use crate::batch::Batch;
use crate::connection::{Connection, EVENTS};

impl Reactor {
    pub(super) fn on_handshakes(&mut self, server: usize, batch: &mut Batch<'_>) {
        self.watched.retain(|&watched| watched != server);
        let Some(limit) = self.servers.get(server).and_then(|server| server.settings.tls) else {
            return;
        };
        let mut next = Nanos::NEVER;
        for (id, connection) in self.connections.iter_mut() {
            if connection.server != server || !connection.shaking || connection.gone {
                continue;
            }
            let at = connection.began + limit;
            if at <= self.now && batch.room() >= EVENTS {
                connection.tell_timeout(id, batch);
            } else {
                next = next.min(at.max(self.now));
            }
        }
        if next != Nanos::NEVER {
            self.watched.push(server);
            self.timers.push(next, Timer::Handshakes(server));
        }
    }

    /// Answers a client's first message with a secure context. `false`: nothing was answered, and another
    /// implementation has to. `told_alone`: requests come after [`Self::start`] only.
    pub fn choose(&mut self, id: usize, context: &SecureContext, told_alone: bool) -> bool {
        let Some(connection) = self.connections.get_mut(id) else { return false };
        let chosen = connection.choose(context, told_alone);
        if chosen && connection.can_go_on() {
            self.wake(id);
        }
        chosen
    }

    /// Receives requests, after an end of the handshake that was told alone.
    pub fn start(&mut self, id: usize) {
        if self.connections.get_mut(id).is_some_and(Connection::start) {
            self.wake(id);
        }
    }

    /// The certificates that a client has shown, its own first. DER.
    #[must_use]
    pub fn certificates(&self, id: usize) -> Vec<Vec<u8>> {
        let Some(connection) = self.connections.get(id) else { return Vec::new() };
        match (connection.tls(), connection.channel.forwarded()) {
            (Some(tls), _) => tls.certificates(),
            (None, Some(about)) => about.certificates.clone(),
            (None, None) => Vec::new(),
        }
    }

    /// The TLS of a connection.
    #[must_use]
    pub fn tls(&self, id: usize) -> Option<&ServerTlsStream> {
        self.connections.get(id)?.tls()
    }
}
