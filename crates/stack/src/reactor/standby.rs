//! Turns in which nobody can be told of anything, and what is told afterwards.

use std::io;
use std::time::Duration;

use millrace_net::Clock as _;
use millrace_net::tls::secure_context::SecureContext;

use super::Reactor;
use crate::batch::{Batch, Event};
use crate::connection::Unreported;
use crate::connection::id::ConnId;
use crate::connection::state::{Blocked, Change, WriteState};
use crate::connection::work::Work;
use crate::server::{Server, ServerCounts};

/// What is done at the end of a turn of which the caller hears nothing.
const WITHOUT_CALLER: Work = Work::REGISTER.and(Work::UNCORK);
/// The caller's own timer comes first, unless it is busy.
const GRACE: Duration = Duration::from_millis(25);

impl Reactor {
    /// As [`Self::turn`], while the caller is busy: answers what the cache has. Connections of which something is to be told
    /// are parked, with what they have received, until the caller's next turn; so are timers. The descriptor stays readable
    /// then, so that this turn comes. `bytes` are scratch. Gives whether there is more to do at once.
    pub(crate) fn standby_turn(&mut self, bytes: &mut [u8]) -> io::Result<bool> {
        self.settle(WITHOUT_CALLER);
        self.take_events(&mut Batch::silent(bytes), false)?;
        self.give_up();
        // The caller may not come for what was only accepted.
        self.settle(WITHOUT_CALLER);
        let is_left = self.has_ready() || !self.removed.is_empty() || !self.reports.is_empty();
        if self.timers_changed || is_left {
            self.call_again();
        }
        Ok(self.has_ready())
    }

    /// Sees to what a connection could not be told of.
    pub(super) fn after_untold(&mut self, id: ConnId) {
        let Some(connection) = self.connections.get(id) else { return };
        let Unreported { secured, answered_last, .. } = connection.unreported;
        if secured {
            self.queue_report(id);
        }
        if answered_last {
            // Its last answer; the caller closes what is left.
            self.end_when_written(id);
        }
    }

    /// Answers where the caller has not begun to in time, and ends our side.
    pub(crate) fn give_up(&mut self) {
        self.now = self.clock.now();
        let mut given_up = Vec::new();
        for connection in self.connections.iter_mut() {
            let Some(server) = self.servers.get_mut(connection.server) else { continue };
            let limit = server.settings.response_limit;
            let is_overdue = |limit| connection.lane.is_overdue(limit + GRACE, self.now);
            if connection.write_state == WriteState::Ended || !limit.is_some_and(is_overdue) {
                continue;
            }
            server.counts.timed_out += 1;
            connection.lane.timed_out = true;
            connection.write_state.end(false);
            connection.unreported.answered_last = true;
            // One that is gone is found so by the caller.
            connection.send(late_answer(server.settings.response_status), false).ok();
            given_up.push((connection.id, connection.queued() == 0));
        }
        if !given_up.is_empty() {
            self.call_again();
        }
        for (id, has_left) in given_up {
            if has_left {
                self.end_output(id);
            }
            self.park(id);
        }
    }

    /// Whether there are responses that may have to be given up while the caller is busy.
    pub(crate) fn has_deadlines(&self) -> bool {
        let limited = |server: &Server| server.settings.response_limit.is_some();
        self.servers.iter().any(|(_, server)| server.in_flight > 0 && limited(server))
    }

    /// Whether a response was given up.
    #[must_use]
    pub fn is_timed_out(&self, id: usize) -> bool {
        self.connections.at(id).is_some_and(|connection| connection.lane.timed_out)
    }

    /// What a server has done without its caller.
    #[must_use]
    pub fn counts(&self, server: usize) -> ServerCounts {
        self.servers.get(server).map_or_else(ServerCounts::default, |server| server.counts)
    }

    /// What handshakes with a server are answered with while the caller is busy; `None`: they wait for it.
    pub fn set_context(&mut self, server: usize, context: Option<SecureContext>) {
        if let Some(server) = self.servers.get_mut(server) {
            server.context = context;
        }
    }

    /// Nothing goes on with a connection before the caller's next turn.
    pub(super) fn park(&mut self, id: ConnId) {
        if let Some(connection) = self.connections.get_mut(id) {
            connection.block_for_report();
            self.reports.push(connection, Work::REPORT);
        }
    }

    /// Something is to be reported of a connection.
    pub(super) fn queue_report(&mut self, id: ConnId) {
        if let Some(connection) = self.connections.get_mut(id) {
            self.reports.push(connection, Work::REPORT);
        }
    }

    /// Reports what could not be told before, as far as there is room, and lets the connections go on.
    pub(super) fn report_pending(&mut self, batch: &mut Batch<'_>) {
        for (_, server) in &mut self.servers {
            server.held = 0;
        }
        // The other half is for what happens in this turn.
        while !batch.is_half_full() && !self.reports.is_empty() {
            let Some((connection, _)) = self.reports.pop(&mut self.connections) else { continue };
            let id = connection.id;
            let untold = std::mem::take(&mut connection.unreported);
            connection.blocked.end_by(Change::Reported);
            if untold.opened {
                batch.push(id, Event::Open { server: connection.server });
                if connection.blocked == Blocked::Admission {
                    self.settling.push(connection, Work::ADMIT);
                }
            }
            if untold.secured {
                connection.open(batch);
                connection.tell_secure(batch);
            }
            if untold.drained {
                batch.push(id, Event::Drained);
            }
            if untold.answered_last {
                connection.open(batch);
                batch.push(id, Event::Answered);
            }
            match untold.broken {
                // It is closed by whoever hears of the failure.
                Some(_) if connection.tell_failure(batch) => {}
                Some(number) => self.tell_closed(id, number, batch),
                None => self.run_again(id),
            }
        }
    }
}

/// What is sent in place of a late response, as the caller does when it is there.
fn late_answer(status: u32) -> &'static [u8] {
    match status {
        503 => b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n",
        504 => b"HTTP/1.1 504 Gateway Timeout\r\nConnection: close\r\n\r\n",
        _ => b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n",
    }
}
