//! What happens to a connection: it can be read or written, or it is gone.

use std::io;

use millrace_net::Nanos;
use millrace_net::readiness::Event as SocketEvent;

use super::Reactor;
use crate::batch::{Batch, Event};
use crate::connection::blocked::{Blocked, Change};
use crate::connection::channel::WriteState;
use crate::connection::id::ConnId;
use crate::connection::sending::Flushed;
use crate::connection::work::Work;
use crate::connection::{Connection, Effects, Flow};

impl Reactor {
    /// Takes an event of a connection's socket, and receives what has arrived.
    pub(super) fn on_connection(
        &mut self,
        id: ConnId,
        event: &SocketEvent,
        batch: &mut Batch<'_>,
        now: Nanos,
    ) {
        if self.note_event(id, event, batch, now) {
            self.receive(id, batch, now);
        }
        if event.is_error() {
            self.on_error(id, batch);
        }
    }

    /// Writes on if the event says so. Gives whether something may have arrived, if only an end.
    pub(super) fn note_event(
        &mut self,
        id: ConnId,
        event: &SocketEvent,
        batch: &mut Batch<'_>,
        now: Nanos,
    ) -> bool {
        if event.is_writable() {
            self.on_writable(id, batch, now);
        }
        let has_arrived = event.is_readable() || event.is_read_closed() || event.is_error();
        if has_arrived && let Some(connection) = self.connections.get_mut(id) {
            connection.channel.on_readable(event.is_read_closed());
        }
        has_arrived
    }

    pub(super) fn receive(&mut self, id: ConnId, batch: &mut Batch<'_>, now: Nanos) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if batch.can_tell()
            && (connection.lane.unreported.opened || connection.lane.unreported.secured)
        {
            // It is told of first.
            return self.reports.push(&mut connection.lane);
        }
        let lane = connection.lane.id;
        if let Some(session) = connection.lane.session {
            self.open_session(session, batch);
        }
        let Some(connection) = self.connections.get_mut(id) else { return };
        let Some(server) = self.servers.get_mut(connection.server) else { return };
        batch.begin_share();
        let router = match connection.routing {
            Some(_) => self.router.as_deref_mut(),
            None => None,
        };
        let (flow, effects) = connection.receive(server, router, batch, now);
        self.note_progress(id, now);
        self.settle_stream(id, now);
        self.follow_up(id, effects, batch, now);
        let flow = self.follow_session(id, flow, batch, now);
        match flow {
            Flow::Idle => self.watch_flight(lane),
            Flow::Again => self.run_again(id),
            Flow::Broken(number) => self.tell_closed(id, number, batch),
            Flow::Report => self.park(lane),
            Flow::Leaves(route) => return self.leave(id, route, batch, now),
        }
        if let Some(connection) = self.connections.get_mut(id)
            && connection.lane.blocked == Blocked::Admission
            && !connection.lane.unreported.opened
        {
            self.behind_caller.push(connection, Work::ADMIT);
        }
        self.after_untold(lane, now);
    }

    pub(super) fn follow_up(
        &mut self,
        id: ConnId,
        effects: Effects,
        batch: &mut Batch<'_>,
        now: Nanos,
    ) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if effects.handshake_done {
            if connection.lane.in_flight > 0 {
                self.behind_caller.push(connection, Work::FLUSH_HANDSHAKE);
            } else {
                let flushed = connection.channel.flush();
                self.after_flush(id, flushed, batch, now);
            }
        }
        if effects.asked {
            self.watch_response(id.lane());
        }
        let Some(connection) = self.connections.get_mut(id) else { return };
        if effects.invalidated {
            let server = connection.server;
            self.go_on_woken(server);
        }
        if effects.answered {
            self.on_answered(id, now);
        }
    }

    pub(super) fn on_writable(&mut self, id: ConnId, batch: &mut Batch<'_>, now: Nanos) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let flushed = connection.channel.flush();
        self.after_flush(id, flushed, batch, now);
    }

    /// A connection has written on. Whoever waits until all has left hears of that.
    pub(super) fn after_flush(
        &mut self,
        id: ConnId,
        flushed: io::Result<Flushed>,
        batch: &mut Batch<'_>,
        now: Nanos,
    ) {
        self.note_progress(id, now);
        let Some(connection) = self.connections.get_mut(id) else { return };
        match flushed {
            Ok(Flushed::Pending | Flushed::WasEmpty) => {}
            // Whoever answers there waits for that, and not the caller.
            Ok(Flushed::Emptied) if connection.session.is_tunnel() => self.run_again(id),
            Ok(Flushed::Emptied) => {
                let has_session = connection.session.h2().is_some();
                if connection.lane.unopened || has_session {
                    // Nobody knows it, or waits for it.
                } else if batch.can_tell() {
                    batch.push(connection.lane.id, Event::Drained);
                } else {
                    connection.lane.unreported.drained = true;
                }
                let goes_on = connection.lane.blocked.end_by(Change::Drained);
                if matches!(connection.channel.write_state, WriteState::Ending | WriteState::Ended)
                {
                    self.end_output(id.lane(), now);
                } else if goes_on || has_session {
                    self.run_again(id);
                }
                if has_session {
                    self.go_on_with_session(id, batch, now);
                }
            }
            Err(error) => {
                connection.fail_behind_input(error);
                self.run_again(id);
            }
        }
        if let Some(Connection { lane, .. }) = self.connections.get_mut(id)
            && lane.unreported.drained
        {
            self.reports.push(lane);
        }
    }

    /// A peer that is gone is not waited for, though nothing is read for now. Otherwise its end is found behind what has arrived.
    pub(super) fn on_error(&mut self, id: ConnId, batch: &mut Batch<'_>) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if connection.finds_end() {
            return;
        }
        if !batch.can_tell() {
            // What it waits for may have come when somebody can be told.
            connection.channel.on_readable(true);
            return self.run_again(id);
        }
        if let Some(socket) = connection.channel.transport.socket()
            && let Ok(Some(error)) = socket.take_error()
        {
            self.tell_closed(id, error.raw_os_error().unwrap_or(0), batch);
        }
    }

    pub(super) fn tell_closed(&mut self, id: ConnId, number: i32, batch: &mut Batch<'_>) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        // A number that nobody knows to be free is not given anew.
        if !batch.can_tell() {
            connection.lane.unreported.broken = Some(number);
            self.reports.push(&mut connection.lane);
        } else if !connection.work.intersects(Work::FREE) {
            if !connection.lane.unopened {
                batch.push(connection.lane.id, Event::Closed { error: number });
            }
            self.closed.push(connection, Work::FREE);
        }
        if number != 0 {
            // Responses to what was told before meet it as well.
            connection.fail_behind_input(io::Error::from_raw_os_error(number));
        }
        let server = connection.server;
        if let Some(server) = self.servers.get_mut(server) {
            connection.leave_fill(server);
        }
        connection.lane.blocked = Blocked::Closed;
        self.end_streams_of(id);
        self.go_on_woken(server);
    }
}
