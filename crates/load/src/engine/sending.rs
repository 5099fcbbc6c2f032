//! Requests that are due go out.

use millrace_net::Nanos;

use super::timers::{Limit, SlotTimer};
use super::{Demand, Engine};
use crate::metrics::in_flight::Due;
use crate::session::Rendering;

impl Engine {
    /// `count` requests of a closed run are due on this slot.
    pub(super) fn add_due(&mut self, index: usize, count: usize, intended: Nanos) {
        let Demand::Closed { mixes, .. } = &mut self.demand else { return };
        if self.budget == 0 || index >= self.in_use {
            return;
        }
        if self.servers_per_slot > 1 {
            return self.add_due_in_turn(index, count, intended);
        }
        let slot = &mut self.slots[index];
        let mix = if mixes.len() > 1 { slot.origin } else { 0 };
        for _ in 0..count {
            let request = mixes[mix].next(&mut self.random);
            slot.connection.due.push_back(Due::new(intended, request));
        }
    }

    /// `count` requests of the slot have ended: those that follow them become due.
    pub(super) fn replenish(&mut self, index: usize, count: usize, now: Nanos) {
        match self.demand {
            Demand::Closed { think_time, .. } if think_time.is_zero() => {
                self.add_due(index, count, now);
            }
            Demand::Closed { think_time, .. } => {
                self.slots[index].thinking += count;
                for _ in 0..count {
                    self.timers.push(now + think_time, SlotTimer::Due(index as u32));
                }
            }
            Demand::Open { .. } | Demand::Users { .. } => {}
        }
    }

    pub(super) fn pump_or_open(&mut self, index: usize, now: Nanos) {
        let slot = &self.slots[index];
        let needed = !slot.connection.due.is_empty() && self.budget > 0 && now < self.end;
        if slot.connection.is_open() {
            self.pump(index, now);
        } else if slot.connection.is_closed() && !slot.backing_off && needed {
            self.open(index);
        }
    }

    /// Sends what is due on an open connection, in one write.
    pub(super) fn pump(&mut self, index: usize, now: Nanos) {
        let slot = &mut self.slots[index];
        if !self.sending || now >= self.end || !slot.connection.is_open() {
            return;
        }
        let (count, cost) = self.within_budget(index);
        if count == 0 {
            return;
        }
        let slot = &mut self.slots[index];
        let mut rendering = Rendering {
            mix: &self.shared.mix,
            numbers: &mut self.numbers,
            seed: self.shared.plan.seed,
            traces: self.shared.traces,
            memory: &mut self.memory,
            users: &mut self.users,
        };
        let sent = slot.connection.send(count, &mut rendering, now, &mut self.recorder);
        self.budget -= cost;
        match sent {
            Ok(()) => self.arm(index, Limit::Request, now + self.shared.plan.timeout),
            Err(error) => self.write_failed(index, &error),
        }
    }

    /// How many of the slot's due requests may be sent, and what they take from the budget. In an open
    /// run the arrivals have paid already.
    fn within_budget(&self, index: usize) -> (usize, u64) {
        let connection = &self.slots[index].connection;
        let sendable = connection.sendable(self.shared.plan.pipelining);
        if self.budget == u64::MAX || !matches!(self.demand, Demand::Closed { .. }) {
            return (sendable, 0);
        }
        let (mut count, mut cost) = (0, 0);
        for due in connection.due.iter().take(sendable) {
            cost += u64::from(self.recorder.is_measured(due.intended));
            if cost > self.budget {
                return (count, self.budget);
            }
            count += 1;
        }
        (count, cost)
    }

    /// The first `count` due requests of a slot had been buffered, and are due again: the budget has them back.
    pub(super) fn put_back(&mut self, index: usize, count: usize) {
        if self.budget != u64::MAX && matches!(self.demand, Demand::Closed { .. }) {
            let back = self.slots[index].connection.due.iter().take(count);
            let measured = back.filter(|due| self.recorder.is_measured(due.intended));
            self.budget += measured.count() as u64;
        }
    }
}
