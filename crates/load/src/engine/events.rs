//! What the sockets report: connections that are ready, responses, ends.

use std::io;

use millrace_net::{Clock, Nanos};
use mio::event::Event;

use super::Engine;
use super::slot::Side;
use crate::ErrorKind;
use crate::connection::ReadResult;
use crate::engine::target_server::SocketReuse;
use crate::error::describe;
use crate::session::{End, Receiving};

impl Engine {
    pub(crate) fn on_event(&mut self, event: &Event) {
        self.handle_event(event);
        self.settle_users();
        if !self.elsewhere.is_empty() {
            self.pump_elsewhere(self.clock.now());
        }
    }

    fn handle_event(&mut self, event: &Event) {
        let (index, side) = Side::of(event.token());
        let Some(slot) = self.slots.get_mut(index) else { return };
        if slot.connection.is_closed() || slot.side != side {
            let until_closed = self.servers[slot.origin].socket_reuse() == SocketReuse::UntilClosed;
            if event.is_read_closed() && until_closed {
                slot.ended.take_if(|kept| kept.side == side);
            }
            return;
        }
        if !slot.connection.is_open() {
            if !self.establish(index, event.is_read_closed()) {
                return;
            }
        } else if event.is_writable()
            && let Err(error) = slot.connection.flush(&self.clock, &mut self.recorder)
        {
            return self.write_failed(index, &error);
        }
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            self.peer_closed = event.is_read_closed();
            self.read(index);
        }
    }

    /// Reads what has arrived; `true` if that was the end of the connection.
    pub(super) fn read(&mut self, index: usize) -> bool {
        let close = self.shared.plan.close;
        // Requests that have ended, and whether others can be sent.
        let (mut ended, mut may_send, mut now) = (0, false, Nanos::default());
        loop {
            let slot = &mut self.slots[index];
            let mut receiving = Receiving {
                mix: &self.shared.mix,
                memory: &mut self.memory,
                recorder: &mut self.recorder,
                peer_closed: self.peer_closed,
            };
            let read = slot.connection.read(&mut self.buffers, &self.clock, &mut receiving);
            let ReadResult { at, drained, mut received } = match read {
                Ok(result) => result,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    now = self.clock.now();
                    self.replenish(index, ended, now);
                    self.broken(index, &error, now);
                    return true;
                }
            };
            now = at;
            ended += received.completed + received.lost;
            may_send |= ended > 0 || received.has_grown;
            if received.completed > 0 {
                if !slot.productive {
                    slot.mark_productive(close);
                }
                if close && received.end.is_none() {
                    received.end = Some(End::Agreed);
                }
            }
            if let Some(end) = received.end {
                self.replenish(index, ended, now);
                self.ended(index, end, now);
                return true;
            }
            // A peer that has closed is read to the end: its last event has come.
            if drained && !self.peer_closed {
                break;
            }
        }
        self.slots[index].connection.await_rest();
        if may_send {
            self.replenish(index, ended, now);
            self.refill(index, now);
        }
        if self.shared.plan.early_ack_probe {
            self.slots[index].connection.send_ack_probe(&mut self.recorder);
        }
        false
    }

    /// Sends what an open connection has room for.
    pub(super) fn refill(&mut self, index: usize, now: Nanos) {
        if self.is_pooled() {
            self.serve(index, now);
        } else {
            self.pump(index, now);
            self.close_unused(index);
        }
    }

    /// Nothing can be sent any more. A server that refuses a body answers before it closes (RFC 9112, section 9.5): what it
    /// has said is read first, to its end.
    pub(super) fn write_failed(&mut self, index: usize, error: &io::Error) {
        self.peer_closed = true;
        if !self.read(index) {
            self.broken(index, error, self.clock.now());
        }
    }

    pub(super) fn broken(&mut self, index: usize, error: &io::Error, now: Nanos) {
        let kind = ErrorKind::of_established(error);
        let is_close = matches!(kind, ErrorKind::ClosedEarly | ErrorKind::Reset);
        let slot = &mut self.slots[index];
        let completed = match is_close {
            true => slot.connection.complete_redirected(now, &mut self.recorder),
            false => 0,
        };
        if completed > 0 {
            if !slot.productive {
                slot.mark_productive(self.shared.plan.close);
            }
            self.replenish(index, completed, now);
        }
        let idle = self.slots[index].connection.in_flight() == 0;
        let end = match kind {
            ErrorKind::ClosedEarly | ErrorKind::Reset if idle => End::Eof,
            kind => End::Failed(kind, describe(error)),
        };
        self.ended(index, end, now);
    }

    /// A connection has ended; requests in flight on it are lost.
    pub(super) fn ended(&mut self, index: usize, end: End, now: Nanos) {
        let slot = &mut self.slots[index];
        let is_close = match &end {
            End::Failed(kind, _) => matches!(kind, ErrorKind::ClosedEarly | ErrorKind::Reset),
            End::Eof => true,
            End::Agreed => false,
        };
        let is_unanswered = is_close && slot.productive && !slot.connection.is_within_response();
        let (measure_from, mut unanswered) = (self.recorder.measured_from(), 0);
        let lost = slot.connection.lose_all(now, &mut self.recorder, |position, request| {
            unanswered += u64::from(is_unanswered && request.intended >= measure_from);
            end.loss(position)
        });
        self.recorder.unanswered_on_reuse(unanswered);
        match &end {
            // No request to blame: bytes after a complete response, or an alert.
            End::Failed(kind, text) if lost == 0 => self.recorder.failed_idle(*kind, text),
            End::Agreed | End::Eof if !self.shared.plan.close => self.recorder.closed_by_server(),
            _ => {}
        }
        if lost == 0 && matches!(end, End::Eof) {
            self.servers[slot.origin].keep_alive().closed(now.since(slot.idle_since));
        }
        let stream = slot.connection.close();
        if matches!(end, End::Agreed) {
            slot.retire(stream, self.servers[slot.origin].socket_reuse(), self.peer_closed);
        }
        self.after_end(index, lost, now);
    }

    /// A connection was closed with `lost` requests given up: the next one is opened if it is needed.
    pub(super) fn after_end(&mut self, index: usize, lost: usize, now: Nanos) {
        self.unreachable = None;
        let connection = &mut self.slots[index].connection;
        let requeued = connection.requeue_buffered(&mut self.recorder);
        self.put_back(index, requeued);
        self.replenish(index, lost, now);
        let slot = &mut self.slots[index];
        if !slot.productive {
            slot.failures += 1;
        }
        let (origin, fruitful) = (slot.origin, slot.productive);
        if self.is_pooled() {
            let slot = &mut self.slots[index];
            let pool = slot.pool;
            self.pools[pool].wait_first(slot.connection.due.drain(..));
            if fruitful {
                self.pools[pool].add_closed(index as u32);
            } else {
                self.back_off(index, now);
            }
            self.hand_out(pool, now);
        } else if fruitful {
            self.pump_or_open(index, now);
        } else {
            self.defer_due(index);
            self.back_off(index, now);
        }
        let slot = &mut self.slots[index];
        if slot.connection.is_closed() {
            slot.idle(self.servers[origin].socket_reuse());
        }
    }
}
