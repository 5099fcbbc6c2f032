//! Closed runs with several servers: each place for a connection has a slot to each server, side by side, and its requests go
//! to the servers in the order of the mix.

use millrace_net::Nanos;

use super::Engine;
use crate::metrics::in_flight::Due;

/// Requests that are drawn at once at most for one whose server can be connected to; a mix may weight it as low as it likes.
const MAX_DRAWN: usize = 10_000;

impl Engine {
    /// `count` requests are due for the place that a slot belongs to. Those for another server than this slot's are sent by
    /// `pump_elsewhere`.
    pub(super) fn add_due_in_turn(&mut self, index: usize, count: usize, intended: Nanos) {
        for _ in 0..count {
            let (target, due) = self.draw_reachable(index, intended);
            let slot = &mut self.slots[target];
            if slot.backing_off {
                slot.deferred += 1;
                continue;
            }
            slot.connection.due.push_back(due);
            if target != index {
                self.elsewhere.push(target as u32);
            }
        }
    }

    /// Draws the next request whose server can be connected to, and gives the slot for it. A server that cannot must not hold
    /// up the others: its requests are not sent. Where none can, the request waits for its server.
    fn draw_reachable(&mut self, index: usize, intended: Nanos) -> (usize, Due) {
        let first = index - index % self.servers_per_slot;
        let place = first..first + self.servers_per_slot;
        let (mut target, mut due) = self.draw(first, intended);
        let none = self.slots[place].iter().all(|slot| slot.backing_off);
        for _ in 0..MAX_DRAWN {
            if none || !self.slots[target].backing_off || self.budget == 0 {
                break;
            }
            self.spend_unsent(&due);
            (target, due) = self.draw(first, intended);
        }
        (target, due)
    }

    fn draw(&mut self, first: usize, intended: Nanos) -> (usize, Due) {
        let request = self.demand.draw(&mut self.random);
        (first + self.shared.mix[request as usize].origin, Due::new(intended, request))
    }

    /// Sends what has become due on other slots than those that the caller is concerned with.
    pub(super) fn pump_elsewhere(&mut self, now: Nanos) {
        while let Some(index) = self.elsewhere.pop() {
            self.pump_or_open(index as usize, now);
        }
    }
}
