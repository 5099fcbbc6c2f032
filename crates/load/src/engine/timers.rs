//! What happens when a time has come: limits, think times, pauses.

use std::time::Duration;

use millrace_net::{Clock, Nanos, Wake};

use super::{Demand, Engine};
use crate::ErrorKind;
use crate::session::Expired;

/// What timers are set for, with the slot's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SlotTimer {
    /// A time limit; of each kind a slot has at most one timer.
    Limit(u32, Limit),
    /// The end of a think time.
    Due(u32),
    /// The end of the pause after a failure.
    Reopen(u32),
    /// The number of connections in use changes.
    Ramp,
    /// A user, by number, continues after a pause.
    Resume(u32),
}

/// What has a time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Limit {
    /// A connect or a handshake.
    Opening,
    /// A request.
    Request,
}

impl Engine {
    /// When the engine has something to do at the latest.
    pub(crate) fn wake(&self) -> Wake {
        if self.is_starting() {
            return Wake { precise: self.start, coarse: self.start };
        }
        let (timer, arrival) = (self.timers.next(), self.next_arrival());
        let precise = match self.demand {
            // The end of a think time is as exact as an arrival.
            Demand::Closed { think_time, .. } if !think_time.is_zero() => timer,
            // Nor is the end of a pause.
            Demand::Users { .. } => timer.min(arrival),
            _ => arrival,
        };
        Wake { precise, coarse: timer }
    }

    pub(crate) fn on_timers(&mut self, now: Nanos) {
        while let Some((at, timer)) = self.timers.pop_due(now) {
            match timer {
                SlotTimer::Limit(index, kind) => self.on_limit(index as usize, kind, now),
                SlotTimer::Due(index) => self.on_due(index as usize, at),
                SlotTimer::Reopen(index) => self.on_reopen(index as usize, now),
                SlotTimer::Ramp => self.on_ramp(now),
                SlotTimer::Resume(user) => self.on_resume(user, at, now),
            }
            self.pump_elsewhere(now);
            self.settle_users();
        }
    }

    fn on_limit(&mut self, index: usize, kind: Limit, now: Nanos) {
        self.slots[index].armed[kind as usize] = false;
        let slot = &self.slots[index];
        let (concerned, limit) = match kind {
            Limit::Opening => (!slot.connection.is_open(), self.opening_limit(index)),
            Limit::Request => (slot.connection.is_open(), self.shared.plan.timeout),
        };
        let Some(since) = slot.connection.waiting_since().filter(|_| concerned) else { return };
        if since + limit > now {
            return self.arm(index, kind, since + limit);
        }
        match kind {
            Limit::Request => self.answer_too_late(index, limit, now),
            Limit::Opening if slot.connection.is_handshaking() => {
                let text = format!("TLS handshake not finished within {limit:?}");
                self.open_failed(index, ErrorKind::Tls, text, now);
            }
            Limit::Opening if slot.connection.is_greeting() => {
                let text =
                    format!("no SETTINGS frame within {limit:?}: the server may speak no HTTP/2");
                self.open_failed(index, ErrorKind::ConnectTimeout, text, now);
            }
            Limit::Opening => {
                let text = format!("no connection within {limit:?}");
                self.open_failed(index, ErrorKind::ConnectTimeout, text, now);
            }
        }
    }

    fn answer_too_late(&mut self, index: usize, limit: Duration, now: Nanos) {
        let connection = &mut self.slots[index].connection;
        let Expired { lost, ends_connection } =
            connection.expire(now, limit, &mut self.memory, &mut self.recorder);
        if ends_connection {
            drop(connection.close());
            return self.after_end(index, lost, now);
        }
        if let Some(oldest) = connection.waiting_since() {
            self.arm(index, Limit::Request, oldest + limit);
        }
        self.replenish(index, lost, now);
        self.refill(index, now);
    }

    pub(super) fn on_due(&mut self, index: usize, intended: Nanos) {
        self.slots[index].thinking -= 1;
        if self.sending {
            let now = self.clock.now();
            self.recorder.handled(intended, now);
            self.add_due(index, 1, intended);
            self.pump_or_open(index, now);
        }
    }

    pub(super) fn on_reopen(&mut self, index: usize, now: Nanos) {
        let slot = &mut self.slots[index];
        slot.backing_off = false;
        let stalled = std::mem::take(&mut slot.deferred);
        let pool = slot.pool;
        if self.is_pooled() {
            self.pools[pool].add_closed(index as u32);
            self.hand_out(pool, now);
        } else if self.sending {
            self.add_due(index, stalled, now);
            self.pump_or_open(index, now);
        }
    }

    /// Sees to it that the slot is looked at when `at` has come. A limit that begins later ends later: a
    /// timer that is set already is early enough, and renews itself when it fires.
    pub(super) fn arm(&mut self, index: usize, kind: Limit, at: Nanos) {
        let armed = &mut self.slots[index].armed[kind as usize];
        if !std::mem::replace(armed, true) {
            self.timers.push(at, SlotTimer::Limit(index as u32, kind));
        }
    }
}
