//! Connections of a closed run begin and end as its stages say.

use std::time::Duration;

use millrace_net::Nanos;

use super::Engine;
use super::slot::Slot;
use super::timers::SlotTimer;

impl Engine {
    /// Begins the stages with the load.
    pub(super) fn begin_ramp(&mut self) {
        if let Some(count) = self.count_in_use(Duration::ZERO) {
            match self.has_users() {
                true => self.users_in_use = count,
                false => self.in_use = count,
            }
            self.arm_ramp(Duration::ZERO);
        }
    }

    /// Brings the number of slots in use up to date.
    pub(super) fn on_ramp(&mut self, now: Nanos) {
        let elapsed = now.since(self.start);
        let Some(count) = self.count_in_use(elapsed) else { return };
        if self.has_users() {
            self.arm_ramp(elapsed);
            return self.set_users_in_use(count, now);
        }
        let before = std::mem::replace(&mut self.in_use, count);
        self.arm_ramp(elapsed);
        for index in (before..count).step_by(self.servers_per_slot) {
            self.begin_use(index, now);
        }
        for index in count..before {
            let slot = &mut self.slots[index];
            slot.connection.due.clear();
            slot.deferred = 0;
            self.close_unused(index);
        }
    }

    /// Closes the connection of a slot that is out of use, unless a request is under way on it.
    pub(super) fn close_unused(&mut self, index: usize) {
        let connection = &mut self.slots[index].connection;
        let is_idle = connection.in_flight() == 0 && connection.buffered() == 0;
        if index >= self.in_use && connection.is_open() && is_idle {
            drop(connection.close());
        }
    }

    /// Sends the first requests of the place for a connection that begins at a slot. What it has left of an earlier time of
    /// use counts.
    fn begin_use(&mut self, index: usize, now: Nanos) {
        let place = &self.slots[index..index + self.servers_per_slot];
        let left = |slot: &Slot| slot.connection.accepted() + slot.deferred + slot.thinking;
        let left: usize = place.iter().map(left).sum();
        let count = self.shared.plan.pipelining.saturating_sub(left);
        self.add_due(index, count, now);
        self.pump_or_open(index, now);
        self.pump_elsewhere(now);
    }

    /// Returns how many slots, or users, of this worker are in use at a time; `None` without stages.
    fn count_in_use(&self, elapsed: Duration) -> Option<usize> {
        let total = self.ramp.as_ref()?.count_at(elapsed);
        let places = self.shared.plan.share(total, self.worker) as usize;
        if self.has_users() {
            return Some(places.min(self.users.count()));
        }
        Some((places * self.servers_per_slot).min(self.slots.len()))
    }

    fn arm_ramp(&mut self, elapsed: Duration) {
        let next = self.ramp.as_ref().and_then(|ramp| ramp.next_change(elapsed));
        if let Some(next) = next {
            self.timers.push(self.start + next, SlotTimer::Ramp);
        }
    }
}
