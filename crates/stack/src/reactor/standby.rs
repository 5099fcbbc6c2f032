//! Turns in which nobody can be told of anything, and what is told afterwards.

use std::io;
use std::time::Duration;

use millrace_net::readiness::Events;
use millrace_net::tls::secure_context::SecureContext;
use millrace_net::{Clock as _, Nanos};

use super::Reactor;
use super::source::Source;
use crate::batch::{self, Batch};
use crate::connection::blocked::{Blocked, Change};
use crate::connection::id::{Connections, LaneId};
use crate::connection::reports::Unreported;
use crate::connection::work::Work;
use crate::server::{Server, ServerCounts};

/// The caller's own timer comes first, unless it is busy.
const GRACE: Duration = Duration::from_millis(25);
/// Steps of a turn: a connection that has its turn, one that is accepted, a response that is given up. And what is taken from the
/// system at once.
pub(super) const STEPS: usize = 16;

/// What is left of a turn.
struct Steps<'a> {
    left: usize,
    /// Somebody waits for the reactor.
    is_wanted: &'a dyn Fn() -> bool,
}

impl<'a> Steps<'a> {
    fn new(is_wanted: &'a dyn Fn() -> bool) -> Self {
        Self { left: STEPS, is_wanted }
    }

    /// One more may be taken, and is.
    fn take(&mut self) -> bool {
        let may = self.left > 0 && !(self.is_wanted)();
        self.left -= usize::from(may);
        may
    }
}

impl Reactor {
    /// As [`Self::turn`], while the caller is busy: answers what the cache has. Connections of which something is to be told
    /// are parked, with what they have received, until the caller's next turn; so are timers. The descriptor stays readable
    /// then, so that this turn comes. `bytes` are scratch. It ends after a few steps, and at once if the reactor `is_wanted`:
    /// what is left is done in the next turn of either kind. Gives whether there is more to do at once.
    pub(crate) fn standby_turn(
        &mut self,
        bytes: &mut [u8],
        is_wanted: &dyn Fn() -> bool,
    ) -> io::Result<bool> {
        let now = self.clock.now();
        let (mut batch, mut steps) = (Batch::silent(bytes), Steps::new(is_wanted));
        self.settle(STEPS);
        let has_more = self.note_events(&mut batch, now)?;
        let gives_up = self.give_up_some(&mut steps, now);
        self.run_some(&mut batch, &mut steps, now);
        self.flush_router(now);
        // The caller may not come for what was only accepted.
        self.settle(STEPS);
        self.flush_sessions(now);
        let goes_on = has_more || self.has_ready(now) || !self.settling.is_empty() || gives_up;
        let is_left = !self.removed.is_empty() || !self.reports.is_empty();
        if self.timers_changed || goes_on || is_left || !self.crowded.is_empty() {
            self.call_again();
        }
        Ok(goes_on)
    }

    /// Takes events. Connections that have something to receive have their turns one by one. Gives whether the system may have
    /// more.
    fn note_events(&mut self, batch: &mut Batch<'_>, now: Nanos) -> io::Result<bool> {
        let mut ready = Events::with_capacity(STEPS);
        match self.poll.poll(&mut ready, Some(Duration::ZERO)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        self.woken = false;
        self.tell_router(&ready, now);
        for event in &ready {
            match Source::of(event.token()) {
                Source::Connection(id) => {
                    if self.note_event(id, event, batch, now) {
                        self.run_again(id);
                    }
                    if event.is_error() {
                        self.on_error(id, batch);
                    }
                }
                Source::Tunnel(id) => self.run_again(id),
                _ => self.on_event(event, batch, now),
            }
        }
        Ok(ready.iter().count() >= STEPS)
    }

    /// Lets connections go on, and accepts more.
    fn run_some(&mut self, batch: &mut Batch<'_>, steps: &mut Steps<'_>, now: Nanos) {
        let sources = std::mem::take(&mut self.ready_sources);
        // Half is for connections that come.
        let for_others = if sources.is_empty() { 0 } else { STEPS / 2 };
        for _ in 0..self.run_queue.len() {
            if steps.left <= for_others || !steps.take() {
                break;
            }
            if let Some((connection, _)) = self.run_queue.pop(&mut self.connections) {
                let id = connection.id;
                self.receive(id, batch, now);
            }
        }
        self.unfinished = !self.run_queue.is_empty();
        for source in sources {
            match source {
                Source::Listener(id) => self.accept_some(id, batch, steps, now),
                Source::Lingering(id) if steps.take() => self.discard(id, batch, now),
                source => self.ready_sources.push(source),
            }
        }
    }

    fn accept_some(&mut self, id: usize, batch: &mut Batch<'_>, steps: &mut Steps<'_>, now: Nanos) {
        loop {
            if self.is_crowded(id) {
                if !self.crowded.contains(&id) {
                    self.crowded.push(id);
                }
                return;
            }
            if !steps.take() {
                return self.ready_sources.push(Source::Listener(id));
            }
            if !self.accept_next(id, batch, now) {
                return;
            }
        }
    }

    /// The caller is there, and has heard of all that was accepted.
    pub(super) fn accept_again(&mut self) {
        for (_, server) in &mut self.servers {
            server.accepted_unreported = 0;
        }
        self.ready_sources.extend(self.crowded.drain(..).map(Source::Listener));
    }

    /// Sees to what could not be told of a lane.
    pub(super) fn after_untold(&mut self, lane: LaneId, now: Nanos) {
        let Some(connection) = self.connections.of_mut(lane) else { return };
        let Unreported { secured, answered_last, .. } = connection.lane.unreported;
        if secured {
            self.reports.push(&mut connection.lane);
        }
        if answered_last {
            // Its last answer; the caller closes what is left.
            self.end_when_written(lane, now);
        }
    }

    /// The caller has a request, and had none before.
    pub(super) fn watch_response(&mut self, lane: LaneId) {
        let Some(connection) = self.connections.of(lane) else { return };
        if let Some(server) = self.servers.get_mut(connection.server)
            && server.settings.response_limit.is_some()
        {
            let since = connection.unanswered_since();
            // Our side has ended: nothing can be sent in place of its response.
            if since == Nanos::NEVER {
                return;
            }
            server.unanswered.push(since, lane, is_unanswered(&self.connections));
        }
    }

    /// Answers where the caller has not begun to in time, and ends our side: for a few requests, and for none if the reactor
    /// `is_wanted`. Gives whether there may be more.
    pub(crate) fn give_up(&mut self, is_wanted: &dyn Fn() -> bool) -> bool {
        let now = self.clock.now();
        self.give_up_some(&mut Steps::new(is_wanted), now)
    }

    fn give_up_some(&mut self, steps: &mut Steps<'_>, now: Nanos) -> bool {
        while let Some(lane) = self.first_late(now) {
            if !steps.take() {
                return true;
            }
            self.give_up_one(lane, now);
            self.call_again();
        }
        false
    }

    /// A lane whose response has not begun in time.
    fn first_late(&mut self, now: Nanos) -> Option<LaneId> {
        let connections = &self.connections;
        self.servers.iter_mut().find_map(|(_, server)| {
            let limit = server.settings.response_limit? + GRACE;
            let (since, lane) = server.unanswered.first(is_unanswered(connections))?;
            (now.since(since) >= limit).then_some(lane)
        })
    }

    fn give_up_one(&mut self, lane: LaneId, now: Nanos) {
        let Some(connection) = self.connections.of_mut(lane) else { return };
        let Some(server) = self.servers.get_mut(connection.server) else { return };
        server.counts.timed_out += 1;
        connection.lane.timed_out = true;
        connection.channel.write_state.end(false);
        connection.lane.unreported.answered_last = true;
        // One that is gone is found so by the caller.
        if let Err(error) =
            connection.channel.send(late_answer(server.settings.response_status), false)
        {
            connection.fail_behind_input(error);
        }
        let id = connection.id;
        self.settle_stream(id, now);
        let Some(connection) = self.connections.get(id) else { return };
        let has_left = connection.channel.queued() == 0;
        self.note_progress(id, now);
        if has_left {
            self.end_output(lane, now);
        }
        self.park(lane);
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

    /// Nothing goes on with a lane before the caller's next turn.
    pub(super) fn park(&mut self, lane: LaneId) {
        if let Some(connection) = self.connections.of_mut(lane) {
            connection.lane.block_for_report();
            self.reports.push(&mut connection.lane);
        }
    }

    /// Reports what could not be told before, as far as there is room, and lets the connections go on.
    pub(super) fn report_pending(&mut self, batch: &mut Batch<'_>) {
        for (_, server) in &mut self.servers {
            server.held = 0;
        }
        // The other half is for what happens in this turn.
        while !batch.is_half_full() && !self.reports.is_empty() {
            let Some((connection, untold)) = self.reports.pop(&mut self.connections) else {
                continue;
            };
            let (id, lane) = (connection.id, connection.lane.id);
            connection.lane.blocked.end_by(Change::Reported);
            if untold.opened {
                batch.push(lane, batch::Event::Open { server: connection.server, session: None });
                if connection.lane.blocked == Blocked::Admission {
                    self.behind_caller.push(connection, Work::ADMIT);
                }
            }
            if untold.secured {
                connection.open(batch);
                connection.tell_secure(batch);
            }
            if untold.drained {
                batch.push(lane, batch::Event::Drained);
            }
            if untold.answered_last {
                connection.open(batch);
                batch.push(lane, batch::Event::Answered);
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

/// Whether nothing was answered of what the caller was asked then.
fn is_unanswered(connections: &Connections) -> impl Fn(Nanos, LaneId) -> bool {
    move |at, lane| connections.of(lane).is_some_and(|it| it.unanswered_since() == at)
}

/// What is sent in place of a late response, as the caller does when it is there.
fn late_answer(status: u32) -> &'static [u8] {
    match status {
        503 => b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n",
        504 => b"HTTP/1.1 504 Gateway Timeout\r\nConnection: close\r\n\r\n",
        _ => b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n",
    }
}
