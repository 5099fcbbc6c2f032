//! Requests that the schedule makes due, and the connections that take them.

use millrace_net::{Clock, Nanos};

use super::{Demand, Engine};
use crate::engine::connection_pool::ConnectionPool;
use crate::metrics::in_flight::Due;

/// Arrivals that are taken before the loop looks at its sockets again.
const ARRIVALS_AT_ONCE: usize = 1024;

impl Engine {
    /// When the next arrival is due.
    pub(crate) fn next_arrival(&self) -> Nanos {
        match &self.demand {
            Demand::Open { next, .. } if self.sending && self.budget > 0 && *next < self.end => {
                *next
            }
            _ => Nanos::NEVER,
        }
    }

    /// Sends what has become due by the schedule.
    pub(crate) fn on_arrivals(&mut self) {
        let mut now = self.clock.now();
        // A schedule that cannot be met must not keep the loop from everything else.
        for _ in 0..ARRIVALS_AT_ONCE {
            if self.next_arrival() > now {
                return;
            }
            let Demand::Open { mix, arrivals, start, next, .. } = &mut self.demand else { return };
            let intended = *next;
            arrivals.advance();
            *next = arrivals.next().map_or(Nanos::NEVER, |after| *start + after);
            let due = Due { intended, request: mix.next(&mut self.random) };
            if self.budget != u64::MAX && self.recorder.is_measured(intended) {
                self.budget -= 1;
            }
            self.recorder.offered(intended, now);
            self.dispatch(due, now);
            now = self.clock.now();
        }
    }

    /// Takes an arrival in, if the bound allows.
    fn dispatch(&mut self, due: Due, now: Nanos) {
        let origin = self.shared.mix[due.request as usize].origin;
        let Demand::Open { pools, max_pending, .. } = &mut self.demand else { return };
        let waiting: usize = pools.iter().map(ConnectionPool::waiting).sum();
        if waiting as u64 + self.recorder.under_way() >= *max_pending {
            return self.recorder.overflowed(&due);
        }
        pools[origin].wait(due);
        self.hand_out(origin, now);
    }

    /// Gives arrivals that wait to free connections, and opens others for the rest.
    pub(super) fn hand_out(&mut self, origin: usize, now: Nanos) {
        // A connection that fails puts its arrivals back and calls this: the loop below has them next.
        if std::mem::replace(&mut self.handing_out, true) {
            return;
        }
        while let Demand::Open { pools, .. } = &mut self.demand {
            let pool = &mut pools[origin];
            if let Some(index) = pool.take_free() {
                let slot = &self.slots[index as usize];
                if !slot.connection.is_open() {
                    continue;
                }
                let idle = now.since(slot.idle_since);
                if slot.connection.accepted() == 0
                    && self.servers[origin].keep_alive().is_nearly_over(idle)
                {
                    drop(self.slots[index as usize].connection.close());
                    if let Demand::Open { pools, .. } = &mut self.demand {
                        pools[origin].add_closed(index);
                    }
                } else {
                    self.serve(index as usize, now);
                }
            } else if let Some(index) = pool.take_closed() {
                self.open(index as usize);
            } else {
                break;
            }
        }
        self.handing_out = false;
    }

    /// Lets a connection of an open run take arrivals that wait, and lists it if it remains free.
    pub(super) fn serve(&mut self, index: usize, now: Nanos) {
        let depth = self.shared.plan.pipelining;
        let Demand::Open { pools, .. } = &mut self.demand else { return };
        let slot = &mut self.slots[index];
        let pool = &mut pools[slot.origin];
        let mut room = slot.connection.room(depth);
        while let Some(due) = (room > 0).then(|| pool.take_waiting()).flatten() {
            slot.connection.due.push_back(due);
            room -= 1;
        }
        if slot.connection.accepted() == 0 {
            slot.idle_since = now;
        }
        if room > 0 {
            pool.add_free(index as u32, slot.connection.accepted() == 0);
        }
        self.pump(index, now);
    }
}
