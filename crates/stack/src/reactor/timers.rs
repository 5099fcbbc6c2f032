//! What is due at a time.

use std::time::Duration;

use millrace_net::{Clock as _, Nanos};

use super::Reactor;
use super::source::Source;
use crate::batch::{Batch, Event};
use crate::connection::id::ConnId;
use crate::connection::state::Blocked;

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

    fn on_idle(&mut self, id: ConnId, at: Nanos, batch: &mut Batch<'_>, now: Nanos) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if connection.idle_timer != at {
            return;
        }
        connection.idle_timer = Nanos::NEVER;
        // Its end was told in this batch, or is to be: nothing follows that.
        if connection.blocked == Blocked::Closed {
            return;
        }
        if !connection.lane.is_idle() || connection.lane.idle_since == Nanos::NEVER {
            return;
        }
        let Some(limit) = self.servers.get(connection.server).and_then(|s| s.settings.keep_alive)
        else {
            return;
        };
        // Who has something to say, or has not taken all of its answer, is not idle; nor is one of which something else is
        // to be reported first.
        let waits = connection.goes_on() || connection.queued() > 0;
        let rested = connection.lane.idle_since.max(connection.activity.last());
        let since = if waits { now } else { rested };
        let at = since + limit;
        if at <= now {
            connection.open(batch);
            batch.push(id, Event::Idle);
        } else {
            connection.idle_timer = at;
            self.timers.push(at, Timer::Idle(id));
        }
    }

    /// A timer's connection is gone.
    pub(super) fn forget_timer(&mut self) {
        let (connections, lingering) = (&self.connections, &self.lingering);
        self.timers.cancel(|at, timer| match *timer {
            Timer::Idle(id) => connections.get(id).is_some_and(|it| it.idle_timer == at),
            Timer::Lingering(id) => lingering.get(id).is_some_and(|it| it.timer == at),
            _ => true,
        });
    }
}
