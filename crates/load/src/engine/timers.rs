//! What happens when a time has come: limits, think times, pauses.

use millrace_net::{Clock, Nanos};

use super::{Demand, Engine};
use crate::ErrorKind;
use crate::recorder::{InFlight, Loss};

/// What timers are set for, with the slot's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// The limit of a connect, a handshake or a request; at most one per slot counts.
    Limit(u32),
    /// The end of a think time.
    Due(u32),
    /// The end of the pause after a failure.
    Reopen(u32),
}

impl Engine {
    /// When the next timer fires, and whether it has to be exact (the end of a think time).
    pub(crate) fn next_timer(&self) -> (Nanos, bool) {
        let thinks =
            matches!(self.demand, Demand::Closed { think_time, .. } if !think_time.is_zero());
        (self.timers.next(), thinks)
    }

    pub(crate) fn on_timers(&mut self, now: Nanos) {
        while let Some((at, timer)) = self.timers.pop_due(now) {
            match timer {
                Timer::Limit(index) => self.on_limit(index as usize, at, now),
                Timer::Due(index) => self.on_due(index as usize, at),
                Timer::Reopen(index) => self.on_reopen(index as usize, now),
            }
        }
    }

    pub(super) fn on_limit(&mut self, index: usize, at: Nanos, now: Nanos) {
        let slot = &mut self.slots[index];
        if slot.limit != at {
            return;
        }
        slot.limit = Nanos::NEVER;
        let Some(since) = slot.connection.waiting_since() else { return };
        let open = slot.connection.is_open();
        let plan = &self.shared.plan;
        let limit = if open { plan.timeout } else { plan.connect_timeout };
        if since + limit > now {
            self.arm(index, since + limit);
        } else if open {
            let loss = |_: usize, request: &InFlight| {
                // Those behind the late one lose their connection, not their time.
                if now.since(request.sent) >= limit {
                    (Loss::Timeout, format!("no complete response within {limit:?}"))
                } else {
                    let text = "given up with an earlier request's timeout".to_owned();
                    (Loss::Transport(ErrorKind::ClosedEarly), text)
                }
            };
            let lost = self.slots[index].connection.lose_all(now, &mut self.recorder, loss);
            drop(self.slots[index].connection.close());
            self.after_end(index, lost, now);
        } else if self.slots[index].connection.is_handshaking() {
            let text = format!("TLS handshake not finished within {limit:?}");
            self.open_failed(index, ErrorKind::Tls, text, now);
        } else {
            let text = format!("no connection within {limit:?}");
            self.open_failed(index, ErrorKind::ConnectTimeout, text, now);
        }
    }

    pub(super) fn on_due(&mut self, index: usize, intended: Nanos) {
        if self.sending {
            let now = self.clock.now();
            self.recorder.offered(intended, now);
            self.add_due(index, 1, intended);
            self.pump_or_open(index, now);
        }
    }

    pub(super) fn on_reopen(&mut self, index: usize, now: Nanos) {
        let slot = &mut self.slots[index];
        slot.resting = false;
        let stalled = std::mem::take(&mut slot.stalled);
        let origin = slot.origin;
        if let Demand::Open { pools, .. } = &mut self.demand {
            pools[origin].add_closed(index as u32);
            self.summon(origin);
        } else if self.sending {
            self.add_due(index, stalled, now);
            self.pump_or_open(index, now);
        }
    }

    /// Sees to it that the slot is looked at when `at` has come.
    pub(super) fn arm(&mut self, index: usize, at: Nanos) {
        let slot = &mut self.slots[index];
        if at < slot.limit {
            slot.limit = at;
            self.timers.push(at, Timer::Limit(index as u32));
        }
    }
}
