//! Requests that are due go out.

use millrace_net::Nanos;

use super::timers::Timer;
use super::{Demand, Engine};
use crate::connection::Due;
use crate::template::Values;

impl Engine {
    /// `count` requests of a closed run are due on this slot.
    pub(super) fn add_due(&mut self, index: usize, count: usize, intended: Nanos) {
        let Demand::Closed { mixes, .. } = &mut self.demand else { return };
        if self.budget == 0 {
            return;
        }
        let slot = &mut self.slots[index];
        for _ in 0..count {
            let request = mixes[slot.origin].next(&mut self.random);
            slot.connection.due.push_back(Due { intended, request });
        }
    }

    /// `count` requests of the slot have ended: those that follow them become due.
    pub(super) fn replenish(&mut self, index: usize, count: usize, now: Nanos) {
        match self.demand {
            Demand::Closed { think_time, .. } if think_time.is_zero() => {
                self.add_due(index, count, now);
            }
            Demand::Closed { think_time, .. } => {
                for _ in 0..count {
                    self.timers.push(now + think_time, Timer::Due(index as u32));
                }
            }
            Demand::Open { .. } => {}
        }
    }

    pub(super) fn pump_or_open(&mut self, index: usize, now: Nanos) {
        let slot = &self.slots[index];
        if slot.connection.is_open() {
            self.pump(index, now);
        } else if slot.connection.is_closed() && !slot.resting && !slot.connection.due.is_empty() {
            self.open(index);
        }
    }

    /// Sends what is due on an open connection, in one write.
    pub(super) fn pump(&mut self, index: usize, now: Nanos) {
        let slot = &mut self.slots[index];
        let mut count = slot.connection.due.len();
        if count == 0 || !self.sending || now >= self.end || !slot.connection.is_open() {
            return;
        }
        if self.budget != u64::MAX && matches!(self.demand, Demand::Closed { .. }) {
            count = 0;
            for due in &slot.connection.due {
                let measured = self.recorder.is_measured(due.intended);
                if measured && self.budget == 0 {
                    break;
                }
                self.budget -= u64::from(measured);
                count += 1;
            }
            if count == 0 {
                return;
            }
        }
        let mix = &self.shared.mix[..];
        let batch = if let [only] = mix { only.batch(count) } else { None };
        let bytes = match batch {
            Some(bytes) => bytes,
            None => {
                self.outgoing.clear();
                for due in slot.connection.due.iter().take(count) {
                    let mut values = Values {
                        sequence: self.sequence.0,
                        random: &mut self.random,
                        tables: &self.shared.plan.tables,
                    };
                    let request = &mix[due.request as usize];
                    request.render(&mut values, &mut self.scratch, &mut self.outgoing);
                    self.sequence.0 += self.sequence.1;
                }
                &self.outgoing
            }
        };
        match slot.connection.send(bytes, count, now, &mut self.recorder) {
            Ok(()) => {
                let limit = now + self.shared.plan.timeout;
                if limit < slot.limit {
                    self.arm(index, limit);
                }
            }
            Err(error) => self.broken(index, &error, now),
        }
    }
}
