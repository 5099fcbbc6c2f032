//! What is due at a time.

use std::time::Duration;

use millrace_net::{Clock as _, Nanos};

use super::Reactor;
use super::source::Source;
use crate::batch::{Batch, Event};
use crate::connection::activity::BecameIdle;
use crate::connection::blocked::Blocked;
use crate::connection::id::ConnId;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    Idle(ConnId),
    Accept(usize),
    /// The handshakes of a server.
    Handshakes(usize),
    /// Last bytes that wait for the end of their connection.
    Uncork,
    /// Requests to a server that wait for the response to another.
    Flights(usize),
    Router,
    Lingering(usize),
}

impl Reactor {
    /// In how long [`Self::turn`] has something to do without the descriptor saying so.
    #[must_use]
    pub fn next_timer(&self) -> Option<Duration> {
        let next = self.timers.next();
        (next != Nanos::NEVER).then(|| next.since(self.clock.now()))
    }

    /// For how long nothing has come from a connection's peer and nothing has left for it; `None`: there is no such connection.
    ///
    /// Progress is what the system has given or taken: parts of heads, of bodies and of what follows an upgrade, told or not;
    /// records of TLS, those of a handshake and incomplete ones included; what leaves at once and what leaves later of bytes
    /// that waited; text that is relayed. Bytes that the system has taken and the peer has not are no progress when the peer
    /// takes them.
    #[must_use]
    pub fn inactive_for(&self, id: usize) -> Option<Duration> {
        let connection = self.connections.at(id)?;
        Some(self.clock.now().since(connection.activity.last()))
    }

    /// Whether a timer was set since the last call.
    pub fn timers_changed(&mut self) -> bool {
        std::mem::take(&mut self.timers_changed)
    }

    pub(super) fn on_timers(&mut self, batch: &mut Batch<'_>, now: Nanos) {
        batch.begin_timers();
        while batch.can_tell()
            && let Some((at, timer)) = self.timers.pop_due(now)
        {
            match timer {
                Timer::Accept(id) => self.ready_sources.push(Source::Listener(id)),
                Timer::Idle(id) => self.on_idle(id, at, batch, now),
                Timer::Handshakes(server) => self.on_handshakes(server, batch, now),
                // The turn has begun with it.
                Timer::Uncork => {}
                Timer::Flights(server) => self.on_flights(server, at, now),
                Timer::Router => self.on_router_timer(at, now),
                Timer::Lingering(id) => self.on_lingering(id, at, now),
            }
        }
    }

    /// Whether nothing has happened on a connection since [`Event::Idle`] was told of it.
    #[must_use]
    pub fn is_idle(&self, id: usize) -> bool {
        self.connections.at(id).is_some_and(|connection| connection.activity.is_reported())
    }

    /// Notes when bytes of a connection have come or left.
    pub(super) fn note_progress(&mut self, id: ConnId, now: Nanos) {
        if let Some(connection) = self.connections.get_mut(id)
            && let Some(became_idle) = connection.note_progress(now)
        {
            self.watch_idle(id, became_idle, now);
        }
    }

    /// The keep-alive time of a connection begins.
    pub(super) fn watch_idle(&mut self, id: ConnId, _: BecameIdle, now: Nanos) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let Some(server) = self.servers.get(connection.server) else { return };
        // It has one request, and is not kept.
        if connection.channel.transport.stream().is_some() {
            return;
        }
        if connection.activity.timer == Nanos::NEVER
            && let Some(limit) = server.settings.keep_alive
        {
            connection.activity.timer = now + limit;
            self.timers.push(connection.activity.timer, Timer::Idle(id));
            self.timers_changed = true;
        }
    }

    fn on_idle(&mut self, id: ConnId, at: Nanos, batch: &mut Batch<'_>, now: Nanos) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if connection.activity.timer != at {
            return;
        }
        connection.activity.timer = Nanos::NEVER;
        // Its end was told in this batch, or is to be: nothing follows that.
        if connection.lane.blocked == Blocked::Closed {
            return;
        }
        // Otherwise the timer is set again when it becomes idle.
        let Some(since) = connection.idle_since() else { return };
        let Some(limit) = self.servers.get(connection.server).and_then(|s| s.settings.keep_alive)
        else {
            return;
        };
        let since = if connection.is_busy() { now } else { since };
        let at = since + limit;
        if at <= now {
            connection.open(batch);
            batch.push(connection.lane.id, Event::Idle);
            connection.activity.on_reported();
        } else {
            connection.activity.timer = at;
            self.timers.push(at, Timer::Idle(id));
        }
    }

    /// A timer's connection is gone.
    pub(super) fn forget_timer(&mut self) {
        let (connections, lingering) = (&self.connections, &self.lingering);
        self.timers.cancel(|at, timer| match *timer {
            Timer::Idle(id) => connections.get(id).is_some_and(|it| it.activity.timer == at),
            Timer::Lingering(id) => lingering.get(id).is_some_and(|it| it.timer == at),
            _ => true,
        });
    }
}
