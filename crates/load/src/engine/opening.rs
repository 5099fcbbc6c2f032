//! Opening of connections.

use std::io;
use std::time::Duration;

use millrace_net::{Clock, Nanos};

use super::Engine;
use super::timers::{Limit, SlotTimer};
use crate::ErrorKind;
use crate::connection::ReadResult;
use crate::error::describe;
use crate::metrics::in_flight::Due;
use crate::session::{End, Receiving};

/// Pause before a slot whose connection completed no request opens the next one; doubled each time, up to the maximum.
const MIN_BACKOFF: Duration = Duration::from_millis(10);
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// Time that a connect to an address which has not worked may take while the server has others (RFC 8305, section 5; Node's
/// default).
const ATTEMPT: Duration = Duration::from_millis(250);

impl Engine {
    pub(super) fn open(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let spare = slot.take_spare();
        let token = slot.side.token(index);
        // What ended the socket's last connection is no part of this one.
        let now = self.clock.now();
        let (address, stream) = self.servers[slot.origin].connect(spare, &self.registry, token);
        slot.address = address;
        slot.productive = false;
        match stream {
            Ok(stream) => {
                slot.connection.open(stream, now);
                self.arm(index, Limit::Opening, now + self.opening_limit(index));
                // On this host the connect has succeeded by now, and no turn of the loop is needed.
                self.establish(index, false);
            }
            Err(error) => {
                self.open_failed(index, ErrorKind::of(&error), describe(&error), now);
            }
        }
    }

    /// The limit for the connect, or for the handshake, of a slot.
    pub(super) fn opening_limit(&self, index: usize) -> Duration {
        let slot = &self.slots[index];
        let limit = self.shared.plan.connect_timeout;
        let is_connecting = !slot.connection.is_handshaking() && !slot.connection.is_greeting();
        let may_try_another = is_connecting && self.servers[slot.origin].may_rule_out(slot.address);
        if may_try_another { limit.min(ATTEMPT) } else { limit }
    }

    /// Continues opening; `true` if the connection has become ready. `peer_closed`: the peer has closed its side.
    pub(super) fn establish(&mut self, index: usize, peer_closed: bool) -> bool {
        if self.slots[index].connection.is_greeting() {
            return self.greet(index, peer_closed);
        }
        let connection = &mut self.slots[index].connection;
        match connection.establish(&self.clock, &mut self.memory, &mut self.recorder) {
            Ok(Some(_)) if connection.is_greeting() => self.greet(index, peer_closed),
            Ok(Some(now)) => {
                self.opened(index, now);
                // Where no request followed at once.
                let connection = &mut self.slots[index].connection;
                if let Err(error) = connection.flush(&self.clock, &mut self.recorder) {
                    self.write_failed(index, &error);
                }
                true
            }
            Ok(None) => false,
            Err(error) => {
                let kind = match ErrorKind::of(&error) {
                    // What ends a handshake is its failure, whoever ended it.
                    _ if self.slots[index].connection.is_handshaking() => ErrorKind::Tls,
                    kind => kind,
                };
                let text = self.slots[index].connection.describe(&error);
                self.open_failed(index, kind, text, self.clock.now());
                false
            }
        }
    }

    /// Reads the first words of a server; `true` if the connection has become ready. All that has come is read: what comes next
    /// is the next event. `peer_closed` may be that of the slot's last connection, whose event was still to be handled when
    /// this one was opened: where nothing has come there is nothing to wait for here.
    fn greet(&mut self, index: usize, peer_closed: bool) -> bool {
        loop {
            let connection = &mut self.slots[index].connection;
            let mut receiving = Receiving {
                mix: &self.shared.mix,
                memory: &mut self.memory,
                recorder: &mut self.recorder,
                peer_closed,
            };
            let flushed = connection.flush(&self.clock, receiving.recorder);
            let read = flushed
                .and_then(|()| connection.read(&mut self.buffers, &self.clock, &mut receiving));
            let (at, is_read, end) = match read {
                // A peer that has closed is read to the end: its last event has come.
                Ok(ReadResult { at, drained, received }) => {
                    (at, drained && !peer_closed, received.end)
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    (self.clock.now(), true, None)
                }
                Err(error) => {
                    let kind = ErrorKind::of_established(&error);
                    self.open_failed(index, kind, describe(&error), self.clock.now());
                    return false;
                }
            };
            if let Some(end) = end {
                let (kind, text) = match end {
                    End::Failed(kind, text) => (kind, text),
                    End::Agreed | End::Eof => (ErrorKind::ClosedEarly, connection.describe_end()),
                };
                self.open_failed(index, kind, text, at);
                return false;
            }
            if is_read {
                let is_ready = connection.finish_opening(&mut self.recorder);
                if is_ready {
                    self.opened(index, at);
                } else {
                    self.arm(index, Limit::Opening, at + self.shared.plan.connect_timeout);
                }
                return is_ready;
            }
        }
    }

    fn opened(&mut self, index: usize, now: Nanos) {
        self.unreachable = None;
        let slot = &mut self.slots[index];
        self.servers[slot.origin].mark_working(slot.address);
        if std::mem::take(&mut slot.setting_up) {
            self.setting_up -= 1;
        }
        let pool = slot.pool;
        if self.is_pooled() {
            self.pools[pool].opened();
            self.serve(index, now);
        } else {
            self.pump(index, now);
            if self.sending {
                self.close_unused(index);
            }
        }
    }

    pub(super) fn open_failed(&mut self, index: usize, kind: ErrorKind, text: String, now: Nanos) {
        let slot = &mut self.slots[index];
        drop(slot.connection.close());
        let server = &mut self.servers[slot.origin];
        let example = format!("{}: {text}", server.address(slot.address));
        if kind != ErrorKind::FdLimit && server.rule_out(slot.address, (kind, &example)) {
            return self.open(index);
        }
        let (kind, example) = server.failure(slot.address).unwrap_or((kind, example));
        slot.failures += 1;
        if std::mem::take(&mut slot.setting_up) {
            self.setting_up -= 1;
        }
        let (first, _) = self.unreachable.unwrap_or((now, now));
        self.unreachable = Some((first, now));
        self.recorder.connect_failed(kind, example);
        self.leave_unsent(index);
        self.back_off(index, now);
    }

    /// Records the requests that a connect which failed leaves unsent: those that are due on the slot, or the arrival for
    /// which it was opened if no other connection can take it.
    fn leave_unsent(&mut self, index: usize) {
        if self.is_pooled() {
            let pool = self.slots[index].pool;
            self.pools[pool].opened();
            let mut others = self.slots.iter().filter(|slot| slot.pool == pool);
            if !self.has_own_connections && others.any(|slot| slot.connection.is_open()) {
                return;
            }
            if let Some(due) = self.pools[pool].take_waiting() {
                self.recorder.unconnected(&due);
            }
            return;
        }
        for at in 0..self.slots[index].connection.due.len() {
            let due = self.slots[index].connection.due[at];
            self.spend_unsent(&due);
        }
        self.defer_due(index);
    }

    /// Takes a request of a closed run that has no connection from the budget.
    pub(super) fn spend_unsent(&mut self, due: &Due) {
        if self.budget == 0 || !self.recorder.is_measured(due.intended) {
            return;
        }
        if self.budget != u64::MAX {
            self.budget -= 1;
        }
        self.recorder.unconnected(due);
    }

    /// Defers the due requests of a slot of a closed run to the end of its back-off.
    pub(super) fn defer_due(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        slot.deferred += slot.connection.due.len();
        slot.connection.due.clear();
    }

    pub(super) fn back_off(&mut self, index: usize, now: Nanos) {
        let slot = &mut self.slots[index];
        slot.backing_off = true;
        let doublings = slot.failures.saturating_sub(1).min(16);
        let pause = MAX_BACKOFF.min(MIN_BACKOFF * (1 << doublings));
        self.timers.push(now + pause, SlotTimer::Reopen(index as u32));
        if self.servers_per_slot > 1 {
            let deferred = std::mem::take(&mut self.slots[index].deferred);
            self.add_due(index, deferred, now);
        }
    }
}
