//! Requests that the schedule makes due, and the connections that take them.

use millrace_net::{Clock, Nanos};

use super::Engine;
use super::demand::{Demand, Schedule};
use crate::engine::connection_pool::ConnectionPool;
use crate::metrics::in_flight::Due;

/// Arrivals that are taken before the loop looks at its sockets again.
const ARRIVALS_AT_ONCE: usize = 1024;

impl Engine {
    /// When the next arrival is due.
    pub(crate) fn next_arrival(&self) -> Nanos {
        match self.demand.schedule() {
            Some(schedule) if self.sending && self.budget > 0 && schedule.next < self.end => {
                schedule.next
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
            let taken = self.demand.schedule_mut().and_then(Schedule::take);
            let Some((intended, number)) = taken else { return };
            let request = self.demand.draw_for(number, self.shared.plan.seed);
            if self.has_users() {
                self.on_iteration_due(intended, number, request, now);
                now = self.clock.now();
                continue;
            }
            let due = Due { number, ..Due::new(intended, request) };
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
        let Demand::Open { max_pending, .. } = &self.demand else { return };
        let waiting: usize = self.pools.iter().map(ConnectionPool::waiting).sum();
        if waiting as u64 + self.recorder.under_way() >= *max_pending {
            return self.recorder.overflowed(&due);
        }
        self.pools[origin].wait(due);
        self.hand_out(origin, now);
    }

    /// Gives arrivals that wait to free connections, and opens others for the rest.
    pub(super) fn hand_out(&mut self, pool: usize, now: Nanos) {
        // A connection that fails puts its arrivals back and calls this: the loop below has them next.
        if std::mem::replace(&mut self.handing_out, true) {
            return;
        }
        loop {
            if let Some(index) = self.pools[pool].take_free() {
                let slot = &self.slots[index as usize];
                if !slot.connection.is_open() {
                    continue;
                }
                let idle = now.since(slot.idle_since);
                if slot.connection.accepted() == 0
                    && self.servers[slot.origin].keep_alive().is_nearly_over(idle)
                {
                    drop(self.slots[index as usize].connection.close());
                    self.pools[pool].add_closed(index);
                } else {
                    self.serve(index as usize, now);
                }
            } else if let Some(index) = self.pools[pool].take_closed() {
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
        let slot = &mut self.slots[index];
        let pool = &mut self.pools[slot.pool];
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
